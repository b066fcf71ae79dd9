//! Microtiles that end in a triangle: panel solve and Cholesky, after the update by the columns before.

use super::{LONG, Tile, accumulate, load_column, store_column};
use crate::simd::{Op, Simd};
use crate::{Floor, Real};

/// `X ← (X − A·Bᵀ)·L⁻ᵀ` on one microtile of X, where L is `N × N`.
struct Solve<'a, S: Simd, const V: usize, const N: usize, const FULL: bool> {
    tile: &'a Tile<S::T>,
    mask: S::M,
    lower: &'a Lower<S::T>,
    copy: *mut S::T,
}

/// A small lower triangle: entry `(i, j)`, `i > j`, at `l + i + j·ldl`; reciprocals of the diagonal.
#[derive(Clone, Copy)]
pub(crate) struct Lower<T> {
    pub l: *const T,
    pub ldl: usize,
    pub inverse: *const T,
    pub floor: Floor<T>,
}

/// Finishes column `J` of a panel solve, and takes its products from those after it.
#[inline(always)]
unsafe fn solve_column<S: Simd, const V: usize, const N: usize, const J: usize>(
    x: &mut [[S::V; V]; N],
    l: &Lower<S::T>,
) {
    const { assert!(N <= 8) };
    if J >= N {
        return;
    }
    // SAFETY: as in `accumulate`; L is of order N.
    unsafe {
        let d = S::splat(*l.inverse.add(J));
        let floor = S::splat(l.floor.bits);
        for v in 0..V {
            x[J][v] = S::keep(S::mul(x[J][v], d), floor);
        }
        // not `J + 1..N`: with constant bounds all of x stays in registers
        for i in 0..N {
            if i > J {
                let y = S::splat(*l.l.add(i + J * l.ldl));
                for v in 0..V {
                    x[i][v] = S::fnma(x[J][v], y, x[i][v]);
                }
            }
        }
    }
}

impl<S: Simd, const V: usize, const N: usize, const FULL: bool> Op for Solve<'_, S, V, N, FULL> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let (t, l) = (self.tile, self.lower);
        // SAFETY: the caller of `solve` vouches for the operands.
        unsafe {
            let mut x = if FULL && t.k >= LONG {
                accumulate::<S, V, N, FULL, true>(t, self.mask)
            } else {
                accumulate::<S, V, N, FULL, false>(t, self.mask)
            };
            for j in 0..N {
                let c = load_column::<S, V, FULL>(t.c.add(j * t.ldc), self.mask);
                for v in 0..V {
                    x[j][v] = S::sub(c[v], x[j][v]);
                }
            }
            // One by one: of a loop over two numbers the compiler unrolls the inner one only, and keeps x in memory.
            solve_column::<S, V, N, 0>(&mut x, l);
            solve_column::<S, V, N, 1>(&mut x, l);
            solve_column::<S, V, N, 2>(&mut x, l);
            solve_column::<S, V, N, 3>(&mut x, l);
            solve_column::<S, V, N, 4>(&mut x, l);
            solve_column::<S, V, N, 5>(&mut x, l);
            solve_column::<S, V, N, 6>(&mut x, l);
            solve_column::<S, V, N, 7>(&mut x, l);
            for j in 0..N {
                store_column::<S, V, FULL>(t.c.add(j * t.ldc), self.mask, x[j]);
            }
            if !self.copy.is_null() {
                for j in 0..N {
                    store_column::<S, V, true>(self.copy.add(j * S::MR), self.mask, x[j]);
                }
            }
        }
    }
}

/// Cholesky of one diagonal microtile after its update: `A ← chol(A − B·Bᵀ)`, order `N`.
///
/// The columns are updated as in LDLᵀ: one scalar division, not a square root and a division,
/// separates a pivot from the next; the roots are off the critical path.
struct Factor<'a, S: Simd, const N: usize> {
    tile: &'a Tile<S::T>,
    inverse: *mut S::T,
    floor: Floor<S::T>,
}

impl<S: Simd, const N: usize> Op for Factor<'_, S, N> {
    type Out = Result<(), (usize, S::T)>;
    #[inline(always)]
    unsafe fn run(self) -> Self::Out {
        let t = self.tile;
        // SAFETY: the caller of `factor` vouches for the operands; N <= S::NR <= S::LANES <= 16.
        unsafe {
            let mask = S::mask(N);
            let acc = accumulate::<S, 1, N, false, false>(t, mask);
            let mut x = [S::zero(); N];
            for j in 0..N {
                x[j] = S::sub(S::load_mask(t.c.add(j * t.ldc), mask), acc[j][0]);
            }
            for j in 0..N {
                let pivot = S::get(x[j], j);
                let reciprocal = S::T::ONE / pivot;
                if !self.floor.allows(pivot) {
                    return Err((j, pivot));
                }
                let root = pivot.sqrt();
                let scaled = S::mul(x[j], S::splat(reciprocal));
                for i in 0..N {
                    if i > j {
                        x[i] = S::fnma(scaled, S::lane(x[j], i), x[i]);
                    }
                }
                let inverse = S::T::ONE / root;
                *self.inverse.add(j) = inverse;
                let c = t.c.add(j * t.ldc);
                let l = S::keep(S::mul(x[j], S::splat(inverse)), S::splat(self.floor.bits));
                if N == S::LANES {
                    S::store(c, l); // loads that follow cannot be served from a masked store
                } else {
                    S::store_mask(c, mask, l);
                }
                *c.add(j) = root;
            }
            Ok(())
        }
    }
}

/// `C ← (C − A·Bᵀ)·L⁻ᵀ` for `1 <= rows <= MR`, L of order `1 <= n <= NR`; unless `copy` is null the
/// result goes there as well, columns `MR` apart, whole vectors.
///
/// # Safety
/// As [`multiply`]; `lower` is valid for order `n`, `copy` null or valid for `MR × n`.
#[inline]
pub(crate) unsafe fn solve<S: Simd>(
    rows: usize,
    n: usize,
    tile: &Tile<S::T>,
    lower: &Lower<S::T>,
    copy: *mut S::T,
) {
    debug_assert!((1..=S::MR).contains(&rows) && (1..=S::NR).contains(&n));
    // SAFETY: the caller's contract.
    unsafe {
        pick!(
            S,
            rows,
            n,
            Solve {
                tile: tile,
                lower: lower,
                copy: copy
            }
        )
    }
}

/// `C ← chol(C − A·Bᵀ)` of order `1 <= n <= NR`; reciprocals of the diagonal go to `inverse`.
/// Entries below the floor become zero. The strict upper triangle of C is overwritten without meaning. Gives the first bad pivot.
///
/// # Safety
/// As [`multiply`]; `inverse` is valid for `n` numbers.
#[inline]
pub(crate) unsafe fn factor<S: Simd>(
    n: usize,
    tile: &Tile<S::T>,
    inverse: *mut S::T,
    floor: Floor<S::T>,
) -> Result<(), (usize, S::T)> {
    debug_assert!((1..=S::NR).contains(&n));
    // SAFETY: the caller's contract.
    unsafe {
        macro_rules! of_order {
            ($n:literal) => {
                S::vectorize(Factor::<S, $n> {
                    tile,
                    inverse,
                    floor,
                })
            };
        }
        match n {
            1 => of_order!(1),
            2 => of_order!(2),
            3 => of_order!(3),
            4 => of_order!(4),
            5 => of_order!(5),
            6 => of_order!(6),
            7 => of_order!(7),
            _ => of_order!(8),
        }
    }
}
