//! Elimination of a large front in steps of up to 256 pivots, each cut into tasks for threads.
//!
//! Right-looking. Step s takes the pivots from `s·W` on, W = 256 (128 in fronts of order up to 512) or the whole block columns
//! in it:
//!
//! 1. [`factor_diagonal`](Steps::factor_diagonal): Cholesky of the W × W diagonal block;
//! 2. [`solve`](Steps::solve): the rows below, times the inverse transposed diagonal block;
//! 3. [`update`](Steps::update): all columns to the right −= the products of those rows.
//!
//! Pieces 1 and 2 leave a packed copy of what they computed, in micropanels of `MR` rows, column
//! after column. Piece 3 reads both its operands there: groups of `NR` rows of a micropanel are
//! what a microtile multiplies with, so L is packed once a step and by its producer, not once a
//! task. The rows of pivots to come and the rows below them begin micropanels of their own, so that
//! microtiles do not straddle block columns.
//!
//! Invariant: what an entry undergoes depends on the step only, not on the cut into tasks or on who
//! does them. Cost: `Σ_{j<npiv} (npiv + nupd − j)²` flops; an entry right of a step is read and
//! written once for it, 2·W flops for 16 bytes (Goto, van de Geijn 2008 for the blocking).

use std::ops::Range;

use crate::blas::PivotFailure;
use crate::front::FrontMut;
use crate::real::with_isa;
use crate::simd::Simd;
use crate::tile::{self, Lower, Tile, UpdateMode};
use crate::workspace::{KC, PACK_PAD};
use crate::{BlockColumns, Isa, Real};

/// Micropanels of rows that stay in a second-level cache of 1 MB while columns go by.
const GROUP: usize = 8;

/// A large front together with memory for the packed rows of one step.
///
/// Like [`FrontMut`] it only names memory: whoever runs a task vouches for it.
#[derive(Clone, Copy, Debug)]
pub struct Steps<T> {
    front: FrontMut<T>,
    packed: *mut T,
    isa: Isa,
    /// Rows of a micropanel.
    height: usize,
}

// SAFETY: it only names memory; every method that touches it is unsafe and says who may run when.
unsafe impl<T: Send> Send for Steps<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Steps<T> {}

/// Order up to which a front's steps are half as wide: no update is so long that diagonal blocks, which one thread eliminates, are
/// done meanwhile. In larger ones twice the steps would read and write the rest twice as often.
const FEW_ROWS: usize = 512;

/// Pivots of a step of a front with block columns of `block`: whole ones.
fn step_columns(npiv: usize, nupd: usize, block: usize) -> usize {
    let most = if npiv + nupd <= FEW_ROWS { KC / 2 } else { KC };
    (most / block).max(1) * block
}

/// Length of the packed memory of [`Steps`] for a front, in numbers.
pub fn packed_len<T: Real>(npiv: usize, nupd: usize, block: usize, isa: Isa) -> usize {
    let height = with_isa!(isa, T, micropanel_height());
    let width = step_columns(npiv, nupd, block.max(1)).min(npiv);
    let below = npiv - width;
    let micropanels = width.div_ceil(height) + below.div_ceil(height) + nupd.div_ceil(height);
    width.next_multiple_of(16) + micropanels * (height * width + PACK_PAD)
}

fn micropanel_height<S: Simd>() -> usize {
    S::MR
}

/// One step: its pivots, the rows below them, and where their packed copies are.
#[derive(Clone, Copy)]
struct Step<T> {
    /// First pivot.
    first: usize,
    /// Pivots.
    width: usize,
    /// Pivots after these.
    below: usize,
    npiv: usize,
    nupd: usize,
    height: usize,
    /// Reciprocals of the diagonal of L, `width` of them.
    inverse: *mut T,
    /// Micropanels of the diagonal block.
    diagonal: *mut T,
    /// Micropanels of the rows below.
    rows: *mut T,
    /// Distance of micropanels.
    stride: usize,
}

impl<T> Step<T> {
    fn micropanels(&self) -> usize {
        self.below.div_ceil(self.height) + self.nupd.div_ceil(self.height)
    }

    /// Front rows of a micropanel.
    fn rows_of(&self, p: usize) -> Range<usize> {
        let of_pivots = self.below.div_ceil(self.height);
        let (first, end) = if p < of_pivots {
            (self.first + self.width + p * self.height, self.npiv)
        } else {
            let first = self.npiv + (p - of_pivots) * self.height;
            (first, self.npiv + self.nupd)
        };
        first..(first + self.height).min(end)
    }

    /// Packed row `j` of the diagonal block, at column 0; `MR` numbers further is column 1.
    fn diagonal_row(&self, j: usize) -> *mut T {
        let p = j / self.height;
        self.diagonal
            .wrapping_add(p * self.stride + (j - p * self.height))
    }
}

impl<T: Real> Steps<T> {
    /// Steps for a front; `packed` names [`packed_len`] numbers.
    pub fn new(front: FrontMut<T>, packed: *mut T, isa: Isa) -> Self {
        let height = with_isa!(isa, T, micropanel_height());
        Self {
            front,
            packed,
            isa,
            height,
        }
    }

