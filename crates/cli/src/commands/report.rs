//! What `--json` prints, and the rows that people read; shared by the commands.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use tamarack::{Analysis, FactorPlan, Place};

use crate::input::Loaded;
use crate::out::{counted, flops, grouped, secs};

/// The matrix.
#[derive(Debug, Serialize)]
pub struct MatrixReport {
    /// File or `model:` name.
    pub source: String,
    /// Order.
    pub n: usize,
    /// Entries of the full symmetric matrix.
    pub nnz: u64,
    /// Entries of its lower triangle, diagonal included.
    pub nnz_lower: u64,
    /// Seconds to read or make it.
    pub seconds: f64,
}

impl MatrixReport {
    pub fn new(loaded: &Loaded) -> Self {
        let pattern = loaded.matrix.pattern();
        Self {
            source: loaded.source.clone(),
            n: pattern.n(),
            nnz: pattern.nnz_full(),
            nnz_lower: pattern.nnz_lower(),
            seconds: loaded.secs,
        }
    }

    pub fn row(&self) -> String {
        let (n, nnz) = (grouped(self.n as u64), grouped(self.nnz));
        row("matrix", &format!("{}  n = {n}, nnz = {nnz}", self.source))
    }
}

/// A matrix that was written to a file.
#[derive(Debug, Serialize)]
pub struct WrittenReport {
    matrix: MatrixReport,
    /// The file.
    output: String,
}

impl WrittenReport {
    pub fn new(loaded: &Loaded, output: &Path) -> Self {
        Self {
            matrix: MatrixReport::new(loaded),
            output: output.display().to_string(),
        }
    }

    pub fn rows(&self) -> String {
        self.matrix.row() + &row("output", &self.output)
    }
}

/// The analysis.
#[derive(Debug, Serialize)]
pub struct AnalysisReport {
    /// Method, `given` for a permutation from a file.
    pub ordering: &'static str,
    /// Entries of L, diagonal included.
    pub nnz_l: u64,
    /// Σ over columns of (entries of the column)².
    pub flops: f64,
    /// Entries of L that are kept: also zeros, by amalgamation.
    pub nnz_l_kept: u64,
    /// Operations that are done, over the entries kept.
    pub flops_done: f64,
    pub supernodes: usize,
    pub seconds: AnalysisSeconds,
}

#[derive(Debug, Serialize)]
pub struct AnalysisSeconds {
    pub order: f64,
    pub symbolic: f64,
    pub plan: f64,
}

impl AnalysisReport {
    pub fn new(analysis: &Analysis) -> Self {
        let (symbolic, seconds) = (analysis.symbolic(), analysis.seconds());
        Self {
            ordering: analysis.ordering(),
            nnz_l: symbolic.stats().nnz_l,
            flops: symbolic.stats().flops as f64,
            nnz_l_kept: symbolic.stats().nnz_l_stored,
            flops_done: symbolic.stats().flops_stored as f64,
            supernodes: symbolic.supernodes(),
            seconds: AnalysisSeconds {
                order: seconds.order_secs,
                symbolic: seconds.symbolic_secs,
                plan: seconds.plan_secs,
            },
        }
    }

    pub fn rows(&self) -> String {
        let s = &self.seconds;
        let times = format!(
            "{} ({} order, {} symbolic, {} plan)",
            secs(s.order + s.symbolic + s.plan),
            secs(s.order),
            secs(s.symbolic),
            secs(s.plan)
        );
        let factor = format!(
            "nnz(L) = {}, {}, {}",
            grouped(self.nnz_l),
            flops(self.flops),
            counted(self.supernodes, "supernode")
        );
        row("ordering", self.ordering) + &row("factor", &factor) + &row("analysis", &times)
    }
}

/// What the plan says beforehand.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    pub threads: usize,
    pub precision: tamarack::PlanPrecision,
    pub predicted_seconds: f64,
    pub predicted_bytes: u64,
    pub factor_bytes: u64,
    pub update_bytes: u64,
    pub workspace_bytes: u64,
    pub analysis_bytes: u64,
    pub largest_front: usize,
    /// Subtrees for single threads, and fronts above them that threads share.
    pub subtree_tasks: usize,
    pub shared_fronts: usize,
}

impl PlanReport {
    pub fn new(plan: &FactorPlan) -> Self {
        let memory = plan.memory();
        Self {
            threads: plan.threads(),
            precision: plan.precision(),
            predicted_seconds: plan.predicted_secs(),
            predicted_bytes: memory.peak_bytes(),
            factor_bytes: memory.factor_bytes,
            update_bytes: memory.update_bytes,
            workspace_bytes: memory.workspace_bytes,
            analysis_bytes: memory.analysis_bytes,
            largest_front: plan.largest_front(),
            subtree_tasks: plan.groves().len(),
            shared_fronts: plan.top().len(),
        }
    }
}

/// Where factors are made and used, and what the plan says of that place.
#[derive(Debug, Serialize)]
pub struct PlaceReport {
    /// `cpu`, or `gpu:` with its number.
    pub device: String,
    /// Name of the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// Why it is not a GPU, where `auto` was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Memory at the peak there.
    pub predicted_bytes: u64,
    pub predicted_seconds: f64,
}

impl PlaceReport {
    pub fn new(analysis: &Analysis) -> Self {
        match analysis.place() {
            Place::Gpu {
                index, name, plan, ..
            } => Self {
                device: format!("gpu:{index}"),
                gpu: Some(name.clone()),
                reason: None,
                predicted_bytes: plan.device_bytes(),
                predicted_seconds: plan.predicted_secs(),
            },
            place => Self {
                device: "cpu".to_owned(),
                gpu: None,
                reason: match place {
                    Place::Cpu { reason } => reason.clone(),
                    _ => None,
                },
                predicted_bytes: analysis.plan().memory().peak_bytes(),
                predicted_seconds: analysis.plan().predicted_secs(),
            },
        }
    }

    /// Who works there, of so many threads on the CPU.
    pub fn workers(&self, threads: usize) -> String {
        match &self.gpu {
            Some(_) => self.device.clone(),
            None => counted(threads, "thread"),
        }
    }

    /// The line for people; none where nothing else than the CPU was thought of.
    pub fn row(&self) -> String {
        match (&self.gpu, &self.reason) {
            (Some(name), _) => row("device", &format!("{} ({name})", self.device)),
            (None, Some(reason)) => row("device", &format!("cpu: {reason}")),
            (None, None) => String::new(),
        }
    }
}

/// A line of the result: name and value.
pub fn row(name: &str, value: &str) -> String {
    let mut line = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(line, "{name:<14}{value}");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_not_work_on_a_gpu() {
        let mut place = PlaceReport {
            device: "cpu".to_owned(),
            gpu: None,
            reason: None,
            predicted_bytes: 1,
            predicted_seconds: 1.0,
        };
        assert_eq!(place.workers(2), "2 threads");
        (place.device, place.gpu) = ("gpu:1".to_owned(), Some("card".to_owned()));
        assert_eq!(place.workers(2), "gpu:1");
    }
}
