//! The page about a comparison: medians over all turns, and ratios to the best peer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use crate::machine::Limits;
use crate::record::{Record, geometric_mean, largest, median};
use crate::{Result, plot};

/// What Tamarack is called in records.
const OURS: &str = "tamarack";

/// The baseline that is no solver but the best in each phase.
const BEST: &str = "best-peer";

/// Everything that the page is made from.
#[derive(Default)]
pub struct Page {
    /// The machine, in words.
    pub machine: String,
    /// What it can do, for each number of threads.
    pub limits: Vec<Limits>,
    /// What speaks against the times.
    pub warnings: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
    /// `best-peer`, or the solver that ratios are to.
    pub baseline: String,
    /// What did not run, and why.
    pub skipped: BTreeSet<String>,
    /// What came out.
    pub records: Vec<Record>,
}

/// One solver on one matrix with one number of threads: medians over the turns, times in seconds.
#[derive(Clone, Copy)]
struct Medians {
    first: f64,
    first_again: f64,
    refactor: f64,
    /// Least and largest refactorization.
    range: (f64, f64),
    solve_1: f64,
    solve_16: f64,
    whole: f64,
    again: f64,
    nnz_l: f64,
    gflop: f64,
    stored: f64,
    peak: f64,
    /// Largest backward errors with 1 and 16 right-hand sides.
    errors: (f64, f64),
}

impl Medians {
    fn new(records: &[&Record]) -> Self {
        let all = |get: fn(&Record) -> &Vec<f64>| -> Vec<f64> {
            records.iter().flat_map(|r| get(r).clone()).collect()
        };
        let one = |get: fn(&Record) -> f64| -> f64 {
            median(&records.iter().map(|r| get(r)).collect::<Vec<_>>())
        };
        let refactor = all(|r| &r.refactor_secs);
        let range = refactor
            .iter()
            .fold((f64::MAX, 0.0f64), |(a, b), &t| (a.min(t), b.max(t)));
        Self {
            first: one(|r| r.first_secs),
            first_again: median(&all(|r| &r.first_again_secs)),
            refactor: median(&refactor),
            range,
            solve_1: median(&all(|r| &r.solve_1_secs)),
            solve_16: median(&all(|r| &r.solve_16_secs)),
            whole: median(&all(|r| &r.whole_secs)),
            again: median(&all(|r| &r.again_secs)),
            nnz_l: one(|r| r.nnz_l_millions),
            gflop: one(|r| r.gflop),
            stored: one(|r| r.stored_millions),
            peak: one(|r| r.peak_bytes),
            errors: (
                largest(records.iter().map(|r| r.backward_error)),
                largest(records.iter().map(|r| r.backward_error_16)),
            ),
        }
    }
}

/// Something about our own medians, with the machine's limits.
type More = fn(&Medians, &Limits) -> f64;

/// A quantity to compare, and what else is said about ours.
struct Phase {
    title: &'static str,
    unit: &'static str,
    get: fn(&Medians) -> f64,
    more: &'static [(&'static str, More)],
}

/// Every entry of L is read twice in a solve.
fn solve_gb(m: &Medians) -> f64 {
    16e-3 * m.nnz_l
}

const PHASES: [Phase; 7] = [
    Phase {
        title: "refactorize",
        unit: "s",
        get: |m| m.refactor,
        more: &[
            ("GFLOP/s", |m, _| m.gflop / m.refactor),
            ("of DGEMM", |m, l| m.gflop / m.refactor / l.gemm_gflops),
            ("least s", |m, _| m.range.0),
            ("most s", |m, _| m.range.1),
        ],
    },
    Phase {
        title: "first factorization",
        unit: "s",
        get: |m| m.first,
        more: &[
            ("over refactorize", |m, _| m.first / m.refactor),
            ("again s", |m, _| m.first_again),
            ("again over refactorize", |m, _| m.first_again / m.refactor),
        ],
    },
    Phase {
        title: "solve, 1 right-hand side",
        unit: "s",
        get: |m| m.solve_1,
        more: &[
            ("GB/s", |m, _| solve_gb(m) / m.solve_1),
            ("over floor", |m, l| m.solve_1 * l.read_gbs / solve_gb(m)),
        ],
    },
    Phase {
        title: "solve, 16 right-hand sides",
        unit: "s",
        get: |m| m.solve_16,
        more: &[("GFLOP/s", |m, _| 64e-3 * m.nnz_l / m.solve_16)],
    },
    Phase {
        title: "peak memory over the input",
        unit: "MB",
        get: |m| m.peak * 1e-6,
        more: &[("bytes per nnz(L)", |m, _| m.peak * 1e-6 / m.nnz_l)],
    },
    Phase {
        title: "analyze + factorize + solve, repeated in one process",
        unit: "s",
        get: |m| m.whole,
        more: &[],
    },
    Phase {
        title: "refactorize + solve, repeated in one process",
        unit: "s",
        get: |m| m.again,
        more: &[],
    },
];

