//! Microtiles: the kernels that hold a piece of C in registers.
//!
//! A microtile is `V` vectors by `N` columns of C; the product `A·Bᵀ` is summed over k in
//! registers from zero, in increasing k, one fused multiply-add per entry, and then subtracted
//! from C. Every entry therefore sees the same operations whatever tile it falls into, edges
//! included (masked lanes).
//!
//! Limit: with AVX-512 in `f64`, 24 × 8 entries need 24 vector FMAs for 3 loads and 8 broadcasts
//! per k; two FMA units and two load ports leave the FMAs as the limit (12 cycles against 5.5).

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::Real;
use crate::simd::{Op, Simd};

/// What a product does with C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// `C ← C − A·Bᵀ`.
    Accumulate,
    /// `C ← −A·Bᵀ`; C is not read.
    Overwrite,
}

/// Column-major operands of a microtile: entry `(i, l)` of A at `a + i + l·lda`, of B likewise.
#[derive(Clone, Copy)]
pub(crate) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub lda: usize,
    pub b: *const T,
    pub ldb: usize,
    pub c: *mut T,
    pub ldc: usize,
    /// What a long product asks for meanwhile, [`asked_for`] numbers: part of the B that comes next,
    /// or B itself.
    pub next: *const T,
}

/// `Σ_l a_l·b_lᵀ` in registers; the last vector of A is masked unless `FULL`.
///
/// With `AHEAD`, for a long sum, asks for C meanwhile: half a column at a time, because a core has no
/// more than a dozen lines under way, and the operands' loads would wait behind C's. And for what
/// comes [`next`](Tile::next), a line every other turn.
#[inline(always)]
unsafe fn accumulate<
    S: Simd,
    const V: usize,
    const N: usize,
    const FULL: bool,
    const AHEAD: bool,
>(
    t: &Tile<S::T>,
    mask: S::M,
) -> [[S::V; V]; N] {
    // SAFETY: the caller's tile names memory that is valid for these rows, columns and masks; a
    // prefetch never faults.
    unsafe {
        let mut acc = [[S::zero(); V]; N];
        let (mut a, mut b, mut c, mut next) = (t.a, t.b, t.c, t.next);
        // four k per turn: the loop's own instructions compete with the FMAs for issue slots
        let turns = t.k / 4;
        for turn in 0..turns {
            if AHEAD && turn < 2 * N {
                // Half a column of C: it may begin anywhere in a line.
                let from = (turn & 1) * (V * S::LANES / 2);
                S::prefetch(c.wrapping_add(from));
                S::prefetch(c.wrapping_add(from + V * S::LANES / 2 - 1));
                c = c.wrapping_add((turn & 1) * t.ldc);
            }
            if AHEAD && turn & 1 == 1 {
                S::prefetch_far(next);
                next = next.wrapping_add(64 / size_of::<S::T>());
            }
            for _ in 0..4 {
                rank_one::<S, V, N, FULL>(&mut acc, a, b, mask);
                a = a.wrapping_add(t.lda);
                b = b.wrapping_add(t.ldb);
            }
        }
        for _ in 0..t.k % 4 {
            rank_one::<S, V, N, FULL>(&mut acc, a, b, mask);
            a = a.wrapping_add(t.lda);
            b = b.wrapping_add(t.ldb);
        }
        acc
    }
}

/// `acc += a·bᵀ` for one k.
#[inline(always)]
unsafe fn rank_one<S: Simd, const V: usize, const N: usize, const FULL: bool>(
    acc: &mut [[S::V; V]; N],
    a: *const S::T,
    b: *const S::T,
    mask: S::M,
) {
    // SAFETY: as in `accumulate`.
    unsafe {
        let x = load_column::<S, V, FULL>(a, mask);
        for j in 0..N {
            let y = S::splat(*b.add(j));
            for v in 0..V {
                acc[j][v] = S::fma(x[v], y, acc[j][v]);
            }
            acc[j][V - 1] = S::hold(acc[j][V - 1]);
        }
    }
}

/// `V` vectors from memory, the last one masked unless `FULL`.
///
/// # Safety
/// `p` is valid for those rows.
#[inline(always)]
pub(crate) unsafe fn load_column<S: Simd, const V: usize, const FULL: bool>(
    p: *const S::T,
    mask: S::M,
) -> [S::V; V] {
    // SAFETY: as in `accumulate`.
    unsafe {
        let mut x = [S::zero(); V];
        // The masked one first: its mask is where another one comes.
        if !FULL {
            x[V - 1] = S::hold(S::load_mask(p.add((V - 1) * S::LANES), mask));
        }
        for v in 0..V - usize::from(!FULL) {
            x[v] = S::load(p.add(v * S::LANES));
        }
        x
    }
}

/// `V` vectors to memory, the last one masked unless `FULL`.
///
/// # Safety
/// `p` is valid for those rows.
#[inline(always)]
pub(crate) unsafe fn store_column<S: Simd, const V: usize, const FULL: bool>(
    p: *mut S::T,
    mask: S::M,
    x: [S::V; V],
) {
    // SAFETY: as in `accumulate`.
    unsafe {
        for v in 0..V {
            let p = p.add(v * S::LANES);
            if FULL || v + 1 < V {
                S::store(p, x[v]);
            } else {
                S::store_mask(p, mask, x[v]);
            }
        }
    }
}

/// Numbers of [`Tile::next`] that a product over `k` asks for: a line for every other turn.
pub(crate) fn asked_for<T>(k: usize) -> usize {
    k / 8 * (64 / size_of::<T>())
}

/// Length from which C is asked for while the sum is made.
const LONG: usize = 48;

