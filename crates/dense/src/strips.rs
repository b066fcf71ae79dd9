//! Final panels in [`Strips`]: substitution with them, and how they are [written](write_strips).
//!
//! A strip is worked through as it lies in memory, its triangle and then tile after tile, and on the way back from its last
//! tile to its triangle: so the processor reads ahead, across strips and fronts, and what lies some kilobytes further is asked for
//! in that order. Arithmetic is that of [`PanelRef`](crate::PanelRef); fronts are too small to be cut into pieces. Limit as there: every
//! number of L is read once for 2 flops a right-hand side.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use crate::layout::{STRIP, Strip, TILE_BYTES, packed};
use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::thin::AHEAD_BYTES;
use crate::vector::{subtract_sums, triangle};
use crate::vectors::Strided;
use crate::{Isa, Real, Strips, vectors};

mod write;

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
    /// If `values` is shorter than its layout.
    #[inline]
    pub fn new(values: &'a [T], layout: Strips, isa: Isa) -> Self {
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

    /// Forward substitution with the whole front: `w` has all its rows, `stride` numbers from each other.
    ///
    /// # Safety
    /// `w` is valid for `npiv + nupd` rows, and nothing else uses it meanwhile; `stride` is what
    /// [`rhs_stride`](crate::rhs_stride) says.
    pub unsafe fn forward(&self, w: *mut T, stride: usize) {
        // SAFETY: the caller's contract.
        unsafe { with_isa!(self.isa, T, run(*self, w, stride, true)) }
    }

    /// Backward substitution with the whole front.
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

/// One right-hand side.
struct One<'a, S: Simd> {
    panel: StripsRef<'a, S::T>,
    w: *mut S::T,
    forward: bool,
}

/// Calls a function for a number of columns, 1 to 8.
macro_rules! for_columns {
    ($n:expr, $f:ident($($arg:expr),*)) => {
        match $n {
            1 => $f::<S, 1>($($arg),*),
            2 => $f::<S, 2>($($arg),*),
            3 => $f::<S, 3>($($arg),*),
            4 => $f::<S, 4>($($arg),*),
            5 => $f::<S, 5>($($arg),*),
            6 => $f::<S, 6>($($arg),*),
            7 => $f::<S, 7>($($arg),*),
            _ => $f::<S, 8>($($arg),*),
        }
    };
}

impl<S: Simd> Op for One<'_, S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Self { panel, w, forward } = self;
        let (count, tile) = (panel.layout.count(), panel.layout.tile);
        // SAFETY: the callers of `StripsRef`'s methods vouch for w; the panel has these entries.
        unsafe {
            for step in 0..count {
                let t = if forward { step } else { count - 1 - step };
                let (s, l, tiles) = panel.strip(t);
                let (n, x) = (s.width, w.add(s.first));
                let y = x.add(n);
                if forward {
                    triangle!(solve, n, l, packed(n), x);
                    for_columns!(n, subtract(s.below, tile, tiles, x, y));
                } else {
                    let sums = for_columns!(n, dots(s.below, tile, tiles, y));
                    subtract_sums(n, &sums, x);
                    triangle!(solve_transposed, n, l, packed(n), x);
                }
            }
        }
    }
}

/// Numbers of a line of the caches, the rows of a tile.
const fn line<T>() -> usize {
    TILE_BYTES / size_of::<T>()
}

/// Numbers that are asked for ahead.
const fn ahead<T>() -> usize {
    AHEAD_BYTES / size_of::<T>()
}

/// `y ← y − L·x` for a strip of `N` columns and `m` rows in tiles of `tile` rows.
///
/// # Safety
/// L is valid for `m × N`, x for `N`, y for `m` numbers, and y overlaps neither; inlined into code
/// compiled for the instruction set.
#[inline(always)]
unsafe fn subtract<S: Simd, const N: usize>(
    m: usize,
    tile: usize,
    l: *const S::T,
    x: *const S::T,
    y: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut xs = [S::zero(); N];
        for j in 0..N {
            xs[j] = S::splat(*x.add(j));
        }
        let mut top = 0;
        while top < m {
            let height = tile.min(m - top);
            let (l, y) = (l.add(top * N), y.add(top));
            if height == line::<S::T>() {
                subtract_tile::<S, N>(line::<S::T>(), l, &xs, y); // a constant
            } else {
                subtract_tile::<S, N>(height, l, &xs, y);
            }
            top += height;
        }
    }
}

/// One tile of [`subtract`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn subtract_tile<S: Simd, const N: usize>(
    height: usize,
    l: *const S::T,
    xs: &[S::V; N],
    y: *mut S::T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut i = 0;
        while i + S::LANES <= height {
            let mut v = S::load(y.add(i));
            for j in 0..N {
                let at = l.add(i + j * height);
                S::prefetch(at.wrapping_add(ahead::<S::T>()));
                v = S::fnma(S::load(at), xs[j], v);
            }
            S::store(y.add(i), v);
            i += S::LANES;
        }
        if i < height {
            let mask = S::mask(height - i);
            let mut v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                v = S::fnma(S::load_mask(l.add(i + j * height), mask), xs[j], v);
            }
            S::store_mask(y.add(i), mask, v);
        }
    }
}

