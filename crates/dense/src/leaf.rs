//! Update matrices that are never made: a leaf's `−L21·L21ᵀ`, subtracted from its parent's front as it is computed.
//!
//! A leaf of a few pivots has an update matrix many times as large as its panel, which is written to be read once. Where thousands
//! of leaves wait for one parent (the points of a bundle adjustment for its cameras, Triggs et al. 2000, section 6.1), that is most of the
//! traffic of the factorization and of its memory. All that such a matrix holds follows from the leaf's panel, which stands in
//! [`Strips`](crate::Strips) as `L·D⁻¹`, with the diagonal `D` of L11 inverted: so it is `Σ_k p_ik·(p_jk·d_k²)` over the pivots.
//!
//! Rows of the leaf come a vector at a time, with all pivots in registers, and for each column there is a product, subtracted in pieces
//! of rows that are consecutive in the parent, or number by number where there are one or two columns. An entry is the same sum whatever
//! the cut into columns and vectors.
//!
//! Cost: `2·npiv + 1` flops for each entry of the update matrix, which is read and written once, in the parent.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use std::ops::Range;

use crate::assembly::Walk;
use crate::layout::{line, packed};
use crate::real::with_isa;
use crate::simd::{MOST_LANES, Op, Piece, Simd};
use crate::strips::for_columns;
use crate::{FrontMut, Isa, Real, THIN};

/// Columns whose factors are held at the same time.
const AT_ONCE: usize = 16;

/// Columns up to which a vector is subtracted number by number: finding its pieces takes longer. Leaves with scattered rows hardly have
/// more in a band, and are refactorized in 0.55 to 0.71 of the time (run `ratings-1`).
const FEW: usize = 2;

/// Pieces in which a vector is subtracted; with more rows go one by one.
const MOST_PIECES: usize = 4;

/// A leaf of the tree, eliminated, and where its rows are in its parent's front.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a, T> {
    /// Its final panel, one strip of [`Strips`](crate::Strips).
    pub panel: *const T,
    /// Its pivots, 1 to [`THIN`].
    pub npiv: usize,
    /// Positions of its rows below the pivots in the parent's front, increasing.
    pub relative: &'a [u32],
}

/// Subtracts columns `columns` of a leaf's `L21·L21ᵀ` from its parent's front.
///
/// # Safety
/// The leaf's panel is valid for its layout, its positions lie in the parent's front; the parent's columns that the leaf's columns map to
/// are used by nobody else meanwhile, and the panel is not written.
pub unsafe fn subtract_product<T: Real>(
    leaf: &Leaf<'_, T>,
    columns: Range<usize>,
    parent: &FrontMut<T>,
    isa: Isa,
) {
    debug_assert!((1..=THIN).contains(&leaf.npiv));
    // SAFETY: the caller's contract; an `Isa` exists only where the machine has it.
    unsafe { with_isa!(isa, T, run(leaf, columns, parent)) }
}

unsafe fn run<S: Simd>(leaf: &Leaf<'_, S::T>, columns: Range<usize>, parent: &FrontMut<S::T>) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(Subtract::<S>(leaf, columns, parent)) }
}

struct Subtract<'a, S: Simd>(&'a Leaf<'a, S::T>, Range<usize>, &'a FrontMut<S::T>);

impl<S: Simd> Op for Subtract<'_, S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self(leaf, columns, parent) = self;
        // SAFETY: the caller vouches for the leaf and its parent.
        unsafe { for_columns!(leaf.npiv, subtract, (leaf, columns, parent)) };
    }
}

