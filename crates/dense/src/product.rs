//! The blocked product `C ← β·C − A·Bᵀ`, whole or lower part only, in column-major storage.
//!
//! Goto and van de Geijn 2008: B packed by `NC × KC`, A by `MC × KC`, microtiles inside. Both
//! operands are read along their columns, so packing is a copy without transposition, and small
//! products read the operands where they stand.
//!
//! Invariant: the sum over k is cut at fixed multiples of `kc` only; what an entry of C undergoes
//! depends on neither `m` nor `n` nor the path taken.
//! Cost: `2·m·n·k` flops (half when lower); per `KC` of k, C is read and written once.

use std::ops::Range;

use crate::pack::{Packed, pack_rows};
use crate::simd::Simd;
use crate::tile::{self, Tile, UpdateMode};
use crate::workspace::{Buffers, PACK_PAD};
use crate::{BlockColumns, Real};

/// An operand whose columns are stored strip by strip.
pub(crate) trait Operand<T>: Copy {
    /// Entry `(0, k)`, the leading dimension there, and how many columns follow with it.
    fn strip(&self, k: usize) -> (*const T, usize, usize);
}

/// A result whose columns are stored strip by strip.
pub(crate) trait Target<T>: Copy {
    /// Entry `(0, j)` (possibly a place above what is stored), the leading dimension there, and how
    /// many columns follow with it.
    fn strip(&self, j: usize) -> (*mut T, usize, usize);
}

/// A plain column-major result.
#[derive(Clone, Copy)]
pub(crate) struct PlainMut<T>(pub *mut T, pub usize);

impl<T: Copy> Target<T> for PlainMut<T> {
    #[inline(always)]
    fn strip(&self, j: usize) -> (*mut T, usize, usize) {
        (self.0.wrapping_add(j * self.1), self.1, usize::MAX)
    }
}

/// A part of packed block columns as a result, from row `row` and column `first` on.
#[derive(Clone, Copy)]
pub(crate) struct BlockColumnsMut<T> {
    pub data: *mut T,
    pub layout: BlockColumns,
    pub row: usize,
    pub first: usize,
}

impl<T: Copy> Target<T> for BlockColumnsMut<T> {
    #[inline(always)]
    fn strip(&self, j: usize) -> (*mut T, usize, usize) {
        let (l, j) = (&self.layout, self.first + j);
        let b = l.block_of(j);
        let (top, ld) = (b * l.block, l.height(b));
        let at = l.offset(b) + (j - top) * ld;
        let p = self.data.wrapping_add(at + self.row).wrapping_sub(top);
        (p, ld, top + l.width(b) - j)
    }
}

/// A plain column-major operand.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>(pub *const T, pub usize);

impl<T: Copy> Operand<T> for Plain<T> {
    #[inline(always)]
    fn strip(&self, k: usize) -> (*const T, usize, usize) {
        (self.0.wrapping_add(k * self.1), self.1, usize::MAX)
    }
}

/// Rows of a factor panel as an operand, from front row `row` and column `first` on.
#[derive(Clone, Copy)]
pub(crate) struct PanelRows<T> {
    pub panel: *const T,
    pub layout: BlockColumns,
    pub row: usize,
    pub first: usize,
}

impl<T: Copy> Operand<T> for PanelRows<T> {
    #[inline(always)]
    fn strip(&self, k: usize) -> (*const T, usize, usize) {
        let l = &self.layout;
        let k = self.first + k;
        let b = l.block_of(k);
        let (top, ld) = (b * l.block, l.height(b));
        let at = l.offset(b) + (k - top) * ld + (self.row - top);
        (self.panel.wrapping_add(at), ld, top + l.width(b) - k)
    }
}

/// Sizes of a product.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Inner dimension per visit of C, at most [`KC`](crate::workspace::KC).
    pub kc: usize,
    /// `Some(off)`: only entries with `i + off >= j` are wanted. Of the others some up to 7 rows
    /// above may be overwritten, but no rows above the first of the strip that they belong to.
    pub lower: Option<usize>,
}

/// Packed or in place: where micropanels of an operand are.
#[derive(Clone, Copy)]
struct Micropanels<T> {
    base: *const T,
    /// Distance of successive columns of k.
    ld: usize,
    /// Distance of successive micropanels.
    step: usize,
}

/// Starts and lengths of the pieces of a range. (`step_by` begins with a division, which takes as
/// long as a small microtile.)
pub(crate) fn cut(range: Range<usize>, step: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let at = start;
        start += step;
        (at < range.end).then(|| (at, step.min(range.end - at)))
    })
}

/// Columns of C up to which A is read where it stands: it is not read often enough to be packed.
const PACK_A_FROM: usize = 48;
/// Rows of C from which B is packed.
const PACK_B_FROM: usize = 96;
/// Inner dimension from which packing pays.
const PACK_FROM_K: usize = 32;

