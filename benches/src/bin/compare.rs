//! `compare`: all solvers on the same matrices by turns; writes raw lines and a summary.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use tamarack_benches::summary::summarize;
use tamarack_benches::{Record, machine};

/// The matrices that the third milestone names; those not of our generator are looked for in
/// `--matrices`.
const LARGE: [&str; 13] = [
    "model:p2d5_1000",
    "model:p3d7_60",
    "model:p3d7_80",
    "model:p3d27_50",
    "model:el3d_20",
    "model:el3d_30",
    "model:shell_200x160",
    "model:rgg_200000",
    "model:circuit_500000",
    "z88_b19_piston.npz",
    "ng_cubemcyl_p2.npz",
    "ba_ladybug16.npz",
    "qp_CONT_300.mtx.gz",
];

/// Times Tamarack and its peers on the same matrices.
#[derive(Parser)]
struct Args {
    /// Matrix files, or model:NAME; or `large` for the standard set.
    #[arg(required = true)]
    matrices: Vec<String>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Turns: in each, every solver runs once, in a process of its own.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Drivers built by `peers/cpu/build.sh`; without it only Tamarack and faer run.
    #[arg(long)]
    drivers: Option<PathBuf>,
    /// The peers' installation, for the BLAS of CHOLMOD (MKL).
    #[arg(long)]
    peers: Option<PathBuf>,
    /// Folder of matrix files named without a folder.
    #[arg(long, default_value = "../shared/matrices")]
    folder: PathBuf,
    /// Folder to write to.
    #[arg(long)]
    out: PathBuf,
}

/// A solver as a command line.
struct Solver {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.out)?;
    let about = machine::describe();
    let work = tempfile::tempdir()?;
    let drive = std::env::current_exe()?.with_file_name("drive");
    let mut raw = std::fs::File::create(args.out.join("raw.jsonl"))?;
    let mut records = Vec::new();
    for source in expand(&args) {
        let name = short_name(&source);
        let matrix = work.path().join(format!("{name}.bin"));
        run(Command::new(&drive)
            .arg("prepare")
            .arg(&matrix)
            .args([&source, "1"]))?;
        let order = metis(&args, &matrix)?;
        for &threads in &args.threads {
            let solvers = solvers(&args, &drive, &matrix, &name, threads, order.as_deref());
            for _ in 0..args.rounds {
                for solver in &solvers {
                    let mut command = Command::new(&solver.program);
                    command.args(&solver.args).envs(solver.env.iter().cloned());
                    match run(&mut command) {
                        Ok(line) => {
                            writeln!(raw, "{line}")?;
                            eprintln!("{}", progress(&line));
                            records.push(serde_json::from_str::<Record>(&line)?);
                        }
                        Err(error) => eprintln!("{name}: {error}"),
                    }
                }
            }
            let text = summarize(&records, &about, &std::env::args().collect::<Vec<_>>());
            std::fs::write(args.out.join("summary.md"), text)?;
        }
        std::fs::remove_file(&matrix)?;
    }
    Ok(())
}

fn expand(args: &Args) -> Vec<String> {
    let all = args.matrices.iter().flat_map(|m| match m.as_str() {
        "large" => LARGE.map(String::from).to_vec(),
        other => vec![other.to_owned()],
    });
    all.map(|m| {
        if m.starts_with("model:") || Path::new(&m).exists() {
            m
        } else {
            args.folder.join(m).to_string_lossy().into_owned()
        }
    })
    .collect()
}

fn short_name(source: &str) -> String {
    let base = source.trim_start_matches("model:");
    let base = base.rsplit('/').next().unwrap_or(base);
    base.split('.').next().unwrap_or(base).to_owned()
}

/// METIS's order of the matrix, where its driver is there.
fn metis(args: &Args, matrix: &Path) -> Result<Option<PathBuf>> {
    let Some(drivers) = &args.drivers else {
        return Ok(None);
    };
    let order = matrix.with_extension("i32");
    run(Command::new(drivers.join("metis")).arg(matrix).arg(&order))?;
    Ok(Some(order))
}

fn solvers(
    args: &Args,
    drive: &Path,
    matrix: &Path,
    name: &str,
    threads: usize,
    order: Option<&Path>,
) -> Vec<Solver> {
    let text = |p: &Path| p.to_string_lossy().into_owned();
    let t = threads.to_string();
    let mut env: Vec<(String, String)> = ["OMP", "MKL", "OPENBLAS", "RAYON"]
        .iter()
        .map(|lib| (format!("{lib}_NUM_THREADS"), t.clone()))
        .collect();
    // Huge pages, and memory kept between factorizations: nobody is measured through page faults.
    let tunables =
        "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736";
    env.push(("MKL_DYNAMIC".into(), "FALSE".into()));
    let ours = |solver: &str| {
        let mut list = vec![solver.into(), text(matrix), name.into(), t.clone()];
        list.extend(order.map(text));
        list
    };
    let mut all = vec![Solver {
        program: drive.into(),
        args: ours("tamarack"),
        env: env.clone(),
    }];
    env.push(("GLIBC_TUNABLES".into(), tunables.into()));
    all.push(Solver {
        program: drive.into(),
        args: ours("faer"),
        env: env.clone(),
    });
    let Some(drivers) = &args.drivers else {
        return all;
    };
    let variants: &[(&str, &str, &str)] = if threads == 1 {
        &[("pardiso", "2", "0")]
    } else {
        &[
            ("pardiso", "3", "0"),
            ("pardiso/1", "3", "1"),
            ("pardiso/10", "3", "10"),
        ]
    };
    for (label, ordering, scheme) in variants {
        let list = [&text(matrix), name, &t, label, ordering, scheme];
        all.push(Solver {
            program: drivers.join("pardiso"),
            args: list.map(str::to_owned).to_vec(),
            env: env.clone(),
        });
    }
    let mut env = env.clone();
    if let Some(peers) = &args.peers {
        let blas = format!(
            "{}:{}",
            text(&peers.join("blas/mkl24")),
            text(&peers.join("oldmkl/2024.0.0"))
        );
        env.push(("LD_LIBRARY_PATH".into(), blas));
    }
    let given = order.map_or("metis".into(), text);
    let list = [&text(matrix), name, &t, "cholmod", &given];
    all.push(Solver {
        program: drivers.join("cholmod"),
        args: list.map(str::to_owned).to_vec(),
        env,
    });
    all
}

/// The last line that a command prints.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{:?} failed: {}", command.get_program(), said.trim()).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().last().unwrap_or_default().to_owned())
}

/// What is said while running.
fn progress(line: &str) -> String {
    let values: HashMap<String, serde_json::Value> = serde_json::from_str(line).unwrap_or_default();
    let show = |key: &str| values.get(key).map(ToString::to_string).unwrap_or_default();
    format!(
        "{} {} x{}: refactor {}",
        show("matrix"),
        show("solver"),
        show("threads"),
        show("refactor_secs")
    )
}
