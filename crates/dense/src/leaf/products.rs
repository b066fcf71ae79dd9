//! Columns of a leaf's update: `Σ_k p_ik·(p_jk·d_k²)`, an entry of row `i` and column `j`.

use super::Leaf;
use crate::Real;
use crate::layout::{line, packed};
use crate::simd::Simd;

/// A column of the update in a vector's rows.
#[inline(always)]
pub(super) unsafe fn product<S: Simd, const N: usize>(l: &[S::V; N], factors: &[S::T; N]) -> S::V {
    // SAFETY: arithmetic only.
    unsafe {
        let mut product = S::mul(l[0], S::splat(factors[0]));
        for k in 1..N {
            product = S::fma(l[k], S::splat(factors[k]), product);
        }
        product
    }
}

/// Squares of a leaf's pivots: as large as the pivots were, and no larger.
///
/// # Safety
/// As [`subtract_products`](super::subtract_products).
#[inline(always)]
pub(super) unsafe fn squares<T: Real, const N: usize>(leaf: &Leaf<'_, T>) -> [T; N] {
    let mut squares = [T::ZERO; N];
    for k in 0..N {
        // SAFETY: the diagonal of the panel's triangle.
        let root = T::ONE / unsafe { *leaf.panel.add(packed(N)(k, k)) };
        squares[k] = root * root;
    }
    squares
}

/// What the rows are multiplied with for a column.
///
/// # Safety
/// As [`subtract_products`](super::subtract_products).
#[inline(always)]
pub(super) unsafe fn factors<T: Real, const N: usize>(
    leaf: &Leaf<'_, T>,
    column: usize,
    squares: &[T; N],
) -> [T; N] {
    let (at, height) = place(leaf, column);
    let mut factors = [T::ZERO; N];
    for k in 0..N {
        // SAFETY: an entry of the panel.
        factors[k] = unsafe { *at.wrapping_add(k * height) } * squares[k];
    }
    factors
}

/// Where the entry in row `i` below the pivots stands in column 0 of a leaf's tiles, and how far the next columns' are from each other.
#[inline(always)]
pub(super) fn place<T>(leaf: &Leaf<'_, T>, i: usize) -> (*const T, usize) {
    let (n, line) = (leaf.npiv, line::<T>());
    let top = i / line * line;
    let height = line.min(leaf.relative.len() - top);
    let tile = n * (n + 1) / 2 + top * n;
    (leaf.panel.wrapping_add(tile + i - top), height)
}

/// All columns of up to a vector's rows from `top` on, which is a multiple of the lanes.
///
/// # Safety
/// The leaf has `N` pivots and these rows.
#[inline(always)]
pub(super) unsafe fn vectors<S: Simd, const N: usize>(
    leaf: &Leaf<'_, S::T>,
    top: usize,
    count: usize,
) -> [S::V; N] {
    let (at, height) = place(leaf, top);
    // SAFETY: the caller's contract; a tile has as many rows as a vector or more.
    unsafe {
        let (mask, mut l) = (S::mask(count), [S::zero(); N]);
        for k in 0..N {
            l[k] = S::load_mask(at.wrapping_add(k * height), mask);
        }
        l
    }
}
