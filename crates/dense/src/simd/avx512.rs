//! AVX-512F: 32 registers of 64 bytes; microtiles of 3 × 8 vectors.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::{Op, Piece, Simd};

/// AVX-512F for `T`.
#[derive(Clone, Copy)]
pub struct Avx512<T>(PhantomData<T>);

/// Sums of lanes of a few vectors side by side: of halves of two vectors at a time, then of quarters, then of eighths, in the order of
/// [`tree_sum`](super::portable::tree_sum). For eight vectors 14 shuffles and 7 additions instead of 24 and 24.
///
/// # Safety
/// As [`Simd`]'s functions.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // indices over register arrays, unrolled
unsafe fn sums_64<const N: usize>(a: &[__m512d; N]) -> [f64; N] {
    // As everywhere in no closures, which would not be compiled for the instruction set.
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [0.0; N];
        for first in (0..N).step_by(8) {
            let mut v = [_mm512_setzero_pd(); 8];
            for k in 0..8 {
                if first + k < N {
                    v[k] = a[first + k];
                }
            }
            let mut halves = [_mm512_setzero_pd(); 4];
            for k in 0..4 {
                let low = _mm512_shuffle_f64x2::<0x44>(v[2 * k], v[2 * k + 1]);
                let high = _mm512_shuffle_f64x2::<0xEE>(v[2 * k], v[2 * k + 1]);
                halves[k] = _mm512_add_pd(low, high);
            }
            let mut quarters = [_mm512_setzero_pd(); 2];
            for k in 0..2 {
                let even = _mm512_shuffle_f64x2::<0x88>(halves[2 * k], halves[2 * k + 1]);
                let odd = _mm512_shuffle_f64x2::<0xDD>(halves[2 * k], halves[2 * k + 1]);
                quarters[k] = _mm512_add_pd(even, odd);
            }
            let low = _mm512_unpacklo_pd(quarters[0], quarters[1]);
            let high = _mm512_unpackhi_pd(quarters[0], quarters[1]);
            let mut x = [0.0; 8];
            _mm512_storeu_pd(x.as_mut_ptr(), _mm512_add_pd(low, high));
            // Lane 2k is of the k-th of them, the lane behind it of the fourth after that.
            for k in 0..8 {
                if first + k < N {
                    sums[first + k] = x[2 * (k % 4) + k / 4];
                }
            }
        }
        sums
    }
}

