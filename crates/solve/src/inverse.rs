//! A factor as an approximate inverse in double precision, whatever its own precision and scaling.

use std::sync::Arc;

use tamarack_numeric::Team;

use crate::error::SolveError;
use crate::residual::norm;

/// An approximate inverse of a symmetric matrix of order n, in user order.
pub trait Inverse {
    /// `x ← A⁻¹ x` for `nrhs` columns, `n × nrhs`, column-major.
    ///
    /// # Errors
    /// A length other than `n × nrhs`, or a stale factor.
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError>;

    /// The threads that work on it, if any: they compute residuals, too.
    fn team(&self) -> Option<Arc<Team>> {
        None
    }
}

impl<I: Inverse + ?Sized> Inverse for &mut I {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        (**self).apply(x, nrhs)
    }

    fn team(&self) -> Option<Arc<Team>> {
        (**self).team()
    }
}

impl<I: Inverse + ?Sized> Inverse for Box<I> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        (**self).apply(x, nrhs)
    }

    fn team(&self) -> Option<Arc<Team>> {
        (**self).team()
    }
}

/// `D (D A D)⁻¹ D`: an inverse of the scaled matrix as one of the matrix.
pub struct Scaled<'a, I: ?Sized> {
    /// An inverse of `D A D`, in single precision.
    pub inverse: &'a mut I,
    /// The diagonal of D, user order.
    pub scale: &'a [f64],
}

impl<I: Inverse + ?Sized> Inverse for Scaled<'_, I> {
    fn team(&self) -> Option<Arc<Team>> {
        self.inverse.team()
    }

    fn apply(&mut self, x: &mut [f64], _: usize) -> Result<(), SolveError> {
        // A power of two brings each column into the range of single precision, without rounding.
        let (scale, mut units) = (self.scale, [1.0; 64]);
        for columns in x.chunks_mut((scale.len() * units.len()).max(1)) {
            let count = columns.len() / scale.len().max(1);
            for (column, unit) in columns.chunks_mut(scale.len()).zip(&mut units) {
                column.iter_mut().zip(scale).for_each(|(x, d)| *x *= d);
                *unit = power_of_two_near(norm(column));
                column.iter_mut().for_each(|x| *x /= *unit);
            }
            self.inverse.apply(columns, count)?;
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
