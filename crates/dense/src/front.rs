//! Partial Cholesky of a front, whole or in tile tasks.
//!
//! A front of order `npiv + nupd` is kept as its factor panel and its update matrix, both in
//! [`BlockColumns`]. Left-looking over the block columns b of the panel:
//!
//! 1. [`update_panel_tile`](FrontMut::update_panel_tile): block column b −= products of the block
//!    columns before it;
//! 2. [`factor_diagonal`](FrontMut::factor_diagonal): Cholesky of its diagonal block;
//! 3. [`solve_panel_tile`](FrontMut::solve_panel_tile): the rows below, times the inverse
//!    transposed diagonal block;
//!
//! and when all are done, for every block column c of the update matrix,
//!
//! 4. [`update_trailing_tile`](FrontMut::update_trailing_tile): itself −= panel · panelᵀ.
//!
//! Invariant: a row of a block column undergoes the same operations however the rows are cut into
//! tiles, so tile tasks in any admissible order give the bits of [`partial_cholesky`].
//! Cost: `Σ_{j<npiv} (npiv + nupd − j)²` flops; the long inner dimension of step 4 (all pivots at
//! once) visits an entry of the update matrix once per 256 pivots, not once per block.

use std::ops::Range;

use crate::blas::{PivotFailure, cholesky, cholesky_panel, trsm};
use crate::product::{BlockColumnsMut, PanelRows, PlainMut, Shape, product};
use crate::real::with_isa;
use crate::simd::Simd;
use crate::workspace::{Buffers, KC, SOLVE_COLUMNS};
use crate::{BlockColumns, Real, UpdateMode, Workspace};

/// Rows of a tile task: long enough that packing its operands costs a few percent, short enough
/// that a front of order 2000 makes some hundred tasks. Any cut gives the same bits.
pub const TILE_ROWS: usize = 256;

/// Height up to which a block column is factored and solved in one sweep, strip by strip.
const FUSED_ROWS: usize = 192;

/// Whether a front should be one task: its work (under 0.2 ms) does not repay being cut.
pub fn is_small(npiv: usize, nupd: usize) -> bool {
    npiv + nupd <= TILE_ROWS
}

/// A front's storage, to be shared by the tile tasks of one elimination.
///
/// It is a view without a lifetime: whoever runs a task vouches that the storage lives and that
/// the tasks running at the same time are allowed to (see each task).
#[derive(Clone, Copy, Debug)]
pub struct FrontMut<T> {
    panel: *mut T,
    update: *mut T,
    npiv: usize,
    nupd: usize,
    block: usize,
}

// SAFETY: a FrontMut only names memory; every method that touches it is unsafe and says who may
// run when.
unsafe impl<T: Send> Send for FrontMut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for FrontMut<T> {}

impl<T: Real> FrontMut<T> {
    /// View of a front: `panel` is laid out as [`BlockColumns::panel`], `update` as
    /// [`BlockColumns::update`] (it may dangle when `nupd` is 0). `block >= 1`.
    pub fn new(panel: *mut T, update: *mut T, npiv: usize, nupd: usize, block: usize) -> Self {
        let block = block.max(1);
        Self {
            panel,
            update,
            npiv,
            nupd,
            block,
        }
    }

    /// Pivots.
    pub fn npiv(&self) -> usize {
        self.npiv
    }

    /// Rows below the pivots, order of the update matrix.
    pub fn nupd(&self) -> usize {
        self.nupd
    }

    /// Layout of the panel.
    pub fn panel_layout(&self) -> BlockColumns {
        BlockColumns::panel(self.npiv, self.nupd, self.block)
    }

    /// Layout of the update matrix.
    pub fn update_layout(&self) -> BlockColumns {
        BlockColumns::update(self.nupd, self.block)
    }

    /// Rows of block column `b` of the panel: `b·block .. npiv + nupd`, front rows.
    pub fn panel_rows(&self, b: usize) -> Range<usize> {
        b * self.block..self.npiv + self.nupd
    }

    /// Rows of block column `b` that [`solve_panel_tile`](Self::solve_panel_tile) is for: those
    /// below its diagonal block, front rows.
    pub fn rows_below_diagonal(&self, b: usize) -> Range<usize> {
        b * self.block + self.panel_layout().width(b)..self.npiv + self.nupd
    }

    /// Rows of block column `c` of the update matrix: `c·block .. nupd`.
    pub fn update_rows(&self, c: usize) -> Range<usize> {
        c * self.block..self.nupd
    }

