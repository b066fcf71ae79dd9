//! The residual `r = b − A x` and the size it is measured against, `|A||x| + |b|`.
//!
//! One pass over the lower triangle, each entry used on both sides of the diagonal: about 12 bytes
//! and 8 operations an entry, 28 bytes where columns reach far, by all threads ([`Tiles`]). The order of
//! sums follows from the pattern, so the bits do not depend on the number of threads; nothing is
//! allocated the second time.

use crate::substitution::Shared;
use crate::tiles::{BLOCKS, Tiles, Walk};

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

/// What a row has got; side by side, because rows are met in any order.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Row {
    /// `(b − A x)_i`.
    pub r: f64,
    /// `(|A||x| + |b|)_i`.
    pub size: f64,
}

/// The same for [`ResidualPrecision::Quad`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct LongRow {
    row: Row,
    /// The rounding error of `r`.
    low: f64,
}

/// Rows of a residual, n of them, used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residual {
    pub rows: Vec<Row>,
    long: Vec<LongRow>,
    walk: Walk,
}

/// What a matrix is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Norms {
    /// `‖A‖∞`, NaN where an entry is.
    pub norm: f64,
    /// Most entries in a row of the full symmetric matrix.
    pub most_entries: usize,
}

/// Backward errors of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Errors {
    pub normwise: f64,
    pub componentwise: f64,
}

impl Errors {
    /// Whether this answer is better than the one before. NaN counts as worse.
    pub fn improve(&self, before: &Self) -> bool {
        self.componentwise < before.componentwise || self.improve_others(before)
    }

    /// Whether it is so much better that one more step may pay.
    pub fn halve(&self, before: &Self) -> bool {
        self.componentwise <= before.componentwise / 2.0 || self.improve_others(before)
    }

    /// Whether the worst row is as it was, and the others are better. A row whose numbers are smaller than the factor's precision
    /// can represent cannot be helped.
    fn improve_others(&self, before: &Self) -> bool {
        /// Componentwise errors up to this ratio are the same.
        const SAME: f64 = 1.01;
        let (now, then) = (self.componentwise, before.componentwise);
        now <= SAME * then && then <= SAME * now && self.normwise <= before.normwise / 2.0
    }
}

/// Largest values in a block of rows.
#[derive(Clone, Copy, Default)]
struct Largest {
    r: f64,
    x: f64,
    b: f64,
    /// Of the componentwise errors.
    error: f64,
}

impl Residual {
    /// Copies `b − A x` to `to`, of length n.
    pub fn copy_to(&self, to: &mut [f64]) {
        to.iter_mut()
            .zip(&self.rows)
            .for_each(|(to, row)| *to = row.r);
    }

    /// Norm and row counts of a matrix, and what [`compute`](Self::compute) needs of it; overwrites the rows.
    pub fn measure(&mut self, tiles: &Tiles<'_>) -> Norms {
        tiles.prepare(&mut self.walk);
        fill(&mut self.rows, tiles, |_| Row::default());
        // Entries are counted in `r`.
        tiles.sum(&mut self.walk, &mut self.rows, |row, v, _| {
            row.r += 1.0;
            row.size += v.abs();
        });
        let mut parts = [(0.0, 0.0); BLOCKS];
        let found = Shared(parts.as_mut_ptr());
        let all = &self.rows;
        tiles.for_rows(|block, rows| {
            let sums = largest(all[rows.clone()].iter().map(|row| row.size));
            let counts = largest(all[rows].iter().map(|row| row.r));
            // SAFETY: each block has a place of its own.
            unsafe { *found.at(block) = (sums, counts) };
        });
        Norms {
            norm: largest(parts.iter().map(|p| p.0)),
            most_entries: largest(parts.iter().map(|p| p.1)) as usize,
        }
    }

