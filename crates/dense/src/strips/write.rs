//! How final panels get into [`Strips`].

use std::mem::MaybeUninit;

use crate::layout::{STRIP, Strip, TILE_BYTES, line};
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::{BlockColumns, Isa, Real, Strips};

/// Writes a final panel of a front of `npiv` pivots and `nupd` rows below, in block columns at `from`, in strips to `to`.
///
/// # Safety
/// `from` is valid for the panel in [`BlockColumns`] of `block` columns, `to` for it in [`Strips`]; they do not overlap.
pub unsafe fn write_strips<T: Real>(
    from: *const T,
    (npiv, nupd): (usize, usize),
    block: usize,
    to: *mut T,
    isa: Isa,
) {
    let layouts = (
        BlockColumns::panel(npiv, nupd, block),
        Strips::panel(npiv, nupd, size_of::<T>()),
    );
    // SAFETY: the caller's contract.
    unsafe { with_isa!(isa, T, write(from, layouts, to)) }
}

unsafe fn write<S: Simd>(from: *const S::T, layouts: (BlockColumns, Strips), to: *mut S::T) {
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(Write::<S> { from, layouts, to }) }
}

struct Write<S: Simd> {
    from: *const S::T,
    layouts: (BlockColumns, Strips),
    to: *mut S::T,
}

impl<S: Simd> Op for Write<S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self { from, layouts, to } = self;
        let (blocks, strips) = layouts;
        let mut stage = Stage(MaybeUninit::uninit());
        for t in 0..strips.count() {
            let s = strips.strip(t);
            // Row `first` of the strip's columns; a strip may lie in two block columns, if those are narrow.
            let mut columns = [from; STRIP];
            for (j, column) in columns.iter_mut().enumerate().take(s.width) {
                let at = blocks.index(s.first + j, s.first + j);
                *column = from.wrapping_add(at).wrapping_sub(j);
            }
            let (to, len) = (to.wrapping_add(s.triangle), s.len());
            // SAFETY: the caller's contract; the stage has room for a strip that starts anywhere in a line.
            unsafe {
                if strips.count() == 1 || len * size_of::<S::T>() > STAGE_BYTES {
                    write_strip::<S>(&s, &columns, to);
                } else {
                    let in_line = to.addr() % TILE_BYTES / size_of::<S::T>();
                    let staged = stage.0.as_mut_ptr().cast::<S::T>().add(in_line);
                    write_strip::<S>(&s, &columns, staged);
                    let head = (TILE_BYTES / size_of::<S::T>() - in_line).min(len);
                    copy::<S>(staged, to, head);
                    copy::<S>(staged.add(head), to.add(head), len - head);
                }
            }
        }
    }
}

/// Bytes of the longest strip of a front that is in strips for its order.
const STAGE_BYTES: usize = 1 << 14;

/// A strip that stands in its lines as it will in memory, and is copied there line by line: a tile's column is
/// mostly in two, and memory is slow to take both.
#[repr(align(64))]
struct Stage(MaybeUninit<[u8; STAGE_BYTES + TILE_BYTES]>);

/// Writes one strip, of which the first row of all columns is given.
///
/// # Safety
/// The columns are valid, and `to` for the strip.
#[inline(always)]
unsafe fn write_strip<S: Simd>(s: &Strip, columns: &[*const S::T; STRIP], mut to: *mut S::T) {
    let columns = &columns[..s.width];
    // SAFETY: the caller's contract.
    unsafe {
        let mut inverses = [S::T::ONE; STRIP];
        for (j, column) in columns.iter().enumerate() {
            let inverse = S::T::ONE / *column.add(j);
            scaled::<S>(column.add(j), to, s.width - j, inverse);
            *to = inverse;
            to = to.add(s.width - j);
            inverses[j] = inverse;
        }
        for top in (0..s.below).step_by(line::<S::T>()) {
            let height = line::<S::T>().min(s.below - top);
            for (column, &inverse) in columns.iter().zip(&inverses) {
                scaled::<S>(column.add(s.width + top), to, height, inverse);
                to = to.add(height);
            }
        }
    }
}

/// Writes `len` numbers times `by`.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn scaled<S: Simd>(from: *const S::T, to: *mut S::T, len: usize, by: S::T) {
    // SAFETY: the caller's contract.
    unsafe {
        let (by, mut i) = (S::splat(by), 0);
        while i + S::LANES <= len {
            S::store(to.add(i), S::mul(S::load(from.add(i)), by));
            i += S::LANES;
        }
        if i < len {
            let mask = S::mask(len - i);
            S::store_mask(to.add(i), mask, S::mul(S::load_mask(from.add(i), mask), by));
        }
    }
}

/// Copies `len` numbers.
///
/// # Safety
/// Both sides are valid for them and do not overlap.
#[inline(always)]
unsafe fn copy<S: Simd>(from: *const S::T, to: *mut S::T, len: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut i = 0;
        while i + S::LANES <= len {
            S::store(to.add(i), S::load(from.add(i)));
            i += S::LANES;
        }
        if i < len {
            let mask = S::mask(len - i);
            S::store_mask(to.add(i), mask, S::load_mask(from.add(i), mask));
        }
    }
}
