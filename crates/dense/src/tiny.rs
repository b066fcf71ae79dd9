//! Partial Cholesky of a tiny front: up to 8 pivots and 16 rows.
//!
//! Its work is less than that of choosing and calling microtiles for it, and less than that of bringing
//! numbers to memory and back between two pivots: so the whole panel is in registers, the rows of the pivots
//! and those below them in vectors of their own. Right-looking for the panel, left-looking for the update
//! matrix. The next pivot waits for one reciprocal only: with `v` the column before it is scaled and `p` its
//! pivot, the columns after it get `− v vᵀ/p`, and the root for the column itself is taken meanwhile.
//!
//! Invariant: which fronts come here depends on their size alone.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::blas::PivotFailure;
use crate::front::FrontMut;
use crate::layout::{line, packed};
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::{Isa, Real, UpdateMode};

/// Pivots of a tiny front at most.
const PIVOTS: usize = 8;

/// Order of a tiny front at most.
const ORDER: usize = 16;

/// Whether a front is for [`eliminate_tiny`]: its panel and its update matrix are one block column each, as are
/// those of its children.
#[inline]
pub fn is_tiny(npiv: usize, nupd: usize, block: usize) -> bool {
    let order = npiv + nupd;
    (1..=PIVOTS).contains(&npiv) && order <= ORDER && order <= block
}

/// [`partial_cholesky`](crate::partial_cholesky) of a tiny front, without its update matrix if there is no mode for that; the final panel is written to `strips` in
/// [`Strips`](crate::Strips) if there is such a place, and the front's own then is as it was.
///
/// # Errors
/// The first pivot that is not a positive normal number, or is below the floor's; the front is then without meaning.
///
/// # Safety
/// The front is valid, [tiny](is_tiny), and in the hands of this call alone, as is the place of its final panel.
#[inline]
pub unsafe fn eliminate_tiny<T: Real>(
    front: FrontMut<T>,
    mode: Option<UpdateMode>,
    isa: Isa,
    strips: Option<*mut T>,
) -> Result<(), PivotFailure> {
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, eliminate(front, mode, strips)) }
}

/// # Safety
/// The front is valid and tiny.
unsafe fn eliminate<S: Simd>(
    f: FrontMut<S::T>,
    mode: Option<UpdateMode>,
    strips: Option<*mut S::T>,
) -> Result<(), PivotFailure> {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(Eliminate::<S>(f, mode, strips)) }
}

struct Eliminate<S: Simd>(FrontMut<S::T>, Option<UpdateMode>, Option<*mut S::T>);

/// Calls a function for a number of pivots, 1 to [`PIVOTS`], and vectors of the rows below.
macro_rules! for_pivots {
    ($n:expr, $v:literal, $f:ident($($arg:expr),*)) => {
        match $n {
            1 => $f::<S, 1, $v>($($arg),*),
            2 => $f::<S, 2, $v>($($arg),*),
            3 => $f::<S, 3, $v>($($arg),*),
            4 => $f::<S, 4, $v>($($arg),*),
            5 => $f::<S, 5, $v>($($arg),*),
            6 => $f::<S, 6, $v>($($arg),*),
            7 => $f::<S, 7, $v>($($arg),*),
            _ => $f::<S, 8, $v>($($arg),*),
        }
    };
}

impl<S: Simd> Op for Eliminate<S> {
    type Out = Result<(), PivotFailure>;
    #[inline(always)]
    unsafe fn run(self) -> Self::Out {
        let Self(f, mode, strips) = self;
        debug_assert!(is_tiny(f.npiv(), f.nupd(), f.block()));
        // SAFETY: the caller of `eliminate` vouches for the front.
        unsafe {
            if f.nupd() <= S::LANES {
                for_pivots!(f.npiv(), 1, in_registers(f, mode, strips))
            } else if f.nupd() <= 2 * S::LANES || 2 * S::LANES >= ORDER {
                for_pivots!(f.npiv(), 2, in_registers(f, mode, strips))
            } else {
                for_pivots!(f.npiv(), 4, in_registers(f, mode, strips))
            }
        }
    }
}

/// Which lanes of vector `v` of a column of `rows` numbers are there.
#[inline(always)]
unsafe fn there<S: Simd>(rows: usize, v: usize) -> S::M {
    // SAFETY: at most all lanes; the machine has the instruction set.
    unsafe { S::mask(rows.saturating_sub(v * S::LANES).min(S::LANES)) }
}

/// The first `W` vectors of a column of `rows` numbers, zeros where there are none.
///
/// # Safety
/// The column is valid.
#[inline(always)]
unsafe fn load<S: Simd, const W: usize>(column: *const S::T, rows: usize) -> [S::V; W] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut vectors = [S::zero(); W];
        for v in 0..W {
            vectors[v] = S::load_mask(column.wrapping_add(v * S::LANES), there::<S>(rows, v));
        }
        vectors
    }
}