/// `Lᵀ·y` for a strip, from its last tile to its first; sums behind `N` are zero.
///
/// # Safety
/// As [`subtract`], with y read.
#[inline(always)]
unsafe fn dots<S: Simd, const N: usize>(
    m: usize,
    tile: usize,
    l: *const S::T,
    y: *const S::T,
) -> [S::T; STRIP] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut acc = [S::zero(); N];
        let mut end = m;
        while end > 0 {
            let top = (end - 1) / tile * tile;
            let (height, l, y) = (end - top, l.add(top * N), y.add(top));
            if height == line::<S::T>() {
                add_tile::<S, N>(line::<S::T>(), l, y, &mut acc); // a constant
            } else {
                add_tile::<S, N>(height, l, y, &mut acc);
            }
            end = top;
        }
        let mut sums = [S::T::ZERO; STRIP];
        for j in 0..N {
            sums[j] = S::sum(acc[j]);
        }
        sums
    }
}

/// One tile of [`dots`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn add_tile<S: Simd, const N: usize>(
    height: usize,
    l: *const S::T,
    y: *const S::T,
    acc: &mut [S::V; N],
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut i = 0;
        while i + S::LANES <= height {
            let v = S::load(y.add(i));
            for j in 0..N {
                let at = l.add(i + j * height);
                S::prefetch(at.wrapping_sub(ahead::<S::T>()));
                acc[j] = S::fma(S::load(at), v, acc[j]);
            }
            i += S::LANES;
        }
        if i < height {
            let mask = S::mask(height - i);
            let v = S::load_mask(y.add(i), mask);
            for j in 0..N {
                acc[j] = S::fma(S::load_mask(l.add(i + j * height), mask), v, acc[j]);
            }
        }
    }
}

/// Several right-hand sides, `V` vectors of them.
struct Several<'a, S: Simd, const V: usize> {
    panel: StripsRef<'a, S::T>,
    w: *mut S::T,
    forward: bool,
}

impl<S: Simd, const V: usize> Several<'_, S, V> {
    /// Row `i` of the right-hand sides.
    #[inline(always)]
    fn row(&self, i: usize) -> *mut S::T {
        self.w.wrapping_add(i * V * S::LANES)
    }

    /// The rows below a strip −= its products, tile by tile from row `top` on; together with the strip after it, if that is
    /// given by the distance of its tiles. Both have whole tiles, but for the last.
    #[inline(always)]
    unsafe fn subtract(&self, s: &Strip, tiles: *const S::T, top: usize, next: Option<usize>) {
        let (n, x) = (s.width, self.row(s.first));
        for top in (top..s.below).step_by(self.panel.layout.tile) {
            let height = self.panel.layout.tile.min(s.below - top);
            let a = Strided::new(tiles.wrapping_add(top * n), 1, height);
            let y = self.row(s.first + n + top);
            // SAFETY: the callers of `StripsRef`'s methods vouch for w.
            unsafe {
                match next {
                    None => vectors::subtract::<S, V>(height, n, a, x, y),
                    Some(next) => {
                        let a = Strided {
                            group: n,
                            next,
                            ..a
                        };
                        vectors::subtract::<S, V>(height, 2 * n, a, x, y);
                    }
                }
            }
        }
    }

    /// The pivots of a strip −= its transposed products.
    #[inline(always)]
    unsafe fn subtract_transposed(&self, s: &Strip, tiles: *const S::T) {
        let (n, x, tile) = (s.width, self.row(s.first), self.panel.layout.tile);
        let whole = s.below / tile * tile;
        let a = Strided {
            group: tile,
            next: tile * n,
            ..Strided::new(tiles, tile, 1)
        };
        let rest = Strided::new(tiles.wrapping_add(whole * n), s.below - whole, 1);
        let y = self.row(s.first + n);
        // SAFETY: as above.
        unsafe {
            vectors::subtract::<S, V>(n, whole, a, y, x);
            let y = y.add(whole * V * S::LANES);
            vectors::subtract::<S, V>(n, s.below - whole, rest, y, x);
        }
    }

    /// The strip after `t`, if both can be worked on together: its tiles are beside those of `t` then.
    #[inline(always)]
    fn second(&self, t: usize) -> Option<(Strip, *const S::T, *const S::T)> {
        let layout = &self.panel.layout;
        let both = layout.tile == STRIP && (t + 2) * STRIP <= layout.cols;
        both.then(|| self.panel.strip(t + 1))
    }

    /// # Safety
    /// As [`StripsRef::forward`].
    #[inline(always)]
    unsafe fn forward(&self) {
        let (mut t, count) = (0, self.panel.layout.count());
        // SAFETY: the caller's contract.
        unsafe {
            while t < count {
                let (s, l, tiles) = self.panel.strip(t);
                let x = self.row(s.first);
                vectors::solve::<S, V>(s.width, l, packed(s.width), x, false);
                match self.second(t) {
                    None => {
                        self.subtract(&s, tiles, 0, None);
                        t += 1;
                    }
                    Some((second, l, after)) => {
                        // The first tile of `t` is the pivots of the second.
                        let x2 = self.row(second.first);
                        let a = Strided::new(tiles, 1, STRIP);
                        vectors::subtract::<S, V>(STRIP, STRIP, a, x, x2);
                        vectors::solve::<S, V>(STRIP, l, packed(STRIP), x2, false);
                        let distance = after.addr() - tiles.addr();
                        let next = distance / size_of::<S::T>() - STRIP * STRIP;
                        self.subtract(&s, tiles, STRIP, Some(next));
                        t += 2;
                    }
                }
            }
        }
    }
}

impl<S: Simd, const V: usize> Op for Several<'_, S, V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the callers of `StripsRef`'s methods vouch for w; the panel has these entries.
        unsafe {
            if self.forward {
                return self.forward();
            }
            for t in (0..self.panel.layout.count()).rev() {
                let (s, l, tiles) = self.panel.strip(t);
                self.subtract_transposed(&s, tiles);
                vectors::solve::<S, V>(s.width, l, packed(s.width), self.row(s.first), true);
            }
        }
    }
}
