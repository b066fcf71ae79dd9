//! Forward and backward substitution with the factor panel of a front.
//!
//! With `L = [L11; L21]` the panel in [`BlockColumns`] (L11 lower triangular of order `npiv`, L21
//! `nupd × npiv`), right-hand sides column-major:
//!
//! * forward: `x ← L11⁻¹ x` ([`forward_diagonal`](PanelRef::forward_diagonal)), then
//!   `y ← y − L21 x` ([`forward_update`](PanelRef::forward_update));
//! * backward: `x ← x − L21ᵀ y` ([`backward_update`](PanelRef::backward_update)), then
//!   `x ← L11⁻ᵀ x` ([`backward_diagonal`](PanelRef::backward_diagonal)).
//!
//! Invariant: an entry of y depends, bit for bit, on its row of L and on x only, not on the row
//! range it is computed in; the x of a block column on that block column and y only.
//! Limit: with one right-hand side every number of L is read once for 2 flops, so memory bandwidth
//! (8 columns at a time, so that y costs a quarter of the traffic of L in cache); with more of them
//! forward is the blocked product and backward holds 4 × 4 inner products in registers.

use std::ops::Range;

use crate::product::{PanelRows, Plain, PlainMut, Shape, product};
use crate::real::with_isa;
use crate::simd::Simd;
use crate::vector::{Dots, Gemv, Triangle};
use crate::workspace::{Buffers, KC, RHS};
use crate::{BlockColumns, Real, UpdateMode, Workspace};

/// Order of the triangles solved one number after another.
const STEP: usize = 8;

/// The final factor panel of a front, for substitution.
#[derive(Clone, Copy, Debug)]
pub struct PanelRef<'a, T> {
    values: &'a [T],
    layout: BlockColumns,
}

impl<'a, T: Real> PanelRef<'a, T> {
    /// View of a panel laid out as [`BlockColumns::panel`].
    ///
    /// # Panics
    /// If `values` is shorter than its layout.
    pub fn new(values: &'a [T], npiv: usize, nupd: usize, block: usize) -> Self {
        let layout = BlockColumns::panel(npiv, nupd, block.max(1));
        assert!(
            values.len() >= layout.len(),
            "panel is too short for its front"
        );
        Self { values, layout }
    }

    /// Layout of the panel.
    pub fn layout(&self) -> BlockColumns {
        self.layout
    }

    /// `x ← L11⁻¹ x`; x is `npiv × nrhs`, column-major with leading dimension `x.1 >= npiv`.
    ///
    /// # Safety
    /// `x` is valid for that size and nothing else uses it meanwhile.
    pub unsafe fn forward_diagonal(&self, x: (*mut T, usize), nrhs: usize, ws: &mut Workspace<T>) {
        let (isa, buf) = (ws.isa(), ws.buffers());
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, forward_diagonal(*self, &buf, x, nrhs)) }
    }

    /// `y ← y − L21 x` in the rows `rows` of y (within `0..nupd`); x is `npiv × nrhs`, y
    /// `nupd × nrhs`, both column-major with their leading dimensions; `y.0` is row 0.
    ///
    /// # Safety
    /// `x` and `y` are valid for those sizes and do not overlap; no one writes to x and no one
    /// else touches these rows of y meanwhile. Disjoint ranges may run at the same time.
    pub unsafe fn forward_update(
        &self,
        rows: Range<usize>,
        x: (*const T, usize),
        y: (*mut T, usize),
        nrhs: usize,
        ws: &mut Workspace<T>,
    ) {
        let (isa, buf) = (ws.isa(), ws.buffers());
        let (npiv, m) = (self.layout.cols, rows.len());
        let (row, y) = (npiv + rows.start, (y.0.wrapping_add(rows.start), y.1));
        // SAFETY: the caller's contract.
        unsafe { with_isa!(isa, T, subtract(*self, &buf, (row, m), 0..npiv, x, y, nrhs)) }
    }

    /// `x_b ← x_b − (block column b of L21)ᵀ y`, where `x_b` are the rows of x that belong to the
    /// pivots of block column `b`; sizes as in [`forward_update`](Self::forward_update), `x.0` is
    /// row 0 of x. For the whole of x, run all block columns, in any order.
    ///
    /// # Safety
    /// `x` and `y` are valid for their sizes and do not overlap; no one writes to y and no one
    /// else touches these rows of x meanwhile. Different block columns may run at the same time.
    pub unsafe fn backward_update(
        &self,
        b: usize,
        x: (*mut T, usize),
        y: (*const T, usize),
        nrhs: usize,
        ws: &mut Workspace<T>,
    ) {
        let l = self.layout;
        let first = b * l.block;
        let rows = (l.cols, l.rows - l.cols);
        let x = (x.0.wrapping_add(first), x.1);
        let columns = first..first + l.width(b);
        // SAFETY: the caller's contract.
        unsafe {
            with_isa!(
                ws.isa(),
                T,
                subtract_transposed(*self, rows, columns, x, y, nrhs)
            )
        }
    }

    /// `x ← L11⁻ᵀ x`; x as in [`forward_diagonal`](Self::forward_diagonal).
    ///
    /// # Safety
    /// As [`forward_diagonal`](Self::forward_diagonal).
    pub unsafe fn backward_diagonal(&self, x: (*mut T, usize), nrhs: usize, ws: &mut Workspace<T>) {
        // SAFETY: the caller's contract.
        unsafe { with_isa!(ws.isa(), T, backward_diagonal(*self, x, nrhs)) }
    }

    /// Entry `(i, j)` and the leading dimension there; j may be 0 in an empty panel.
    fn at(&self, i: usize, j: usize) -> (*const T, usize) {
        let at = self.layout.index(i, j);
        (
            self.values.as_ptr().wrapping_add(at),
            self.layout.height(j / self.layout.block),
        )
    }
}

