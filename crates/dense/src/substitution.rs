//! Forward and backward substitution with the factor panel of a front.
//!
//! With `L = [L11; L21]` the panel in [`BlockColumns`] (L11 lower triangular of order `npiv`, L21
//! `nupd × npiv`) and `w = [x; y]` the front's rows of the right-hand sides:
//!
//! * forward: `x ← L11⁻¹ x`, then `y ← y − L21 x`;
//! * backward: `x ← L11⁻ᵀ (x − L21ᵀ y)`.
//!
//! Right-hand sides stand row by row: row i at `w + i·stride`, where `stride` is 1 for one
//! right-hand side, else what [`rhs_stride`] says. A panel is gone through once, 8 or 16 columns
//! at a time with everything below them, in the order (or the reverse order) in which it lies in
//! memory; or in pieces, a block column at a time, for several threads.
//!
//! Invariant: an entry of w depends, bit for bit, on its row or column of L and on w only, not on the
//! pieces. Limit: with one right-hand side every number of L is read once for 2 flops, so memory
//! bandwidth; with 16 of them, 4 flops a byte.

use std::ops::Range;

use crate::layout::by_columns;
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::vector::triangle;
use crate::vectors::Strided;
use crate::{BlockColumns, Isa, Real, vector, vectors};

/// Order of the triangles solved one number after another.
const STEP: usize = crate::layout::STRIP;

/// Columns that rows below are updated with at a time, for several right-hand sides.
const WIDE: usize = 16;

/// Right-hand sides taken together at most.
pub const MAX_RHS: usize = 16;

/// Distance of rows that substitution needs for so many right-hand sides (1 to [`MAX_RHS`]); the
/// numbers between must be finite, and zeros are best.
pub fn rhs_stride<T: Real>(nrhs: usize, isa: Isa) -> usize {
    if nrhs <= 1 {
        return 1;
    }
    let lanes = with_isa!(isa, T, lanes());
    nrhs.div_ceil(lanes).next_power_of_two() * lanes
}

fn lanes<S: Simd>() -> usize {
    S::LANES
}

/// The final factor panel of a front, for substitution.
#[derive(Clone, Copy, Debug)]
pub struct PanelRef<'a, T> {
    values: &'a [T],
    layout: BlockColumns,
    isa: Isa,
}

impl<'a, T: Real> PanelRef<'a, T> {
    /// View of a panel at the beginning of `values`.
    ///
    /// # Panics
    /// If `values` is shorter than its layout, or the layout is none: more columns than rows, or blocks of no columns.
    #[inline]
    pub fn new(values: &'a [T], layout: BlockColumns, isa: Isa) -> Self {
        assert!(
            layout.cols <= layout.rows && layout.block > 0,
            "no layout of a panel"
        );
        assert!(
            values.len() >= layout.len(),
            "panel is too short for its front"
        );
        Self {
            values,
            layout,
            isa,
        }
    }

    /// Layout of the panel.
    #[inline]
    pub fn layout(&self) -> BlockColumns {
        self.layout
    }

    /// Forward substitution with the whole front: `w` has all its rows.
    ///
    /// # Safety
    /// `w` is valid for `npiv + nupd` rows, and nothing else uses it meanwhile.
    pub unsafe fn forward(&self, w: *mut T, stride: usize) {
        let l = self.layout;
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::Forward(0..l.blocks(), l.rows)) }
    }

    /// `x ← L⁻¹ x` in the rows of block column `b`: those of its diagonal block.
    ///
    /// # Safety
    /// As [`forward`](Self::forward), for these rows.
    pub unsafe fn forward_diagonal(&self, b: usize, w: *mut T, stride: usize) {
        let end = b * self.layout.block + self.layout.width(b);
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::Forward(b..b + 1, end)) }
    }

    /// Subtracts the products of block column `b` and its rows of w from the rows `rows` of w,
    /// which are below the diagonal block.
    ///
    /// # Safety
    /// `w` is valid for the front's rows; no one writes to those of the block column, and no one
    /// else uses `rows` meanwhile. Disjoint ranges may run at the same time.
    pub unsafe fn forward_rows(&self, b: usize, rows: Range<usize>, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::Rows(b, rows)) }
    }

    /// Backward substitution with the whole front: `w` has all its rows.
    ///
    /// # Safety
    /// As [`forward`](Self::forward).
    pub unsafe fn backward(&self, w: *mut T, stride: usize) {
        let l = self.layout;
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::Backward(0..l.blocks(), l.rows)) }
    }

    /// Backward substitution with the whole front in the sums of [`backward_far`](Self::backward_far)
    /// and [`backward_near`](Self::backward_near), all columns of which it goes through once.
    ///
    /// # Safety
    /// As [`forward`](Self::forward).
    pub unsafe fn backward_in_two(&self, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::InTwo) }
    }

    /// Where the rows begin that are far from block column `b`: behind those of the block column
    /// after it, as long as there are pivots.
    #[inline(always)]
    fn far(&self, b: usize) -> usize {
        self.layout.cols.min((b + 2) * self.layout.block)
    }

    /// Subtracts from rows `columns` of w, pivots of block column `b`, the products of those columns
    /// of L with w in the rows below the block column after `b`: what does not wait for that one.
    ///
    /// # Safety
    /// `w` is valid for the front's rows; no one writes to those far rows, and no one
    /// else uses the rows `columns` meanwhile. Disjoint ranges may run at the same time.
    pub unsafe fn backward_far(&self, b: usize, columns: Range<usize>, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::Far(b, columns)) }
    }

    /// The rest of backward substitution in the rows of block column `b`: products with the block column
    /// after it, then its diagonal block.
    ///
    /// # Safety
    /// `w` is valid for the front's rows, and nothing else uses those of the two block columns.
    pub unsafe fn backward_near(&self, b: usize, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.run(w, stride, Piece::Backward(b..b + 1, self.far(b))) }
    }

    unsafe fn run(&self, w: *mut T, stride: usize, piece: Piece) {
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, run(*self, w, stride, piece)) }
    }

    /// Entry `(i, j)` and the leading dimension there, in block column `b`.
    #[inline(always)]
    fn at(&self, b: usize, i: usize, j: usize) -> (*const T, usize) {
        let (l, top) = (&self.layout, b * self.layout.block);
        let height = l.height(b);
        let at = l.offset(b) + (j - top) * height + (i - top);
        (self.values.as_ptr().wrapping_add(at), height)
    }
}

