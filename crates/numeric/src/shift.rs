//! What to add to the diagonal of a matrix that is not positive definite, where that is asked for.

use tamarack_sparse::{Scalar, SymmetricCsc};

use crate::factor::OnNotSpd;
use crate::not_spd::{Cause, NotPositiveDefinite};

/// First shift over `ε·‖A‖`, and the factor from one shift to the next.
const STEP: f64 = 16.0;

/// The rising sequence of σ in `A + σI`, 0 first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shifts {
    /// The σ in use.
    pub sigma: f64,
}

impl Shifts {
    /// Goes on to the next σ; the report where that is not wanted or would not help.
    pub fn rise<T: Scalar>(
        &mut self,
        a: &SymmetricCsc<T>,
        report: NotPositiveDefinite,
        wanted: OnNotSpd,
    ) -> Result<(), NotPositiveDefinite> {
        let hopeless = matches!(report.cause, Cause::NotFinite { .. } | Cause::Overflow);
        if wanted == OnNotSpd::Fail || hopeless {
            return Err(report);
        }
        let norm = a.norm_inf();
        // With σ > ‖A‖ every row is diagonally dominant, so the sequence ends.
        if self.sigma > 2.0 * norm {
            return Err(report);
        }
        let least = (T::EPSILON.to_f64() * norm).max(f64::MIN_POSITIVE);
        self.sigma = STEP * if self.sigma == 0.0 { least } else { self.sigma };
        Ok(())
    }

    /// σ where one was needed.
    pub fn needed(&self) -> Option<f64> {
        (self.sigma > 0.0).then_some(self.sigma)
    }
}
