//! Plain arrays of 4 numbers, for machines of which nothing is known: the compiler makes of them
//! what the target has (two SSE2 or NEON registers in `f64`).

use std::marker::PhantomData;

use super::{Op, Simd};
use crate::Real;

/// Arrays of `T`.
#[derive(Clone, Copy)]
pub struct Portable<T>(PhantomData<T>);

const LANES: usize = 4;

/// Sum by halves; the length is a power of two.
#[inline(always)]
pub(super) fn tree_sum<T: Real>(x: &mut [T]) -> T {
    let mut n = x.len();
    while n > 1 {
        n /= 2;
        for i in 0..n {
            x[i] = x[i] + x[i + n];
        }
    }
    x[0]
}

/// `a·b + c`; fused only where that is one instruction (a call into libm would take 50).
#[inline(always)]
fn mul_add<T: Real>(a: T, b: T, c: T) -> T {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

#[inline(always)]
fn zip<T: Real>(a: [T; LANES], b: [T; LANES], f: impl Fn(T, T) -> T) -> [T; LANES] {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}

#[allow(clippy::undocumented_unsafe_blocks)] // every function passes on Simd's contract
impl<T: Real> Simd for Portable<T> {
    type T = T;
    type V = [T; LANES];
    type M = usize;
    const LANES: usize = LANES;
    const MV: usize = 1;
    const NR: usize = 4;

    #[inline(always)]
    unsafe fn vectorize<O: Op>(op: O) -> O::Out {
        #[inline(never)] // one copy of a kernel, as with the other sets
        unsafe fn inner<O: Op>(op: O) -> O::Out {
            unsafe { op.run() }
        }
        unsafe { inner(op) }
    }
    #[inline(always)]
    unsafe fn mask(n: usize) -> usize {
        n
    }
    #[inline(always)]
    unsafe fn collect(at: *const T, rows: *const u32, n: usize) -> [T; LANES] {
        std::array::from_fn(|i| unsafe { *at.add(*rows.add(i.min(n - 1)) as usize) })
    }
    #[inline(always)]
    unsafe fn zero() -> [T; LANES] {
        [T::ZERO; LANES]
    }
    #[inline(always)]
    unsafe fn splat(x: T) -> [T; LANES] {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn lane(v: [T; LANES], i: usize) -> [T; LANES] {
        [v[i]; LANES]
    }
    #[inline(always)]
    unsafe fn get(v: [T; LANES], i: usize) -> T {
        v[i]
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> [T; LANES] {
        unsafe { p.cast::<[T; LANES]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_mask(p: *const T, m: usize) -> [T; LANES] {
        if m == LANES {
            return unsafe { Self::load(p) };
        }
        let mut v = [T::ZERO; LANES];
        for (i, x) in v.iter_mut().enumerate().take(m) {
            *x = unsafe { *p.add(i) };
        }
        v
    }
    #[inline(always)]
    unsafe fn store(p: *mut T, v: [T; LANES]) {
        unsafe { p.cast::<[T; LANES]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn store_mask(p: *mut T, m: usize, v: [T; LANES]) {
        if m == LANES {
            return unsafe { Self::store(p, v) };
        }
        for (i, x) in v.iter().enumerate().take(m) {
            unsafe { *p.add(i) = *x };
        }
    }
    #[inline(always)]
    unsafe fn fma(a: [T; LANES], b: [T; LANES], c: [T; LANES]) -> [T; LANES] {
        [
            mul_add(a[0], b[0], c[0]),
            mul_add(a[1], b[1], c[1]),
            mul_add(a[2], b[2], c[2]),
            mul_add(a[3], b[3], c[3]),
        ]
    }
    #[inline(always)]
    unsafe fn fnma(a: [T; LANES], b: [T; LANES], c: [T; LANES]) -> [T; LANES] {
        unsafe { Self::fma(a.map(|x| -x), b, c) }
    }
    #[inline(always)]
    unsafe fn fnma_one(a: T, b: T, c: T) -> T {
        mul_add(-a, b, c)
    }
    #[inline(always)]
    unsafe fn add(a: [T; LANES], b: [T; LANES]) -> [T; LANES] {
        zip(a, b, |x, y| x + y)
    }
    #[inline(always)]
    unsafe fn sub(a: [T; LANES], b: [T; LANES]) -> [T; LANES] {
        zip(a, b, |x, y| x - y)
    }
    #[inline(always)]
    unsafe fn mul(a: [T; LANES], b: [T; LANES]) -> [T; LANES] {
        zip(a, b, |x, y| x * y)
    }
    #[inline(always)]
    unsafe fn div(a: [T; LANES], b: [T; LANES]) -> [T; LANES] {
        zip(a, b, |x, y| x / y)
    }
    #[inline(always)]
    unsafe fn sqrt(a: [T; LANES]) -> [T; LANES] {
        a.map(Real::sqrt)
    }
    #[inline(always)]
    unsafe fn keep(v: [T; LANES], bits: [T; LANES]) -> [T; LANES] {
        zip(v, bits, Real::keep)
    }
    #[inline(always)]
    unsafe fn sum(mut a: [T; LANES]) -> T {
        tree_sum(&mut a)
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const T) {}
    #[inline(always)]
    unsafe fn prefetch_far(_: *const T) {}
}