/// What to do with a panel.
#[derive(Clone)]
enum Piece {
    /// Block columns, and the end of the rows that they reach.
    Forward(Range<usize>, usize),
    Rows(usize, Range<usize>),
    Backward(Range<usize>, usize),
    /// All block columns, far and near rows apart.
    InTwo,
    Far(usize, Range<usize>),
}

unsafe fn run<S: Simd>(panel: PanelRef<'_, S::T>, w: *mut S::T, stride: usize, piece: Piece) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        if stride == 1 {
            return S::vectorize(One::<S> { panel, w, piece });
        }
        match stride / S::LANES {
            1 => S::vectorize(Several::<S, 1> { panel, w, piece }),
            2 => S::vectorize(Several::<S, 2> { panel, w, piece }),
            4 => S::vectorize(Several::<S, 4> { panel, w, piece }),
            _ => debug_assert!(false, "not a stride of `rhs_stride`"),
        }
    }
}

/// Columns of a range in pieces of `step`: start and number.
#[inline(always)]
fn pieces(range: Range<usize>, step: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    let count = range.len().div_ceil(step);
    (0..count).map(move |p| {
        let j = range.start + p * step;
        (j, step.min(range.end - j))
    })
}

/// Columns of a block column.
#[inline(always)]
fn columns_of(l: &BlockColumns, b: usize) -> Range<usize> {
    let top = b * l.block;
    top..top + l.width(b)
}

/// One right-hand side.
struct One<'a, S: Simd> {
    panel: PanelRef<'a, S::T>,
    w: *mut S::T,
    piece: Piece,
}

impl<S: Simd> Op for One<'_, S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self { panel, w, piece } = self;
        let l = panel.layout;
        // SAFETY: the callers of `PanelRef`'s methods vouch for w; the panel has these entries.
        unsafe {
            match piece {
                Piece::Forward(blocks, end) => {
                    for b in blocks {
                        for (j, n) in pieces(columns_of(&l, b), STEP) {
                            let ((diagonal, ld), x) = (panel.at(b, j, j), w.add(j));
                            triangle!(solve, n, diagonal, by_columns(ld), x);
                            let row = j + n;
                            let below = panel.at(b, row, j);
                            vector::subtract::<S>(end - row, n, below, x, w.add(row));
                        }
                    }
                }
                Piece::Rows(b, rows) => {
                    for (j, n) in pieces(columns_of(&l, b), STEP) {
                        let a = panel.at(b, rows.start, j);
                        vector::subtract::<S>(rows.len(), n, a, w.add(j), w.add(rows.start));
                    }
                }
                Piece::Backward(blocks, end) => {
                    for b in blocks.rev() {
                        for (j, n) in pieces(columns_of(&l, b), STEP).rev() {
                            let (row, x) = (j + n, w.add(j));
                            let below = panel.at(b, row, j);
                            vector::subtract_transposed::<S>(end - row, n, below, w.add(row), x);
                            let (diagonal, ld) = panel.at(b, j, j);
                            triangle!(solve_transposed, n, diagonal, by_columns(ld), x);
                        }
                    }
                }
                Piece::InTwo => {
                    for b in (0..l.blocks()).rev() {
                        let far = panel.far(b);
                        for (j, n) in pieces(columns_of(&l, b), STEP).rev() {
                            let near = vector::dots::<S>(
                                far - j - n,
                                n,
                                panel.at(b, j + n, j),
                                w.add(j + n),
                            );
                            let below = panel.at(b, far, j);
                            vector::subtract_transposed::<S>(
                                l.rows - far,
                                n,
                                below,
                                w.add(far),
                                w.add(j),
                            );
                            vector::subtract_sums(n, &near, w.add(j));
                            let (diagonal, ld) = panel.at(b, j, j);
                            triangle!(solve_transposed, n, diagonal, by_columns(ld), w.add(j));
                        }
                    }
                }
                Piece::Far(b, columns) => {
                    let far = panel.far(b);
                    for (j, n) in pieces(columns, STEP).rev() {
                        let (a, m) = (panel.at(b, far, j), l.rows - far);
                        vector::subtract_transposed::<S>(m, n, a, w.add(far), w.add(j));
                    }
                }
            }
        }
    }
}

