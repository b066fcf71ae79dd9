//! `compare`: all solvers on the same matrices by turns; writes raw lines, a summary and plots.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use tamarack_benches::record::median;
use tamarack_benches::solvers::{Job, Order, Solver, solvers, wanted};
use tamarack_benches::summary::Page;
use tamarack_benches::{Record, Result, machine};

/// Models where phases count.
const MODELS: [&str; 9] = [
    "model:p2d5_1000",
    "model:p3d7_60",
    "model:p3d7_80",
    "model:p3d27_50",
    "model:el3d_20",
    "model:el3d_30",
    "model:shell_200x160",
    "model:rgg_200000",
    "model:circuit_500000",
];

/// Real matrices where phases count.
const REAL: [&str; 4] = [
    "z88_b19_piston.npz",
    "ng_cubemcyl_p2.npz",
    "ba_ladybug16.npz",
    "qp_CONT_300.mtx.gz",
];

/// Matrices where the whole call counts, and everyone orders for himself.
const SMALL: [&str; 6] = [
    "1138_bus.mtx",
    "nos5.mtx",
    "bcsstk13.mtx.gz",
    "bcsstk16.rb.gz",
    "trl_maxwell_M1.mtx.gz",
    "slam_sphere2500.mtx.gz",
];

/// Matrices of that kind that the repository holds.
const DATA: [&str; 8] = [
    "nos1.mtx",
    "trl_mass_1.mtx",
    "gr_30_30.rb",
    "trl_Aani.mtx",
    "trl_Arot.mtx",
    "trl_maxwell_M1.mtx.gz",
    "trl_lsc_F.mtx.gz",
    "trl_xpetra_A.mtx.gz",
];

/// Times Tamarack and its peers on the same matrices.
#[derive(Parser)]
struct Args {
    /// Matrix files, or model:NAME; or `public`, `large` or `small` for a standard set.
    #[arg(required = true)]
    matrices: Vec<String>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Turns: in each, every solver runs once, in a process of its own.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only these peers: faer, pardiso, cholmod, mumps, eigen; or variants, as pardiso/10.
    #[arg(long, value_delimiter = ',')]
    solvers: Vec<String>,
    /// The order that solvers are given: METIS's if its driver is there, else Tamarack's; for small
    /// matrices of the sets each its own. PARDISO always uses its own METIS, which suits it best.
    #[arg(long, value_enum)]
    ordering: Option<Given>,
    /// What ratios are to: `best-peer` of each phase, or one solver by name.
    #[arg(long, default_value = "best-peer")]
    baseline: String,
    /// Drivers built by `peers/cpu/build.sh`; without it only Tamarack and faer run.
    #[arg(long)]
    drivers: Option<PathBuf>,
    /// The peers' installation, for the BLAS of CHOLMOD and MUMPS.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Folder of matrix files named without a folder; what is not there is looked for in `data`.
    #[arg(long, default_value = "../shared/matrices")]
    folder: PathBuf,
    /// Seconds after which a process is ended and left out.
    #[arg(long, default_value_t = 600)]
    limit: u64,
    /// GiB of memory that are touched and given back before each turn of a solver: nearly all that is free. Else first factorizations
    /// on a virtual machine may wait for its host, which takes free memory back and gives it again slowly.
    #[arg(long, default_value_t = 0, value_name = "GIB")]
    warm_memory: u16,
    /// Folder to write to.
    #[arg(long)]
    out: PathBuf,
}

/// Where the order comes from.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Given {
    /// METIS's, the same for all.
    Metis,
    /// Tamarack's, the same for all.
    Tamarack,
    /// Each solver's own default.
    Own,
}