/// Medians by matrix (as they came) and solver.
type Table<'a> = Vec<(&'a str, BTreeMap<&'a str, Medians>)>;

fn table<'a>(records: &[&'a Record]) -> Table<'a> {
    let mut groups: Vec<(&str, BTreeMap<&str, Vec<&Record>>)> = Vec::new();
    for &record in records {
        let at = groups.iter().position(|(m, _)| *m == record.matrix);
        let at = at.unwrap_or_else(|| {
            groups.push((&record.matrix, BTreeMap::new()));
            groups.len() - 1
        });
        let solver = groups[at].1.entry(&record.solver).or_default();
        solver.push(record);
    }
    let medians = |solvers: BTreeMap<&'a str, Vec<&Record>>| {
        let medians = solvers
            .iter()
            .map(|(&s, records)| (s, Medians::new(records)));
        medians.collect()
    };
    let rows = groups.into_iter().map(|(m, solvers)| (m, medians(solvers)));
    rows.collect()
}

/// Matrix, solver and threads.
type Run<'a> = (&'a str, &'a str, usize);

fn run(record: &Record) -> Run<'_> {
    (&record.matrix, &record.solver, record.threads)
}

impl Page {
    /// Writes `summary.md` and the plots into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        std::fs::write(folder.join("summary.md"), self.text())?;
        for (limits, table) in self.tables() {
            let threads = limits.threads;
            for (phase, file) in PHASES[..4]
                .iter()
                .zip(["refactor", "first", "solve-1", "solve-16"])
            {
                let ratios = table.iter().filter_map(|(matrix, solvers)| {
                    let (ours, peer, _) = self.against(solvers, phase.get)?;
                    Some(((*matrix).to_owned(), ours / peer))
                });
                let (title, to) = (phase.title, &self.baseline);
                let title = format!("{title}, {threads} thread(s): time over {to}'s");
                let path = folder.join(format!("{file}-{threads}.svg"));
                plot::bars(&path, &title, &ratios.collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Solvers that gave a wrong answer in some turn, and what was wrong.
    fn wrong(&self) -> BTreeMap<Run<'_>, String> {
        let wrong = |r| Some((run(r), r.wrong()?));
        self.records.iter().filter_map(wrong).collect()
    }

    /// Whether there is any time of a right answer.
    pub fn is_empty(&self) -> bool {
        self.tables().next().is_none()
    }

    fn tables(&self) -> impl Iterator<Item = (&Limits, Table<'_>)> {
        let wrong = self.wrong();
        self.limits.iter().filter_map(move |limits| {
            let records = self.records.iter().filter(|r| r.threads == limits.threads);
            let records = records.filter(|r| !wrong.contains_key(&run(r)));
            let table = table(&records.collect::<Vec<_>>());
            (!table.is_empty()).then_some((limits, table))
        })
    }

    /// Ours, the baseline's and the baseline's name, where there are both.
    fn against<'a>(
        &self,
        solvers: &BTreeMap<&'a str, Medians>,
        get: fn(&Medians) -> f64,
    ) -> Option<(f64, f64, &'a str)> {
        let ours = solvers.get(OURS).map(get).filter(|v| v.is_finite())?;
        let peers = solvers
            .iter()
            .filter(|(s, _)| **s != OURS && (self.baseline == BEST || self.baseline == **s));
        let values = peers
            .map(|(&s, m)| (get(m), s))
            .filter(|(v, _)| v.is_finite());
        let (best, name) = values.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((ours, best, name))
    }

    /// The page in Markdown.
    pub fn text(&self) -> String {
        let mut text = format!("# Comparison\n\n{}.\n", self.machine);
        for l in &self.limits {
            let (t, gemm, read) = (l.threads, l.gemm_gflops, l.read_gbs);
            let _ = writeln!(
                text,
                "{t} thread(s): DGEMM {gemm:.1} GFLOP/s, memory reads {read:.1} GB/s."
            );
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "\n**Warning:** {warning}.");
        }
        let _ = write!(
            text,
            "\n```\n{}\n```\n\nMedians over all turns. Ratios are ours over {}'s in that phase: below 1, Tamarack is \
             better. GFLOP/s, GB/s and bytes per nnz(L) count the exact L, without amalgamation's zeros; the floor of a \
             solve is 16 bytes for each of its entries at the memory's rate. First factorizations again are those in memory that \
             was touched and given back right before.\n",
            self.command.join(" "),
            self.baseline
        );
        let wrong = self.wrong();
        let wrong = wrong.iter().map(|((matrix, solver, threads), what)| {
            format!("{matrix}, {solver}, {threads} thread(s): {what}")
        });
        let skipped: Vec<String> = self.skipped.iter().cloned().chain(wrong).collect();
        if !skipped.is_empty() {
            let _ = writeln!(text, "\nSkipped:\n\n- {}", skipped.join("\n- "));
        }
        text.push_str(&orders(&self.records));
        for (limits, table) in self.tables() {
            let _ = write!(text, "\n## {} thread(s)\n", limits.threads);
            for phase in &PHASES {
                text.push_str(&self.phase(phase, &table, limits));
            }
            text.push_str(&everything(&table));
        }
        text
    }

