//! cuDSS's phases, from the log of its bench program, beside ours.

use serde::Serialize;
use serde_json::Value;

/// What cuDSS took for one problem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peer {
    /// Reordering and symbolic factorization.
    pub analysis_secs: f64,
    /// First factorization.
    pub first_secs: f64,
    /// Steady refactorization.
    pub refactor_secs: f64,
    /// First solve.
    pub first_solve_secs: f64,
    /// Steady solve with one right-hand side.
    pub solve_secs: f64,
    /// Its own estimate of the peak of device memory.
    pub device_bytes: f64,
}

impl Peer {
    /// Head of the table whose lines [`line`](Self::line) writes: ours, with the ratio to the peer in
    /// parentheses; refactorizations also over the [`Floor`](crate::Floor) of the same tree.
    pub const HEAD: &'static str = "\
| problem | refactor, ms | of floor | TFLOP/s | solve 1, ms | 16 over 1 | analysis + first + solve, s | device, GB | mixed, ms | backward error |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

    /// Finds the line of a problem: its name, then words that are followed by numbers.
    #[must_use]
    pub fn find(log: &str, name: &str) -> Option<Self> {
        let line = log
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |word: &str, skip: usize| -> Option<f64> {
            let at = words.iter().position(|&w| w == word)?;
            words.get(at + 1 + skip)?.parse().ok()
        };
        Some(Self {
            analysis_secs: after("reorder", 0)? + after("symb", 0)?,
            first_secs: after("fact", 0)?,
            refactor_secs: after("refact", 1)?,
            first_solve_secs: after("solve", 0)?,
            solve_secs: after("solve", 1)?,
            device_bytes: after("peak", 0)? * 1e9,
        })
    }

    /// A line of the table for what was measured of ours.
    #[must_use]
    pub fn line(name: &str, row: &Value, peer: Option<&Self>) -> String {
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        let beside = |own: f64, unit: f64, digits: usize, of: fn(&Self) -> f64| {
            let ratio = peer.map_or(String::new(), |peer| format!(" ({:.2})", own / of(peer)));
            format!("{:.digits$}{ratio}", own * unit)
        };
        let whole = number("analysis_secs") + number("first_secs") + number("first_solve_secs");
        format!(
            "| {name} | {} | {:.1} | {:.1} | {} | {:.1} | {} | {} | {} | {:.1e} |",
            beside(number("refactor_secs"), 1e3, 2, |p| p.refactor_secs),
            number("refactor_secs") / number("floor_secs"),
            number("flops") / number("refactor_secs") / 1e12,
            beside(number("solve_secs"), 1e3, 2, |p| p.solve_secs),
            number("solve_16_secs") / number("solve_secs"),
            beside(whole, 1.0, 2, |p| p.analysis_secs
                + p.first_secs
                + p.first_solve_secs),
            beside(number("device_bytes"), 1e-9, 3, |p| p.device_bytes),
            beside(number("mixed_secs"), 1e3, 2, |p| p.refactor_secs
                + p.solve_secs),
            number("componentwise_backward_error"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_peers_log() {
        let log = "other f64 | reorder 9 symb 9\n\
            el3d_30    f64      g1 n=    86490 | reorder 0.155 symb 0.039 fact 0.0471 refact 0.0362 0.0361 \
            solve 0.0018 0.0017 | resid 4.7e-16 err 4.1e-15 | dev used 1.61 GB est dev 0.93 peak 0.94 GB\n";
        let peer = Peer::find(log, "el3d_30").unwrap();
        assert_eq!((peer.refactor_secs, peer.solve_secs), (0.0361, 0.0017));
        assert!((peer.analysis_secs - 0.194).abs() < 1e-12 && peer.device_bytes == 0.94e9);
        assert_eq!(Peer::find(log, "el3d_3"), None);
        assert_eq!(Peer::find(log, "other"), None);
    }
}