    /// Computes both for one right-hand side of the matrix that was measured last, user order.
    pub fn compute(
        &mut self,
        tiles: &Tiles<'_>,
        x: &[f64],
        b: &[f64],
        precision: ResidualPrecision,
    ) {
        fill(&mut self.rows, tiles, |i| Row {
            r: b[i],
            size: b[i].abs(),
        });
        match precision {
            ResidualPrecision::Double => {
                tiles.sum(&mut self.walk, &mut self.rows, move |row, v, j| {
                    let product = v * x[j];
                    row.r -= product;
                    row.size += product.abs();
                });
            }
            ResidualPrecision::Quad => self.quad(tiles, x),
        }
    }

    fn quad(&mut self, tiles: &Tiles<'_>, x: &[f64]) {
        let from = &self.rows;
        fill(&mut self.long, tiles, |i| LongRow {
            row: from[i],
            low: 0.0,
        });
        // `r −= v·x`, with the errors of product and sum kept apart.
        tiles.sum(&mut self.walk, &mut self.long, move |to, v, j| {
            let product = v * x[j];
            let product_error = v.mul_add(x[j], -product);
            let before = to.row.r;
            let sum = before - product;
            let part = sum - before;
            let sum_error = (before - (sum - part)) - (product + part);
            to.row.r = sum;
            to.row.size += product.abs();
            to.low += sum_error - product_error;
        });
        let long = &self.long;
        fill(&mut self.rows, tiles, |i| {
            let LongRow { row, low } = long[i];
            let r = row.r + low;
            Row { r, ..row }
        });
    }

    /// The normwise backward error `‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` (Rigal and Gaches 1967) and the
    /// componentwise one `max |r_i| / (|A||x| + |b|)_i` (Oettli and Prager 1964), the smallest normal number for each entry of a
    /// row added to its denominator: below that, rounding is not relative. A row whose unknowns and right-hand side are
    /// zero has no error. NaN where anything is, and where a denominator overflows.
    pub fn errors(&self, tiles: &Tiles<'_>, norms: &Norms, x: &[f64], b: &[f64]) -> Errors {
        let safe = (norms.most_entries + 1) as f64 * f64::MIN_POSITIVE;
        let error = |row: &Row| quotient(row.r.abs(), row.size + safe);
        let mut parts = [Largest::default(); BLOCKS];
        let found = Shared(parts.as_mut_ptr());
        tiles.for_rows(|block, rows| {
            let own = self.rows[rows.clone()].iter();
            let part = Largest {
                r: largest(own.clone().map(|row| row.r)),
                x: norm(&x[rows.clone()]),
                b: norm(&b[rows]),
                error: largest(own.map(error)),
            };
            // SAFETY: each block has a place of its own.
            unsafe { *found.at(block) = part };
        });
        let of = |value: fn(&Largest) -> f64| largest(parts.iter().map(value));
        let (r, size) = (of(|p| p.r), norms.norm * of(|p| p.x) + of(|p| p.b));
        let normwise = if r == 0.0 && size == 0.0 {
            0.0
        } else {
            quotient(r, size)
        };
        Errors {
            normwise,
            componentwise: of(|p| p.error),
        }
    }
}

/// `r / size`, NaN where the size is not finite: nothing is known then.
fn quotient(r: f64, size: f64) -> f64 {
    if size.is_finite() { r / size } else { f64::NAN }
}

/// Sets the rows of a matrix, side by side, new memory as well.
fn fill<S: Copy + Send>(rows: &mut Vec<S>, tiles: &Tiles<'_>, row: impl Fn(usize) -> S + Sync) {
    let n = tiles.a.n();
    rows.clear();
    rows.reserve(n);
    let all = Shared(rows.as_mut_ptr());
    tiles.for_rows(|_, rows| {
        for i in rows {
            // SAFETY: there is room for n rows, and blocks of them are disjoint.
            unsafe { all.at(i).write(row(i)) };
        }
    });
    // SAFETY: the blocks are all rows.
    unsafe { rows.set_len(n) };
}

/// `‖v‖∞`, NaN where an entry is.
pub(crate) fn norm(v: &[f64]) -> f64 {
    largest(v.iter().copied())
}

/// Largest magnitude, NaN where one is: bits of magnitudes are ordered like them, and those of NaN
/// come last.
pub(crate) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    f64::from_bits(values.map(|v| v.abs().to_bits()).fold(0, u64::max))
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
