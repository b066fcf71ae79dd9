//! The residual `r = b − A x` and the size it is measured against, `|A||x| + |b|`.
//!
//! One pass over the lower triangle, each entry used on both sides of the diagonal: about 12 bytes
//! and 8 operations an entry, by all threads ([`Tiles`]). The order of sums follows from the pattern,
//! so the bits do not depend on the number of threads; nothing is allocated the second time.

use crate::substitution::Shared;
use crate::tiles::{BLOCKS, Tiles};

/// Precision in which residuals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualPrecision {
    /// Double precision: enough for a small backward error.
    #[default]
    Double,
    /// Twice that, by error-free transformations (Ogita, Rump, Oishi 2005): a small forward error
    /// as well, as long as the condition number is below the inverse of the rounding unit.
    Quad,
}

/// Vectors of a residual, of length n each, used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residual {
    /// `b − A x`.
    pub r: Vec<f64>,
    /// `|A||x| + |b|`.
    pub size: Vec<f64>,
    /// Rounding errors of `r`, for [`ResidualPrecision::Quad`].
    low: Vec<f64>,
    /// For the walk over the tiles.
    next: Vec<u32>,
}

/// What a matrix is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Norms {
    /// `‖A‖∞`, NaN where an entry is.
    pub norm: f64,
    /// Most entries in a row of the full symmetric matrix.
    pub most_entries: usize,
}

/// Largest values in a block of rows.
#[derive(Clone, Copy, Default)]
struct Largest {
    r: f64,
    x: f64,
    b: f64,
    size: f64,
    /// Of the componentwise errors.
    error: f64,
}

impl Residual {
    fn reserve(&mut self, n: usize) {
        self.r.resize(n, 0.0);
        self.size.resize(n, 0.0);
    }

    /// Norm and row counts of a matrix; overwrites the vectors.
    pub fn measure(&mut self, tiles: &Tiles<'_>) -> Norms {
        self.reserve(tiles.a.n());
        let (counts, sums) = (Shared(self.r.as_mut_ptr()), Shared(self.size.as_mut_ptr()));
        tiles.for_rows(|_, rows| {
            for i in rows {
                // SAFETY: the vectors have n numbers, and blocks of rows are disjoint.
                unsafe { (*counts.at(i), *sums.at(i)) = (0.0, 0.0) };
            }
        });
        tiles.for_each(&mut self.next, |j, rows, values| {
            let add = |i: usize, v: f64| {
                // SAFETY: as above; calls at the same time have other rows and columns.
                unsafe {
                    *counts.at(i) += 1.0;
                    *sums.at(i) += v.abs();
                }
            };
            for (&i, &v) in rows.iter().zip(values) {
                add(i as usize, v);
                if i as usize != j {
                    add(j, v);
                }
            }
        });
        let mut parts = [(0.0, 0.0); BLOCKS];
        let found = Shared(parts.as_mut_ptr());
        let (counts, sums) = (&self.r, &self.size);
        tiles.for_rows(|block, rows| {
            let sums = largest(sums[rows.clone()].iter().copied());
            let counts = largest(counts[rows].iter().copied());
            // SAFETY: each block has a place of its own.
            unsafe { *found.at(block) = (sums, counts) };
        });
        Norms {
            norm: largest(parts.iter().map(|p| p.0)),
            most_entries: largest(parts.iter().map(|p| p.1)) as usize,
        }
    }

    /// Computes both for one right-hand side, user order.
    pub fn compute(
        &mut self,
        tiles: &Tiles<'_>,
        x: &[f64],
        b: &[f64],
        precision: ResidualPrecision,
    ) {
        self.reserve(tiles.a.n());
        let (r, size) = (Shared(self.r.as_mut_ptr()), Shared(self.size.as_mut_ptr()));
        tiles.for_rows(|_, rows| {
            for i in rows {
                // SAFETY: the vectors have n numbers, and blocks of rows are disjoint.
                unsafe { (*r.at(i), *size.at(i)) = (b[i], b[i].abs()) };
            }
        });
        match precision {
            ResidualPrecision::Double => self.double(tiles, x),
            ResidualPrecision::Quad => self.quad(tiles, x),
        }
    }