    /// Number of steps.
    pub fn count(&self) -> usize {
        self.front.npiv().div_ceil(self.step_columns())
    }

    /// Pivots of all steps but the last.
    fn step_columns(&self) -> usize {
        step_columns(self.front.npiv(), self.front.nupd(), self.front.block())
    }

    /// Pivots of a step.
    pub fn pivots(&self, step: usize) -> Range<usize> {
        let s = self.step(step);
        s.first..s.first + s.width
    }

    /// Micropanels of rows below a step's pivots: what [`solve`](Self::solve) and
    /// [`update`](Self::update) count in.
    pub fn micropanels(&self, step: usize) -> usize {
        self.step(step).micropanels()
    }

    /// Micropanels in which the pivots of the next step are: the first of those.
    pub fn micropanels_of_next(&self, step: usize) -> usize {
        let s = self.step(step);
        let next = s.below.min(self.step_columns());
        next.div_ceil(s.height)
    }

    /// Rows in a range of micropanels.
    pub fn rows_in(&self, step: usize, micropanels: Range<usize>) -> usize {
        let s = self.step(step);
        micropanels.map(|p| s.rows_of(p).len()).sum()
    }

    fn step(&self, step: usize) -> Step<T> {
        let f = &self.front;
        let columns = self.step_columns();
        let first = step * columns;
        let width = columns.min(f.npiv() - first);
        let stride = self.height * width + PACK_PAD;
        let diagonal = self.packed.wrapping_add(width.next_multiple_of(16));
        Step {
            first,
            width,
            below: f.npiv() - first - width,
            npiv: f.npiv(),
            nupd: f.nupd(),
            height: self.height,
            inverse: self.packed,
            diagonal,
            rows: diagonal.wrapping_add(width.div_ceil(self.height) * stride),
            stride,
        }
    }

    /// Cholesky of the diagonal block of a step; a failure names the front's pivot.
    ///
    /// # Errors
    /// The first pivot that is not a positive normal number.
    ///
    /// # Safety
    /// The storage and the packed memory are alive; what the steps before subtract from the diagonal block is subtracted, and all their
    /// rows are solved; no one else touches the diagonal block, or diagonal blocks in the packed memory. [`update`](Self::update) of the
    /// step before may still run for other entries: it reads packed rows only.
    pub unsafe fn factor_diagonal(&self, step: usize) -> Result<(), PivotFailure> {
        let s = self.step(step);
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, factor_diagonal(self.front, &s)) }
    }

    /// The final entries of L in the step's columns, for a range of micropanels of rows.
    ///
    /// # Safety
    /// As above, with the step's diagonal block factored. Disjoint ranges may run at the same time.
    pub unsafe fn solve(&self, step: usize, micropanels: Range<usize>) {
        let s = self.step(step);
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, solve(self.front, &s, micropanels)) }
    }

    /// Subtracts the step's products from the entries whose rows are in micropanels `rows` and
    /// whose columns are the rows of micropanels `columns`, as far as they are on or below the
    /// diagonal. With [`UpdateMode::Overwrite`] the update matrix is not read, as if it were zero.
    ///
    /// # Safety
    /// As above, with all rows of the step solved. Disjoint ranges may run at the same time.
    pub unsafe fn update(
        &self,
        step: usize,
        rows: Range<usize>,
        columns: Range<usize>,
        mode: UpdateMode,
    ) {
        let s = self.step(step);
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, update(self.front, &s, rows, columns, mode)) }
    }
}

/// Column `j` of a front: where its front row 0 would stand, the leading dimension there, and how
/// many columns follow with it.
#[inline(always)]
fn column<T: Real>(f: &FrontMut<T>, j: usize) -> (*mut T, usize, usize) {
    let strip = |data: *mut T, l: BlockColumns, j: usize| {
        let b = l.block_of(j);
        let (top, ld) = (b * l.block, l.height(b));
        let at = l.offset(b) + (j - top) * ld;
        let row_0 = data.wrapping_add(at).wrapping_sub(top);
        (row_0, ld, top + l.width(b) - j)
    };
    match j.checked_sub(f.npiv()) {
        None => strip(f.panel(), f.panel_layout(), j),
        Some(j) => {
            let (p, ld, left) = strip(f.update(), f.update_layout(), j);
            (p.wrapping_sub(f.npiv()), ld, left)
        }
    }
}

