//! Partial Cholesky of a small front, whole.
//!
//! A front of order `npiv + nupd` is kept as its factor panel and its update matrix, both in
//! [`BlockColumns`]. Left-looking over the block columns of the panel: the products of the block
//! columns before are subtracted, the diagonal block is factored, and the rows below are solved with
//! it; at the end the update matrix −= panel · panelᵀ. Operands are read where they stand, which is
//! best while a front is in the second-level cache; for larger ones see [`Steps`](crate::Steps).
//!
//! Cost: `Σ_{j<npiv} (npiv + nupd − j)²` flops.

use std::ops::Range;

use crate::blas::{PivotFailure, cholesky, cholesky_panel, trsm};
use crate::product::{BlockColumnsMut, PanelRows, PlainMut, Shape, product};
use crate::real::with_isa;
use crate::simd::Simd;
use crate::tiny::{eliminate_tiny, is_tiny};
use crate::workspace::{Buffers, KC, SOLVE_COLUMNS};
use crate::{BlockColumns, Floor, Real, UpdateMode, Workspace};

/// Order up to which a front stays in a second-level cache of 1 MB and is eliminated whole.
const SMALL: usize = 256;

/// Height up to which a block column is factored and solved in one sweep, strip by strip.
const FUSED_ROWS: usize = 192;

/// Whether a front is for [`partial_cholesky`], in one piece, rather than for
/// [`Steps`](crate::Steps).
pub fn is_small(npiv: usize, nupd: usize) -> bool {
    npiv + nupd <= SMALL
}

/// A front's storage, a view without a lifetime.
#[derive(Clone, Copy, Debug)]
pub struct FrontMut<T> {
    panel: *mut T,
    update: *mut T,
    npiv: usize,
    nupd: usize,
    block: usize,
    floor: Floor<T>,
}

// SAFETY: a FrontMut only names memory.
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
            floor: Floor::NONE,
        }
    }

    /// The same with a floor for the entries of L.
    pub fn with_floor(self, floor: Floor<T>) -> Self {
        Self { floor, ..self }
    }

    /// # Panics
    /// If `panel` is shorter than its layout.
    fn check(&self, panel: &[T]) {
        let most = u32::MAX as usize; // then no length overflows
        let fits = self.npiv <= most && self.nupd <= most - self.npiv;
        assert!(fits, "front is too large");
        let len = self.panel_layout().len();
        assert!(panel.len() >= len, "panel is too short for its front");
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

    /// Columns of a block column.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// What becomes zero.
    #[inline(always)]
    pub(crate) fn floor(&self) -> Floor<T> {
        self.floor
    }

    pub(crate) fn panel(&self) -> *mut T {
        self.panel
    }

    pub(crate) fn update(&self) -> *mut T {
        self.update
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
/// upper triangles of diagonal blocks have no meaning before or after. Entries of L below the floor are zero. The first pivot that is not
/// a positive normal number, or is below the floor's, is an error; the front is half done then.
///
/// # Errors
/// That pivot, counted from the front's first.
///
/// # Panics
/// If a slice is shorter than its layout.
pub fn partial_cholesky<T: Real>(
    panel: &mut [T],
    update: &mut [T],
    (npiv, nupd): (usize, usize),
    block: usize,
    (mode, floor): (UpdateMode, Floor<T>),
    ws: &mut Workspace<T>,
) -> Result<(), PivotFailure> {
    let f =
        FrontMut::new(panel.as_mut_ptr(), update.as_mut_ptr(), npiv, nupd, block).with_floor(floor);
    f.check(panel);
    assert!(
        update.len() >= f.update_layout().len(),
        "update matrix is too short for its front"
    );
    // SAFETY: the slices hold the layouts and are borrowed exclusively.
    unsafe { eliminate_whole(f, Some(mode), ws) }
}

/// The pivot columns alone, as [`partial_cholesky`] makes them: the update matrix is left to [`subtract_products`](crate::subtract_products).
///
/// # Errors
/// As there.
///
/// # Panics
/// If `panel` is shorter than its layout.
pub fn panel_cholesky<T: Real>(
    panel: &mut [T],
    (npiv, nupd): (usize, usize),
    block: usize,
    floor: Floor<T>,
    ws: &mut Workspace<T>,
) -> Result<(), PivotFailure> {
    let none = std::ptr::null_mut();
    let f = FrontMut::new(panel.as_mut_ptr(), none, npiv, nupd, block).with_floor(floor);
    f.check(panel);
    // SAFETY: the slice holds the layout and is borrowed exclusively; there is no update.
    unsafe { eliminate_whole(f, None, ws) }
}

/// Eliminates a front, and makes its update matrix if there is a mode for it.
///
/// # Safety
/// The front is valid and in the hands of this call alone.
unsafe fn eliminate_whole<T: Real>(
    f: FrontMut<T>,
    mode: Option<UpdateMode>,
    ws: &mut Workspace<T>,
) -> Result<(), PivotFailure> {
    let isa = ws.isa();
    if is_tiny(f.npiv, f.nupd, f.block) {
        // SAFETY: the caller's contract.
        return unsafe { eliminate_tiny(f, mode, isa, None) };
    }
    let buf = ws.buffers(f.floor);
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, eliminate(f, &buf, mode)) }
}

unsafe fn eliminate<S: Simd>(
    f: FrontMut<S::T>,
    buf: &Buffers<S::T>,
    mode: Option<UpdateMode>,
) -> Result<(), PivotFailure> {
    // SAFETY: the pieces run one after another in an admissible order.
    unsafe {
        let layout = f.panel_layout();
        for b in 0..layout.blocks() {
            update_panel::<S>(f, buf, b, b * f.block..f.npiv + f.nupd);
            let (m, n) = (layout.height(b), layout.width(b));
            if m <= FUSED_ROWS && n <= SOLVE_COLUMNS {
                let a = f.panel.add(layout.offset(b));
                cholesky_panel::<S>(m, n, (a, m), f.floor).map_err(|e| e.offset(b * f.block))?;
            } else {
                factor_block::<S>(f, buf, b)?;
                solve_panel::<S>(f, buf, b, b * f.block + n..f.npiv + f.nupd);
            }
        }
        let blocks = f.update_layout().blocks();
        if let Some(mode) = mode
            && blocks > 0
            && (f.npiv > 0 || mode == UpdateMode::Overwrite)
        {
            update_trailing::<S>(f, buf, 0..blocks, 0..f.nupd, mode);
        }
    }
    Ok(())
}
