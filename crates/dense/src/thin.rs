//! Substitution with one right-hand side and a front of at most 8 pivots, without a copy of its rows.
//!
//! Most fronts of most matrices are this thin, and their work is less than that of bringing their
//! rows together: so the pivots stay in registers, and the rows below are added to, or read, where
//! they stand. Cost: an entry of L, a row index and a number of x for 2 flops.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::Real;
use crate::simd::{Op, Simd};

/// Pivots of a thin front at most.
pub(crate) const THIN: usize = 8;

/// Rows `at + rows[i]`, in the order of the rows of a front.
#[derive(Clone, Copy, Debug)]
pub struct RowsAt<'a, T> {
    /// Row 0.
    pub at: *mut T,
    /// Positions from there.
    pub rows: &'a [u32],
}

/// `x ← L11⁻¹ x`, and rows `to` −= L21 x.
pub(crate) struct Forward<'a, S: Simd, const N: usize> {
    /// Panel with `N` columns.
    pub l: *const S::T,
    /// Rows of the panel.
    pub order: usize,
    pub x: *mut S::T,
    /// The rows below the pivots, in two parts.
    pub to: [RowsAt<'a, S::T>; 2],
}

impl<S: Simd, const N: usize> Op for Forward<'_, S, N> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let (l, ld) = (self.l, self.order);
        // SAFETY: the caller vouches for the panel, x and the rows.
        unsafe {
            let (mut v, mut inverse) = ([S::T::ZERO; N], [S::T::ZERO; N]);
            for j in 0..N {
                v[j] = *self.x.add(j);
                inverse[j] = S::T::ONE / *l.add(j * (ld + 1));
            }
            for j in 0..N {
                v[j] = v[j] * inverse[j];
                for i in 0..N {
                    if i > j {
                        v[i] = v[i] - *l.add(i + j * ld) * v[j];
                    }
                }
            }
            let mut xs = [S::zero(); N];
            for j in 0..N {
                *self.x.add(j) = v[j];
                xs[j] = S::splat(v[j]);
            }
            let mut below = l.add(N);
            for RowsAt { at, rows } in self.to {
                for rows in rows.chunks(S::LANES) {
                    let mask = S::mask(rows.len());
                    let mut sum = S::zero();
                    for j in 0..N {
                        sum = S::fma(S::load_mask(below.add(j * ld), mask), xs[j], sum);
                    }
                    let mut sums = [S::T::ZERO; 16];
                    S::store(sums.as_mut_ptr(), sum);
                    for (&row, &sum) in rows.iter().zip(&sums) {
                        let y = at.add(row as usize);
                        *y = *y - sum;
                    }
                    below = below.add(rows.len());
                }
            }
        }
    }
}

/// `x ← L11⁻ᵀ (x − L21ᵀ y)`, y being the rows `from`.
pub(crate) struct Backward<'a, S: Simd, const N: usize> {
    pub l: *const S::T,
    pub order: usize,
    pub x: *mut S::T,
    /// The rows below the pivots.
    pub from: RowsAt<'a, S::T>,
}

impl<S: Simd, const N: usize> Op for Backward<'_, S, N> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let (l, ld) = (self.l, self.order);
        // SAFETY: as above.
        unsafe {
            let mut acc = [S::zero(); N];
            let mut below = l.add(N);
            for rows in self.from.rows.chunks(S::LANES) {
                let mask = S::mask(rows.len());
                let mut ys = [S::T::ZERO; 16];
                for (y, &row) in ys.iter_mut().zip(rows) {
                    *y = *self.from.at.add(row as usize);
                }
                let y = S::load(ys.as_ptr());
                for j in 0..N {
                    acc[j] = S::fma(S::load_mask(below.add(j * ld), mask), y, acc[j]);
                }
                below = below.add(rows.len());
            }
            let (mut v, mut inverse) = ([S::T::ZERO; N], [S::T::ZERO; N]);
            for j in 0..N {
                v[j] = *self.x.add(j) - S::sum(acc[j]);
                inverse[j] = S::T::ONE / *l.add(j * (ld + 1));
            }
            for step in 0..N {
                let j = N - 1 - step;
                v[j] = v[j] * inverse[j];
                for i in 0..N {
                    if i < j {
                        v[i] = v[i] - *l.add(j + i * ld) * v[j];
                    }
                }
            }
            for j in 0..N {
                *self.x.add(j) = v[j];
            }
        }
    }
}

/// Runs an operation for a number of columns, 1 to [`THIN`].
macro_rules! for_columns {
    ($s:ident, $n:expr, $op:ident { $($field:ident: $value:expr),* }) => {
        match $n {
            1 => $s::vectorize($op::<$s, 1> { $($field: $value),* }),
            2 => $s::vectorize($op::<$s, 2> { $($field: $value),* }),
            3 => $s::vectorize($op::<$s, 3> { $($field: $value),* }),
            4 => $s::vectorize($op::<$s, 4> { $($field: $value),* }),
            5 => $s::vectorize($op::<$s, 5> { $($field: $value),* }),
            6 => $s::vectorize($op::<$s, 6> { $($field: $value),* }),
            7 => $s::vectorize($op::<$s, 7> { $($field: $value),* }),
            _ => $s::vectorize($op::<$s, 8> { $($field: $value),* }),
        }
    };
}
pub(crate) use for_columns;
