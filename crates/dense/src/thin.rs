//! Substitution with one right-hand side through a sequence of fronts of at most 8 pivots each.
//!
//! Most fronts of most matrices are this thin, and their work is less than that of bringing their
//! rows together: so the pivots stay in registers, and the rows below are added to, or read, where
//! they stand. The fronts of a subtree are gone through by one function, because a call for each
//! would take as long as its work. Panels lie one after another, and every one is read line by line upwards, or downwards on the way
//! back: the processor reads ahead what goes on so, across panels, and every line is asked for as well, as in [strips](crate::StripsRef).
//! Cost: an entry of L, a row index and a number of x for 2 flops.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::layout::{STRIP, line};
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::strips::{ask_ahead, ask_ahead_of_triangle, for_columns};
use crate::tile::load_column;
use crate::{Isa, Real, unit};

/// Pivots of a thin front at most: its panel is one strip.
pub const THIN: usize = STRIP;

/// A front of 1 to [`THIN`] pivots and its rows of the right-hand side.
#[derive(Clone, Copy, Debug)]
pub struct ThinFront<'a, T> {
    /// Its panel, one strip of [`Strips`](crate::Strips).
    pub l: *const T,
    /// Columns of the panel, 1 to [`THIN`].
    pub pivots: usize,
    /// The pivots' rows, one after another.
    pub x: *mut T,
    /// Where the rows below stand, in the order of the front: `at + rows[i]`.
    pub at: *mut T,
    /// Positions from there; with the pivots these are the rows of the panel.
    pub rows: &'a [u32],
}

/// Forward substitution, front after front: `x ← D⁻¹ L11⁻¹ x`, with the diagonal D of L11, and the rows below −= `L21 L11⁻¹ x`.
///
/// # Safety
/// Every front that comes names a panel, pivots and rows that are valid while it is worked on, the
/// next one not having been asked for; nobody else uses the rows meanwhile.
pub unsafe fn forward_thin<'a, T: Real>(isa: Isa, fronts: impl Iterator<Item = ThinFront<'a, T>>) {
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, forward_all(fronts)) }
}

/// Backward substitution, front after front: `x ← L11⁻ᵀ (D x − L21ᵀ y)`, y being the rows below.
///
/// # Safety
/// As [`forward_thin`]; the rows below are only read.
pub unsafe fn backward_thin<'a, T: Real>(isa: Isa, fronts: impl Iterator<Item = ThinFront<'a, T>>) {
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, backward_all(fronts)) }
}

unsafe fn forward_all<'a, S: Simd>(fronts: impl Iterator<Item = ThinFront<'a, S::T>>) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(ForwardAll::<S, _>(fronts, std::marker::PhantomData)) }
}

unsafe fn backward_all<'a, S: Simd>(fronts: impl Iterator<Item = ThinFront<'a, S::T>>) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(BackwardAll::<S, _>(fronts, std::marker::PhantomData)) }
}

struct ForwardAll<S, I>(I, std::marker::PhantomData<S>);
struct BackwardAll<S, I>(I, std::marker::PhantomData<S>);

impl<'a, S: Simd, I: Iterator<Item = ThinFront<'a, S::T>>> Op for ForwardAll<S, I> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        for front in self.0 {
            debug_assert!((1..=THIN).contains(&front.pivots));
            // SAFETY: the caller vouches for the front.
            unsafe { for_columns!(front.pivots, forward, (&front)) };
        }
    }
}

impl<'a, S: Simd, I: Iterator<Item = ThinFront<'a, S::T>>> Op for BackwardAll<S, I> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        for front in self.0 {
            debug_assert!((1..=THIN).contains(&front.pivots));
            // SAFETY: the caller vouches for the front.
            unsafe { for_columns!(front.pivots, backward, (&front)) };
        }
    }
}