macro_rules! avx512 {
    ($t:ident, $v:ty, $m:ty, $lanes:expr, $index:ident, $set1i:ident, $zero:ident, $set1:ident,
     $permute:ident, $first:ident, $loadu:ident, $maskz_loadu:ident, $storeu:ident, $mask_storeu:ident,
     $fma:ident, $fnma:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $setr:ident,
     $bits:ident, $test:ident, $maskz_mov:ident, [$($k:expr),*], $($sums:ident)?) => {
        #[allow(clippy::undocumented_unsafe_blocks)] // every function passes on Simd's contract
        impl Simd for Avx512<$t> {
            type T = $t;
            type V = $v;
            type M = $m;
            const LANES: usize = $lanes;
            const MV: usize = 3;
            const NR: usize = 8;

            #[inline(always)]
            unsafe fn vectorize<O: Op>(op: O) -> O::Out {
                #[inline]
                #[target_feature(enable = "avx512f,avx2,fma")]
                unsafe fn inner<O: Op>(op: O) -> O::Out {
                    unsafe { op.run() }
                }
                unsafe { inner(op) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> $m {
                ((1u32 << n) - 1) as $m
            }
            #[inline(always)]
            unsafe fn collect(at: *const $t, rows: *const u32, n: usize) -> $v {
                let number = |i: usize| unsafe {
                    let row = *rows.add(if i < n { i } else { n - 1 });
                    *at.add(row as usize)
                };
                unsafe { $setr($(number($k)),*) }
            }
            #[inline(always)]
            unsafe fn zero() -> $v {
                unsafe { $zero() }
            }
            #[inline(always)]
            unsafe fn splat(x: $t) -> $v {
                unsafe { $set1(x) }
            }
            #[inline(always)]
            unsafe fn lane(v: $v, i: usize) -> $v {
                unsafe { $permute($set1i(i as $index), v) }
            }
            #[inline(always)]
            unsafe fn get(v: $v, i: usize) -> $t {
                unsafe { $first($permute($set1i(i as $index), v)) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> $v {
                unsafe { $loadu(p) }
            }
            #[inline(always)]
            unsafe fn load_mask(p: *const $t, m: $m) -> $v {
                unsafe { $maskz_loadu(m, p) }
            }
            #[inline(always)]
            unsafe fn store(p: *mut $t, v: $v) {
                unsafe { $storeu(p, v) }
            }
            #[inline(always)]
            unsafe fn store_mask(p: *mut $t, m: $m, v: $v) {
                unsafe { $mask_storeu(p, m, v) }
            }
            #[inline(always)]
            unsafe fn fma(a: $v, b: $v, c: $v) -> $v {
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn fnma(a: $v, b: $v, c: $v) -> $v {
                unsafe { $fnma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn fnma_one(a: $t, b: $t, c: $t) -> $t {
                (-a).mul_add(b, c) // one instruction, where this is inlined
            }
            #[inline(always)]
            unsafe fn add(a: $v, b: $v) -> $v {
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn sub(a: $v, b: $v) -> $v {
                unsafe { $sub(a, b) }
            }
            #[inline(always)]
            unsafe fn mul(a: $v, b: $v) -> $v {
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            unsafe fn div(a: $v, b: $v) -> $v {
                unsafe { $div(a, b) }
            }
            #[inline(always)]
            unsafe fn sqrt(a: $v) -> $v {
                unsafe { $sqrt(a) }
            }
            #[inline(always)]
            unsafe fn keep(v: $v, bits: $v) -> $v {
                unsafe { $maskz_mov($test($bits(v), $bits(bits)), v) }
            }
            #[inline(always)]
            unsafe fn sum(a: $v) -> $t {
                let mut x = [0 as $t; $lanes];
                unsafe { $storeu(x.as_mut_ptr(), a) };
                super::portable::tree_sum(&mut x)
            }
            $(#[inline(always)]
            unsafe fn sums<const N: usize>(a: &[$v; N]) -> [$t; N] {
                unsafe { $sums(a) }
            })?
            #[inline(always)]
            #[allow(clippy::needless_range_loop)] // over register arrays, unrolled
            unsafe fn subtract_pieces<const P: usize>(
                at: *mut $t,
                pieces: &[Piece; P],
                from: usize,
                v: $v,
            ) {
                // All are read before any is written: a load that overlaps a store before it waits until that is in the cache.
                let (mut masks, mut sums) = ([0; P], [unsafe { $zero() }; P]);
                for p in 0..P {
                    let Piece { shift, from: first, to } = pieces[p];
                    let first = if first > from { first } else { from };
                    masks[p] = (((1u32 << to) - 1) & !((1u32 << first) - 1)) as $m;
                    let old = unsafe { $maskz_loadu(masks[p], at.wrapping_add(shift)) };
                    sums[p] = unsafe { $sub(old, v) };
                }
                for p in 0..P {
                    unsafe { $mask_storeu(at.wrapping_add(pieces[p].shift), masks[p], sums[p]) };
                }
            }
            #[inline(always)]
            unsafe fn prefetch(p: *const $t) {
                unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
            }
            #[inline(always)]
            unsafe fn prefetch_far(p: *const $t) {
                unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
            }
        }
    };
}

avx512!(
    f64,
    __m512d,
    __mmask8,
    8,
    i64,
    _mm512_set1_epi64,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_permutexvar_pd,
    _mm512_cvtsd_f64,
    _mm512_loadu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_storeu_pd,
    _mm512_mask_storeu_pd,
    _mm512_fmadd_pd,
    _mm512_fnmadd_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd,
    _mm512_sqrt_pd,
    _mm512_setr_pd,
    _mm512_castpd_si512,
    _mm512_test_epi64_mask,
    _mm512_maskz_mov_pd,
    [0, 1, 2, 3, 4, 5, 6, 7],
    sums_64
);
avx512!(
    f32,
    __m512,
    __mmask16,
    16,
    i32,
    _mm512_set1_epi32,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_permutexvar_ps,
    _mm512_cvtss_f32,
    _mm512_loadu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_storeu_ps,
    _mm512_mask_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_fnmadd_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_div_ps,
    _mm512_sqrt_ps,
    _mm512_setr_ps,
    _mm512_castps_si512,
    _mm512_test_epi32_mask,
    _mm512_maskz_mov_ps,
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_side_by_side_are_those_one_by_one() {
        if !is_x86_feature_detected!("avx512f") {
            return;
        }
        fn check<const N: usize>(numbers: &[f64; 64]) {
            // SAFETY: the machine has the instruction set, and there are eight vectors.
            let (together, alone) = unsafe {
                let a: [__m512d; N] = std::array::from_fn(|k| _mm512_loadu_pd(&numbers[8 * k]));
                (Avx512::<f64>::sums(&a), a.map(|a| Avx512::<f64>::sum(a)))
            };
            assert_eq!(together.map(f64::to_bits), alone.map(f64::to_bits), "{N}");
        }
        // Of very different sizes, so that the order of additions shows.
        let numbers = std::array::from_fn(|i| {
            let sign = [1.0, -1.0][i % 2];
            sign * (i as f64 + 0.1) * 10f64.powi((i * 7 % 13) as i32 - 6)
        });
        check::<1>(&numbers);
        check::<2>(&numbers);
        check::<3>(&numbers);
        check::<4>(&numbers);
        check::<5>(&numbers);
        check::<6>(&numbers);
        check::<7>(&numbers);
        check::<8>(&numbers);
    }
}
