//! Substitution with one right-hand side through a sequence of fronts of at most 8 pivots each.
//!
//! Most fronts of most matrices are this thin, and their work is less than that of bringing their
//! rows together: so the pivots stay in registers, and the rows below are added to, or read, where
//! they stand. The fronts of a subtree are gone through by one function, because a call for each
//! would take as long as its work, and what comes next in memory is asked for meanwhile: panels that
//! lie one after another are too short for the processor to notice. Cost: an entry of L, a row index
//! and a number of x for 2 flops.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::layout::{STRIP, packed};
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::strips::for_columns;
use crate::tile::load_column;
use crate::{Isa, Real, unit};

/// Pivots of a thin front at most: its panel is one strip.
pub const THIN: usize = STRIP;

/// Bytes that L is asked for ahead, into the second cache: what arrives from memory in 0.2 µs at 40 GB/s. With 4 KiB
/// `p2d5_1000` takes 4 % longer on a Zen 4, 16 KiB are as good (run `solve-11`).
pub(crate) const AHEAD_BYTES: usize = 8192;

/// Bytes of a line of the caches.
const LINE_BYTES: usize = 64;

/// Rows `at + rows[i]`, in the order of the rows of a front.
#[derive(Clone, Copy, Debug)]
pub struct RowsAt<'a, T> {
    /// Row 0.
    pub at: *mut T,
    /// Positions from there.
    pub rows: &'a [u32],
}

/// A front of 1 to [`THIN`] pivots and its rows of the right-hand side, in so many parts.
#[derive(Clone, Copy, Debug)]
pub struct ThinFront<'a, T, const PARTS: usize> {
    /// Its panel, one strip of [`Strips`](crate::Strips).
    pub l: *const T,
    /// Columns of the panel, 1 to [`THIN`].
    pub pivots: usize,
    /// Rows of the panel.
    pub order: usize,
    /// The pivots' rows, one after another.
    pub x: *mut T,
    /// The `order − pivots` rows below, in the order of the front.
    pub below: [RowsAt<'a, T>; PARTS],
}

/// Forward substitution, front after front: `x ← D⁻¹ L11⁻¹ x`, with the diagonal D of L11, and rows `below` −= `L21 L11⁻¹ x`.
///
/// # Safety
/// Every front that comes names a panel, pivots and rows that are valid while it is worked on, the
/// next one not having been asked for; nobody else uses the rows meanwhile.
pub unsafe fn forward_thin<'a, T: Real>(
    isa: Isa,
    fronts: impl Iterator<Item = ThinFront<'a, T, 2>>,
) {
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, forward_all(fronts)) }
}

/// Backward substitution, front after front: `x ← L11⁻ᵀ (D x − L21ᵀ y)`, y being the rows `below`.
///
/// # Safety
/// As [`forward_thin`]; the rows below are only read.
pub unsafe fn backward_thin<'a, T: Real>(
    isa: Isa,
    fronts: impl Iterator<Item = ThinFront<'a, T, 1>>,
) {
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, backward_all(fronts)) }
}

unsafe fn forward_all<'a, S: Simd>(fronts: impl Iterator<Item = ThinFront<'a, S::T, 2>>) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(ForwardAll::<S, _>(fronts, std::marker::PhantomData)) }
}

unsafe fn backward_all<'a, S: Simd>(fronts: impl Iterator<Item = ThinFront<'a, S::T, 1>>) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(BackwardAll::<S, _>(fronts, std::marker::PhantomData)) }
}

struct ForwardAll<S, I>(I, std::marker::PhantomData<S>);
struct BackwardAll<S, I>(I, std::marker::PhantomData<S>);