/// # Safety
/// The front is valid.
#[inline(always)]
unsafe fn forward<S: Simd, const N: usize>(front: &ThinFront<'_, S::T>) {
    let ThinFront { l, x, at, rows, .. } = *front;
    // SAFETY: the caller vouches for the panel, x and the rows.
    unsafe {
        ask_ahead_of_triangle::<S, false>(l, N);
        let xs = unit::pivots_forward::<S, N>(l, x);
        let (tiles, line) = (l.add(N * (N + 1) / 2), line::<S::T>());
        let whole = rows.len() / line * line;
        for top in (0..whole).step_by(line) {
            for i in (0..line).step_by(S::LANES) {
                let rows = &rows[top + i..top + i + S::LANES];
                let l = tiles.add(top * N + i);
                subtract_products::<S, N, true>(l, line, &xs, at, rows);
            }
        }
        let (tile, rows) = (tiles.add(whole * N), &rows[whole..]);
        for (i, part) in parts(rows, S::LANES) {
            subtract_products::<S, N, false>(tile.add(i), rows.len(), &xs, at, part);
        }
    }
}

/// The rows of a tile that is not whole, as many at a time as a vector has, each with the place of its first.
#[inline(always)]
fn parts(rows: &[u32], lanes: usize) -> impl DoubleEndedIterator<Item = (usize, &[u32])> {
    let parts = rows.chunks(lanes).enumerate();
    parts.map(move |(k, part)| (k * lanes, part))
}

/// Some rows below −= their products with the pivots' numbers: a vector of rows, or the first of one unless `WHOLE`.
///
/// # Safety
/// `l` is the first of these rows in `N` columns that are `height` numbers from each other.
#[inline(always)]
unsafe fn subtract_products<S: Simd, const N: usize, const WHOLE: bool>(
    l: *const S::T,
    height: usize,
    xs: &[S::V; N],
    at: *mut S::T,
    rows: &[u32],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mask = S::mask(rows.len());
        let mut sum = S::zero();
        for j in 0..N {
            let from = l.wrapping_add(j * height);
            ask_ahead::<S, false>(from);
            let [column] = load_column::<S, 1, WHOLE>(from, mask);
            sum = S::fma(column, xs[j], sum);
        }
        let mut sums = [S::T::ZERO; 16];
        S::store(sums.as_mut_ptr(), sum);
        for (&row, &sum) in rows.iter().zip(&sums) {
            let y = at.add(row as usize);
            *y = *y - sum;
        }
    }
}

/// The pivots' sums += products with some rows below, which are as in [`subtract_products`], from the last column to the first.
///
/// # Safety
/// As there; the rows are only read.
#[inline(always)]
unsafe fn sum_products<S: Simd, const N: usize, const WHOLE: bool>(
    l: *const S::T,
    height: usize,
    sums: &mut [S::V; N],
    at: *const S::T,
    rows: &[u32],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let y = S::collect(at, rows.as_ptr(), rows.len());
        let mask = S::mask(rows.len());
        for j in (0..N).rev() {
            let from = l.wrapping_add(j * height);
            ask_ahead::<S, true>(from);
            let [column] = load_column::<S, 1, WHOLE>(from, mask);
            sums[j] = S::fma(column, y, sums[j]);
        }
    }
}

/// # Safety
/// The front is valid.
#[inline(always)]
unsafe fn backward<S: Simd, const N: usize>(front: &ThinFront<'_, S::T>) {
    let ThinFront { l, x, at, rows, .. } = *front;
    // SAFETY: as above.
    unsafe {
        let mut acc = [S::zero(); N];
        let (tiles, line) = (l.add(N * (N + 1) / 2), line::<S::T>());
        let whole = rows.len() / line * line;
        let (tile, rest) = (tiles.add(whole * N), &rows[whole..]);
        for (i, part) in parts(rest, S::LANES).rev() {
            sum_products::<S, N, false>(tile.add(i), rest.len(), &mut acc, at, part);
        }
        for top in (0..whole).step_by(line).rev() {
            for i in (0..line).step_by(S::LANES).rev() {
                let rows = &rows[top + i..top + i + S::LANES];
                let l = tiles.add(top * N + i);
                sum_products::<S, N, true>(l, line, &mut acc, at, rows);
            }
        }
        ask_ahead_of_triangle::<S, true>(l, N);
        unit::pivots_backward::<S, N>(l, x, &acc);
    }
}