/// Writes vector `from` and those after it to a column of `rows` numbers.
///
/// # Safety
/// The column is valid.
#[inline(always)]
unsafe fn store<S: Simd, const W: usize>(
    column: *mut S::T,
    rows: usize,
    from: usize,
    vectors: &[S::V; W],
) {
    // SAFETY: the caller's contract.
    unsafe {
        for v in from..W {
            let to = column.wrapping_add(v * S::LANES);
            S::store_mask(to, there::<S>(rows, v), vectors[v]);
        }
    }
}

/// Writes column `k` of the `rows` rows below in tiles of `N` columns.
///
/// # Safety
/// There is room for the tiles.
#[inline(always)]
unsafe fn store_in_tiles<S: Simd, const N: usize, const W: usize>(
    tiles: *mut S::T,
    k: usize,
    rows: usize,
    vectors: &[S::V; W],
) {
    let tile = line::<S::T>();
    // SAFETY: the caller's contract.
    unsafe {
        for v in 0..W {
            let first = v * S::LANES;
            let top = first / tile * tile;
            let height = tile.min(rows.saturating_sub(top));
            let to = tiles.wrapping_add(top * N + k * height + (first - top));
            S::store_mask(to, there::<S>(rows, v), vectors[v]);
        }
    }
}

/// Eliminates `N` pivots above at most `V` vectors of rows.
///
/// # Safety
/// The front is valid, tiny, and of that size.
#[inline(always)]
unsafe fn in_registers<S: Simd, const N: usize, const V: usize>(
    f: FrontMut<S::T>,
    mode: Option<UpdateMode>,
    strips: Option<*mut S::T>,
) -> Result<(), PivotFailure> {
    let nupd = f.nupd();
    let order = N + nupd;
    let (mut roots, mut inverses) = ([S::T::ZERO; N], [S::T::ZERO; N]);
    // Vectors of the pivots' rows, of which there are at most two.
    let tops = N.div_ceil(S::LANES);
    // SAFETY: the caller's contract; rows and columns stay in the front.
    unsafe {
        let floor = S::splat(f.floor().bits);
        // Rows of the pivots, without meaning above the diagonal, and the rows below.
        let mut top = [[S::zero(); 2]; N];
        let mut below = [[S::zero(); V]; N];
        for j in 0..N {
            let column = f.panel().add(j * order);
            top[j] = load::<S, 2>(column, N);
            below[j] = load::<S, V>(column.add(N), nupd);
        }
        for k in 0..N {
            let pivot = S::get(top[k][k / S::LANES], k % S::LANES);
            let inverse = S::T::ONE / pivot;
            if !f.floor().allows(pivot) {
                let value = pivot.to_f64();
                return Err(PivotFailure { index: k, value });
            }
            let root = pivot.sqrt();
            inverses[k] = root * inverse;
            let scale = S::splat(inverses[k]);
            for j in k + 1..N {
                let before = S::lane(top[k][j / S::LANES], j % S::LANES);
                for v in j / S::LANES..tops {
                    let w = S::mul(top[k][v], S::splat(inverse));
                    top[j][v] = S::fnma(before, w, top[j][v]);
                }
                for v in 0..V {
                    let w = S::mul(below[k][v], S::splat(inverse));
                    below[j][v] = S::fnma(before, w, below[j][v]);
                }
            }
            for v in 0..tops {
                top[k][v] = S::keep(S::mul(top[k][v], scale), floor);
            }
            for v in 0..V {
                below[k][v] = S::keep(S::mul(below[k][v], scale), floor);
            }
            roots[k] = root;
        }
        // The last column first: what a column writes above its diagonal is where the one before it ends.
        for k in (0..N).rev() {
            let Some(to) = strips else {
                let column = f.panel().add(k * order);
                store::<S, 2>(column, N, 0, &top[k]);
                store::<S, V>(column.add(N), nupd, 0, &below[k]);
                *column.add(k) = roots[k];
                continue;
            };
            // Over the pivot's root, which stands there inverted.
            let (mut unit, mut rows, by) = (top[k], below[k], S::splat(inverses[k]));
            for v in 0..tops {
                unit[v] = S::mul(unit[v], by);
            }
            for v in 0..V {
                rows[v] = S::mul(rows[v], by);
            }
            let column = to.add(packed(N)(k, k) - k);
            store::<S, 2>(column, N, 0, &unit);
            store_in_tiles::<S, N, V>(to.add(N * (N + 1) / 2), k, nupd, &rows);
            *column.add(k) = inverses[k];
        }
        let Some(mode) = mode else {
            return Ok(());
        };
        for u in 0..V {
            for lane in 0..nupd.saturating_sub(u * S::LANES).min(S::LANES) {
                let column = f.update().add((u * S::LANES + lane) * nupd);
                let mut sum = match mode {
                    UpdateMode::Accumulate => load::<S, V>(column, nupd),
                    UpdateMode::Overwrite => [S::zero(); V],
                };
                for k in 0..N {
                    let factor = S::lane(below[k][u], lane);
                    for v in u..V {
                        sum[v] = S::fnma(factor, below[k][v], sum[v]);
                    }
                }
                store::<S, V>(column, nupd, u, &sum);
            }
        }
    }
    Ok(())
}
