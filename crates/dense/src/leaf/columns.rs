//! Several columns of a leaf's update, a vector of rows at a time.

use std::ops::Range;

use super::products::{factors, product, squares, vectors};
use super::{Band, Leaf, subtract_each};
use crate::Real;
use crate::simd::{Piece, Simd};

/// Columns whose factors are held at the same time.
const AT_ONCE: usize = 16;

/// Pieces in which a vector is subtracted; with more rows go one by one.
const MOST_PIECES: usize = 4;

/// Subtracts columns, in pieces of rows that are consecutive in the parent.
///
/// # Safety
/// As [`subtract_products`](super::subtract_products), of a leaf of `N` pivots.
#[inline(always)]
pub(super) unsafe fn subtract_at_once<S: Simd, const N: usize>(
    leaf: &Leaf<'_, S::T>,
    columns: Range<usize>,
    band: &Band<S::T>,
) {
    let rows = leaf.relative;
    let mut first = columns.start;
    while first < columns.end {
        let end = columns.end.min(first + AT_ONCE);
        // SAFETY: the caller's contract.
        unsafe {
            let columns = Columns::<S::T, N>::of(leaf, first..end, band);
            for top in (first / S::LANES * S::LANES..rows.len()).step_by(S::LANES) {
                let rows = &rows[top..rows.len().min(top + S::LANES)];
                let l = vectors::<S, N>(leaf, top, rows.len());
                let (pieces, count) = pieces::<S>(rows);
                match count {
                    1 => columns.subtract::<S, 1>(&l, top, rows, &pieces),
                    2 => columns.subtract::<S, 2>(&l, top, rows, &pieces),
                    3 => columns.subtract::<S, 3>(&l, top, rows, &pieces),
                    4 => columns.subtract::<S, 4>(&l, top, rows, &pieces),
                    _ => columns.subtract::<S, 0>(&l, top, rows, &pieces),
                }
            }
        }
        first = end;
    }
}

/// The pieces of consecutive rows of a vector, and how many there are: none of them where that is more than [`MOST_PIECES`].
#[inline(always)]
fn pieces<S: Simd>(rows: &[u32]) -> ([Piece; MOST_PIECES], usize) {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let mut begins = 1u32;
    if (last - first) as usize >= rows.len() {
        // Where one begins, without a branch: that is hard to foresee.
        for i in 1..rows.len() {
            begins |= u32::from(rows[i] != rows[i - 1] + 1) << i;
        }
    }
    let (mut pieces, count) = (
        [Piece::default(); MOST_PIECES],
        begins.count_ones() as usize,
    );
    if count <= MOST_PIECES {
        for piece in &mut pieces[..count] {
            let from = begins.trailing_zeros() as usize;
            begins &= begins - 1;
            let to = rows.len().min(begins.trailing_zeros() as usize);
            let shift = rows[from] as usize - from;
            *piece = Piece { shift, from, to };
        }
    }
    (pieces, count)
}

/// Up to [`AT_ONCE`] columns of a leaf's update.
struct Columns<T, const N: usize> {
    first: usize,
    count: usize,
    /// What the rows are multiplied with.
    factors: [[T; N]; AT_ONCE],
    /// Where row 0 of the parent would stand in each.
    targets: [*mut T; AT_ONCE],
}

impl<T: Real, const N: usize> Columns<T, N> {
    /// # Safety
    /// As [`subtract_at_once`], with up to [`AT_ONCE`] columns.
    #[inline(always)]
    unsafe fn of(leaf: &Leaf<'_, T>, columns: Range<usize>, band: &Band<T>) -> Self {
        let mut out = Self {
            first: columns.start,
            count: columns.len(),
            factors: [[T::ZERO; N]; AT_ONCE],
            targets: [std::ptr::null_mut(); AT_ONCE],
        };
        // SAFETY: the caller's contract.
        let squares = unsafe { squares::<T, N>(leaf) };
        for (j, (to, target)) in columns.zip(out.factors.iter_mut().zip(&mut out.targets)) {
            *target = band.column(leaf.relative[j]);
            // SAFETY: the caller's contract.
            *to = unsafe { factors::<T, N>(leaf, j, &squares) };
        }
        out
    }

    /// Subtracts the products of these columns with a vector's rows, from `top` on, in `P` pieces, or one by one if that is 0.
    ///
    /// # Safety
    /// The targets are those of the leaf that the rows are of.
    #[inline(always)]
    unsafe fn subtract<S: Simd<T = T>, const P: usize>(
        &self,
        l: &[S::V; N],
        top: usize,
        rows: &[u32],
        pieces: &[Piece; MOST_PIECES],
    ) {
        let count = self.count.min(top + rows.len() - self.first);
        let own: [Piece; P] = std::array::from_fn(|p| pieces[p]);
        for c in 0..count {
            let to = self.targets[c];
            // Rows above the diagonal are left out.
            let from = (self.first + c).saturating_sub(top);
            // SAFETY: the caller's contract.
            unsafe {
                let product = product::<S, N>(l, &self.factors[c]);
                if P > 0 {
                    S::subtract_pieces(to, &own, from, product);
                } else {
                    subtract_each::<S>(to, rows, from, product);
                }
            }
        }
    }
}