/// `C ← β·C − A·Bᵀ` on one microtile.
struct Multiply<'a, S: Simd, const V: usize, const N: usize, const FULL: bool> {
    tile: &'a Tile<S::T>,
    mask: S::M,
    mode: UpdateMode,
}

impl<S: Simd, const V: usize, const N: usize, const FULL: bool> Op for Multiply<'_, S, V, N, FULL> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let t = self.tile;
        // SAFETY: the caller of `multiply` vouches for the operands.
        unsafe {
            let acc = if FULL && t.k >= LONG {
                accumulate::<S, V, N, FULL, true>(t, self.mask)
            } else {
                accumulate::<S, V, N, FULL, false>(t, self.mask)
            };
            for j in 0..N {
                let p = t.c.add(j * t.ldc);
                let mut x = match self.mode {
                    UpdateMode::Accumulate => load_column::<S, V, FULL>(p, self.mask),
                    UpdateMode::Overwrite => [S::zero(); V],
                };
                for v in 0..V {
                    x[v] = S::sub(x[v], acc[j][v]);
                }
                store_column::<S, V, FULL>(p, self.mask, x);
            }
        }
    }
}

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
        for v in 0..V {
            x[J][v] = S::mul(x[J][v], d);
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
                if !pivot.is_pivot() {
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
                let l = S::mul(x[j], S::splat(inverse));
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

/// Picks the instance of a microtile for `rows` (`1..=MR`) and `n` (`1..=NR`).
macro_rules! pick {
    ($s:ident, $rows:expr, $n:expr, $op:ident { $($field:ident: $value:expr),* }) => {{
        let (rows, n) = ($rows, $n);
        let v = rows.div_ceil($s::LANES);
        if rows == $s::MR && n == $s::NR {
            pick!(@full $s, $op { $($field: $value),* })
        } else {
            let mask = $s::mask(rows - (v - 1) * $s::LANES);
            match v {
                1 => pick!(@n $s, 1, n, mask, $op { $($field: $value),* }),
                2 => pick!(@n $s, 2, n, mask, $op { $($field: $value),* }),
                _ => pick!(@n $s, 3, n, mask, $op { $($field: $value),* }),
            }
        }
    }};
    (@full $s:ident, $op:ident { $($field:ident: $value:expr),* }) => {{
        let mask = $s::mask($s::LANES);
        match ($s::MV, $s::NR) {
            (3, 8) => $s::vectorize($op::<$s, 3, 8, true> { mask, $($field: $value),* }),
            (3, 4) => $s::vectorize($op::<$s, 3, 4, true> { mask, $($field: $value),* }),
            _ => $s::vectorize($op::<$s, 1, 4, true> { mask, $($field: $value),* }),
        }
    }};
    (@n $s:ident, $v:literal, $n:ident, $mask:ident, $op:ident { $($field:ident: $value:expr),* }) => {
        match $n {
            1 => $s::vectorize($op::<$s, $v, 1, false> { mask: $mask, $($field: $value),* }),
            2 => $s::vectorize($op::<$s, $v, 2, false> { mask: $mask, $($field: $value),* }),
            3 => $s::vectorize($op::<$s, $v, 3, false> { mask: $mask, $($field: $value),* }),
            4 => $s::vectorize($op::<$s, $v, 4, false> { mask: $mask, $($field: $value),* }),
            5 => $s::vectorize($op::<$s, $v, 5, false> { mask: $mask, $($field: $value),* }),
            6 => $s::vectorize($op::<$s, $v, 6, false> { mask: $mask, $($field: $value),* }),
            7 => $s::vectorize($op::<$s, $v, 7, false> { mask: $mask, $($field: $value),* }),
            _ => $s::vectorize($op::<$s, $v, 8, false> { mask: $mask, $($field: $value),* }),
        }
    };
}

/// `C ← β·C − A·Bᵀ` for `1 <= rows <= MR`, `1 <= n <= NR`.
///
/// # Safety
/// The tile's operands are valid for those sizes; C overlaps neither A nor B.
#[inline]
pub(crate) unsafe fn multiply<S: Simd>(rows: usize, n: usize, tile: &Tile<S::T>, mode: UpdateMode) {
    debug_assert!((1..=S::MR).contains(&rows) && (1..=S::NR).contains(&n));
    // SAFETY: the caller's contract.
    unsafe {
        pick!(
            S,
            rows,
            n,
            Multiply {
                tile: tile,
                mode: mode
            }
        )
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
/// The strict upper triangle of C is overwritten without meaning. Gives the first bad pivot.
///
/// # Safety
/// As [`multiply`]; `inverse` is valid for `n` numbers.
#[inline]
pub(crate) unsafe fn factor<S: Simd>(
    n: usize,
    tile: &Tile<S::T>,
    inverse: *mut S::T,
) -> Result<(), (usize, S::T)> {
    debug_assert!((1..=S::NR).contains(&n));
    // SAFETY: the caller's contract.
    unsafe {
        match n {
            1 => S::vectorize(Factor::<S, 1> { tile, inverse }),
            2 => S::vectorize(Factor::<S, 2> { tile, inverse }),
            3 => S::vectorize(Factor::<S, 3> { tile, inverse }),
            4 => S::vectorize(Factor::<S, 4> { tile, inverse }),
            5 => S::vectorize(Factor::<S, 5> { tile, inverse }),
            6 => S::vectorize(Factor::<S, 6> { tile, inverse }),
            7 => S::vectorize(Factor::<S, 7> { tile, inverse }),
            _ => S::vectorize(Factor::<S, 8> { tile, inverse }),
        }
    }
}