/// Columns `range`, cut at block columns and then by [`STEP`].
fn steps(l: BlockColumns, range: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (range.start / l.block..range.end.div_ceil(l.block)).flat_map(move |b| {
        let (start, end) = (
            range.start.max(b * l.block),
            range.end.min((b + 1) * l.block),
        );
        (start..end)
            .step_by(STEP)
            .map(move |j| (j, STEP.min(end - j)))
    })
}

unsafe fn forward_diagonal<S: Simd>(
    p: PanelRef<'_, S::T>,
    buf: &Buffers<S::T>,
    (x, ldx): (*mut S::T, usize),
    nrhs: usize,
) {
    let l = p.layout;
    for b in 0..l.blocks() {
        let (start, end) = (b * l.block, b * l.block + l.width(b));
        // SAFETY: offsets stay within x; rows written lie below those read.
        unsafe {
            for (j, n) in steps(l, start..end) {
                let (a, lda) = p.at(j, j);
                let x0 = x.add(j);
                S::vectorize(Triangle::<S> {
                    n,
                    l: a,
                    ldl: lda,
                    x: x0,
                    ldx,
                    nrhs,
                    backward: false,
                });
                let (row, below) = (j + n, end - j - n);
                let (from, to) = ((x0.cast_const(), ldx), (x.wrapping_add(row), ldx));
                subtract::<S>(p, buf, (row, below), j..j + n, from, to, nrhs);
            }
            let (from, to) = ((x.add(start).cast_const(), ldx), (x.wrapping_add(end), ldx));
            subtract::<S>(p, buf, (end, l.cols - end), start..end, from, to, nrhs);
        }
    }
}

unsafe fn backward_diagonal<S: Simd>(
    p: PanelRef<'_, S::T>,
    (x, ldx): (*mut S::T, usize),
    nrhs: usize,
) {
    let npiv = p.layout.cols;
    for (j, n) in steps(p.layout, 0..npiv).rev() {
        let (a, lda) = p.at(j, j);
        let row = j + n;
        // SAFETY: offsets stay within x; rows written lie above those read.
        unsafe {
            let (x0, below) = (x.add(j), (x.wrapping_add(row).cast_const(), ldx));
            subtract_transposed::<S>(p, (row, npiv - row), j..row, (x0, ldx), below, nrhs);
            S::vectorize(Triangle::<S> {
                n,
                l: a,
                ldl: lda,
                x: x0,
                ldx,
                nrhs,
                backward: true,
            });
        }
    }
}

/// `y ← y − L[row .. row + m, columns]·x`.
unsafe fn subtract<S: Simd>(
    p: PanelRef<'_, S::T>,
    buf: &Buffers<S::T>,
    (row, m): (usize, usize),
    columns: Range<usize>,
    (x, ldx): (*const S::T, usize),
    (y, ldy): (*mut S::T, usize),
    nrhs: usize,
) {
    if m == 0 {
        return;
    }
    if nrhs == 1 {
        for (j, n) in steps(p.layout, columns.clone()) {
            let (l, ldl) = p.at(row, j);
            let x = x.wrapping_add(j - columns.start);
            // SAFETY: the panel has these rows and columns, x and y as the caller says.
            unsafe { Gemv::<S>::call(m, n, (l, ldl), x, y) }
        }
        return;
    }
    for r in (0..nrhs).step_by(RHS) {
        let n = RHS.min(nrhs - r);
        for first in columns.clone().step_by(KC) {
            let k = KC.min(columns.end - first);
            let a = PanelRows {
                panel: p.values.as_ptr(),
                layout: p.layout,
                row,
                first,
            };
            // SAFETY: `rhs` holds RHS × KC numbers; the rest as above.
            unsafe {
                for l in 0..k {
                    for j in 0..n {
                        *buf.rhs.add(j + l * n) = *x.add(first - columns.start + l + (r + j) * ldx);
                    }
                }
                let shape = Shape {
                    m,
                    n,
                    k,
                    kc: KC,
                    lower: None,
                };
                let (b, c) = (
                    Plain(buf.rhs.cast_const(), n),
                    PlainMut(y.add(r * ldy), ldy),
                );
                product::<S>(buf, shape, a, b, c, UpdateMode::Accumulate);
            }
        }
    }
}

/// `x ← x − L[row .. row + m, columns]ᵀ·y`; `x` begins at the row of the first of the columns.
unsafe fn subtract_transposed<S: Simd>(
    p: PanelRef<'_, S::T>,
    (row, m): (usize, usize),
    columns: Range<usize>,
    (x, ldx): (*mut S::T, usize),
    y: (*const S::T, usize),
    nrhs: usize,
) {
    if m == 0 {
        return;
    }
    for (j, n) in steps(p.layout, columns.clone()) {
        let x = x.wrapping_add(j - columns.start);
        // SAFETY: the panel has these rows and columns, x and y as the caller says.
        unsafe { Dots::<S>::call(m, (n, nrhs), p.at(row, j), y, (x, ldx)) }
    }
}
