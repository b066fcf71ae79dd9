//! Final panels in [`Strips`]: substitution with them, and how they are [written](write_strips).
//!
//! A strip is worked through as it lies in memory, line by line: its triangle and then tile after tile, and on the way back from the last
//! column of its last tile to its triangle. So the processor reads ahead, across strips and fronts, and with one right-hand side
//! every line is asked for [once more](ask_ahead). Arithmetic is that of [`PanelRef`](crate::PanelRef); fronts are too small to be cut into pieces. Limit as there: every
//! number of L is read once for 2 flops a right-hand side.

use crate::layout::{Strip, line};
use crate::real::with_isa;
use crate::simd::Simd;
use crate::{Isa, Real, Strips};

/// Calls a function for a number of columns, 1 to 8, and with what further constants it has.
macro_rules! for_columns {
    ($n:expr, $f:ident, $($c:literal, )? ($($arg:expr),*)) => {
        match $n {
            1 => $f::<S, 1 $(, $c)?>($($arg),*),
            2 => $f::<S, 2 $(, $c)?>($($arg),*),
            3 => $f::<S, 3 $(, $c)?>($($arg),*),
            4 => $f::<S, 4 $(, $c)?>($($arg),*),
            5 => $f::<S, 5 $(, $c)?>($($arg),*),
            6 => $f::<S, 6 $(, $c)?>($($arg),*),
            7 => $f::<S, 7 $(, $c)?>($($arg),*),
            _ => $f::<S, 8 $(, $c)?>($($arg),*),
        }
    };
}
pub(crate) use for_columns;

/// Bytes that lines of L are asked for ahead.
///
/// Who goes line by line is followed by the processor's own prefetchers, at the rate of the memory, but not in every build: the same
/// loop took 12 or 23 ms a direction for a plate, depending on the code around it (Zen 4; why was not found). A Zen 4 likes 1 to 2 KiB,
/// and takes 1.1 times as long with 4 KiB and 1.3 with 8; a Sapphire Rapids likes 4 to 16 KiB, and takes 1.05 to 1.1 times as long with
/// 2 KiB and 1.2 with 1, on 1, 2 and 16 threads (runs `2026-11-26-zen4-2c` and `2026-11-26-h100-16c`).
const AHEAD_BYTES: usize = 4096;

/// Asks for the line of L that is [`AHEAD_BYTES`] further, or before on the way `BACK`: into the second cache, because the first one can
/// wait for few lines at a time.
#[inline(always)]
pub(crate) fn ask_ahead<S: Simd, const BACK: bool>(at: *const S::T) {
    let line = match BACK {
        true => at.wrapping_byte_sub(AHEAD_BYTES),
        false => at.wrapping_byte_add(AHEAD_BYTES),
    };
    // SAFETY: nothing is read.
    unsafe { S::prefetch_far(line) };
}

/// The same for the triangle of a strip of `n` columns.
#[inline(always)]
pub(crate) fn ask_ahead_of_triangle<S: Simd, const BACK: bool>(l: *const S::T, n: usize) {
    for k in (0..n * (n + 1) / 2).step_by(line::<S::T>()) {
        ask_ahead::<S, BACK>(l.wrapping_add(k));
    }
}

mod one;
mod several;
mod write;

use one::One;
use several::Several;

pub use write::write_strips;

/// A final panel in strips, for substitution.
#[derive(Clone, Copy, Debug)]
pub struct StripsRef<'a, T> {
    values: &'a [T],
    layout: Strips,
    isa: Isa,
}

impl<'a, T: Real> StripsRef<'a, T> {
    /// View of a panel at the beginning of `values`.
    ///
    /// # Panics
    /// If `values` is shorter than its layout, or the layout is none: more columns than rows, or tiles of another size than
    /// [`Strips::panel`] has.
    #[inline]
    pub fn new(values: &'a [T], layout: Strips, isa: Isa) -> Self {
        assert!(
            layout.cols <= layout.rows && layout.tile == line::<T>(),
            "no layout of a panel of these numbers"
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

    /// Forward substitution with the whole front: `w` has all its rows, `stride` numbers from each other. Pivots become
    /// `D⁻¹ L11⁻¹ x`, with D the diagonal of L11, which is what [`backward`](Self::backward) takes.
    ///
    /// # Safety
    /// `w` is valid for `npiv + nupd` rows, and nothing else uses it meanwhile; `stride` is what
    /// [`rhs_stride`](crate::rhs_stride) says.
    pub unsafe fn forward(&self, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, run(*self, w, stride, true)) }
    }

    /// Backward substitution with the whole front, `L11⁻ᵀ (D x − L21ᵀ y)`.
    ///
    /// # Safety
    /// As [`forward`](Self::forward).
    pub unsafe fn backward(&self, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, run(*self, w, stride, false)) }
    }

    /// A strip, its triangle and its tiles.
    #[inline(always)]
    fn strip(&self, t: usize) -> (Strip, *const T, *const T) {
        let (strip, l) = (self.layout.strip(t), self.values.as_ptr());
        let at = |place| l.wrapping_add(place);
        (strip, at(strip.triangle), at(strip.tiles))
    }
}

unsafe fn run<S: Simd>(panel: StripsRef<'_, S::T>, w: *mut S::T, stride: usize, forward: bool) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        if stride == 1 {
            return S::vectorize(One::<S> { panel, w, forward });
        }
        match stride / S::LANES {
            1 => S::vectorize(Several::<S, 1> { panel, w, forward }),
            2 => S::vectorize(Several::<S, 2> { panel, w, forward }),
            4 => S::vectorize(Several::<S, 4> { panel, w, forward }),
            _ => debug_assert!(false, "not a stride of `rhs_stride`"),
        }
    }
}