/// # Safety
/// As [`subtract_product`], of a leaf of `N` pivots; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn subtract<S: Simd, const N: usize>(
    leaf: &Leaf<'_, S::T>,
    columns: Range<usize>,
    parent: &FrontMut<S::T>,
) {
    let rows = leaf.relative;
    let mut first = columns.start;
    if columns.len() <= FEW {
        for column in columns {
            // SAFETY: the caller's contract.
            unsafe { subtract_column::<S, N>(leaf, column, parent) };
        }
        return;
    }
    while first < columns.end {
        let end = columns.end.min(first + AT_ONCE);
        // SAFETY: the caller's contract.
        unsafe {
            let columns = Columns::<S::T, N, AT_ONCE>::of(leaf, first..end, parent);
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

/// Subtracts one column number by number.
///
/// # Safety
/// As [`subtract`].
#[inline(always)]
unsafe fn subtract_column<S: Simd, const N: usize>(
    leaf: &Leaf<'_, S::T>,
    column: usize,
    parent: &FrontMut<S::T>,
) {
    let rows = leaf.relative;
    // SAFETY: the caller's contract.
    unsafe {
        let one = Columns::<S::T, N, 1>::of(leaf, column..column + 1, parent);
        for top in (column / S::LANES * S::LANES..rows.len()).step_by(S::LANES) {
            let rows = &rows[top..rows.len().min(top + S::LANES)];
            let l = vectors::<S, N>(leaf, top, rows.len());
            one.subtract::<S, 0>(&l, top, rows, &[Piece::default(); MOST_PIECES]);
        }
    }
}

/// Where the entry in row `i` below the pivots stands in column 0 of a leaf's tiles, and how far the next columns' are from each other.
#[inline(always)]
fn place<T>(leaf: &Leaf<'_, T>, i: usize) -> (*const T, usize) {
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
unsafe fn vectors<S: Simd, const N: usize>(
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

/// Up to `W` columns of a leaf's update.
struct Columns<T, const N: usize, const W: usize> {
    first: usize,
    count: usize,
    /// What the rows are multiplied with.
    factors: [[T; N]; W],
    /// Where row 0 of the parent would stand in each.
    targets: [*mut T; W],
}

impl<T: Real, const N: usize, const W: usize> Columns<T, N, W> {
    /// # Safety
    /// As [`subtract`], with up to `W` columns.
    #[inline(always)]
    unsafe fn of(leaf: &Leaf<'_, T>, columns: Range<usize>, parent: &FrontMut<T>) -> Self {
        let mut out = Self {
            first: columns.start,
            count: columns.len(),
            factors: [[T::ZERO; N]; W],
            targets: [std::ptr::null_mut(); W],
        };
        let mut squares = [T::ZERO; N];
        for k in 0..N {
            // SAFETY: the diagonal of the panel's triangle.
            let root = T::ONE / unsafe { *leaf.panel.add(packed(N)(k, k)) };
            squares[k] = root * root; // as large as the pivot was, and no larger
        }
        let (mut walk, mut before) = (Walk::NONE, 0);
        for (j, (factors, target)) in columns.zip(out.factors.iter_mut().zip(&mut out.targets)) {
            let column = leaf.relative[j] as usize;
            walk.go_on(parent, column, column - before);
            (*target, before) = (walk.column, column);
            let (at, height) = place(leaf, j);
            for k in 0..N {
                // SAFETY: an entry of the panel.
                factors[k] = unsafe { *at.wrapping_add(k * height) } * squares[k];
            }
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
            let (factors, to) = (&self.factors[c], self.targets[c]);
            // Rows above the diagonal are left out.
            let from = (self.first + c).saturating_sub(top);
            // SAFETY: the caller's contract.
            unsafe {
                let mut product = S::mul(l[0], S::splat(factors[0]));
                for k in 1..N {
                    product = S::fma(l[k], S::splat(factors[k]), product);
                }
                if P > 0 {
                    S::subtract_pieces(to, &own, from, product);
                    continue;
                }
                let mut numbers = [T::ZERO; MOST_LANES];
                S::store(numbers.as_mut_ptr(), product);
                for i in from..rows.len() {
                    let at = to.wrapping_add(rows[i] as usize);
                    *at = *at - numbers[i];
                }
            }
        }
    }
}
