//! A factor as an approximate inverse in double precision, whatever its own precision and scaling.

use tamarack_numeric::{NumericFactor, Value};

use crate::error::SolveError;
use crate::plan::Substitution;
use crate::residual::norm;
use crate::substitution::solve;
use crate::workspace::SolveWorkspace;

/// An approximate inverse of a symmetric matrix of order n, in user order.
pub trait Inverse {
    /// `x ← A⁻¹ x` for `nrhs` columns, `n × nrhs`, column-major.
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError>;
}

/// `D (D A D)⁻¹ D`: a factor of the scaled matrix, with what a solve needs.
pub struct FactorInverse<'a, T> {
    /// The factor of `D A D`.
    pub factor: &'a NumericFactor<T>,
    /// Its plan of solves.
    pub plan: &'a Substitution,
    /// Memory for them.
    pub workspace: &'a mut SolveWorkspace<T>,
    /// The diagonal of D, user order; `None` for the identity.
    pub scale: Option<&'a [f64]>,
}

impl<T: Value> Inverse for FactorInverse<'_, T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let Some(scale) = self.scale else {
            return solve(self.factor, self.plan, x, nrhs, self.workspace);
        };
        // A power of two brings each column into the range of single precision, without rounding.
        let mut units = [1.0; 64];
        for columns in x.chunks_mut((scale.len() * units.len()).max(1)) {
            let count = columns.len() / scale.len().max(1);
            for (column, unit) in columns.chunks_mut(scale.len()).zip(&mut units) {
                column.iter_mut().zip(scale).for_each(|(x, d)| *x *= d);
                *unit = power_of_two_near(norm(column));
                column.iter_mut().for_each(|x| *x /= *unit);
            }
            solve(self.factor, self.plan, columns, count, self.workspace)?;
            for (column, unit) in columns.chunks_mut(scale.len()).zip(&units) {
                column
                    .iter_mut()
                    .zip(scale)
                    .for_each(|(x, d)| *x *= d * unit);
            }
        }
        Ok(())
    }
}

/// The power of two next to a positive number; 1 for zero, infinity and NaN.
pub(crate) fn power_of_two_near(value: f64) -> f64 {
    let power = value.log2().round();
    if power.is_finite() {
        power.clamp(-1000.0, 1000.0).exp2()
    } else {
        1.0
    }
}
