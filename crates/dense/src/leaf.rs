//! Update matrices that are never made: a leaf's `−L21·L21ᵀ`, subtracted from its parent's front as it is computed.
//!
//! A leaf of a few pivots has an update matrix many times as large as its panel, which is written to be read once. Where thousands
//! of leaves wait for one parent (the points of a bundle adjustment for its cameras, Triggs et al. 2000, section 6.1), that is most of the
//! traffic of the factorization and of its memory. All that such a matrix holds follows from the leaf's panel, which stands in
//! [`Strips`](crate::Strips) as `L·D⁻¹`, with the diagonal `D` of L11 inverted: so it is `Σ_k p_ik·(p_jk·d_k²)` over the pivots.
//!
//! Rows of the leaf come a vector at a time, with all pivots in registers, and for each column there is a product, subtracted in pieces
//! of rows that are consecutive in the parent, or number by number where there are one or two columns. An entry is the same sum whatever
//! the cut into columns and vectors. Of leaves with a dozen scattered rows a visit takes as long as what goes before the first number, so
//! all those to a [`Band`] are made in one call, and where its columns are is found once.
//!
//! Cost: `2·npiv + 1` flops for each entry of the update matrix, which is read and written once, in the parent.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

mod columns;
mod products;

use std::ops::Range;

use crate::assembly::Walk;
use crate::real::with_isa;
use crate::simd::{MOST_LANES, Op, Simd};
use crate::strips::for_columns;
use crate::{FrontMut, Isa, Real, THIN};
use columns::subtract_at_once;
use products::{factors, place, product, squares, vectors};

/// Columns up to which a vector is subtracted number by number: finding its pieces takes longer. Leaves with scattered rows hardly have
/// more in a band, and are refactorized in 0.55 to 0.71 of the time (run `ratings-1`).
const FEW: usize = 2;

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

/// Columns of a parent's front within one block column, from one on.
#[derive(Clone, Copy, Debug)]
pub struct Band<T> {
    first: usize,
    /// Where row 0 of the parent would stand in the first column, and how far the next one is.
    column: *mut T,
    ld: usize,
}

impl<T: Real> Band<T> {
    /// The band of `parent` that begins with column `first` of its front, pivots counted first.
    pub fn of(parent: &FrontMut<T>, first: usize) -> Self {
        let walk = Walk::parent(parent, first);
        Self {
            first,
            column: walk.column,
            ld: walk.ld,
        }
    }

    #[inline(always)]
    fn column(&self, position: u32) -> *mut T {
        self.column
            .wrapping_add((position as usize - self.first) * self.ld)
    }
}

/// Subtracts columns of leaves' `L21·L21ᵀ` from their parent's front, one leaf after the other. All these columns belong to one band.
///
/// # Safety
/// The leaves' panels are valid for their layout, their positions lie in the parent's front, and those of the columns in the band; the band's
/// columns are used by nobody else meanwhile, and the panels are not written.
pub unsafe fn subtract_products<'a, T: Real>(
    leaves: impl Iterator<Item = (Leaf<'a, T>, Range<usize>)>,
    band: &Band<T>,
    isa: Isa,
) {
    // SAFETY: the caller's contract; an `Isa` exists only where the machine has it.
    unsafe { with_isa!(isa, T, run(leaves, band)) }
}

unsafe fn run<'a, S: Simd>(
    leaves: impl Iterator<Item = (Leaf<'a, S::T>, Range<usize>)>,
    band: &Band<S::T>,
) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(Subtract::<S, _>(leaves, band)) }
}

struct Subtract<'b, S: Simd, I>(I, &'b Band<S::T>);

impl<'a, S: Simd, I: Iterator<Item = (Leaf<'a, S::T>, Range<usize>)>> Op for Subtract<'_, S, I> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self(leaves, band) = self;
        for (leaf, columns) in leaves {
            debug_assert!((1..=THIN).contains(&leaf.npiv));
            // SAFETY: the caller vouches for the leaves and their parent.
            unsafe { for_columns!(leaf.npiv, subtract, (&leaf, columns, band)) };
        }
    }
}

/// # Safety
/// As [`subtract_products`], of a leaf of `N` pivots; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn subtract<S: Simd, const N: usize>(
    leaf: &Leaf<'_, S::T>,
    columns: Range<usize>,
    band: &Band<S::T>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        match columns.len() <= FEW {
            true => subtract_few::<S, N>(leaf, columns, band),
            false => subtract_at_once::<S, N>(leaf, columns, band),
        }
    }
}

/// Subtracts a few columns number by number.
///
/// # Safety
/// As [`subtract`].
#[inline(always)]
unsafe fn subtract_few<S: Simd, const N: usize>(
    leaf: &Leaf<'_, S::T>,
    columns: Range<usize>,
    band: &Band<S::T>,
) {
    let rows = leaf.relative;
    // SAFETY: the caller's contract.
    unsafe {
        let squares = squares::<S::T, N>(leaf);
        for column in columns {
            let factors = factors::<S::T, N>(leaf, column, &squares);
            let to = band.column(rows[column]);
            if N == 1 {
                // One pivot's rows are one after the other.
                let rows = &rows[column..];
                let l = std::slice::from_raw_parts(place(leaf, column).0, rows.len());
                for (&row, &l) in rows.iter().zip(l) {
                    let at = to.wrapping_add(row as usize);
                    *at = *at - l * factors[0];
                }
                continue;
            }
            for top in (column / S::LANES * S::LANES..rows.len()).step_by(S::LANES) {
                let rows = &rows[top..rows.len().min(top + S::LANES)];
                let l = vectors::<S, N>(leaf, top, rows.len());
                let from = column.saturating_sub(top);
                subtract_each::<S>(to, rows, from, product::<S, N>(&l, &factors));
            }
        }
    }
}

/// Subtracts lanes from `from` on, each where its row is.
///
/// # Safety
/// As [`subtract`].
#[inline(always)]
unsafe fn subtract_each<S: Simd>(to: *mut S::T, rows: &[u32], from: usize, product: S::V) {
    let mut numbers = Numbers([S::T::ZERO; MOST_LANES]);
    // SAFETY: the caller's contract.
    unsafe {
        S::store(numbers.0.as_mut_ptr(), product);
        for i in from..rows.len() {
            let at = to.wrapping_add(rows[i] as usize);
            *at = *at - numbers.0[i];
        }
    }
}

/// A vector's numbers, in one line.
#[repr(align(64))]
struct Numbers<T>([T; MOST_LANES]);
