//! Strips with one right-hand side: triangles in registers, tiles as they lie in memory.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use super::StripsRef;
use crate::layout::{STRIP, TILE_BYTES, packed};
use crate::simd::{Op, Simd};
use crate::thin::AHEAD_BYTES;
use crate::{Real, unit};

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
        let (count, tile) = (panel.layout.count(), panel.layout.tile);
        // SAFETY: the callers of `StripsRef`'s methods vouch for w; the panel has these entries.
        unsafe {
            for step in 0..count {
                let t = if forward { step } else { count - 1 - step };
                let (s, l, tiles) = panel.strip(t);
                let (n, x) = (s.width, w.add(s.first));
                let y = x.add(n);
                // Whole strips have a triangle in registers: its order is a constant.
                if forward {
                    let z = match n {
                        STRIP => solve_triangle::<S>(STRIP, l, x),
                        n => solve_triangle::<S>(n, l, x),
                    };
                    for_columns!(n, subtract, (s.below, tile, tiles, z.as_ptr(), y));
                } else {
                    let sums = for_columns!(n, dots, (s.below, tile, tiles, y));
                    match n {
                        STRIP => solve_transposed_triangle::<S>(STRIP, l, &sums, x),
                        n => solve_transposed_triangle::<S>(n, l, &sums, x),
                    }
                }
            }
        }
    }
}

/// `x ← D⁻¹·L11⁻¹·x` for a strip of `n` columns; gives `D·L11⁻¹·x`, what the rows below are to be multiplied with.
///
/// # Safety
/// L is valid for the triangle and x for `n` numbers; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn solve_triangle<S: Simd>(n: usize, l: *const S::T, x: *mut S::T) -> [S::T; STRIP] {
    let mut z = [S::T::ZERO; STRIP];
    // SAFETY: the caller's contract.
    unsafe {
        for j in 0..n {
            z[j] = *x.add(j);
        }
        unit::solve::<S, STRIP>(n, l, &mut z);
        for j in 0..n {
            let inverse = *l.add(packed(n)(j, j));
            *x.add(j) = z[j] * inverse * inverse;
        }
    }
    z
}

/// `x ← L11⁻ᵀ·(D·x − L21ᵀ·y)` for a strip of `n` columns, given `sums`, what is kept of the rows below times y: `D⁻¹·L21ᵀ·y`.
///
/// # Safety
/// As [`solve_triangle`].
#[inline(always)]
unsafe fn solve_transposed_triangle<S: Simd>(
    n: usize,
    l: *const S::T,
    sums: &[S::T; STRIP],
    x: *mut S::T,
) {
    let mut z = [S::T::ZERO; STRIP];
    // SAFETY: the caller's contract.
    unsafe {
        for j in 0..n {
            z[j] = *x.add(j) - sums[j];
        }
        unit::solve_transposed::<S, STRIP>(n, l, &mut z);
        for j in 0..n {
            *x.add(j) = z[j];
        }
    }
}

/// Numbers of a line of the caches, the rows of a tile.
const fn line<T>() -> usize {
    TILE_BYTES / size_of::<T>()
}

/// Numbers that are asked for ahead.
const fn ahead<T>() -> usize {
    AHEAD_BYTES / size_of::<T>()
}

/// `y ← y − L·x` for a strip of `N` columns and `m` rows in tiles of `tile` rows.
///
/// # Safety
/// L is valid for `m × N`, x for `N`, y for `m` numbers, and y overlaps neither; inlined into code
/// compiled for the instruction set.
#[inline(always)]
unsafe fn subtract<S: Simd, const N: usize>(
    m: usize,
    tile: usize,
    l: *const S::T,
    x: *const S::T,
    y: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut xs = [S::zero(); N];
        for j in 0..N {
            xs[j] = S::splat(*x.add(j));
        }
        let mut top = 0;
        while top < m {
            let height = tile.min(m - top);
            let (l, y) = (l.add(top * N), y.add(top));
            if height == line::<S::T>() {
                subtract_tile::<S, N>(line::<S::T>(), l, &xs, y); // a constant
            } else {
                subtract_tile::<S, N>(height, l, &xs, y);
            }
            top += height;
        }
    }
}

/// One tile of [`subtract`].
///
/// # Safety
/// As there.
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
                S::prefetch_far(at.wrapping_add(ahead::<S::T>()));
                v = S::fnma(S::load(at), xs[j], v);
            }
            S::store(y.add(i), v);
            i += S::LANES;
        }
        if i < height {
            let mask = S::mask(height - i);
            let mut v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                v = S::fnma(S::load_mask(l.add(i + j * height), mask), xs[j], v);
            }
            S::store_mask(y.add(i), mask, v);
        }
    }
}

/// `Lᵀ·y` for a strip, from its last tile to its first; sums behind `N` are zero.
///
/// # Safety
/// As [`subtract`], with y read.
#[inline(always)]
unsafe fn dots<S: Simd, const N: usize>(
    m: usize,
    tile: usize,
    l: *const S::T,
    y: *const S::T,
) -> [S::T; STRIP] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut acc = [S::zero(); N];
        let mut end = m;
        while end > 0 {
            let top = (end - 1) / tile * tile;
            let (height, l, y) = (end - top, l.add(top * N), y.add(top));
            if height == line::<S::T>() {
                add_tile::<S, N>(line::<S::T>(), l, y, &mut acc); // a constant
            } else {
                add_tile::<S, N>(height, l, y, &mut acc);
            }
            end = top;
        }
        let mut sums = [S::T::ZERO; STRIP];
        for j in 0..N {
            sums[j] = S::sum(acc[j]);
        }
        sums
    }
}

/// One tile of [`dots`].
///
/// # Safety
/// As there.
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
            for j in 0..N {
                let at = l.add(i + j * height);
                S::prefetch_far(at.wrapping_sub(ahead::<S::T>()));
                acc[j] = S::fma(S::load(at), v, acc[j]);
            }
            i += S::LANES;
        }
        if i < height {
            let mask = S::mask(height - i);
            let v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                acc[j] = S::fma(S::load_mask(l.add(i + j * height), mask), v, acc[j]);
            }
        }
    }
}