    /// One quantity on all matrices, with geometric means; nothing where no matrix has it.
    fn phase(&self, phase: &Phase, table: &Table<'_>, limits: &Limits) -> String {
        let unit = phase.unit;
        let mut head = format!("| matrix | tamarack {unit} | baseline {unit} | baseline | ratio |");
        let mut rule = String::from("|---|--:|--:|---|--:|");
        for (name, _) in phase.more {
            let _ = write!(head, " {name} |");
            rule.push_str("--:|");
        }
        let (mut rows, mut ratios) = (String::new(), Vec::new());
        let mut more = vec![Vec::new(); phase.more.len()];
        for (matrix, solvers) in table {
            let Some((ours, peer, name)) = self.against(solvers, phase.get) else {
                continue;
            };
            ratios.push(ours / peer);
            let _ = write!(
                rows,
                "| {matrix} | {} | {} | {name} | {:.2} |",
                digits(ours),
                digits(peer),
                ours / peer
            );
            for ((_, get), all) in phase.more.iter().zip(&mut more) {
                let value = get(&solvers[OURS], limits);
                all.push(value);
                let _ = write!(rows, " {} |", digits(value));
            }
            rows.push('\n');
        }
        if ratios.is_empty() {
            return String::new();
        }
        let _ = write!(
            rows,
            "| geometric mean | | | | {:.2} |",
            geometric_mean(&ratios)
        );
        for all in more {
            let _ = write!(rows, " {} |", digits(geometric_mean(&all)));
        }
        format!("\n### {}\n\n{head}\n{rule}\n{rows}\n", phase.title)
    }
}

/// Which order the solvers had, for every matrix.
fn orders(records: &[Record]) -> String {
    let mut rows: Vec<((&str, &str), BTreeSet<&str>)> = Vec::new();
    for r in records {
        let key = (r.matrix.as_str(), r.order.as_str());
        match rows.iter_mut().find(|(k, _)| *k == key) {
            Some((_, solvers)) => drop(solvers.insert(&r.solver)),
            None => rows.push((key, BTreeSet::from([r.solver.as_str()]))),
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n## Orders\n\n| matrix | order | solvers |\n|---|---|---|\n");
    for ((matrix, order), solvers) in rows {
        let solvers: Vec<&str> = solvers.into_iter().collect();
        let _ = writeln!(text, "| {matrix} | {order} | {} |", solvers.join(", "));
    }
    text
}

/// Four significant digits.
fn digits(value: f64) -> String {
    let places = (3 - value.abs().log10().floor() as i64).clamp(0, 7);
    let places = usize::try_from(places).unwrap_or(0);
    format!("{value:.places$}")
}

/// One line for every solver and matrix.
fn everything(table: &Table<'_>) -> String {
    let mut text = String::from(
        "\n### everything\n\n| matrix | solver | first s | refactor s | least | most | solve 1 s | solve 16 s | whole s | again s | stored M | peak MB | backward error | of 16 |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (matrix, solvers) in table {
        for (solver, m) in solvers {
            let _ = write!(text, "| {matrix} | {solver} |");
            for value in [
                m.first,
                m.refactor,
                m.range.0,
                m.range.1,
                m.solve_1,
                m.solve_16,
                m.whole,
                m.again,
                m.stored,
                m.peak * 1e-6,
            ] {
                let shown = if value.is_nan() {
                    String::new()
                } else {
                    digits(value)
                };
                let _ = write!(text, " {shown} |");
            }
            let _ = writeln!(text, " {:.1e} | {:.1e} |", m.errors.0, m.errors.1);
        }
    }
    text
}

#[cfg(test)]
mod tests;