    /// Block column `b` of the panel, front rows `rows` (within [`panel_rows`](Self::panel_rows)),
    /// minus the products of the block columns before it. Of the diagonal block only the lower
    /// triangle counts. Nothing to do for `b = 0`.
    ///
    /// # Safety
    /// The storage is alive. Meanwhile no one writes to block columns `0..b` of the panel, which
    /// are final in the rows from `b·block` on, and no one else touches these rows of block
    /// column b. Tiles of one `b` with disjoint rows may run at the same time.
    pub unsafe fn update_panel_tile(&self, b: usize, rows: Range<usize>, ws: &mut Workspace<T>) {
        let (isa, buf) = (ws.isa(), ws.buffers());
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, update_panel(*self, &buf, b, rows)) }
    }

    /// Cholesky of the diagonal block of block column `b`; a failure names the front's pivot.
    ///
    /// # Safety
    /// The storage is alive, all tiles of [`update_panel_tile`](Self::update_panel_tile) with the
    /// rows of the diagonal block are done, and no one else touches the diagonal block.
    pub unsafe fn factor_diagonal(
        &self,
        b: usize,
        ws: &mut Workspace<T>,
    ) -> Result<(), PivotFailure> {
        let (isa, buf) = (ws.isa(), ws.buffers());
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, factor_block(*self, &buf, b)) }
    }

    /// Rows `rows` (front rows, within [`rows_below_diagonal`](Self::rows_below_diagonal)) of block
    /// column `b`, times the inverse transposed diagonal block: final entries of L.
    ///
    /// # Safety
    /// The storage is alive, the diagonal block is factored and no one writes to it, these rows
    /// are updated, and no one else touches them in block column b. Tiles with disjoint rows may
    /// run at the same time.
    pub unsafe fn solve_panel_tile(&self, b: usize, rows: Range<usize>, ws: &mut Workspace<T>) {
        let (isa, buf) = (ws.isa(), ws.buffers());
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, solve_panel(*self, &buf, b, rows)) }
    }

    /// Rows `rows` (update rows, within [`update_rows`](Self::update_rows)) of block column `c` of
    /// the update matrix, minus `panel · panelᵀ` over all pivots. Of the diagonal block only the
    /// lower triangle counts.
    ///
    /// # Safety
    /// The storage is alive, the whole panel is final in the front rows `npiv + c·block ..`, and no
    /// one else touches these rows of block column c. All trailing tiles of a front that are
    /// disjoint may run at the same time.
    pub unsafe fn update_trailing_tile(
        &self,
        c: usize,
        rows: Range<usize>,
        mode: UpdateMode,
        ws: &mut Workspace<T>,
    ) {
        let (isa, buf) = (ws.isa(), ws.buffers());
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, update_trailing(*self, &buf, c..c + 1, rows, mode)) }
    }

    /// The same for the block columns `columns` (not empty) at once, rows within
    /// [`update_rows`](Self::update_rows) of the first: entries of these rows and columns on and
    /// below the diagonal. Wider tiles pack their rows less often: 384 columns cost least.
    ///
    /// # Safety
    /// As [`update_trailing_tile`](Self::update_trailing_tile) for each of the block columns.
    pub unsafe fn update_trailing_columns(
        &self,
        columns: Range<usize>,
        rows: Range<usize>,
        mode: UpdateMode,
        ws: &mut Workspace<T>,
    ) {
        let (isa, buf) = (ws.isa(), ws.buffers());
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, update_trailing(*self, &buf, columns, rows, mode)) }
    }
}

/// Inner dimension per visit of C for a sum over `k` pivots: whole block columns up to [`KC`].
/// The same for all tiles of a step, so that their sums are cut alike.
fn inner_block(k: usize, block: usize) -> usize {
    if k <= block || block > KC {
        KC
    } else {
        KC / block * block
    }
}

unsafe fn update_panel<S: Simd>(
    f: FrontMut<S::T>,
    buf: &Buffers<S::T>,
    b: usize,
    rows: Range<usize>,
) {
    let layout = f.panel_layout();
    let top = b * f.block;
    let operand = |row| PanelRows {
        panel: f.panel.cast_const(),
        layout,
        row,
        first: 0,
    };
    let shape = Shape {
        m: rows.len(),
        n: layout.width(b),
        k: top,
        kc: inner_block(top, f.block),
        lower: Some(rows.start - top),
    };
    let c = f.panel.wrapping_add(layout.offset(b) + rows.start - top);
    let mode = UpdateMode::Accumulate;
    // SAFETY: the caller's contract; the rows lie in the block column.
    unsafe {
        product::<S>(
            buf,
            shape,
            operand(rows.start),
            operand(top),
            PlainMut(c, layout.height(b)),
            mode,
        );
    }
}

