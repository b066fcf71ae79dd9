//! Packing: copies rows of a column-major operand into the order in which microtiles read them.
//!
//! Both operands of `A·Bᵀ` are read along their columns, so a micropanel is a plain copy of `MR` or
//! `NR` rows, column after column. Cost: every number is read and written once; it pays when the
//! micropanel is read several times from a nearer cache.

use crate::simd::{Op, Simd};
use crate::tile::{load_column, store_column};

/// Copies rows of columns into microtile order.
struct Pack<S: Simd> {
    rows: usize,
    k: usize,
    src: *const S::T,
    ld: usize,
    panels: Packed<S::T>,
}

/// Where packed micropanels go: column `l` of micropanel `p` at `dst + p·step + l·height`.
#[derive(Clone, Copy)]
pub(crate) struct Packed<T> {
    pub dst: *mut T,
    pub height: usize,
    pub step: usize,
}

impl<S: Simd> Op for Pack<S> {
    type Out = ();
    /// Down the columns, because the source is long and comes from far.
    #[inline(always)]
    unsafe fn run(self) {
        let Packed { dst, height, step } = self.panels;
        let whole = self.rows / height;
        let rest = self.rows - whole * height;
        // SAFETY: the caller of `pack_rows` vouches for both sides.
        unsafe {
            let (mut src, mut dst) = (self.src, dst);
            let keep = S::mask(height.min(S::LANES));
            for _ in 0..self.k {
                let (mut from, mut to) = (src, dst);
                if height == 3 * S::LANES {
                    for _ in 0..whole {
                        store_column::<S, 3, true>(to, keep, load_column::<S, 3, true>(from, keep));
                        from = from.wrapping_add(height);
                        to = to.wrapping_add(step);
                    }
                } else {
                    for _ in 0..whole {
                        store_column::<S, 1, false>(
                            to,
                            keep,
                            load_column::<S, 1, false>(from, keep),
                        );
                        from = from.wrapping_add(height);
                        to = to.wrapping_add(step);
                    }
                }
                for v in 0..rest.div_ceil(S::LANES) {
                    let some = S::mask(S::LANES.min(rest - v * S::LANES));
                    let x = S::load_mask(from.wrapping_add(v * S::LANES), some);
                    S::store_mask(to.wrapping_add(v * S::LANES), keep, x);
                }
                src = src.wrapping_add(self.ld);
                dst = dst.wrapping_add(height);
            }
        }
    }
}

/// Packs `rows` rows of `k` columns. The rows of the last micropanel are filled up with zeros to
/// the end of their vector. `height` is `MR` or `NR`.
///
/// # Safety
/// `src` is valid for `rows × k` with leading dimension `ld`, the micropanels for `k` columns.
pub(crate) unsafe fn pack_rows<S: Simd>(
    rows: usize,
    k: usize,
    (src, ld): (*const S::T, usize),
    panels: Packed<S::T>,
) {
    debug_assert!(panels.height == S::MR || panels.height == S::NR);
    let op = Pack::<S> {
        rows,
        k,
        src,
        ld,
        panels,
    };
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(op) }
}
