//! A factor as an approximate inverse in double precision, whatever its own precision and scaling.

use std::ops::RangeInclusive;
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
    /// An inverse of `D A D`.
    pub inverse: &'a mut I,
    /// The diagonal of D, user order.
    pub scale: &'a [f64],
}

impl<I: Inverse + ?Sized> Inverse for Scaled<'_, I> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let scale = |x: &mut [f64]| {
            for column in x.chunks_mut(self.scale.len().max(1)) {
                column.iter_mut().zip(self.scale).for_each(|(x, d)| *x *= d);
            }
        };
        scale(x);
        self.inverse.apply(x, nrhs)?;
        scale(x);
        Ok(())
    }

    fn team(&self) -> Option<Arc<Team>> {
        self.inverse.team()
    }
}

/// An inverse in single precision for columns beyond its range: powers of two bring them into it, without rounding.
pub(crate) struct Ranged<'a, I: ?Sized> {
    pub inverse: &'a mut I,
}

/// Norms of columns that single precision takes as they are: answers, and what is small in a column, have room on either side.
const IN_RANGE: RangeInclusive<f64> = 3e-15..=3e14;

impl<I: Inverse + ?Sized> Inverse for Ranged<'_, I> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let n = (x.len() / nrhs.max(1)).max(1);
        let mut units = [1.0; 64];
        for columns in x.chunks_mut(n * units.len()) {
            let count = columns.len() / n;
            for (column, unit) in columns.chunks_mut(n).zip(&mut units) {
                let norm = norm(column);
                *unit = match IN_RANGE.contains(&norm) {
                    true => 1.0,
                    false => power_of_two_near(norm),
                };
                multiply(column, unit.recip());
            }
            self.inverse.apply(columns, count)?;
            for (column, unit) in columns.chunks_mut(n).zip(&units) {
                multiply(column, *unit);
            }
        }
        Ok(())
    }

    fn team(&self) -> Option<Arc<Team>> {
        self.inverse.team()
    }
}

fn multiply(x: &mut [f64], factor: f64) {
    if factor != 1.0 {
        x.iter_mut().for_each(|x| *x *= factor);
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