/// Several right-hand sides, `V` vectors of them.
struct Several<'a, S: Simd, const V: usize> {
    panel: PanelRef<'a, S::T>,
    w: *mut S::T,
    piece: Piece,
}

impl<S: Simd, const V: usize> Several<'_, S, V> {
    /// Row `i` of the right-hand sides.
    #[inline(always)]
    fn row(&self, i: usize) -> *mut S::T {
        self.w.wrapping_add(i * V * S::LANES)
    }

    /// Rows `rows` −= L·x for the `n` columns from `j` on, in block column `b`.
    #[inline(always)]
    unsafe fn subtract(&self, b: usize, rows: Range<usize>, (j, n): (usize, usize)) {
        let (p, ld) = self.panel.at(b, rows.start, j);
        let a = Strided::new(p, 1, ld);
        let y = self.row(rows.start);
        // SAFETY: the callers of `PanelRef`'s methods vouch for w.
        unsafe { vectors::subtract::<S, V>(rows.len(), n, a, self.row(j), y) }
    }

    /// The `n` rows from `j` on −= Lᵀ·y for the rows `rows` of L, in block column `b`.
    #[inline(always)]
    unsafe fn subtract_transposed(&self, b: usize, rows: Range<usize>, (j, n): (usize, usize)) {
        let (p, ld) = self.panel.at(b, rows.start, j);
        let a = Strided::new(p, ld, 1);
        let y = self.row(rows.start);
        // SAFETY: the callers of `PanelRef`'s methods vouch for w.
        unsafe { vectors::subtract::<S, V>(n, rows.len(), a, y, self.row(j)) }
    }
}

impl<S: Simd, const V: usize> Op for Several<'_, S, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let (panel, l) = (self.panel, self.panel.layout);
        // SAFETY: as above.
        unsafe {
            match self.piece.clone() {
                Piece::Forward(blocks, end) => {
                    for b in blocks {
                        for (j, n) in pieces(columns_of(&l, b), WIDE) {
                            for (t, k) in pieces(j..j + n, STEP) {
                                let (l, ld) = panel.at(b, t, t);
                                vectors::solve::<S, V>(k, l, by_columns(ld), self.row(t), false);
                                self.subtract(b, t + k..j + n, (t, k));
                            }
                            self.subtract(b, j + n..end, (j, n));
                        }
                    }
                }
                Piece::Rows(b, rows) => {
                    for columns in pieces(columns_of(&l, b), WIDE) {
                        self.subtract(b, rows.clone(), columns);
                    }
                }
                Piece::Backward(blocks, end) => {
                    for b in blocks.rev() {
                        for (j, n) in pieces(columns_of(&l, b), STEP).rev() {
                            self.subtract_transposed(b, j + n..end, (j, n));
                            let (l, ld) = panel.at(b, j, j);
                            vectors::solve::<S, V>(n, l, by_columns(ld), self.row(j), true);
                        }
                    }
                }
                Piece::InTwo => {
                    for b in (0..l.blocks()).rev() {
                        let far = panel.far(b);
                        for (j, n) in pieces(columns_of(&l, b), STEP).rev() {
                            self.subtract_transposed(b, far..l.rows, (j, n));
                            self.subtract_transposed(b, j + n..far, (j, n));
                            let (l, ld) = panel.at(b, j, j);
                            vectors::solve::<S, V>(n, l, by_columns(ld), self.row(j), true);
                        }
                    }
                }
                Piece::Far(b, columns) => {
                    for columns in pieces(columns, STEP) {
                        self.subtract_transposed(b, panel.far(b)..l.rows, columns);
                    }
                }
            }
        }
    }
}