unsafe fn factor_block<S: Simd>(
    f: FrontMut<S::T>,
    buf: &Buffers<S::T>,
    b: usize,
) -> Result<(), PivotFailure> {
    let layout = f.panel_layout();
    let a = f.panel.wrapping_add(layout.offset(b));
    // SAFETY: the caller's contract.
    unsafe { cholesky::<S>(buf, layout.width(b), (a, layout.height(b))) }
        .map_err(|e| e.offset(b * f.block))
}

unsafe fn solve_panel<S: Simd>(
    f: FrontMut<S::T>,
    buf: &Buffers<S::T>,
    b: usize,
    rows: Range<usize>,
) {
    let layout = f.panel_layout();
    let ld = layout.height(b);
    let l = f.panel.wrapping_add(layout.offset(b));
    let x = l.wrapping_add(rows.start - b * f.block);
    // SAFETY: the caller's contract; the rows lie below the diagonal block.
    unsafe {
        trsm::<S>(
            buf,
            rows.len(),
            layout.width(b),
            (l.cast_const(), ld),
            (x, ld),
        )
    }
}

unsafe fn update_trailing<S: Simd>(
    f: FrontMut<S::T>,
    buf: &Buffers<S::T>,
    columns: Range<usize>,
    rows: Range<usize>,
    mode: UpdateMode,
) {
    let (panel, layout) = (f.panel.cast_const(), f.panel_layout());
    let top = columns.start * f.block;
    let operand = |row| PanelRows {
        panel,
        layout,
        row: f.npiv + row,
        first: 0,
    };
    let shape = Shape {
        m: rows.len(),
        n: (columns.end * f.block).min(f.nupd) - top,
        k: f.npiv,
        kc: inner_block(f.npiv, f.block),
        lower: Some(rows.start - top),
    };
    let c = BlockColumnsMut {
        data: f.update,
        layout: f.update_layout(),
        row: rows.start,
        first: top,
    };
    // SAFETY: the caller's contract; the rows lie in the first of the block columns.
    unsafe { product::<S>(buf, shape, operand(rows.start), operand(top), c, mode) }
}

/// Partial Cholesky of a whole front on one thread: eliminates its `npiv` pivots.
///
/// `panel` (layout [`BlockColumns::panel`]) holds the assembled pivot columns and becomes the
/// columns of L; `update` (layout [`BlockColumns::update`]) holds the sum of the children's update
/// matrices and becomes the front's own, or, with [`UpdateMode::Overwrite`], is not read. Strict
/// upper triangles of diagonal blocks have no meaning before or after. The first pivot that is not
/// a positive finite number is an error; the front is half done then.
///
/// # Panics
/// If a slice is shorter than its layout.
pub fn partial_cholesky<T: Real>(
    panel: &mut [T],
    update: &mut [T],
    (npiv, nupd): (usize, usize),
    block: usize,
    mode: UpdateMode,
    ws: &mut Workspace<T>,
) -> Result<(), PivotFailure> {
    let f = FrontMut::new(panel.as_mut_ptr(), update.as_mut_ptr(), npiv, nupd, block);
    assert!(
        panel.len() >= f.panel_layout().len(),
        "panel is too short for its front"
    );
    assert!(
        update.len() >= f.update_layout().len(),
        "update matrix is too short for its front"
    );
    let (isa, buf) = (ws.isa(), ws.buffers());
    // SAFETY: the slices hold the layouts and are borrowed exclusively.
    unsafe { with_isa!(isa, T, eliminate(f, &buf, mode)) }
}

unsafe fn eliminate<S: Simd>(
    f: FrontMut<S::T>,
    buf: &Buffers<S::T>,
    mode: UpdateMode,
) -> Result<(), PivotFailure> {
    // SAFETY: the pieces run one after another in an admissible order.
    unsafe {
        let layout = f.panel_layout();
        for b in 0..layout.blocks() {
            update_panel::<S>(f, buf, b, f.panel_rows(b));
            let (m, n) = (layout.height(b), layout.width(b));
            if m <= FUSED_ROWS && n <= SOLVE_COLUMNS {
                let a = f.panel.add(layout.offset(b));
                cholesky_panel::<S>(m, n, (a, m)).map_err(|e| e.offset(b * f.block))?;
            } else {
                factor_block::<S>(f, buf, b)?;
                solve_panel::<S>(f, buf, b, f.rows_below_diagonal(b));
            }
        }
        let blocks = f.update_layout().blocks();
        if blocks > 0 {
            update_trailing::<S>(f, buf, 0..blocks, f.update_rows(0), mode);
        }
    }
    Ok(())
}