/// `C ← β·C − A·Bᵀ`.
///
/// # Safety
/// The operands are valid for the shape; C overlaps neither; the buffers are this thread's.
pub(crate) unsafe fn product<S: Simd>(
    buf: &Buffers<S::T>,
    shape: Shape,
    a: impl Operand<S::T>,
    b: impl Operand<S::T>,
    c: impl Target<S::T>,
    mode: UpdateMode,
) {
    let Shape { m, n, k, kc, .. } = shape;
    if m == 0 || n == 0 || (k == 0 && mode == UpdateMode::Accumulate) {
        return;
    }
    // SAFETY: all offsets stay within the operands' shapes or the buffers' sizes.
    unsafe {
        if k == 0 && mode == UpdateMode::Overwrite {
            clear::<S>(shape, c);
        }
        for (k0, kk) in cut(0..k, kc.min(buf.kc)) {
            let mode = if k0 == 0 {
                mode
            } else {
                UpdateMode::Accumulate
            };
            for (j0, nn) in cut(0..n, buf.nc) {
                let pack = kk >= PACK_FROM_K && m >= PACK_B_FROM;
                let bp = micropanels::<S>(b, k0, kk, j0, nn, pack, buf.b, S::NR);
                let first = shape.lower.map_or(0, |off| j0.saturating_sub(off));
                for (i0, mm) in cut(first / S::MR * S::MR..m, buf.mc) {
                    let pack = kk >= PACK_FROM_K && nn >= PACK_A_FROM;
                    let ap = micropanels::<S>(a, k0, kk, i0, mm, pack, buf.a, S::MR);
                    let place = (i0, j0, shape.lower);
                    macrotile::<S>((mm, nn, kk), ap, bp, c, mode, place);
                }
            }
        }
    }
}

/// Rows `i0 .. i0 + rows`, columns `k0 .. k0 + kk` of an operand, packed if asked or if in strips.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn micropanels<S: Simd>(
    x: impl Operand<S::T>,
    k0: usize,
    kk: usize,
    i0: usize,
    rows: usize,
    pack: bool,
    buffer: *mut S::T,
    height: usize,
) -> Micropanels<S::T> {
    let (p, ld, len) = x.strip(k0);
    if len >= kk && !pack {
        return Micropanels {
            base: p.wrapping_add(i0),
            ld,
            step: height,
        };
    }
    let step = height * kk + PACK_PAD;
    let mut done = 0;
    while done < kk {
        let (p, ld, len) = x.strip(k0 + done);
        let len = len.min(kk - done);
        let dst = buffer.wrapping_add(done * height);
        // SAFETY: the operand has these rows, the buffer `kk` columns of them.
        unsafe { pack_rows::<S>(rows, len, (p.add(i0), ld), Packed { dst, height, step }) };
        done += len;
    }
    Micropanels {
        base: buffer,
        ld: height,
        step,
    }
}

/// Zeros wherever C is wanted.
unsafe fn clear<S: Simd>(shape: Shape, c: impl Target<S::T>) {
    for j in 0..shape.n {
        let top = shape
            .lower
            .map_or(0, |off| j.saturating_sub(off))
            .min(shape.m);
        let p = c.strip(j).0;
        for i in top..shape.m {
            // SAFETY: entry (i, j) of C.
            unsafe { *p.wrapping_add(i) = S::T::ZERO };
        }
    }
}

/// All microtiles of the block of C that begins at `(i0, j0)`; with `lower = Some(off)` those that
/// hold an entry with `i + off >= j`.
unsafe fn macrotile<S: Simd>(
    (m, n, k): (usize, usize, usize),
    a: Micropanels<S::T>,
    b: Micropanels<S::T>,
    c: impl Target<S::T>,
    mode: UpdateMode,
    (i0, j0, lower): (usize, usize, Option<usize>),
) {
    let mut j = 0;
    while j < n {
        let (column, ldc, left) = c.strip(j0 + j);
        let (q, within) = (j / S::NR, j % S::NR); // within a micropanel only after a narrow strip
        let cols = (S::NR - within).min(n - j).min(left);
        // First row wanted; those above may not even be stored.
        let top = lower.map_or(0, |off| (j0 + j).saturating_sub(off + i0));
        for p in top / S::MR..m.div_ceil(S::MR) {
            let i = p * S::MR;
            let skip = top.saturating_sub(i);
            if i + skip >= m {
                break;
            }
            // SAFETY: the tile lies within C and the micropanels.
            unsafe {
                let tile = Tile {
                    k,
                    a: a.base.add(p * a.step + skip),
                    lda: a.ld,
                    b: b.base.add(q * b.step + within),
                    ldb: b.ld,
                    c: column.wrapping_add(i0 + i + skip),
                    ldc,
                    next: b.base,
                };
                tile::multiply::<S>(S::MR.min(m - i) - skip, cols, &tile, mode);
            }
        }
        j += cols;
    }
}
