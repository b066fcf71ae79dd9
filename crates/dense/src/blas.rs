//! Free-standing kernels on column-major storage: product, lower product, panel solve, Cholesky.
//!
//! All matrices are given by pointer and leading dimension (distance of successive columns, at
//! least the number of rows). Nothing outside the named rows and columns is read or written.

use thiserror::Error;

use crate::product::{Plain, PlainMut, Shape, cut, product};
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::tile::{self, Lower, Tile, UpdateMode};
use crate::workspace::{Buffers, KC, SOLVE_COLUMNS};
use crate::{Floor, Real, Workspace};

/// A pivot that is not a positive normal number: the matrix is not positive definite. Or one that is too small for a [`Floor`], as
/// [`Floor::is_too_high`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("pivot {value} at position {index} is not a positive number")]
pub struct PivotFailure {
    /// Position of the first such pivot, from 0.
    pub index: usize,
    /// The pivot as it stood, before the square root.
    pub value: f64,
}

impl PivotFailure {
    pub(crate) fn offset(self, by: usize) -> Self {
        Self {
            index: self.index + by,
            ..self
        }
    }
}

/// `C ← β·C − A·Bᵀ`: C is `m × n`, A `m × k`, B `n × k`; β is 1 for `Accumulate`, and for
/// `Overwrite` 0 without C being read.
///
/// # Safety
/// `a`, `b`, `c` are valid for those sizes with leading dimensions `lda >= m`, `ldb >= n`,
/// `ldc >= m`; C overlaps neither A nor B, and nothing else uses C meanwhile.
#[allow(clippy::too_many_arguments)]
pub unsafe fn gemm_nt<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    (a, lda): (*const T, usize),
    (b, ldb): (*const T, usize),
    (c, ldc): (*mut T, usize),
    mode: UpdateMode,
    ws: &mut Workspace<T>,
) {
    let shape = Shape {
        m,
        n,
        k,
        kc: KC,
        lower: None,
    };
    let (isa, buf) = (ws.isa(), ws.buffers(Floor::NONE));
    // SAFETY: the caller's contract.
    unsafe {
        with_isa!(
            isa,
            T,
            product(
                &buf,
                shape,
                Plain(a, lda),
                Plain(b, ldb),
                PlainMut(c, ldc),
                mode
            )
        );
    }
}

/// Lower trapezoid of `C ← β·C − A·Bᵀ` where B is the first `n` rows of A: C is `m × n`,
/// `m >= n`, A is `m × k`. Entries with `i < j` have no meaning before or after.
///
/// # Safety
/// As [`gemm_nt`].
pub unsafe fn syrk_lower<T: Real>(
    m: usize,
    n: usize,
    k: usize,
    (a, lda): (*const T, usize),
    (c, ldc): (*mut T, usize),
    mode: UpdateMode,
    ws: &mut Workspace<T>,
) {
    let shape = Shape {
        m,
        n,
        k,
        kc: KC,
        lower: Some(0),
    };
    let (isa, buf) = (ws.isa(), ws.buffers(Floor::NONE));
    // SAFETY: the caller's contract.
    unsafe {
        with_isa!(
            isa,
            T,
            product(
                &buf,
                shape,
                Plain(a, lda),
                Plain(a, lda),
                PlainMut(c, ldc),
                mode
            )
        );
    }
}

/// `X ← X·L⁻ᵀ`: X is `m × n`, L lower triangular of order `n`. A row of the result depends on that
/// row only, bit for bit.
///
/// # Safety
/// `l` and `x` are valid for those sizes; they do not overlap, and nothing else uses X meanwhile.
pub unsafe fn trsm_right_lower_transposed<T: Real>(
    m: usize,
    n: usize,
    (l, ldl): (*const T, usize),
    (x, ldx): (*mut T, usize),
    ws: &mut Workspace<T>,
) {
    let (isa, buf) = (ws.isa(), ws.buffers(Floor::NONE));
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, trsm(&buf, m, n, (l, ldl), (x, ldx))) }
}

/// Lower Cholesky factor in place of a symmetric matrix of order `n` given by its lower triangle.
/// The strict upper triangle has no meaning before or after. On failure the matrix is half done.
///
/// # Errors
/// The first pivot that is not a positive normal number.
///
/// # Safety
/// `a` is valid for `n × n` with leading dimension `lda`, and nothing else uses it meanwhile.
pub unsafe fn potrf<T: Real>(
    n: usize,
    (a, lda): (*mut T, usize),
    ws: &mut Workspace<T>,
) -> Result<(), PivotFailure> {
    let (isa, buf) = (ws.isa(), ws.buffers(Floor::NONE));
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, cholesky(&buf, n, (a, lda))) }
}

/// Reciprocals of a diagonal.
struct Reciprocals<S: Simd> {
    n: usize,
    l: *const S::T,
    ldl: usize,
    inverse: *mut S::T,
}

impl<S: Simd> Op for Reciprocals<S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller of `trsm` vouches for L; `inverse` has `solve_columns >= n` numbers.
        unsafe {
            for j in 0..self.n {
                *self.inverse.add(j) = *self.l.add(j * (self.ldl + 1));
            }
            let one = S::splat(S::T::ONE);
            for j in (0..self.n).step_by(S::LANES) {
                let (p, mask) = (self.inverse.add(j), S::mask(S::LANES.min(self.n - j)));
                S::store_mask(p, mask, S::div(one, S::load_mask(p, mask)));
            }
        }
    }
}

