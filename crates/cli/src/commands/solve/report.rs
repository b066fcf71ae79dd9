//! What `tamarack solve` prints: the object of `--json`, and the rows that people read.

use serde::Serialize;
use tamarack::{Analysis, Bytes, Outcome};

use crate::commands::device_profile::DeviceProfileReport;
use crate::commands::profile::ProfileReport;
use crate::commands::report::{AnalysisReport, MatrixReport, PlaceReport, row};
use crate::failure::Failure;
use crate::out::secs;

#[derive(Debug, Serialize)]
pub struct Report {
    pub matrix: MatrixReport,
    pub analysis: AnalysisReport,
    pub factorize: FactorizeReport,
    pub solve: SolveTimes,
    pub accuracy: Accuracy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_profile: Option<DeviceProfileReport>,
    /// Why the answer does not do, where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

#[derive(Debug, Serialize)]
pub struct FactorizeReport {
    pub seconds: f64,
    pub gflops: f64,
    pub threads: usize,
    #[serde(flatten)]
    pub place: PlaceReport,
    pub precision: &'static str,
    /// Growth of resident memory on the host, from before the analysis to the peak of the factorization.
    pub peak_bytes: Option<u64>,
    /// σ of A + σI, where it was factorized instead of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct SolveTimes {
    /// Substitution, refinement and everything it needed.
    pub seconds: f64,
    pub rhs: usize,
    pub refinement_steps: usize,
    /// `refined`, `conjugate_gradients` or `double`: what mixed precision came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct Accuracy {
    pub normwise_backward_error: f64,
    pub componentwise_backward_error: f64,
    /// ‖x − 1‖∞ where the solution is known to be all ones.
    pub forward_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_error_bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_pivot: Option<PivotReport>,
    pub tolerance: f64,
    pub solved: bool,
}

/// What elimination left of a diagonal entry, at the least.
#[derive(Debug, Serialize)]
pub struct PivotReport {
    /// User order, from 0.
    pub column: u32,
    pub pivot: f64,
    /// The pivot over the diagonal entry.
    pub share: f64,
    /// Whether that may be rounding alone, in a factor in double precision.
    pub vanished: bool,
}

impl PivotReport {
    pub fn warning(&self) -> String {
        format!(
            "of the diagonal entry of column {} (counted from 0) {:.1e} is left: the matrix is singular to working precision, or \
             nearly so, and answers may be meaningless; a missing constraint (rigid-body mode) is the usual cause",
            self.column, self.share
        )
    }
}

/// What mixed precision came to, as [`SolveTimes`] has it.
pub fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::ConjugateGradients { .. } => "conjugate_gradients",
        Outcome::Double => "double",
        _ => "refined",
    }
}

impl Report {
    pub fn text(&self) -> String {
        let rows = [
            self.matrix.row(),
            self.analysis.rows(),
            self.factorize.rows(),
            self.solve.row(),
            self.accuracy.rows(self.factorize.shift.is_some()),
            self.profile
                .as_ref()
                .map_or(String::new(), ProfileReport::text),
            self.device_profile
                .as_ref()
                .map_or(String::new(), DeviceProfileReport::text),
        ];
        rows.concat()
    }
}

impl FactorizeReport {
    pub fn new(
        analysis: &Analysis,
        seconds: f64,
        peak_bytes: Option<u64>,
        shift: Option<f64>,
    ) -> Self {
        Self {
            seconds,
            gflops: analysis.symbolic().stats().flops as f64 / seconds.max(1e-9) / 1e9,
            threads: analysis.plan().threads(),
            place: PlaceReport::new(analysis),
            precision: analysis.options().precision.name(),
            peak_bytes,
            shift,
        }
    }

    fn rows(&self) -> String {
        let place = &self.place;
        let workers = place.workers(self.threads);
        let times = format!(
            "{} ({:.1} GFLOP/s, {}, {workers}; predicted {})",
            secs(self.seconds),
            self.gflops,
            self.precision,
            secs(place.predicted_seconds)
        );
        let mut text = place.row() + &row("factorize", &times) + &row("memory", &self.memory());
        if let Some(sigma) = self.shift {
            let what = format!("{sigma:.3e}: A + shift I was factorized, A is not definite");
            text += &row("shift", &what);
        }
        text
    }

    fn memory(&self) -> String {
        let predicted = Bytes(self.place.predicted_bytes);
        match (&self.place.gpu, self.peak_bytes) {
            (None, Some(peak)) => format!("{} (predicted {predicted})", Bytes(peak)),
            (None, None) => format!("{predicted} predicted"),
            (Some(_), Some(peak)) => {
                format!(
                    "{predicted} predicted on the device, {} on the host",
                    Bytes(peak)
                )
            }
            (Some(_), None) => format!("{predicted} predicted on the device"),
        }
    }
}

impl SolveTimes {
    fn row(&self) -> String {
        let sides = if self.rhs == 1 { "side" } else { "sides" };
        let steps = match self.refinement_steps {
            1 => "1 refinement step".to_owned(),
            count => format!("{count} refinement steps"),
        };
        let how = self
            .outcome
            .map_or(String::new(), |o| format!(", {}", o.replace('_', " ")));
        let solve = format!(
            "{} ({} right-hand {sides}, {steps}{how})",
            secs(self.seconds),
            self.rhs
        );
        row("solve", &solve)
    }
}

impl Accuracy {
    /// `shifted`: A + shift I was factorized.
    fn rows(&self, shifted: bool) -> String {
        let errors = format!(
            "{:.1e} normwise, {:.1e} componentwise",
            self.normwise_backward_error, self.componentwise_backward_error
        );
        let mut text = row("backward error", &format!(" {errors}"));
        if let Some(error) = self.forward_error {
            text += &row(
                "forward error",
                &format!(" {error:.1e} (the solution is all ones)"),
            );
        }
        if let (Some(condition), Some(bound)) = (self.condition, self.forward_error_bound) {
            let of = if shifted {
                " (A times the inverse of A + shift I)"
            } else {
                ""
            };
            let bound = match bound.is_finite() {
                true => format!("forward error at most {bound:.1e}"),
                false => "no bound of the forward error".to_owned(),
            };
            text += &row("condition", &format!("{condition:.1e}{of}; {bound}"));
        }
        let verdict = if self.solved {
            "solved to tolerance"
        } else {
            "NOT solved to tolerance"
        };
        text + &row("verdict", &format!("{verdict} ({:.1e})", self.tolerance))
    }
}
