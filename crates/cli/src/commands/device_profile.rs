//! `--profile` on a GPU: stages of the tree, and kernels.

use serde::Serialize;
use tamarack::{DeviceProfile, DeviceTotal, StageTime};

use crate::commands::profile::{percent, rate};
use crate::out::{grouped, secs};

/// What `--json` prints of a GPU's profile. Seconds are those of kernels and copies, added up: where some ran beside each
/// other that is more than the time that passed.
#[derive(Debug, Serialize)]
pub struct DeviceProfileReport {
    factorizations: u64,
    stages: Vec<StageReport>,
    kernels: Vec<KernelReport>,
    /// Pieces of work that were too many to be kept.
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct StageReport {
    fronts: u64,
    largest_order: usize,
    /// Of one factorization.
    flops: f64,
    launches: u64,
    factorize: f64,
    forward: f64,
    backward: f64,
    /// 10¹² operations per second of the factorizations.
    tflops: f64,
}

#[derive(Debug, Serialize)]
struct KernelReport {
    name: String,
    launches: u64,
    seconds: f64,
    /// Bytes copied or filled; 0 for kernels.
    bytes: u64,
    gb_per_second: f64,
}

impl DeviceProfileReport {
    pub fn new(profile: &DeviceProfile) -> Self {
        let times = profile.factorizations as f64;
        Self {
            factorizations: profile.factorizations,
            stages: profile
                .stages
                .iter()
                .map(|stage| StageReport::new(stage, times))
                .collect(),
            kernels: profile.kernels.iter().map(KernelReport::new).collect(),
            dropped: profile.dropped,
        }
    }

    /// Tables: stages, kernels.
    pub fn text(&self) -> String {
        let all = |of: fn(&StageReport) -> f64| self.stages.iter().map(of).sum::<f64>();
        let (factorize, forward, backward) = (
            all(|s| s.factorize),
            all(|s| s.forward),
            all(|s| s.backward),
        );
        let mut text = format!(
            "\n{:<8}{:>10}{:>10}{:>10}{:>11}{:>9}{:>10}{:>11}{:>11}\n",
            "stage",
            "fronts",
            "largest",
            "launches",
            "factorize",
            "of all",
            "TFLOP/s",
            "forward",
            "backward"
        );
        for (k, s) in self.stages.iter().enumerate() {
            text += &format!(
                "{k:<8}{:>10}{:>10}{:>10}{:>11}{:>9}{:>10.2}{:>11}{:>11}\n",
                grouped(s.fronts),
                s.largest_order,
                s.launches,
                secs(s.factorize),
                percent(s.factorize, factorize),
                s.tflops,
                secs(s.forward),
                secs(s.backward)
            );
        }
        text += &format!(
            "{:<38}{:>11}{:>19}{:>11}{:>11}\n",
            "all",
            secs(factorize),
            "",
            secs(forward),
            secs(backward)
        );
        text += &format!(
            "\n{:<40}{:>10}{:>11}{:>9}{:>9}\n",
            "on the device", "launches", "time", "of all", "GB/s"
        );
        let whole: f64 = self.kernels.iter().map(|k| k.seconds).sum();
        for k in &self.kernels {
            let speed = match k.bytes {
                0 => String::new(),
                _ => format!("{:.1}", k.gb_per_second),
            };
            text += &format!(
                "{:<40}{:>10}{:>11}{:>9}{speed:>9}\n",
                k.name,
                grouped(k.launches),
                secs(k.seconds),
                percent(k.seconds, whole)
            );
        }
        text
    }
}

impl StageReport {
    fn new(stage: &StageTime, factorizations: f64) -> Self {
        let flops = stage.flops as f64;
        Self {
            fronts: stage.fronts,
            largest_order: stage.largest_order,
            flops,
            launches: stage.launches,
            factorize: stage.factorize_secs,
            forward: stage.forward_secs,
            backward: stage.backward_secs,
            tflops: rate(factorizations * flops, stage.factorize_secs) / 1e3,
        }
    }
}

impl KernelReport {
    fn new(total: &DeviceTotal) -> Self {
        Self {
            name: total.name.clone(),
            launches: total.count,
            seconds: total.secs,
            bytes: total.bytes,
            gb_per_second: rate(total.bytes as f64, total.secs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_long_as_titles_and_rates_are_of_all_factorizations() {
        let stage = StageTime {
            fronts: 12_345,
            largest_order: 96,
            flops: 5_000_000_000,
            launches: 6,
            factorize_secs: 2e-3,
            forward_secs: 1e-4,
            backward_secs: 2e-4,
        };
        let kernel = |name: &str, bytes| DeviceTotal {
            name: name.to_owned(),
            count: 7,
            secs: 1e-3,
            bytes,
        };
        let report = DeviceProfileReport::new(&DeviceProfile {
            origin_secs: 0.0,
            factorizations: 2,
            stages: vec![stage, StageTime::default()],
            kernels: vec![
                kernel("dense_front_64_f64", 0),
                kernel("cuMemcpyHtoDAsync", 8_000_000),
            ],
            pieces: Vec::new(),
            dropped: 0,
        });
        assert!((report.stages[0].tflops - 5.0).abs() < 1e-9);
        assert_eq!(report.stages[1].tflops, 0.0);
        assert!((report.kernels[1].gb_per_second - 8.0).abs() < 1e-9);
        let text = report.text();
        let tables: Vec<&str> = text.trim_start().split("\n\n").collect();
        assert_eq!(tables.len(), 2, "{text}");
        for table in tables {
            let lengths: Vec<usize> = table.lines().map(str::len).collect();
            assert!(
                lengths.len() >= 3 && lengths.iter().all(|&l| l == lengths[0]),
                "{text}"
            );
        }
    }
}
