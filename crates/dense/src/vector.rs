//! Kernels of substitution with one right-hand side: a vector is updated by a few columns of L.
//!
//! While a group of columns is worked on, the group after it is asked for (on the way back, the group
//! before it): it lies next in memory, but the processor notices columns of a few hundred rows only
//! when they are half done. Measured: 10.2 GB/s of L become 11.1 with 200 and with 600 rows.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::Real;
use crate::simd::Simd;

/// Rows up to which the next group of columns is asked for: 8 columns of more are noticed in time,
/// and would push each other out of the first cache.
const AHEAD_ROWS: usize = 2048;

/// Distance to what is asked for: `N` columns, or none.
#[inline(always)]
fn ahead<const N: usize>(m: usize, ldl: usize) -> usize {
    if m <= AHEAD_ROWS { N * ldl } else { 0 }
}

/// `y ← y − L·x` for `N` columns of L with `m` rows.
///
/// # Safety
/// L is valid for `m × N`, x for `N`, y for `m` numbers, and y overlaps neither; inlined into code
/// compiled for the instruction set.
#[inline(always)]
unsafe fn gemv<S: Simd, const N: usize>(
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
        let ahead = ahead::<N>(m, ldl);
        let mut i = 0;
        while i + S::LANES <= m {
            let mut v = S::load(y.add(i));
            for j in 0..N {
                S::prefetch(l.wrapping_add(i + j * ldl + ahead));
                v = S::fnma(S::load(l.add(i + j * ldl)), xs[j], v);
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
    unsafe {
        match n {
            1 => gemv::<S, 1>(m, l, x, y),
            2 => gemv::<S, 2>(m, l, x, y),
            3 => gemv::<S, 3>(m, l, x, y),
            4 => gemv::<S, 4>(m, l, x, y),
            5 => gemv::<S, 5>(m, l, x, y),
            6 => gemv::<S, 6>(m, l, x, y),
            7 => gemv::<S, 7>(m, l, x, y),
            _ => gemv::<S, 8>(m, l, x, y),
        }
    }
}

/// `x ← x − Lᵀ·y` for `N` columns of L with `m` rows.
///
/// # Safety
/// As [`gemv`], with x written and y read.
#[inline(always)]
unsafe fn dots<S: Simd, const N: usize>(
    m: usize,
    (l, ldl): (*const S::T, usize),
    y: *const S::T,
    x: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut acc = [S::zero(); N];
        let ahead = ahead::<N>(m, ldl);
        let mut i = 0;
        while i + S::LANES <= m {
            let v = S::load(y.add(i));
            for j in 0..N {
                S::prefetch(l.wrapping_add(i + j * ldl).wrapping_sub(ahead));
                acc[j] = S::fma(S::load(l.add(i + j * ldl)), v, acc[j]);
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
        for j in 0..N {
            *x.add(j) = *x.add(j) - S::sum(acc[j]);
        }
    }
}

/// [`dots`] for `n` columns, 1 to 8.
///
/// # Safety
/// As there.
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
        match n {
            1 => dots::<S, 1>(m, l, y, x),
            2 => dots::<S, 2>(m, l, y, x),
            3 => dots::<S, 3>(m, l, y, x),
            4 => dots::<S, 4>(m, l, y, x),
            5 => dots::<S, 5>(m, l, y, x),
            6 => dots::<S, 6>(m, l, y, x),
            7 => dots::<S, 7>(m, l, y, x),
            _ => dots::<S, 8>(m, l, y, x),
        }
    }
}

/// `x ← L⁻¹·x` for a lower triangle of order `n`, 1 to 8.
///
/// # Safety
/// L is valid for that order and x for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn solve<S: Simd>(n: usize, l: (*const S::T, usize), x: *mut S::T) {
    // SAFETY: the caller's contract.
    unsafe {
        match n {
            8 => forward::<S>(8, l, x), // in registers, as the order is known
            _ => forward::<S>(n, l, x),
        }
    }
}

/// # Safety
/// As [`solve`].
#[inline(always)]
unsafe fn forward<S: Simd>(n: usize, (l, ldl): (*const S::T, usize), x: *mut S::T) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mut v, mut inverse) = ([S::T::ZERO; 8], [S::T::ZERO; 8]);
        for j in 0..n {
            v[j] = *x.add(j);
            inverse[j] = S::T::ONE / *l.add(j * (ldl + 1)); // not in the chain of pivots
        }
        for j in 0..n {
            v[j] = v[j] * inverse[j];
            for i in j + 1..n {
                v[i] = v[i] - *l.add(i + j * ldl) * v[j];
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
pub(crate) unsafe fn solve_transposed<S: Simd>(n: usize, l: (*const S::T, usize), x: *mut S::T) {
    // SAFETY: the caller's contract.
    unsafe {
        match n {
            8 => backward::<S>(8, l, x),
            _ => backward::<S>(n, l, x),
        }
    }
}

/// # Safety
/// As [`solve`].
#[inline(always)]
unsafe fn backward<S: Simd>(n: usize, (l, ldl): (*const S::T, usize), x: *mut S::T) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mut v, mut inverse) = ([S::T::ZERO; 8], [S::T::ZERO; 8]);
        for j in 0..n {
            v[j] = *x.add(j);
            inverse[j] = S::T::ONE / *l.add(j * (ldl + 1));
        }
        for j in (0..n).rev() {
            v[j] = v[j] * inverse[j];
            for i in 0..j {
                v[i] = v[i] - *l.add(j + i * ldl) * v[j];
            }
        }
        for j in 0..n {
            *x.add(j) = v[j];
        }
    }
}