/// See [`trsm_right_lower_transposed`]. Strips of at most `solve_columns`; within one, microtile
/// rows of X at a time, which stay packed in the first-level cache until they are solved.
///
/// # Safety
/// See there.
pub(crate) unsafe fn trsm<S: Simd>(
    buf: &Buffers<S::T>,
    m: usize,
    n: usize,
    (l, ldl): (*const S::T, usize),
    (x, ldx): (*mut S::T, usize),
) {
    if m == 0 {
        return;
    }
    for (j0, nn) in cut(0..n, buf.solve_columns) {
        // SAFETY: offsets stay within the caller's matrices.
        unsafe {
            let shape = Shape {
                m,
                n: nn,
                k: j0,
                kc: KC,
                lower: None,
            };
            let (a, b) = (Plain(x.cast_const(), ldx), Plain(l.add(j0), ldl));
            let c = x.add(j0 * ldx);
            product::<S>(buf, shape, a, b, PlainMut(c, ldx), UpdateMode::Accumulate);
            let l = l.add(j0 * (ldl + 1));
            let inverse = buf.inverse;
            S::vectorize(Reciprocals::<S> {
                n: nn,
                l,
                ldl,
                inverse,
            });
            for i in (0..m).step_by(S::MR) {
                let rows = S::MR.min(m - i);
                for j in (0..nn).step_by(S::NR) {
                    let tile = Tile {
                        k: j,
                        a: buf.x,
                        lda: S::MR,
                        b: l.add(j),
                        ldb: ldl,
                        c: c.add(i + j * ldx),
                        ldc: ldx,
                        next: l,
                    };
                    let lower = Lower {
                        l: l.add(j * (ldl + 1)),
                        ldl,
                        inverse: inverse.add(j),
                        floor: buf.floor,
                    };
                    let copy = buf.x.add(j * S::MR);
                    tile::solve::<S>(rows, S::NR.min(nn - j), &tile, &lower, copy);
                }
            }
        }
    }
}

/// See [`potrf`]: left-looking by strips of [`SOLVE_COLUMNS`].
///
/// # Safety
/// See there.
pub(crate) unsafe fn cholesky<S: Simd>(
    buf: &Buffers<S::T>,
    n: usize,
    (a, lda): (*mut S::T, usize),
) -> Result<(), PivotFailure> {
    for j in (0..n).step_by(SOLVE_COLUMNS) {
        let (nn, m) = (SOLVE_COLUMNS.min(n - j), n - j);
        // SAFETY: offsets stay within the matrix.
        unsafe {
            let shape = Shape {
                m,
                n: nn,
                k: j,
                kc: KC,
                lower: Some(0),
            };
            let left = Plain(a.add(j).cast_const(), lda);
            let c = a.add(j * (lda + 1));
            product::<S>(
                buf,
                shape,
                left,
                left,
                PlainMut(c, lda),
                UpdateMode::Accumulate,
            );
            cholesky_panel::<S>(nn, nn, (c, lda), buf.floor).map_err(|e| e.offset(j))?;
            trsm::<S>(buf, m - nn, nn, (c.cast_const(), lda), (c.add(nn), lda));
        }
    }
    Ok(())
}

/// Cholesky of the first `n` rows and panel solve of the `m − n` rows below, by strips of `NR`
/// columns; each microtile is loaded once, updated by all columns before it, factored or solved
/// in registers, and stored once. The same operations as [`cholesky`] and then [`trsm`] while
/// `n <= SOLVE_COLUMNS`, with less around them; best while the panel stays in the nearest caches.
///
/// # Safety
/// `a` is valid for `m × n`, `m >= n`.
pub(crate) unsafe fn cholesky_panel<S: Simd>(
    m: usize,
    n: usize,
    (a, lda): (*mut S::T, usize),
    floor: Floor<S::T>,
) -> Result<(), PivotFailure> {
    let mut inverse = [S::T::ZERO; 16];
    let inverse = inverse.as_mut_ptr();
    for j in (0..n).step_by(S::NR) {
        let nn = S::NR.min(n - j);
        // SAFETY: offsets stay within the matrix.
        unsafe {
            let c = a.add(j * (lda + 1));
            let b = a.add(j).cast_const();
            let tile = Tile {
                k: j,
                a: b,
                lda,
                b,
                ldb: lda,
                c,
                ldc: lda,
                next: b,
            };
            tile::factor::<S>(nn, &tile, inverse, floor).map_err(|(index, value)| {
                PivotFailure {
                    index: j + index,
                    value: value.to_f64(),
                }
            })?;
            let lower = Lower {
                l: c.cast_const(),
                ldl: lda,
                inverse,
                floor,
            };
            for i in (nn..m - j).step_by(S::MR) {
                let tile = Tile {
                    a: b.add(i),
                    c: c.add(i),
                    ..tile
                };
                let rows = S::MR.min(m - j - i);
                tile::solve::<S>(rows, nn, &tile, &lower, std::ptr::null_mut());
            }
        }
    }
    Ok(())
}
