//! AVX2 and FMA: 16 registers of 32 bytes; microtiles of 3 × 4 vectors.
//!
//! A masked store takes a Zen 3 2.9 ns (run `kernels-1` of 2026-11-25), and a load that follows cannot be served
//! from it: so some lanes are stored by halves. Masked loads cost what whole ones do.

use std::arch::asm;
use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::{Op, Simd};

/// AVX2 with FMA for `T`.
#[derive(Clone, Copy)]
pub struct Avx2<T>(PhantomData<T>);

/// The first so many lanes of a vector; not a mask, which would take one of 16 registers.
#[derive(Clone, Copy)]
pub struct First(usize);

/// Rows `LANES − n ..` of this are a mask of the first `n` lanes.
static MASKS_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
static MASKS_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// Lane `i` in all lanes; one shuffle where `i` is known when this is compiled.
#[inline(always)]
unsafe fn lane_64(v: __m256d, i: usize) -> __m256d {
    // SAFETY: as Simd's functions.
    unsafe {
        let halves = (2 * i as i64) | (2 * i as i64 + 1) << 32;
        let v = _mm256_permutevar8x32_ps(_mm256_castpd_ps(v), _mm256_set1_epi64x(halves));
        _mm256_castps_pd(v)
    }
}

/// See [`lane_64`].
#[inline(always)]
unsafe fn lane_32(v: __m256, i: usize) -> __m256 {
    // SAFETY: as Simd's functions.
    unsafe { _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(i as i32)) }
}

/// The first `n` lanes to memory.
#[inline(always)]
unsafe fn store_first_64(p: *mut f64, n: usize, v: __m256d) {
    // SAFETY: as Simd's functions.
    unsafe {
        if n == 4 {
            return _mm256_storeu_pd(p, v);
        }
        let low = _mm256_castpd256_pd128(v);
        if n & 2 != 0 {
            _mm_storeu_pd(p, low);
            if n & 1 != 0 {
                _mm_store_sd(p.add(2), _mm256_extractf128_pd::<1>(v));
            }
        } else if n & 1 != 0 {
            _mm_store_sd(p, low);
        }
    }
}

/// See [`store_first_64`].
#[inline(always)]
unsafe fn store_first_32(p: *mut f32, n: usize, v: __m256) {
    // SAFETY: as Simd's functions.
    unsafe {
        if n == 8 {
            return _mm256_storeu_ps(p, v);
        }
        let (mut p, mut rest) = (p, _mm256_castps256_ps128(v));
        if n & 4 != 0 {
            _mm_storeu_ps(p, rest);
            (p, rest) = (p.add(4), _mm256_extractf128_ps::<1>(v));
        }
        if n & 2 != 0 {
            _mm_storel_pd(p.cast(), _mm_castps_pd(rest));
            (p, rest) = (p.add(2), _mm_movehl_ps(rest, rest));
        }
        if n & 1 != 0 {
            _mm_store_ss(p, rest);
        }
    }
}

/// Sum of the lanes: halves, and halves of these.
#[inline(always)]
unsafe fn sum_64(v: __m256d) -> f64 {
    // SAFETY: as Simd's functions.
    unsafe {
        let two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

/// See [`sum_64`].
#[inline(always)]
unsafe fn sum_32(v: __m256) -> f32 {
    // SAFETY: as Simd's functions.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
    }
}

macro_rules! avx2 {
    ($t:ident, $v:ty, $lanes:expr, $masks:ident, $zero:ident, $set1:ident, $loadu:ident,
     $maskload:ident, $storeu:ident, $fma:ident, $fnma:ident, $add:ident,
     $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $setr:ident, $lane:ident, $first:ident, $store_first:ident,
     $sum:ident, $to_bits:ident, $of_bits:ident, $equal:ident, $and:ident, $and_not:ident, [$($k:expr),*]) => {
        #[allow(clippy::undocumented_unsafe_blocks)] // every function passes on Simd's contract
        impl Simd for Avx2<$t> {
            type T = $t;
            type V = $v;
            type M = First;
            const LANES: usize = $lanes;
            const MV: usize = 3;
            const NR: usize = 4;

            #[inline(always)]
            unsafe fn vectorize<O: Op>(op: O) -> O::Out {
                #[inline]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn inner<O: Op>(op: O) -> O::Out {
                    unsafe { op.run() }
                }
                unsafe { inner(op) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> First {
                First(n)
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
                unsafe { $lane(v, i) }
            }
            #[inline(always)]
            unsafe fn get(v: $v, i: usize) -> $t {
                unsafe { $first($lane(v, i)) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> $v {
                unsafe { $loadu(p) }
            }
            #[inline(always)]
            unsafe fn load_mask(p: *const $t, m: First) -> $v {
                unsafe {
                    let mask = _mm256_loadu_si256($masks.as_ptr().add($lanes - m.0).cast());
                    $maskload(p, mask)
                }
            }
            #[inline(always)]
            unsafe fn store(p: *mut $t, v: $v) {
                unsafe { $storeu(p, v) }
            }
            #[inline(always)]
            unsafe fn store_mask(p: *mut $t, m: First, v: $v) {
                unsafe { $store_first(p, m.0, v) }
            }
            #[inline(always)]
            unsafe fn hold(v: $v) -> $v {
                #[inline]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn hold(mut v: $v) -> $v {
                    unsafe { asm!("/* {0} */", inout(ymm_reg) v, options(nostack, preserves_flags)) };
                    v
                }
                unsafe { hold(v) }
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
                unsafe {
                    let both = $to_bits($and(v, bits));
                    $and_not($of_bits($equal(both, _mm256_setzero_si256())), v)
                }
            }
            #[inline(always)]
            unsafe fn sum(a: $v) -> $t {
                unsafe { $sum(a) }
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

avx2!(
    f64,
    __m256d,
    4,
    MASKS_64,
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_maskload_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    _mm256_fnmadd_pd,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_sqrt_pd,
    _mm256_setr_pd,
    lane_64,
    _mm256_cvtsd_f64,
    store_first_64,
    sum_64,
    _mm256_castpd_si256,
    _mm256_castsi256_pd,
    _mm256_cmpeq_epi64,
    _mm256_and_pd,
    _mm256_andnot_pd,
    [0, 1, 2, 3]
);
avx2!(
    f32,
    __m256,
    8,
    MASKS_32,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_maskload_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_fnmadd_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_sqrt_ps,
    _mm256_setr_ps,
    lane_32,
    _mm256_cvtss_f32,
    store_first_32,
    sum_32,
    _mm256_castps_si256,
    _mm256_castsi256_ps,
    _mm256_cmpeq_epi32,
    _mm256_and_ps,
    _mm256_andnot_ps,
    [0, 1, 2, 3, 4, 5, 6, 7]
);
