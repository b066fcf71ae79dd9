//! Strips with several right-hand sides, whose rows fill whole vectors.

#![allow(clippy::needless_range_loop)] // indices over register arrays, unrolled

use super::StripsRef;
use crate::layout::{STRIP, Strip, line, packed};
use crate::simd::{Op, Simd};
use crate::vectors::Strided;
use crate::{unit, vectors};

/// Several right-hand sides, `V` vectors of them.
pub(super) struct Several<'a, S: Simd, const V: usize> {
    pub panel: StripsRef<'a, S::T>,
    pub w: *mut S::T,
    pub forward: bool,
}

impl<S: Simd, const V: usize> Several<'_, S, V> {
    /// Row `i` of the right-hand sides.
    #[inline(always)]
    fn row(&self, i: usize) -> *mut S::T {
        self.w.wrapping_add(i * V * S::LANES)
    }

    /// Row `i` of the rows below strip `s` and on −= products with `z`, tile by tile from row `top` on: those of the strip and, if the
    /// distance of its tiles is given, of the strip after it. Both have whole tiles, but for the last.
    #[inline(always)]
    unsafe fn subtract(
        &self,
        s: &Strip,
        tiles: *const S::T,
        z: *const S::T,
        top: usize,
        next: Option<usize>,
    ) {
        let n = s.width;
        for top in (top..s.below).step_by(line::<S::T>()) {
            let height = line::<S::T>().min(s.below - top);
            let a = Strided::new(tiles.wrapping_add(top * n), 1, height);
            let y = self.row(s.first + n + top);
            // SAFETY: the callers of `StripsRef`'s methods vouch for w, `forward` for z.
            unsafe {
                match next {
                    None => vectors::subtract::<S, V>(height, n, a, z, y),
                    Some(next) => {
                        let a = Strided {
                            group: n,
                            next,
                            ..a
                        };
                        vectors::subtract::<S, V>(height, 2 * n, a, z, y);
                    }
                }
            }
        }
    }

    /// The pivots of a strip −= its transposed products.
    #[inline(always)]
    unsafe fn subtract_transposed(&self, s: &Strip, tiles: *const S::T) {
        let (n, x, tile) = (s.width, self.row(s.first), line::<S::T>());
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
        let both = line::<S::T>() == STRIP && (t + 2) * STRIP <= layout.cols;
        both.then(|| self.panel.strip(t + 1))
    }

    /// # Safety
    /// As [`StripsRef::forward`].
    #[inline(always)]
    unsafe fn forward(&self) {
        let (mut t, count) = (0, self.panel.layout.count());
        // SAFETY: the caller's contract.
        unsafe {
            // The pivots as the rows below want them, of two strips at most.
            let mut z = [[S::zero(); V]; 2 * STRIP];
            let z = z.as_mut_ptr().cast::<S::T>();
            while t < count {
                let (s, l, tiles) = self.panel.strip(t);
                solve::<S, V>(s.width, l, self.row(s.first), z);
                match self.second(t) {
                    None => {
                        self.subtract(&s, tiles, z, 0, None);
                        t += 1;
                    }
                    Some((second, l, after)) => {
                        // The first tile of `t` is the pivots of the second.
                        let x = self.row(second.first);
                        let a = Strided::new(tiles, 1, STRIP);
                        vectors::subtract::<S, V>(STRIP, STRIP, a, z, x);
                        solve::<S, V>(STRIP, l, x, z.add(STRIP * V * S::LANES));
                        let distance = after.addr() - tiles.addr();
                        let next = distance / size_of::<S::T>() - STRIP * STRIP;
                        self.subtract(&s, tiles, z, STRIP, Some(next));
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
                solve_transposed::<S, V>(s.width, l, self.row(s.first));
            }
        }
    }
}

/// `Z ← D·L11⁻¹·X`, what the rows below are to be multiplied with, and `X ← D⁻¹·L11⁻¹·X` for a strip of `n` columns; Z has rows as X.
///
/// # Safety
/// L is valid for the triangle, X and Z for `n` rows of `V` vectors, and they do not overlap; inlined into code compiled for the
/// instruction set.
#[inline(always)]
unsafe fn solve<S: Simd, const V: usize>(n: usize, l: *const S::T, x: *mut S::T, z: *mut S::T) {
    let stride = V * S::LANES;
    for v in (0..V).step_by(at_once::<S>(V)) {
        let (x, z) = (x.wrapping_add(v * S::LANES), z.wrapping_add(v * S::LANES));
        // SAFETY: the caller's contract.
        unsafe {
            match at_once::<S>(V) {
                2 => for_columns!(n, solve_columns, 2, (l, x, z, stride)),
                _ => for_columns!(n, solve_columns, 1, (l, x, z, stride)),
            }
        }
    }
}

/// `X ← L11⁻ᵀ·D·X`, likewise.
///
/// # Safety
/// As [`solve`].
#[inline(always)]
unsafe fn solve_transposed<S: Simd, const V: usize>(n: usize, l: *const S::T, x: *mut S::T) {
    let stride = V * S::LANES;
    for v in (0..V).step_by(at_once::<S>(V)) {
        let x = x.wrapping_add(v * S::LANES);
        // SAFETY: the caller's contract.
        unsafe {
            match at_once::<S>(V) {
                2 => for_columns!(n, solve_transposed_columns, 2, (l, x, stride)),
                _ => for_columns!(n, solve_transposed_columns, 1, (l, x, stride)),
            }
        }
    }
}

/// Vectors of a row that are worked on together: pivots stay in registers.
const fn at_once<S: Simd>(vectors: usize) -> usize {
    if S::MV * S::NR >= 24 && vectors.is_multiple_of(2) {
        2
    } else {
        1
    }
}

/// `C` vectors of [`solve`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn solve_columns<S: Simd, const N: usize, const C: usize>(
    l: *const S::T,
    x: *mut S::T,
    z: *mut S::T,
    stride: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut pivots = load::<S, N, C>(x, stride);
        unit::solve_rows::<S, N, C>(l, &mut pivots);
        for j in 0..N {
            let by = S::splat(*l.add(packed(N)(j, j)));
            for c in 0..C {
                let at = j * stride + c * S::LANES;
                S::store(z.add(at), pivots[j][c]);
                S::store(x.add(at), S::mul(S::mul(pivots[j][c], by), by));
            }
        }
    }
}

/// `C` vectors of [`solve_transposed`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn solve_transposed_columns<S: Simd, const N: usize, const C: usize>(
    l: *const S::T,
    x: *mut S::T,
    stride: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut pivots = load::<S, N, C>(x, stride);
        unit::solve_transposed_rows::<S, N, C>(l, &mut pivots);
        for j in 0..N {
            for c in 0..C {
                S::store(x.add(j * stride + c * S::LANES), pivots[j][c]);
            }
        }
    }
}

/// `C` vectors of `N` rows, `stride` numbers from each other.
///
/// # Safety
/// X is valid for them; inlined into code compiled for the instruction set.
#[inline(always)]
unsafe fn load<S: Simd, const N: usize, const C: usize>(
    x: *const S::T,
    stride: usize,
) -> [[S::V; C]; N] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut rows = [[S::zero(); C]; N];
        for j in 0..N {
            for c in 0..C {
                rows[j][c] = S::load(x.add(j * stride + c * S::LANES));
            }
        }
        rows
    }
}
