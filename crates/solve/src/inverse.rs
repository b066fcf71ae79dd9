//! A factor as an approximate inverse in double precision, whatever its own precision and scaling.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tamarack_numeric::Team;

use crate::error::SolveError;
use crate::parts::{multiply, multiply_each, norm_of};

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
        let team = self.inverse.team();
        let scale = |x: &mut [f64]| {
            for column in x.chunks_mut(self.scale.len().max(1)) {
                multiply_each(team.as_deref(), column, self.scale);
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
        let team = self.inverse.team();
        let team = team.as_deref();
        for columns in x.chunks_mut(n * units.len()) {
            let count = columns.len() / n;
            for (column, unit) in columns.chunks_mut(n).zip(&mut units) {
                let norm = norm_of(team, column);
                *unit = match IN_RANGE.contains(&norm) {
                    true => 1.0,
                    false => power_of_two_near(norm),
                };
                multiply(team, column, unit.recip());
            }
            self.inverse.apply(columns, count)?;
            for (column, unit) in columns.chunks_mut(n).zip(&units) {
                multiply(team, column, *unit);
            }
        }
        Ok(())
    }

    fn team(&self) -> Option<Arc<Team>> {
        self.inverse.team()
    }
}

/// The power of two next to a positive number, by their quotient, and from 2⁻¹⁰⁰⁰ to 2¹⁰⁰⁰; 1 for zero, infinity and NaN.
pub(crate) fn power_of_two_near(value: f64) -> f64 {
    const LEAST: f64 = f64::from_bits((1023 - 1000) << 52);
    const MOST: f64 = f64::from_bits((1023 + 1000) << 52);
    if !(value > 0.0 && value.is_finite()) {
        return 1.0;
    }
    let below = f64::from_bits(value.to_bits() & (0x7FF << 52)); // 0 of a subnormal number
    let near = if value < below * std::f64::consts::SQRT_2 {
        below
    } else {
        2.0 * below
    };
    near.clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::power_of_two_near;

    #[test]
    fn the_next_power_is_found() {
        let by_logarithm = |x: f64| x.log2().round().clamp(-1000.0, 1000.0).exp2();
        let mut x = f64::MIN_POSITIVE / 64.0;
        while x.is_finite() {
            assert_eq!(power_of_two_near(x), by_logarithm(x), "{x:e}");
            x *= 1.37;
        }
        assert_eq!(
            [1.0, 1.41, 1.42, 3.0].map(power_of_two_near),
            [1.0, 1.0, 2.0, 4.0]
        );
        let none = [0.0, -0.0, -3.0, f64::INFINITY, f64::NAN];
        assert_eq!(none.map(power_of_two_near), [1.0; 5]);
        assert_eq!(power_of_two_near(f64::MAX), 1000f64.exp2());
        assert_eq!(power_of_two_near(5e-324), (-1000f64).exp2());
    }
}
