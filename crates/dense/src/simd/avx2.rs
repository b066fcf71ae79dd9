//! AVX2 and FMA: 16 registers of 32 bytes; microtiles of 3 × 4 vectors.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::{Op, Simd};

/// AVX2 with FMA for `T`.
#[derive(Clone, Copy)]
pub struct Avx2<T>(PhantomData<T>);

/// Rows `LANES − n ..` of this are a mask of the first `n` lanes.
static MASKS_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
static MASKS_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

macro_rules! avx2 {
    ($t:ident, $v:ty, $lanes:expr, $masks:ident, $zero:ident, $set1:ident, $loadu:ident,
     $maskload:ident, $storeu:ident, $maskstore:ident, $fma:ident, $fnma:ident, $add:ident,
     $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $setr:ident, [$($k:expr),*]) => {
        #[allow(clippy::undocumented_unsafe_blocks)] // every function passes on Simd's contract
        impl Simd for Avx2<$t> {
            type T = $t;
            type V = $v;
            type M = __m256i;
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
            unsafe fn mask(n: usize) -> __m256i {
                unsafe { _mm256_loadu_si256($masks.as_ptr().add($lanes - n).cast()) }
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
                let mut x = [0 as $t; $lanes];
                unsafe {
                    $storeu(x.as_mut_ptr(), v);
                    $set1(x[i])
                }
            }
            #[inline(always)]
            unsafe fn get(v: $v, i: usize) -> $t {
                let mut x = [0 as $t; $lanes];
                unsafe { $storeu(x.as_mut_ptr(), v) };
                x[i]
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> $v {
                unsafe { $loadu(p) }
            }
            #[inline(always)]
            unsafe fn load_mask(p: *const $t, m: __m256i) -> $v {
                unsafe { $maskload(p, m) }
            }
            #[inline(always)]
            unsafe fn store(p: *mut $t, v: $v) {
                unsafe { $storeu(p, v) }
            }
            #[inline(always)]
            unsafe fn store_mask(p: *mut $t, m: __m256i, v: $v) {
                unsafe { $maskstore(p, m, v) }
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
            unsafe fn sum(a: $v) -> $t {
                let mut x = [0 as $t; $lanes];
                unsafe { $storeu(x.as_mut_ptr(), a) };
                super::portable::tree_sum(&mut x)
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
    _mm256_maskstore_pd,
    _mm256_fmadd_pd,
    _mm256_fnmadd_pd,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_sqrt_pd,
    _mm256_setr_pd,
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
    _mm256_maskstore_ps,
    _mm256_fmadd_ps,
    _mm256_fnmadd_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_sqrt_ps,
    _mm256_setr_ps,
    [0, 1, 2, 3, 4, 5, 6, 7]
);
