//! Microtiles: the kernels that hold a piece of C in registers.
//!
//! A microtile is `V` vectors by `N` columns of C; the product `A·Bᵀ` is summed over k in
//! registers from zero, in increasing k, one fused multiply-add per entry, and then subtracted
//! from C. Every entry therefore sees the same operations whatever tile it falls into, edges
//! included (masked lanes).
//!
//! Limit: with AVX-512 in `f64`, 24 × 8 entries need 24 vector FMAs for 3 loads and 8 broadcasts
//! per k; two FMA units and two load ports leave the FMAs as the limit (12 cycles against 5.5). With AVX2 12 × 4
//! entries need 12 FMAs for 3 loads and 4 broadcasts (6 cycles against 3.5), and all 16 registers.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::simd::{Op, Simd};

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

mod triangle;

pub(crate) use triangle::{Lower, factor, solve};

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
