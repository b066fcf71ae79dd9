//! Partial Cholesky of a tiny front: up to 8 pivots and 16 rows.
//!
//! Its work is less than that of choosing and calling microtiles for it, so it is done column by
//! column in the nearest cache, right-looking for the panel and left-looking for the update matrix.
//! The next pivot waits for one reciprocal only: with `v` the column before it is scaled and `p` its
//! pivot, the columns after it get `− v vᵀ/p`, and the root for the column itself is taken meanwhile.
//!
//! Invariant: which fronts come here depends on their size alone.

#![allow(clippy::needless_range_loop)] // indices over register arrays

use crate::blas::PivotFailure;
use crate::front::FrontMut;
use crate::simd::{Op, Simd};
use crate::{Real, UpdateMode};

/// Pivots of a tiny front at most.
const PIVOTS: usize = 8;

/// Order of a tiny front at most.
const ORDER: usize = 16;

/// Whether a front is tiny: its panel and its update matrix are one block column each.
#[inline]
pub(crate) fn is_tiny(npiv: usize, nupd: usize, block: usize) -> bool {
    npiv <= PIVOTS.min(block) && nupd <= block && npiv + nupd <= ORDER
}

/// See [`partial_cholesky`](crate::partial_cholesky).
///
/// # Safety
/// The front is valid and tiny.
pub(crate) unsafe fn eliminate<S: Simd>(
    f: FrontMut<S::T>,
    mode: UpdateMode,
) -> Result<(), PivotFailure> {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(Eliminate::<S>(f, mode)) }
}

struct Eliminate<S: Simd>(FrontMut<S::T>, UpdateMode);

impl<S: Simd> Op for Eliminate<S> {
    type Out = Result<(), PivotFailure>;
    #[inline(always)]
    unsafe fn run(self) -> Self::Out {
        let Self(f, mode) = self;
        // SAFETY: the caller of `eliminate` vouches for the front.
        unsafe {
            factor_panel::<S>(f)?;
            update::<S>(f, mode);
        }
        Ok(())
    }
}

/// # Safety
/// The front is valid and tiny.
#[inline(always)]
unsafe fn factor_panel<S: Simd>(f: FrontMut<S::T>) -> Result<(), PivotFailure> {
    let (npiv, order) = (f.npiv(), f.npiv() + f.nupd());
    // SAFETY: the caller's contract; rows and columns stay in the panel.
    unsafe {
        for k in 0..npiv {
            let column = f.panel().add(k * order);
            let pivot = *column.add(k);
            if !(pivot > S::T::ZERO && pivot.is_finite()) {
                let value = pivot.to_f64();
                return Err(PivotFailure { index: k, value });
            }
            let inverse = S::T::ONE / pivot;
            let root = pivot.sqrt();
            let scale = S::splat(root * inverse);
            let mut before = [S::T::ZERO; PIVOTS];
            for j in k + 1..npiv {
                before[j] = *column.add(j);
            }
            let mut i = k;
            while i < order {
                let mask = S::mask(S::LANES.min(order - i));
                let v = S::load_mask(column.add(i), mask);
                let w = S::mul(v, S::splat(inverse));
                for j in k + 1..npiv {
                    let c = f.panel().add(j * order + i);
                    let sum = S::fnma(S::splat(before[j]), w, S::load_mask(c, mask));
                    S::store_mask(c, mask, sum);
                }
                S::store_mask(column.add(i), mask, S::mul(v, scale));
                i += S::LANES;
            }
            *column.add(k) = root;
        }
    }
    Ok(())
}

/// # Safety
/// The front is valid and tiny, and its panel is final.
#[inline(always)]
unsafe fn update<S: Simd>(f: FrontMut<S::T>, mode: UpdateMode) {
    let (npiv, nupd) = (f.npiv(), f.nupd());
    let order = npiv + nupd;
    // SAFETY: the caller's contract; rows and columns stay in the front.
    unsafe {
        let below = f.panel().add(npiv).cast_const();
        for j in 0..nupd {
            let mut i = j;
            while i < nupd {
                let mask = S::mask(S::LANES.min(nupd - i));
                let c = f.update().add(j * nupd + i);
                let mut sum = match mode {
                    UpdateMode::Accumulate => S::load_mask(c, mask),
                    UpdateMode::Overwrite => S::zero(),
                };
                for k in 0..npiv {
                    let column = below.add(k * order);
                    let factor = S::splat(*column.add(j));
                    sum = S::fnma(factor, S::load_mask(column.add(i), mask), sum);
                }
                S::store_mask(c, mask, sum);
                i += S::LANES;
            }
        }
    }
}