/// Left-looking by `NR` columns: each microtile is loaded once, updated by all columns of the
/// block before it, factored or solved in registers, and stored to the panel and to the packed copy.
unsafe fn factor_diagonal<S: Simd>(f: FrontMut<S::T>, s: &Step<S::T>) -> Result<(), PivotFailure> {
    let mut j = 0;
    while j < s.width {
        let (c, ldc, left) = column(&f, s.first + j);
        let n = (S::NR - j % S::NR).min(s.width - j).min(left);
        let b = s.diagonal_row(j);
        let at = |row: usize| c.wrapping_add(s.first + row);
        let tile = Tile {
            k: j,
            a: b.cast_const(),
            lda: S::MR,
            b: b.cast_const(),
            ldb: S::MR,
            c: at(j),
            ldc,
            next: b.cast_const(),
        };
        // SAFETY: the caller's contract; the tiles lie in the diagonal block and its packed copy.
        unsafe {
            let inverse = s.inverse.add(j);
            tile::factor::<S>(n, &tile, inverse, f.floor()).map_err(|(index, value)| {
                PivotFailure {
                    index: s.first + j + index,
                    value: value.to_f64(),
                }
            })?;
            let copy = b.wrapping_add(j * S::MR);
            copy_block::<S>(n, n, (at(j), ldc), copy);
            let lower = Lower {
                l: copy.cast_const(),
                ldl: S::MR,
                inverse,
                floor: f.floor(),
            };
            let mut r = j + n;
            while r < s.width {
                // Up to the end of the micropanel: the first may be begun.
                let rows = (S::MR - r % S::MR).min(s.width - r);
                let a = s.diagonal_row(r);
                let copy = a.wrapping_add(j * S::MR);
                let tile = Tile {
                    a: a.cast_const(),
                    c: at(r),
                    ..tile
                };
                if r % S::MR == 0 {
                    tile::solve::<S>(rows, n, &tile, &lower, copy);
                } else {
                    tile::solve::<S>(rows, n, &tile, &lower, std::ptr::null_mut());
                    copy_block::<S>(rows, n, (at(r), ldc), copy);
                }
                r += rows;
            }
        }
        j += n;
    }
    Ok(())
}

/// Copies `rows × n` numbers into a micropanel.
///
/// # Safety
/// Both sides are valid for that size.
unsafe fn copy_block<S: Simd>(
    rows: usize,
    n: usize,
    (from, ld): (*const S::T, usize),
    to: *mut S::T,
) {
    for j in 0..n {
        // SAFETY: the caller's contract.
        unsafe {
            to.add(j * S::MR)
                .copy_from_nonoverlapping(from.add(j * ld), rows);
        }
    }
}

unsafe fn solve<S: Simd>(f: FrontMut<S::T>, s: &Step<S::T>, micropanels: Range<usize>) {
    for p in micropanels {
        let rows = s.rows_of(p);
        let packed = s.rows.wrapping_add(p * s.stride);
        let mut j = 0;
        while j < s.width {
            let (c, ldc, left) = column(&f, s.first + j);
            let n = (S::NR - j % S::NR).min(s.width - j).min(left);
            let b = s.diagonal_row(j).cast_const();
            let tile = Tile {
                k: j,
                a: packed.cast_const(),
                lda: S::MR,
                b,
                ldb: S::MR,
                c: c.wrapping_add(rows.start),
                ldc,
                next: b,
            };
            let lower = Lower {
                l: b.wrapping_add(j * S::MR),
                ldl: S::MR,
                inverse: s.inverse.wrapping_add(j),
                floor: f.floor(),
            };
            let copy = packed.wrapping_add(j * S::MR);
            // SAFETY: the caller's contract; the tile lies in the step's columns.
            unsafe { tile::solve::<S>(rows.len(), n, &tile, &lower, copy) };
            j += n;
        }
    }
}

unsafe fn update<S: Simd>(
    f: FrontMut<S::T>,
    s: &Step<S::T>,
    rows: Range<usize>,
    columns: Range<usize>,
    mode: UpdateMode,
) {
    let mut start = rows.start;
    while start < rows.end {
        let group = start..(start + GROUP).min(rows.end);
        for q in columns.start..columns.end.min(group.end) {
            let of_q = s.rows_of(q);
            let mode = if of_q.start < s.npiv {
                UpdateMode::Accumulate
            } else {
                mode
            };
            // While these columns are worked on, the next come into the second cache, if all
            // microtiles of a group take part: a part with each.
            let mut next = s.rows.wrapping_add(q * s.stride).cast_const();
            let mut next_step = 0;
            if q + 1 < columns.end {
                next = next.wrapping_add(s.stride);
                next_step = tile::asked_for::<S::T>(s.width);
            }
            let mut done = 0;
            while done < of_q.len() {
                let (c, ldc, left) = column(&f, of_q.start + done);
                let n = (S::NR - done % S::NR).min(of_q.len() - done).min(left);
                let b = s.rows.wrapping_add(q * s.stride + done).cast_const();
                for p in group.start.max(q)..group.end {
                    // On the diagonal, rows above these columns are not wanted.
                    let skip = if p == q { done } else { 0 };
                    let of_p = s.rows_of(p);
                    let tile = Tile {
                        k: s.width,
                        a: s.rows.wrapping_add(p * s.stride + skip).cast_const(),
                        lda: S::MR,
                        b,
                        ldb: S::MR,
                        c: c.wrapping_add(of_p.start + skip),
                        ldc,
                        next,
                    };
                    next = next.wrapping_add(next_step);
                    // SAFETY: the caller's contract; the rows begin in or below the columns' block.
                    unsafe { tile::multiply::<S>(of_p.len() - skip, n, &tile, mode) };
                }
                done += n;
            }
        }
        start = group.end;
    }
}
