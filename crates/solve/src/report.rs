//! How accurate answers are, and whether another step may pay.

use crate::backward::Errors;
use crate::refine::RefineOptions;
use crate::residual::{ResidualPrecision, largest, norm};

/// Accuracy of one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnReport {
    /// Steps that were kept.
    pub steps: usize,
    /// `‖b − A x‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)`.
    pub normwise_backward_error: f64,
    /// `max |b − A x|_i / (|A||x| + |b|)_i`; a row of zeros has no error, and to each denominator the smallest normal number is added
    /// for each entry of a row, as rounding is not relative below it.
    pub componentwise_backward_error: f64,
}

impl ColumnReport {
    pub(crate) fn new(steps: usize, errors: Errors) -> Self {
        Self {
            steps,
            normwise_backward_error: errors.normwise,
            componentwise_backward_error: errors.componentwise,
        }
    }

    /// What comes of an answer with these errors after so many steps, given the answer, that before the last step, and by how much the
    /// step before changed it, which becomes that of this step.
    pub(crate) fn verdict(
        &mut self,
        step: usize,
        now: Errors,
        (x, old, change): (&[f64], &[f64], &mut f64),
        goal: f64,
        options: &RefineOptions,
    ) -> Verdict {
        match options.residual {
            ResidualPrecision::Double => self.judge(step, now, goal, options),
            ResidualPrecision::Quad => {
                let now_changed = match step {
                    0 => f64::INFINITY, // there is no old one
                    _ => relative_change(x, old),
                };
                let before = std::mem::replace(change, now_changed);
                self.judge_by_change(step, now, (now_changed, before), options)
            }
        }
    }

    /// What comes of an answer with these errors after so many steps, the best one so far being that of this report; it is now, if
    /// it is better.
    pub(crate) fn judge(
        &mut self,
        step: usize,
        now: Errors,
        goal: f64,
        options: &RefineOptions,
    ) -> Verdict {
        let before = Errors {
            normwise: self.normwise_backward_error,
            componentwise: self.componentwise_backward_error,
        };
        if step > 0 && !now.improve(&before) {
            return Verdict::Worse;
        }
        *self = Self::new(step, now);
        let is_slow = step > 0 && !now.halve(&before);
        if now.componentwise > goal && !is_slow && step < options.max_steps {
            Verdict::GoOn
        } else {
            Verdict::Done
        }
    }

    /// The same where residuals are in twice the precision, by how much the last step changed the answer and how much the one before
    /// did, relatively.
    fn judge_by_change(
        &mut self,
        step: usize,
        now: Errors,
        (change, before): (f64, f64),
        options: &RefineOptions,
    ) -> Verdict {
        /// Componentwise errors up to this one are of rounding: which of two is larger says nothing.
        const ROUNDING: f64 = 8.0 * f64::EPSILON;
        let is_settled = change <= f64::EPSILON;
        let is_slow = step > 1 && !(change <= before / 2.0) && !is_settled;
        let most = self.componentwise_backward_error.max(ROUNDING);
        if step > 0 && (is_slow || !(now.componentwise <= most)) {
            return Verdict::Worse;
        }
        *self = Self::new(step, now);
        // An error of 0 is that of the answer itself.
        let is_enough = now.componentwise <= options.stop_at.unwrap_or(0.0);
        let is_known = now.componentwise.is_finite();
        if is_known && !is_settled && !is_enough && step < options.max_steps {
            Verdict::GoOn
        } else {
            Verdict::Done
        }
    }
}

/// `‖x − old‖∞ / ‖x‖∞`.
fn relative_change(x: &[f64], old: &[f64]) -> f64 {
    largest(x.iter().zip(old).map(|(x, old)| x - old)) / norm(x)
}

/// What comes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The one before is to be taken back.
    Worse,
    /// Another step may pay.
    GoOn,
    Done,
}

/// Accuracy of the answers to all right-hand sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RefineReport {
    /// Each right-hand side.
    pub columns: Vec<ColumnReport>,
    /// Whether every componentwise backward error is acceptable.
    pub converged: bool,
}

impl RefineReport {
    /// Most steps of any column.
    pub fn steps(&self) -> usize {
        self.columns.iter().map(|c| c.steps).max().unwrap_or(0)
    }

    /// Worst normwise backward error; NaN where one is.
    pub fn normwise_backward_error(&self) -> f64 {
        largest(self.columns.iter().map(|c| c.normwise_backward_error))
    }

    /// Worst componentwise backward error; NaN where one is.
    pub fn componentwise_backward_error(&self) -> f64 {
        largest(self.columns.iter().map(|c| c.componentwise_backward_error))
    }
}
