//! The machine that a run was made on, and the limits that its rates are judged by.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use faer::{Accum, Mat, Par, linalg::matmul::matmul};
use memmap2::MmapMut;
use tamarack::PlanPrecision;

/// What a machine can do with some number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads.
    pub threads: usize,
    /// Dense product of matrices of order 2048, in 10⁹ operations per second: faer's or, if faster
    /// and there, MKL's.
    pub gemm_gflops: f64,
    /// Reading memory, as [`tamarack::Limits`] measures it, in 10⁹ bytes per second.
    pub read_gbs: f64,
}

/// Load average of the last minute, where the system tells.
pub fn load() -> Option<f64> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split(' ').next()?.parse().ok()
}

/// Processor, cores and the load given, as far as the system tells.
pub fn describe(load: Option<f64>) -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split(": ").nth(1))
        .unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = load.map_or("?".into(), |l| l.to_string());
    format!("{model}, {cores} cores, load {load} before the run")
}

/// What speaks against the times of a run: others at work, or fewer cores than threads.
pub fn warnings(load: Option<f64>, limits: &[Limits]) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(load) = load.filter(|&l| l > 1.0) {
        warnings.push(format!(
            "the load was {load} before the run: others may have been at work, and times too long"
        ));
    }
    let one = limits.iter().find(|l| l.threads == 1);
    for many in limits.iter().filter(|l| l.threads > 1) {
        let gain = one.map_or(f64::INFINITY, |one| many.gemm_gflops / one.gemm_gflops);
        if gain < 1.2 {
            let threads = many.threads;
            warnings.push(format!(
                "DGEMM with {threads} threads ran {gain:.2} times as fast as with one: \
                 the cores were not free, and times with {threads} threads say little"
            ));
        }
    }
    warnings
}

/// Touches so many bytes of memory, in huge pages where the system has them, and gives them back: it has them then. Of a virtual
/// machine the host may have taken what was free, and gives it again page by page as it is touched, at a tenth of the rate (run
/// `first-5`).
///
/// # Errors
/// There is not so much memory, or the system refuses it.
pub fn touch(bytes: usize) -> std::io::Result<()> {
    const PAGE_BYTES: usize = 4096;
    if available().is_some_and(|available| bytes > available) {
        return Err(std::io::Error::new(
            std::io::ErrorKind::OutOfMemory,
            format!("not so much memory is free that {bytes} bytes could be touched"),
        ));
    }
    let mut memory = MmapMut::map_anon(bytes)?;
    #[cfg(target_os = "linux")]
    memory.advise(memmap2::Advice::HugePage).unwrap_or(()); // refused, they are small
    memory.iter_mut().step_by(PAGE_BYTES).for_each(|b| *b = 1);
    Ok(())
}

/// Bytes of memory that programs may still take, where the system tells.
fn available() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Measures both limits, in a few seconds; `drivers` may hold `dgemm`, the driver of MKL's.
pub fn limits(threads: usize, drivers: Option<&Path>) -> Limits {
    let mkl = drivers.and_then(|d| {
        let mut command = Command::new(d.join("dgemm"));
        let output = command.arg(threads.to_string()).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    });
    Limits {
        threads,
        gemm_gflops: gemm_gflops(threads).max(mkl.unwrap_or(0.0)),
        read_gbs: read_gbs(threads),
    }
}

fn gemm_gflops(threads: usize) -> f64 {
    const ORDER: usize = 2048;
    let a = Mat::<f64>::from_fn(ORDER, ORDER, |i, j| 1.0 + ((i + j) % 7) as f64);
    let mut c = Mat::<f64>::zeros(ORDER, ORDER);
    let par = match threads {
        1 => Par::Seq,
        _ => Par::rayon(threads),
    };
    let mut rates = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        matmul(c.as_mut(), Accum::Add, a.as_ref(), a.transpose(), -1.0, par);
        rates.push(2e-9 * (ORDER as f64).powi(3) / start.elapsed().as_secs_f64());
    }
    fastest(&rates)
}

/// The best: a limit is what the machine can do when nothing disturbs it.
fn fastest(rates: &[f64]) -> f64 {
    rates.iter().fold(0.0, |m, &r| m.max(r))
}

/// The best of a few tries, for others may be at work during one.
fn read_gbs(threads: usize) -> f64 {
    let measured = || tamarack::Limits::measure(threads, PlanPrecision::F64).gb_per_sec;
    fastest(&[measured(), measured(), measured()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_there_is_not_is_not_touched() {
        for bytes in [0, 1, 1 << 20] {
            touch(bytes).unwrap();
        }
        touch(1 << 60).unwrap_err();
    }

    #[test]
    fn a_machine_at_work_is_warned_of() {
        let limits = |threads, gemm_gflops| Limits {
            threads,
            gemm_gflops,
            read_gbs: 1.0,
        };
        let (one, two, busy) = (limits(1, 50.0), limits(2, 95.0), limits(2, 55.0));
        assert!(warnings(Some(0.9), &[one, two]).is_empty());
        assert!(warnings(None, &[two]).is_empty());
        assert!(warnings(Some(1.5), &[one, two])[0].contains("load was 1.5"));
        assert!(warnings(None, &[one, busy])[0].contains("2 threads ran 1.10 times"));
    }
}
