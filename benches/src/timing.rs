//! How often a phase is run, and how much memory the process took: the same for all drivers.

use std::time::Instant;

/// Repetitions of a phase at most.
pub const MOST: usize = 7;

/// Right-hand sides of the solve with many.
pub const MANY: usize = 16;

/// Seconds that repetitions of one phase may take together.
const BUDGET_SECS: f64 = 2.0;

/// Runs `phase` at least once and up to `most` times within a budget; seconds of each.
pub fn repeat(most: usize, phase: impl FnMut()) -> Vec<f64> {
    repeat_after(most, || (), phase)
}

/// The same with something before each turn that does not count.
pub fn repeat_after(most: usize, mut before: impl FnMut(), mut phase: impl FnMut()) -> Vec<f64> {
    let mut secs = Vec::new();
    while secs.len() < most && (secs.is_empty() || secs.iter().sum::<f64>() < BUDGET_SECS) {
        before();
        let start = Instant::now();
        phase();
        secs.push(start.elapsed().as_secs_f64());
    }
    secs
}

/// Seconds of all phases below which a system counts as small: it is then run as a whole over and
/// over, because its phases are too short to time one by one.
const SMALL_SECS: f64 = 0.3;

/// Runs `phase` up to 200 times in a second where the phases of the system took `phases_secs`
/// together and that is little; else not at all.
pub fn cycle(phases_secs: f64, mut phase: impl FnMut()) -> Vec<f64> {
    let mut secs = Vec::new();
    if phases_secs > SMALL_SECS {
        return secs;
    }
    phase(); // warm
    while secs.len() < 200 && secs.iter().sum::<f64>() < 1.0 {
        secs.extend(repeat(1, &mut phase));
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