    fn double(&mut self, tiles: &Tiles<'_>, x: &[f64]) {
        let (r, size) = (Shared(self.r.as_mut_ptr()), Shared(self.size.as_mut_ptr()));
        tiles.for_each(&mut self.next, |j, rows, values| {
            let xj = x[j];
            let (mut rj, mut sj, mut rest) = (0.0, 0.0, rows.iter().zip(values));
            if rows[0] as usize == j {
                rj = values[0] * xj;
                sj = rj.abs();
                rest.next();
            }
            for (&i, &v) in rest {
                let i = i as usize;
                let (down, across) = (v * xj, v * x[i]);
                // SAFETY: the vectors have n numbers, and calls at the same time have other rows and
                // columns.
                unsafe {
                    *r.at(i) -= down;
                    *size.at(i) += down.abs();
                }
                rj += across;
                sj += across.abs();
            }
            // SAFETY: as above.
            unsafe {
                *r.at(j) -= rj;
                *size.at(j) += sj;
            }
        });
    }

    fn quad(&mut self, tiles: &Tiles<'_>, x: &[f64]) {
        self.low.clear();
        self.low.resize(tiles.a.n(), 0.0);
        let (r, size) = (Shared(self.r.as_mut_ptr()), Shared(self.size.as_mut_ptr()));
        let low = Shared(self.low.as_mut_ptr());
        // `r[i] −= v·x`, with the errors of product and sum kept apart.
        let subtract = |i: usize, v: f64, x: f64| {
            let product = v * x;
            let product_error = v.mul_add(x, -product);
            // SAFETY: the vectors have n numbers, and calls at the same time have other rows and
            // columns.
            unsafe {
                let before = *r.at(i);
                let sum = before - product;
                let part = sum - before;
                let sum_error = (before - (sum - part)) - (product + part);
                *r.at(i) = sum;
                *low.at(i) += sum_error - product_error;
                *size.at(i) += product.abs();
            }
        };
        tiles.for_each(&mut self.next, |j, rows, values| {
            for (&i, &v) in rows.iter().zip(values) {
                let i = i as usize;
                subtract(i, v, x[j]);
                if i != j {
                    subtract(j, v, x[i]);
                }
            }
        });
        for (r, low) in self.r.iter_mut().zip(&self.low) {
            *r += low;
        }
    }

    /// The normwise backward error `‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` (Rigal and Gaches 1967) and the
    /// componentwise one `max |r_i| / (|A||x| + |b|)_i` (Oettli and Prager 1964), tiny denominators
    /// treated as in LAPACK's `porfs`. NaN where anything is.
    pub fn errors(&self, tiles: &Tiles<'_>, norms: &Norms, x: &[f64], b: &[f64]) -> (f64, f64) {
        // Entries of a row, times the smallest normal number: below, rounding is not relative.
        let safe = (norms.most_entries + 1) as f64 * f64::MIN_POSITIVE;
        let least = safe / f64::EPSILON;
        let error = |i: usize| {
            let (r, s) = (self.r[i].abs(), self.size[i]);
            if s > least {
                r / s
            } else {
                (r + safe) / (s + safe)
            }
        };
        let mut parts = [Largest::default(); BLOCKS];
        let found = Shared(parts.as_mut_ptr());
        tiles.for_rows(|block, rows| {
            let part = Largest {
                r: norm(&self.r[rows.clone()]),
                x: norm(&x[rows.clone()]),
                b: norm(&b[rows.clone()]),
                size: norm(&self.size[rows.clone()]),
                error: largest(rows.map(error)),
            };
            // SAFETY: each block has a place of its own.
            unsafe { *found.at(block) = part };
        });
        let of = |value: fn(&Largest) -> f64| largest(parts.iter().map(value));
        let (r, size) = (of(|p| p.r), norms.norm * of(|p| p.x) + of(|p| p.b));
        let normwise = if r == 0.0 && size == 0.0 {
            0.0
        } else {
            r / size
        };
        let componentwise = if of(|p| p.size) == 0.0 {
            0.0
        } else {
            of(|p| p.error)
        };
        (normwise, componentwise)
    }
}

/// `‖v‖∞`, NaN where an entry is.
pub(crate) fn norm(v: &[f64]) -> f64 {
    largest(v.iter().map(|v| v.abs()))
}

/// Largest of nonnegative numbers, NaN where one is.
pub(crate) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(
        0.0,
        |most, v| {
            if v <= most || most.is_nan() { most } else { v }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_never_lost() {
        assert!(largest([1.0, f64::NAN, 2.0].into_iter()).is_nan());
        assert!(norm(&[f64::NAN, 0.0]).is_nan());
        assert_eq!(norm(&[1.0, -3.0, 2.0]), 3.0);
    }
}
