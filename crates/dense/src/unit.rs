//! Unit triangles of a strip, with one right-hand side and with several.
//!
//! A pivot's number is known when those before it are: one fused operation after the other, with neither a division nor a
//! product of its own in between.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::layout::packed;
use crate::simd::Simd;

/// `N` numbers, read one by one.
///
/// Mostly they were written one by one just before. A vector of them would not be had from these writes: it would wait until they are in the
/// cache, which is after every line of L that was asked for before them has come, and nothing is read ahead meanwhile.
///
/// # Safety
/// They are valid.
#[inline(always)]
unsafe fn one_by_one<T: Copy, const N: usize>(x: *const T) -> [T; N] {
    // SAFETY: the caller's promise.
    std::array::from_fn(|j| unsafe { x.add(j).read_volatile() })
}

/// `v ← L⁻¹·v` for a unit lower triangle kept by columns; what stands on its diagonal is not read.
///
/// # Safety
/// L is valid for that order; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn solve<S: Simd, const N: usize>(l: *const S::T, v: &mut [S::T; N]) {
    let place = packed(N);
    for j in 0..N {
        for i in 0..N {
            if i > j {
                // SAFETY: the caller's contract.
                v[i] = unsafe { S::fnma_one(*l.add(place(i, j)), v[j], v[i]) };
            }
        }
    }
}

/// `v ← L⁻ᵀ·v`, likewise.
///
/// # Safety
/// As [`solve`].
#[inline(always)]
unsafe fn solve_transposed<S: Simd, const N: usize>(l: *const S::T, v: &mut [S::T; N]) {
    let place = packed(N);
    for step in 0..N {
        let j = N - 1 - step;
        for i in 0..N {
            if i < j {
                // SAFETY: the caller's contract.
                v[i] = unsafe { S::fnma_one(*l.add(place(j, i)), v[j], v[i]) };
            }
        }
    }
}

/// The pivots of a strip on the way up: `x ← D⁻¹·L11⁻¹·x`; gives `D·L11⁻¹·x`, what the rows below are to be multiplied with, each number in
/// all lanes.
///
/// # Safety
/// L is valid for the triangle and x for `N` numbers; inlined into code compiled for the instruction set.
#[inline(always)]
pub(crate) unsafe fn pivots_forward<S: Simd, const N: usize>(
    l: *const S::T,
    x: *mut S::T,
) -> [S::V; N] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut v = one_by_one::<S::T, N>(x);
        solve::<S, N>(l, &mut v);
        let mut xs = [S::zero(); N];
        for j in 0..N {
            let inverse = *l.add(packed(N)(j, j));
            *x.add(j) = v[j] * inverse * inverse;
            xs[j] = S::splat(v[j]);
        }
        xs
    }
}

/// On the way down: `x ← L11⁻ᵀ·(D·x − s)`, s being the sums of the lanes of `sums`.
///
/// # Safety
/// As [`pivots_forward`].
#[inline(always)]
pub(crate) unsafe fn pivots_backward<S: Simd, const N: usize>(
    l: *const S::T,
    x: *mut S::T,
    sums: &[S::V; N],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut v = one_by_one::<S::T, N>(x);
        let sums = S::sums(sums);
        for j in 0..N {
            v[j] = v[j] - sums[j];
        }
        solve_transposed::<S, N>(l, &mut v);
        for j in 0..N {
            *x.add(j) = v[j];
        }
    }
}

/// [`solve`] for `N` rows of `C` vectors.
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn solve_rows<S: Simd, const N: usize, const C: usize>(
    l: *const S::T,
    z: &mut [[S::V; C]; N],
) {
    let place = packed(N);
    for j in 0..N {
        for i in 0..N {
            if i > j {
                // SAFETY: the caller's contract.
                unsafe {
                    let l = S::splat(*l.add(place(i, j)));
                    for c in 0..C {
                        z[i][c] = S::fnma(l, z[j][c], z[i][c]);
                    }
                }
            }
        }
    }
}

/// [`solve_transposed`], likewise.
///
/// # Safety
/// As [`solve`].
#[inline(always)]
pub(crate) unsafe fn solve_transposed_rows<S: Simd, const N: usize, const C: usize>(
    l: *const S::T,
    z: &mut [[S::V; C]; N],
) {
    let place = packed(N);
    for step in 0..N {
        let j = N - 1 - step;
        for i in 0..N {
            if i < j {
                // SAFETY: the caller's contract.
                unsafe {
                    let l = S::splat(*l.add(place(j, i)));
                    for c in 0..C {
                        z[i][c] = S::fnma(l, z[j][c], z[i][c]);
                    }
                }
            }
        }
    }
}