fn main() -> ExitCode {
    match compare(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(args: &Args) -> Result<()> {
    if args.ordering == Some(Given::Metis) && metis(args).is_none() {
        return Err(
            "--ordering metis needs the driver `metis`: `benches/peers/cpu/build.sh` builds \
             it, and --drivers names its folder"
                .into(),
        );
    }
    std::fs::create_dir_all(&args.out)?;
    let load = machine::load();
    let mut page = Page {
        machine: machine::describe(load),
        command: std::env::args().collect(),
        baseline: args.baseline.clone(),
        ..Page::default()
    };
    let limits = args.threads.iter();
    page.limits = limits
        .map(|&t| machine::limits(t, args.drivers.as_deref()))
        .collect();
    page.warnings = machine::warnings(load, &page.limits);
    for warning in &page.warnings {
        eprintln!("warning: {warning}");
    }
    let work = tempfile::tempdir()?;
    let drive = std::env::current_exe()?.with_file_name("drive");
    let mut raw = std::fs::File::create(args.out.join("raw.jsonl"))?;
    for (source, small) in expand(args) {
        let name = short_name(&source);
        if !source.starts_with("model:") && !Path::new(&source).exists() {
            let what = "is not there; benches/README.md says where the files of the sets come from";
            note(&mut page.skipped, format!("{name}: {source} {what}"));
            continue;
        }
        let matrix = work.path().join(format!("{name}.bin"));
        let mut prepare = Command::new(&drive);
        prepare.arg("prepare").arg(&matrix).args([&source, "1"]);
        let prepared = run(&mut prepare, args.limit);
        let order = match prepared.and_then(|_| order(args, &drive, &matrix, small)) {
            Ok(order) => order,
            Err(error) => {
                note(&mut page.skipped, format!("{name}: {error}"));
                continue;
            }
        };
        for &threads in &args.threads {
            let job = Job {
                drive: &drive,
                drivers: args.drivers.as_deref(),
                peers: args.peers.as_deref(),
                matrix: &matrix,
                name: &name,
                threads,
                order: order.as_ref(),
                small,
            };
            rounds(args, &job, &mut page, &mut raw)?;
            page.write(&args.out)?;
        }
        std::fs::remove_file(&matrix)?;
    }
    page.write(&args.out)?;
    if page.is_empty() {
        return Err("nothing was compared: no solver gave a right answer on any matrix".into());
    }
    Ok(())
}

/// All solvers on one matrix with one number of threads, by turns.
fn rounds(args: &Args, job: &Job<'_>, page: &mut Page, raw: &mut impl Write) -> Result<()> {
    let solvers = chosen(args, job, &mut page.skipped);
    for _ in 0..args.rounds {
        for solver in &solvers {
            machine::touch(usize::from(args.warm_memory) << 30)?;
            let mut command = Command::new(&solver.program);
            command.args(&solver.args).envs(solver.env.iter().cloned());
            match run(&mut command, args.limit).and_then(|line| parse(&line)) {
                Ok(mut record) => {
                    record.order.clone_from(&solver.order);
                    writeln!(raw, "{}", serde_json::to_string(&record)?)?;
                    eprintln!("{}", progress(&record));
                    page.records.push(record);
                }
                Err(error) => {
                    let (name, label) = (job.name, &solver.label);
                    note(&mut page.skipped, format!("{name}, {label}: {error}"));
                }
            }
        }
    }
    Ok(())
}

/// Solvers asked for whose drivers are there; the others are noted.
fn chosen(args: &Args, job: &Job<'_>, skipped: &mut BTreeSet<String>) -> Vec<Solver> {
    let mut all = solvers(job);
    all.retain(|s| wanted(&s.label, &args.solvers));
    all.retain(|s| {
        let there = s.program.exists();
        if !there {
            note(skipped, format!("{}: no driver built", s.label));
        }
        there
    });
    if job.drivers.is_none() {
        note(skipped, "all peers but faer: no --drivers".into());
    }
    all
}

fn note(skipped: &mut BTreeSet<String>, what: String) {
    if !skipped.contains(&what) {
        eprintln!("skipped: {what}");
        skipped.insert(what);
    }
}

/// The matrices, and whether they count as small.
fn expand(args: &Args) -> Vec<(String, bool)> {
    let all = |names: &[&str], small: bool| -> Vec<(String, bool)> {
        names.iter().map(|&m| (m.to_owned(), small)).collect()
    };
    let sets = args.matrices.iter().flat_map(|m| match m.as_str() {
        "large" => [all(&MODELS, false), all(&REAL, false)].concat(),
        "small" => all(&SMALL, true),
        "public" => [all(&MODELS, false), all(&DATA, true)].concat(),
        other => all(&[other], false),
    });
    sets.map(|(m, small)| (place(args, m), small)).collect()
}

/// Where the file of a matrix is; where it should be, if it is nowhere.
fn place(args: &Args, name: String) -> String {
    if name.starts_with("model:") || Path::new(&name).exists() {
        return name;
    }
    let (folder, data) = (args.folder.join(&name), Path::new("data").join(&name));
    let place = if !folder.exists() && data.exists() {
        data
    } else {
        folder
    };
    place.to_string_lossy().into_owned()
}

fn short_name(source: &str) -> String {
    let base = source.trim_start_matches("model:");
    let base = base.rsplit('/').next().unwrap_or(base);
    base.split('.').next().unwrap_or(base).to_owned()
}

/// METIS's driver, if it is built.
fn metis(args: &Args) -> Option<PathBuf> {
    let driver = args.drivers.as_ref()?.join("metis");
    driver.exists().then_some(driver)
}

/// The order that solvers are given for a matrix; none if each has its own.
fn order(args: &Args, drive: &Path, matrix: &Path, small: bool) -> Result<Option<Order>> {
    let file = matrix.with_extension("i32");
    let metis = metis(args);
    let given = args.ordering.unwrap_or(match (small, &metis) {
        (true, _) => Given::Own,
        (false, Some(_)) => Given::Metis,
        (false, None) => Given::Tamarack,
    });
    let (mut command, name) = match (given, metis) {
        (Given::Metis, Some(driver)) => (Command::new(driver), "METIS's"),
        (Given::Metis, None) => return Err("no driver `metis`".into()),
        (Given::Tamarack, _) => (Command::new(drive), "Tamarack's"),
        (Given::Own, _) => return Ok(None),
    };
    if given == Given::Tamarack {
        command.arg("order").arg(matrix).args(["-", "1"]).arg(&file);
    } else {
        command.arg(matrix).arg(&file);
    }
    run(&mut command, args.limit)?;
    Ok(Some(Order { file, name }))
}

fn parse(line: &str) -> Result<Record> {
    let record = serde_json::from_str(line);
    Ok(record.map_err(|e| format!("{e}: was the driver built of other sources?"))?)
}

/// The last line that a command prints; it is ended after `limit` seconds.
fn run(command: &mut Command, limit: u64) -> Result<String> {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let (out, err) = (Stdio::piped(), Stdio::piped());
    let mut child = command.stdout(out).stderr(err).spawn()?;
    let start = Instant::now();
    // One short line fits in the pipe, so that the child never waits for us.
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed().as_secs() > limit {
            child.kill()?;
            child.wait()?;
            return Err(format!("{name} took longer than {limit} s").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (mut text, mut said) = (String::new(), String::new());
    if let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) {
        out.read_to_string(&mut text)?;
        err.read_to_string(&mut said)?;
    }
    if !status.success() {
        return Err(format!("{name} failed ({status}): {}", said.trim()).into());
    }
    Ok(text.lines().last().unwrap_or_default().to_owned())
}

/// What is said while running.
fn progress(r: &Record) -> String {
    let wrong = r.wrong().map_or(String::new(), |w| format!("; {w}"));
    format!(
        "{} {} x{}: first {:.4}, refactor {:.4}, solve {:.4} / {:.4} s{wrong}",
        r.matrix,
        r.solver,
        r.threads,
        r.first_secs,
        median(&r.refactor_secs),
        median(&r.solve_1_secs),
        median(&r.solve_16_secs)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_set_is_in_the_repository() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
        assert!(DATA.iter().all(|m| data.join(m).exists()));
    }
}
