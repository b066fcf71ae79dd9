//! Strips with one right-hand side: triangles in registers, tiles as they lie in memory.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use super::{StripsRef, ask_ahead, ask_ahead_of_triangle};
use crate::layout::line;
use crate::simd::{Op, Simd};
use crate::unit;

/// One right-hand side.
pub(super) struct One<'a, S: Simd> {
    pub panel: StripsRef<'a, S::T>,
    pub w: *mut S::T,
    pub forward: bool,
}

impl<S: Simd> Op for One<'_, S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self { panel, w, forward } = self;
        let count = panel.layout.count();
        debug_assert_eq!(panel.layout.tile, line::<S::T>()); // a constant, which is what the loops go by
        // SAFETY: the callers of `StripsRef`'s methods vouch for w; the panel has these entries.
        unsafe {
            for step in 0..count {
                let t = if forward { step } else { count - 1 - step };
                let (s, l, tiles) = panel.strip(t);
                let x = w.add(s.first);
                if forward {
                    for_columns!(s.width, strip_forward, (s.below, l, tiles, x));
                } else {
                    for_columns!(s.width, strip_backward, (s.below, l, tiles, x));
                }
            }
        }
    }
}

/// A strip of `N` columns, `m` rows below in tiles of a [`line`]: `x ← D⁻¹·L11⁻¹·x` for its pivots at `x`, and the rows behind them
/// −= `L21·L11⁻¹·x`. Pivots stay in registers.
///
/// # Safety
/// L is valid for the strip and x for its rows; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn strip_forward<S: Simd, const N: usize>(
    m: usize,
    l: *const S::T,
    tiles: *const S::T,
    x: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        ask_ahead_of_triangle::<S, false>(l, N);
        let xs = unit::pivots_forward::<S, N>(l, x);
        let y = x.add(N);
        let whole = m / line::<S::T>() * line::<S::T>();
        for top in (0..whole).step_by(line::<S::T>()) {
            subtract_tile::<S, N>(line::<S::T>(), tiles.add(top * N), &xs, y.add(top));
        }
        subtract_tile::<S, N>(m - whole, tiles.add(whole * N), &xs, y.add(whole));
    }
}

/// The way back, from the last tile to the triangle: `x ← L11⁻ᵀ·(D·x − L21ᵀ·y)`, y being the rows behind.
///
/// # Safety
/// As [`strip_forward`].
#[inline(always)]
unsafe fn strip_backward<S: Simd, const N: usize>(
    m: usize,
    l: *const S::T,
    tiles: *const S::T,
    x: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mut acc, y) = ([S::zero(); N], x.add(N));
        let whole = m / line::<S::T>() * line::<S::T>();
        add_tile::<S, N>(m - whole, tiles.add(whole * N), y.add(whole), &mut acc);
        for top in (0..whole).step_by(line::<S::T>()).rev() {
            add_tile::<S, N>(line::<S::T>(), tiles.add(top * N), y.add(top), &mut acc);
        }
        ask_ahead_of_triangle::<S, true>(l, N);
        unit::pivots_backward::<S, N>(l, x, &acc);
    }
}

/// `y ← y − L·x` for one tile.
///
/// # Safety
/// L and y are valid for the tile and do not overlap; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn subtract_tile<S: Simd, const N: usize>(
    height: usize,
    l: *const S::T,
    xs: &[S::V; N],
    y: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut i = 0;
        while i + S::LANES <= height {
            let mut v = S::load(y.add(i));
            for j in 0..N {
                let at = l.add(i + j * height);
                ask_ahead::<S, false>(at);
                v = S::fnma(S::load(at), xs[j], v);
            }
            S::store(y.add(i), v);
            i += S::LANES;
        }
        if i < height {
            let mask = S::mask(height - i);
            let mut v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                let at = l.add(i + j * height);
                ask_ahead::<S, false>(at);
                v = S::fnma(S::load_mask(at, mask), xs[j], v);
            }
            S::store_mask(y.add(i), mask, v);
        }
    }
}

/// Sums += `Lᵀ·y` for one tile, its columns from the last to the first: a way back has to go back line by line.
///
/// # Safety
/// L and y are valid for the tile and do not overlap; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn add_tile<S: Simd, const N: usize>(
    height: usize,
    l: *const S::T,
    y: *const S::T,
    acc: &mut [S::V; N],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut i = 0;
        while i + S::LANES <= height {
            let v = S::load(y.add(i));
            for j in (0..N).rev() {
                let at = l.add(i + j * height);
                ask_ahead::<S, true>(at);
                acc[j] = S::fma(S::load(at), v, acc[j]);
            }
            i += S::LANES;
        }
        if i < height {
            let mask = S::mask(height - i);
            let v = S::load_mask(y.add(i), mask);
            for j in (0..N).rev() {
                let at = l.add(i + j * height);
                ask_ahead::<S, true>(at);
                acc[j] = S::fma(S::load_mask(at, mask), v, acc[j]);
            }
        }
    }
}
