//! Kernels of substitution with one right-hand side: a vector is updated by a few columns of L.
//!
//! While a group of columns is worked on, the group after it is asked for (on the way back, the group
//! before it): it lies next in memory, but the processor notices columns of a few hundred rows only
//! when they are half done. It is asked into the second cache: the first one can have few misses at a time, which held large fronts
//! at 18 GB/s of 34 on a Zen 5 (run `solve-4`). Of longer columns a group would fill the second one, and the processor
//! reads them ahead itself.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::Real;
use crate::simd::Simd;

/// Rows up to which the next group of columns is asked for: 64 KiB of it. On a Zen 4 512 rows, 1024 and any number are
/// alike, 256 take 3 to 5 % longer for a solve of a plate or a solid (run `solve-11`).
const AHEAD_ROWS: usize = 1024;

/// Calls a function for a number of columns, 1 to 8, and whether to ask for what comes next.
macro_rules! for_columns {
    ($n:expr, $ahead:expr, $f:ident($($arg:expr),*)) => {
        match $n {
            1 => $f::<S, 1, false>($($arg),*),
            2 => $f::<S, 2, false>($($arg),*),
            3 => $f::<S, 3, false>($($arg),*),
            4 => $f::<S, 4, false>($($arg),*),
            5 => $f::<S, 5, false>($($arg),*),
            6 => $f::<S, 6, false>($($arg),*),
            7 => $f::<S, 7, false>($($arg),*),
            _ if $ahead => $f::<S, 8, true>($($arg),*),
            _ => $f::<S, 8, false>($($arg),*),
        }
    };
}

/// `y ← y − L·x` for `N` columns of L with `m` rows.
///
/// # Safety
/// L is valid for `m × N`, x for `N`, y for `m` numbers, and y overlaps neither; inlined into code
/// compiled for the instruction set.
#[inline(always)]
unsafe fn gemv<S: Simd, const N: usize, const AHEAD: bool>(
    m: usize,
    (l, ldl): (*const S::T, usize),
    x: *const S::T,
    y: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut xs = [S::zero(); N];
        for j in 0..N {
            xs[j] = S::splat(*x.add(j));
        }
        let mut i = 0;
        while i + S::LANES <= m {
            let mut v = S::load(y.add(i));
            for j in 0..N {
                let at = l.wrapping_add(i + j * ldl);
                if AHEAD {
                    S::prefetch_far(at.wrapping_add(N * ldl));
                }
                v = S::fnma(S::load(at), xs[j], v);
            }
            S::store(y.add(i), v);
            i += S::LANES;
        }
        if i < m {
            let mask = S::mask(m - i);
            let mut v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                v = S::fnma(S::load_mask(l.add(i + j * ldl), mask), xs[j], v);
            }
            S::store_mask(y.add(i), mask, v);
        }
    }
}

/// [`gemv`] for `n` columns, 1 to 8.
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn subtract<S: Simd>(
    m: usize,
    n: usize,
    l: (*const S::T, usize),
    x: *const S::T,
    y: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe { for_columns!(n, m <= AHEAD_ROWS, gemv(m, l, x, y)) }
}

/// `Lᵀ·y` for `N` columns of L with `m` rows.
///
/// # Safety
/// As [`gemv`], with y read.
#[inline(always)]
unsafe fn columns<S: Simd, const N: usize, const AHEAD: bool>(
    m: usize,
    (l, ldl): (*const S::T, usize),
    y: *const S::T,
) -> [S::T; 8] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut acc = [S::zero(); N];
        let mut i = 0;
        while i + S::LANES <= m {
            let v = S::load(y.add(i));
            for j in 0..N {
                let at = l.wrapping_add(i + j * ldl);
                if AHEAD {
                    S::prefetch_far(at.wrapping_sub(N * ldl));
                }
                acc[j] = S::fma(S::load(at), v, acc[j]);
            }
            i += S::LANES;
        }
        if i < m {
            let mask = S::mask(m - i);
            let v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                acc[j] = S::fma(S::load_mask(l.add(i + j * ldl), mask), v, acc[j]);
            }
        }
        let mut sums = [S::T::ZERO; 8];
        sums[..N].copy_from_slice(&S::sums(&acc));
        sums
    }
}

/// [`columns`] for `n` columns, 1 to 8; the sums behind are zero.
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn dots<S: Simd>(
    m: usize,
    n: usize,
    l: (*const S::T, usize),
    y: *const S::T,
) -> [S::T; 8] {
    // SAFETY: the caller's contract.
    unsafe { for_columns!(n, m <= AHEAD_ROWS, columns(m, l, y)) }
}

/// `x ← x − s` for `n` numbers.
///
/// # Safety
/// x is valid for `n` numbers, 1 to 8.
#[inline(always)]
pub(crate) unsafe fn subtract_sums<T: Real>(n: usize, sums: &[T; 8], x: *mut T) {
    for j in 0..n {
        // SAFETY: the caller's contract.
        unsafe { *x.add(j) = *x.add(j) - sums[j] };
    }
}

/// `x ← x − Lᵀ·y` for `n` columns, 1 to 8.
///
/// # Safety
/// As [`dots`], with x written.
#[inline(always)]
pub(crate) unsafe fn subtract_transposed<S: Simd>(
    m: usize,
    n: usize,
    l: (*const S::T, usize),
    y: *const S::T,
    x: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let sums = dots::<S>(m, n, l, y);
        subtract_sums(n, &sums, x);
    }
}

/// `x ← L⁻¹·x` for a lower triangle of order `n`, 1 to 8, entry `(i, j)` at `l + at(i, j)`.
///
/// # Safety
/// L is valid for that order and x for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn solve<S: Simd>(
    n: usize,
    l: *const S::T,
    at: impl Fn(usize, usize) -> usize,
    x: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mut v, mut inverse) = ([S::T::ZERO; 8], [S::T::ZERO; 8]);
        for j in 0..n {
            v[j] = *x.add(j);
            inverse[j] = S::T::ONE / *l.add(at(j, j)); // not in the chain of pivots
        }
        for j in 0..n {
            v[j] = v[j] * inverse[j];
            for i in j + 1..n {
                v[i] = v[i] - *l.add(at(i, j)) * v[j];
            }
        }
        for j in 0..n {
            *x.add(j) = v[j];
        }
    }
}

/// `x ← L⁻ᵀ·x` for a lower triangle of order `n`, 1 to 8.
///
/// # Safety
/// As [`solve`].
#[inline(always)]
pub(crate) unsafe fn solve_transposed<S: Simd>(
    n: usize,
    l: *const S::T,
    at: impl Fn(usize, usize) -> usize,
    x: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mut v, mut inverse) = ([S::T::ZERO; 8], [S::T::ZERO; 8]);
        for j in 0..n {
            v[j] = *x.add(j);
            inverse[j] = S::T::ONE / *l.add(at(j, j));
        }
        for j in (0..n).rev() {
            v[j] = v[j] * inverse[j];
            for i in 0..j {
                v[i] = v[i] - *l.add(at(j, i)) * v[j];
            }
        }
        for j in 0..n {
            *x.add(j) = v[j];
        }
    }
}

/// Solves a triangle, in registers where its order is known: that of a whole strip.
macro_rules! triangle {
    ($solve:ident, $n:expr, $l:expr, $at:ident($of:expr), $x:expr) => {
        match $n {
            8 => $crate::vector::$solve::<S>(8, $l, $at($of), $x),
            n => $crate::vector::$solve::<S>(n, $l, $at($of), $x),
        }
    };
}
pub(crate) use triangle;
