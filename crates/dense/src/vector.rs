//! Kernels of substitution that stream a few columns of L: `y − L·x`, `x − Lᵀ·y`, small triangles.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use std::marker::PhantomData;

use crate::Real;
use crate::simd::{Op, Simd};

/// `y ← y − L·x` for up to 8 columns and one right-hand side.
pub(crate) struct Gemv<S>(PhantomData<S>);

struct GemvColumns<S: Simd, const N: usize> {
    m: usize,
    l: *const S::T,
    ldl: usize,
    x: *const S::T,
    y: *mut S::T,
}

impl<S: Simd> Gemv<S> {
    /// # Safety
    /// L is valid for `m × n`, x for `n`, y for `m` numbers, and y overlaps neither.
    #[inline]
    pub unsafe fn call(
        m: usize,
        n: usize,
        (l, ldl): (*const S::T, usize),
        x: *const S::T,
        y: *mut S::T,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            match n {
                1 => S::vectorize(GemvColumns::<S, 1> { m, l, ldl, x, y }),
                2 => S::vectorize(GemvColumns::<S, 2> { m, l, ldl, x, y }),
                3 => S::vectorize(GemvColumns::<S, 3> { m, l, ldl, x, y }),
                4 => S::vectorize(GemvColumns::<S, 4> { m, l, ldl, x, y }),
                5 => S::vectorize(GemvColumns::<S, 5> { m, l, ldl, x, y }),
                6 => S::vectorize(GemvColumns::<S, 6> { m, l, ldl, x, y }),
                7 => S::vectorize(GemvColumns::<S, 7> { m, l, ldl, x, y }),
                _ => S::vectorize(GemvColumns::<S, 8> { m, l, ldl, x, y }),
            }
        }
    }
}

impl<S: Simd, const N: usize> Op for GemvColumns<S, N> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self { m, l, ldl, x, y } = self;
        // SAFETY: the caller of `call` vouches for the operands.
        unsafe {
            let mut xs = [S::zero(); N];
            for j in 0..N {
                xs[j] = S::splat(*x.add(j));
            }
            let mut i = 0;
            while i + S::LANES <= m {
                let mut v = S::load(y.add(i));
                for j in 0..N {
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
}

/// `X ← X − Lᵀ·Y` for up to 8 columns of L and any number of right-hand sides.
pub(crate) struct Dots<S>(PhantomData<S>);

/// `N` columns of L with `R` columns of Y.
struct DotsBlock<S: Simd, const N: usize, const R: usize> {
    m: usize,
    l: *const S::T,
    ldl: usize,
    y: *const S::T,
    ldy: usize,
    x: *mut S::T,
    ldx: usize,
}

impl<S: Simd> Dots<S> {
    /// # Safety
    /// L is valid for `m × n`, Y for `m × nrhs`, X for `n × nrhs`; X overlaps neither.
    #[inline]
    pub unsafe fn call(
        m: usize,
        (n, nrhs): (usize, usize),
        (l, ldl): (*const S::T, usize),
        (y, ldy): (*const S::T, usize),
        (x, ldx): (*mut S::T, usize),
    ) {
        let mut r = 0;
        while r < nrhs {
            let (y, x) = (y.wrapping_add(r * ldy), x.wrapping_add(r * ldx));
            let four = nrhs - r >= 4;
            let mut j = 0;
            while j < n {
                let (l, x) = (l.wrapping_add(j * ldl), x.wrapping_add(j));
                macro_rules! run {
                    ($n:literal, $r:literal) => {{
                        // SAFETY: the caller's contract.
                        unsafe {
                            S::vectorize(DotsBlock::<S, $n, $r> {
                                m,
                                l,
                                ldl,
                                y,
                                ldy,
                                x,
                                ldx,
                            })
                        }
                        j += $n;
                    }};
                }
                match (four, n - j) {
                    (false, 8..) => run!(8, 1),
                    (false, 4..) => run!(4, 1),
                    (false, 2..) => run!(2, 1),
                    (false, _) => run!(1, 1),
                    (true, 4..) => run!(4, 4),
                    (true, _) => run!(1, 4),
                }
            }
            r += if four { 4 } else { 1 };
        }
    }
}

impl<S: Simd, const N: usize, const R: usize> DotsBlock<S, N, R> {
    /// Adds the products of one vector of rows.
    #[inline(always)]
    unsafe fn step(&self, i: usize, mask: Option<S::M>, acc: &mut [[S::V; R]; N]) {
        // SAFETY: as in `run`.
        unsafe {
            let load = |p: *const S::T| match mask {
                None => S::load(p),
                Some(mask) => S::load_mask(p, mask),
            };
            let mut y = [S::zero(); R];
            for r in 0..R {
                y[r] = load(self.y.add(i + r * self.ldy));
            }
            for j in 0..N {
                let l = load(self.l.add(i + j * self.ldl));
                for r in 0..R {
                    acc[j][r] = S::fma(l, y[r], acc[j][r]);
                }
            }
        }
    }
}

impl<S: Simd, const N: usize, const R: usize> Op for DotsBlock<S, N, R> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller of `call` vouches for the operands.
        unsafe {
            let mut acc = [[S::zero(); R]; N];
            let mut i = 0;
            while i + S::LANES <= self.m {
                self.step(i, None, &mut acc);
                i += S::LANES;
            }
            if i < self.m {
                self.step(i, Some(S::mask(self.m - i)), &mut acc);
            }
            for j in 0..N {
                for r in 0..R {
                    let p = self.x.add(j + r * self.ldx);
                    *p = *p - S::sum(acc[j][r]);
                }
            }
        }
    }
}

/// `X ← L⁻¹·X` or `X ← L⁻ᵀ·X`, L of order at most 8.
pub(crate) struct Triangle<S: Simd> {
    pub n: usize,
    pub l: *const S::T,
    pub ldl: usize,
    pub x: *mut S::T,
    pub ldx: usize,
    pub nrhs: usize,
    pub backward: bool,
}

impl<S: Simd> Op for Triangle<S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self {
            n,
            l,
            ldl,
            x,
            ldx,
            nrhs,
            backward,
        } = self;
        let mut inverse = [S::T::ONE; 8];
        // SAFETY: L is valid for order n <= 8 and X for `n × nrhs`.
        unsafe {
            for j in 0..n {
                inverse[j] = S::T::ONE / *l.add(j * (ldl + 1));
            }
            for r in 0..nrhs {
                let x = x.add(r * ldx);
                if backward {
                    for j in (0..n).rev() {
                        let mut y = *x.add(j);
                        for i in (j + 1..n).rev() {
                            y = y - *l.add(i + j * ldl) * *x.add(i);
                        }
                        *x.add(j) = y * inverse[j];
                    }
                } else {
                    for j in 0..n {
                        let y = *x.add(j) * inverse[j];
                        *x.add(j) = y;
                        for i in j + 1..n {
                            *x.add(i) = *x.add(i) - *l.add(i + j * ldl) * y;
                        }
                    }
                }
            }
        }
    }
}
