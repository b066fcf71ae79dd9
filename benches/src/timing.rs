//! How often a phase is run, and how much memory the process took: the same for all drivers.

use std::time::Instant;

/// Seconds that repetitions of one phase may take together.
const BUDGET_SECS: f64 = 2.0;

/// Runs `phase` at least once and up to `most` times within a budget; seconds of each.
pub fn repeat(most: usize, mut phase: impl FnMut()) -> Vec<f64> {
    let mut secs = Vec::new();
    while secs.len() < most && (secs.is_empty() || secs.iter().sum::<f64>() < BUDGET_SECS) {
        let start = Instant::now();
        phase();
        secs.push(start.elapsed().as_secs_f64());
    }
    secs
}

/// A field of `/proc/self/status` in bytes; 0 where there is no such file.
fn status_bytes(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(field));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

/// Memory that the process holds now, in bytes.
pub fn resident_bytes() -> f64 {
    status_bytes("VmRSS")
}

/// The most memory that the process has held, in bytes.
pub fn peak_bytes() -> f64 {
    status_bytes("VmHWM")
}