impl<'a, S: Simd, I: Iterator<Item = ThinFront<'a, S::T, 2>>> Op for ForwardAll<S, I> {
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

impl<'a, S: Simd, I: Iterator<Item = ThinFront<'a, S::T, 1>>> Op for BackwardAll<S, I> {
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

/// Asks for as much as the `len` numbers of a panel, line by line, [`AHEAD_BYTES`] further, and `down`wards where the walk
/// goes down.
///
/// Into the second cache: the few misses that the first cache can have at a time are then left for rows of x, and lines
/// come from the second one in time. Asked into the first, thin fronts took 1.5 times as long on a Zen 4 (run `solve-11`).
#[inline(always)]
fn ask_ahead<S: Simd>(l: *const S::T, len: usize, down: bool) {
    let (line, ahead) = (
        LINE_BYTES / size_of::<S::T>(),
        AHEAD_BYTES / size_of::<S::T>(),
    );
    let from = if down {
        l.wrapping_sub(ahead)
    } else {
        l.wrapping_add(ahead)
    };
    for at in (0..len).step_by(line) {
        // SAFETY: nothing is read.
        unsafe { S::prefetch_far(from.wrapping_add(at)) };
    }
}

/// # Safety
/// The front is valid.
#[inline(always)]
unsafe fn forward<S: Simd, const N: usize>(front: &ThinFront<'_, S::T, 2>) {
    let (l, ld, x) = (front.l, front.order - N, front.x);
    let (place, triangle) = (packed(N), N * (N + 1) / 2);
    // SAFETY: the caller vouches for the panel, x and the rows.
    unsafe {
        ask_ahead::<S>(l, triangle + N * ld, false);
        let mut v = [S::T::ZERO; N];
        for j in 0..N {
            v[j] = *x.add(j);
        }
        unit::solve::<S, N>(N, l, &mut v);
        let mut xs = [S::zero(); N];
        for j in 0..N {
            let inverse = *l.add(place(j, j));
            *x.add(j) = v[j] * inverse * inverse;
            xs[j] = S::splat(v[j]);
        }
        let mut below = l.add(triangle);
        for RowsAt { at, rows } in front.below {
            let whole = rows.len() / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                subtract_products::<S, N, true>(below.add(i), ld, &xs, at, &rows[i..i + S::LANES]);
            }
            if whole < rows.len() {
                subtract_products::<S, N, false>(below.add(whole), ld, &xs, at, &rows[whole..]);
            }
            below = below.add(rows.len());
        }
    }
}

/// Some rows below −= their products with the pivots' numbers: a vector of rows, or the first of one unless `WHOLE`.
///
/// # Safety
/// `l` is the first of these rows in `N` columns that are `ld` numbers from each other.
#[inline(always)]
unsafe fn subtract_products<S: Simd, const N: usize, const WHOLE: bool>(
    l: *const S::T,
    ld: usize,
    xs: &[S::V; N],
    at: *mut S::T,
    rows: &[u32],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mask = S::mask(rows.len());
        let mut sum = S::zero();
        for j in 0..N {
            let [column] = load_column::<S, 1, WHOLE>(l.wrapping_add(j * ld), mask);
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

/// The pivots' sums += products with some rows below, which are as in [`subtract_products`].
///
/// # Safety
/// As there; the rows are only read.
#[inline(always)]
unsafe fn sum_products<S: Simd, const N: usize, const WHOLE: bool>(
    l: *const S::T,
    ld: usize,
    sums: &mut [S::V; N],
    at: *const S::T,
    rows: &[u32],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let y = S::collect(at, rows.as_ptr(), rows.len());
        let mask = S::mask(rows.len());
        for j in 0..N {
            let [column] = load_column::<S, 1, WHOLE>(l.wrapping_add(j * ld), mask);
            sums[j] = S::fma(column, y, sums[j]);
        }
    }
}

/// # Safety
/// The front is valid.
#[inline(always)]
unsafe fn backward<S: Simd, const N: usize>(front: &ThinFront<'_, S::T, 1>) {
    let (l, ld, x) = (front.l, front.order - N, front.x);
    let triangle = N * (N + 1) / 2;
    // SAFETY: as above.
    unsafe {
        ask_ahead::<S>(l, triangle + N * ld, true);
        let mut acc = [S::zero(); N];
        let below = l.add(triangle);
        let [RowsAt { at, rows }] = front.below;
        let whole = rows.len() / S::LANES * S::LANES;
        for i in (0..whole).step_by(S::LANES) {
            sum_products::<S, N, true>(below.add(i), ld, &mut acc, at, &rows[i..i + S::LANES]);
        }
        if whole < rows.len() {
            sum_products::<S, N, false>(below.add(whole), ld, &mut acc, at, &rows[whole..]);
        }
        let mut v = [S::T::ZERO; N];
        for j in 0..N {
            v[j] = *x.add(j) - S::sum(acc[j]);
        }
        unit::solve_transposed::<S, N>(N, l, &mut v);
        for j in 0..N {
            *x.add(j) = v[j];
        }
    }
}
