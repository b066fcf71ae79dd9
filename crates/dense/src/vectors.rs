//! Kernels of substitution with several right-hand sides, row by row in memory: the entries of one
//! row of all right-hand sides fill `V` whole vectors.
//!
//! So an entry of L is one number that multiplies vectors, whichever way L is applied: products with
//! L and with its transpose are the same kernel with the strides of L exchanged, and neither sums
//! across lanes. Limit: 8 entries of L with `V = 2` take 16 FMAs for 10 loads.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::Real;
use crate::simd::Simd;

/// A matrix by its entry `(0, 0)` and its strides: entry `(i, k)` at `p + i·row + k·column`, the columns in groups that are
/// `next` numbers from each other.
#[derive(Clone, Copy)]
pub(crate) struct Strided<T> {
    pub p: *const T,
    pub row: usize,
    pub column: usize,
    /// Columns of a group; k counts in it.
    pub group: usize,
    pub next: usize,
}

impl<T> Strided<T> {
    /// All columns in one group.
    #[inline(always)]
    pub fn new(p: *const T, row: usize, column: usize) -> Self {
        Self {
            p,
            row,
            column,
            group: usize::MAX,
            next: 0,
        }
    }

    #[inline(always)]
    fn below(self, i: usize) -> Self {
        let p = self.p.wrapping_add(i * self.row);
        Self { p, ..self }
    }
}

/// `Y ← Y − A·X` for `R` rows: A is `R × n`; X and Y have rows of `V` vectors.
#[inline(always)]
unsafe fn rows<S: Simd, const V: usize, const R: usize>(
    n: usize,
    a: Strided<S::T>,
    x: *const S::T,
    y: *mut S::T,
) {
    let width = V * S::LANES;
    // SAFETY: the caller of `subtract` vouches for the operands.
    unsafe {
        let mut acc = [[S::zero(); V]; R];
        for r in 0..R {
            for v in 0..V {
                acc[r][v] = S::load(y.add(r * width + v * S::LANES));
            }
        }
        let (mut p, mut from) = (a.p, 0);
        while from < n {
            let count = a.group.min(n - from);
            for k in 0..count {
                let mut xs = [S::zero(); V];
                for v in 0..V {
                    xs[v] = S::load(x.add((from + k) * width + v * S::LANES));
                }
                for r in 0..R {
                    let l = S::splat(*p.add(r * a.row + k * a.column));
                    for v in 0..V {
                        acc[r][v] = S::fnma(l, xs[v], acc[r][v]);
                    }
                }
            }
            from += count;
            p = p.wrapping_add(a.next);
        }
        for r in 0..R {
            for v in 0..V {
                S::store(y.add(r * width + v * S::LANES), acc[r][v]);
            }
        }
    }
}

/// `Y ← Y − A·X`: A is `m × n`; X is `n` and Y `m` rows of `V` vectors.
///
/// # Safety
/// The operands are valid for those sizes, Y overlaps neither; inlined into code compiled for the
/// instruction set.
#[inline(always)]
pub(crate) unsafe fn subtract<S: Simd, const V: usize>(
    m: usize,
    n: usize,
    a: Strided<S::T>,
    x: *const S::T,
    y: *mut S::T,
) {
    let width = V * S::LANES;
    // Registers for sums: two thirds of those of the largest microtile of the product.
    let many = S::MV * S::NR >= 24;
    let mut i = 0;
    // SAFETY: the caller's contract.
    unsafe {
        if many || V == 1 {
            while i + 8 <= m {
                rows::<S, V, 8>(n, a.below(i), x, y.add(i * width));
                i += 8;
            }
        }
        if many || V <= 2 {
            while i + 4 <= m {
                rows::<S, V, 4>(n, a.below(i), x, y.add(i * width));
                i += 4;
            }
        }
        while i + 2 <= m {
            rows::<S, V, 2>(n, a.below(i), x, y.add(i * width));
            i += 2;
        }
        if i < m {
            rows::<S, V, 1>(n, a.below(i), x, y.add(i * width));
        }
    }
}

/// `X ← L⁻¹·X`, or `X ← L⁻ᵀ·X` if `transposed`, for a lower triangle of order `n`, entry `(i, j)` at
/// `l + place(i, j)`: X is `n` rows of `V` vectors.
///
/// # Safety
/// As [`subtract`].
#[inline(always)]
pub(crate) unsafe fn solve<S: Simd, const V: usize>(
    n: usize,
    l: *const S::T,
    place: impl Fn(usize, usize) -> usize,
    x: *mut S::T,
    transposed: bool,
) {
    let width = V * S::LANES;
    // SAFETY: the caller's contract.
    unsafe {
        for step in 0..n {
            let j = if transposed { n - 1 - step } else { step };
            let done = if transposed { j + 1..n } else { 0..j };
            let mut acc = [S::zero(); V];
            for v in 0..V {
                acc[v] = S::load(x.add(j * width + v * S::LANES));
            }
            for i in done {
                let at = if transposed { place(i, j) } else { place(j, i) };
                let y = S::splat(*l.add(at));
                for v in 0..V {
                    acc[v] = S::fnma(y, S::load(x.add(i * width + v * S::LANES)), acc[v]);
                }
            }
            let inverse = S::splat(S::T::ONE / *l.add(place(j, j)));
            for v in 0..V {
                S::store(x.add(j * width + v * S::LANES), S::mul(acc[v], inverse));
            }
        }
    }
}
