//! Tables of a comparison: medians over all turns, and ratios to the best peer.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::record::{Record, geometric_mean, median};

/// What Tamarack is called in records.
const OURS: &str = "tamarack";

/// A median to compare.
type Phase = fn(&Medians) -> f64;

/// One solver on one matrix with one number of threads: medians over the turns.
struct Medians {
    first: f64,
    refactor: f64,
    /// Largest over least refactorization.
    spread: f64,
    solve_1: f64,
    solve_16: f64,
    stored: f64,
    peak: f64,
    error: f64,
}

impl Medians {
    fn new(records: &[&Record]) -> Self {
        let all = |get: fn(&Record) -> &Vec<f64>| -> Vec<f64> {
            records.iter().flat_map(|r| get(r).clone()).collect()
        };
        let one =
            |get: fn(&Record) -> f64| -> Vec<f64> { records.iter().map(|r| get(r)).collect() };
        let refactor = all(|r| &r.refactor_secs);
        let (least, most) = refactor
            .iter()
            .fold((f64::MAX, 0.0f64), |(a, b), &t| (a.min(t), b.max(t)));
        Self {
            first: median(&one(|r| r.first_secs)),
            refactor: median(&refactor),
            spread: most / least,
            solve_1: median(&all(|r| &r.solve_1_secs)),
            solve_16: median(&all(|r| &r.solve_16_secs)),
            stored: median(&one(|r| r.stored_millions)),
            peak: median(&one(|r| r.peak_bytes)),
            error: median(&one(|r| r.backward_error)),
        }
    }
}

/// The page: for every number of threads, every phase against the best peer in it.
pub fn summarize(records: &[Record], machine: &str, command: &[String]) -> String {
    let mut page = format!(
        "# Comparison\n\n{machine}.\n\n```\n{}\n```\n\nMedians over all turns; ratios are our time over that of the \
         best peer in that phase (below 1: faster). Spread: slowest over fastest refactorization of ours.\n",
        command.join(" ")
    );
    let mut groups: BTreeMap<usize, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(record.threads).or_default().push(record);
    }
    for (threads, records) in groups {
        let _ = write!(page, "\n## {threads} thread(s)\n");
        page.push_str(&tables(&records));
    }
    page
}

/// Tables of one number of threads.
fn tables(records: &[&Record]) -> String {
    let mut matrices: Vec<&str> = Vec::new();
    let mut by_solver: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
    for record in records {
        if !matrices.contains(&record.matrix.as_str()) {
            matrices.push(&record.matrix);
        }
        let key = (record.matrix.as_str(), record.solver.as_str());
        by_solver.entry(key).or_default().push(record);
    }
    let medians: BTreeMap<_, _> = by_solver
        .iter()
        .map(|(&key, records)| (key, Medians::new(records)))
        .collect();
    let phases: [(&str, Phase); 4] = [
        ("refactorize", |m| m.refactor),
        ("first factorization", |m| m.first),
        ("solve, 1 right-hand side", |m| m.solve_1),
        ("solve, 16 right-hand sides", |m| m.solve_16),
    ];
    let mut text = String::new();
    for (name, get) in phases {
        let _ = write!(
            text,
            "\n### {name}\n\n| matrix | tamarack s | best peer s | best peer | ratio |\n|---|--:|--:|---|--:|\n"
        );
        let mut ratios = Vec::new();
        for &matrix in &matrices {
            let Some(ours) = medians.get(&(matrix, OURS)).map(get) else {
                continue;
            };
            let peers = medians
                .iter()
                .filter(|((m, s), _)| *m == matrix && *s != OURS);
            let best = peers
                .map(|((_, s), m)| (get(m), *s))
                .filter(|(secs, _)| secs.is_finite())
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((secs, peer)) = best else { continue };
            ratios.push(ours / secs);
            let _ = writeln!(
                text,
                "| {matrix} | {ours:.4} | {secs:.4} | {peer} | {:.2} |",
                ours / secs
            );
        }
        let _ = writeln!(
            text,
            "| geometric mean | | | | {:.2} |",
            geometric_mean(&ratios)
        );
    }
    text.push_str(&all_solvers(&medians));
    text
}

/// One line for every solver and matrix.
fn all_solvers(medians: &BTreeMap<(&str, &str), Medians>) -> String {
    let mut text = String::from(
        "\n### Everything\n\n| matrix | solver | first s | refactor s | spread | solve 1 s | GB/s | solve 16 s | stored M | peak MB | backward error |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for ((matrix, solver), m) in medians {
        // Every entry is read twice in a solve.
        let rate = 16e-3 * m.stored / m.solve_1;
        let _ = writeln!(
            text,
            "| {matrix} | {solver} | {:.4} | {:.4} | {:.2} | {:.4} | {rate:.1} | {:.4} | {:.2} | {:.0} | {:.1e} |",
            m.first,
            m.refactor,
            m.spread,
            m.solve_1,
            m.solve_16,
            m.stored,
            m.peak * 1e-6,
            m.error
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_peer_of_each_phase_is_the_base() {
        let record = |solver: &str, refactor: f64, solve: f64| Record {
            solver: solver.into(),
            matrix: "m".into(),
            threads: 1,
            n: 1,
            order_secs: 0.0,
            symbolic_secs: 0.0,
            first_secs: 1.0,
            refactor_secs: vec![refactor],
            solve_1_secs: vec![solve],
            solve_16_secs: vec![solve],
            stored_millions: 1.0,
            peak_bytes: 1.0,
            backward_error: 0.0,
        };
        let records = [
            record(OURS, 1.0, 1.0),
            record("a", 2.0, 4.0),
            record("b", 4.0, 2.0),
        ];
        let page = summarize(&records, "a machine", &["compare".into()]);
        assert!(page.contains("| m | 1.0000 | 2.0000 | a | 0.50 |"));
        assert!(page.contains("| m | 1.0000 | 2.0000 | b | 0.50 |"));
    }
}
