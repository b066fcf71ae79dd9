//! Finite differences and finite volumes on a box of `nx × ny × nz` cells, x running fastest.
//!
//! Unknown `(z·ny + y)·nx + x`. Outside the box the solution is 0 (Dirichlet), so that every
//! matrix is an irreducibly diagonally dominant M-matrix, hence positive definite.

use super::ModelError;
use super::columns::Columns;
use super::math::hash;
use crate::{Scalar, SymmetricCsc};

/// Coefficients of one cell in a star stencil.
pub(super) struct Star {
    diagonal: f64,
    /// Couplings to the next cell along x, y, z (positive; the entry is its negative).
    next: [f64; 3],
}

/// The same coefficients everywhere.
pub(super) fn constant(next: [f64; 3], diagonal: f64) -> impl Fn([usize; 3]) -> Star {
    move |_| Star { diagonal, next }
}

/// Finite volumes: the coefficient of a cell is a power of ten from 1 to 1e6 drawn by hashing its
/// number; a face takes the harmonic mean of the two cells beside it, a boundary face (at half the
/// distance) twice the cell's own. `axes`: 2 or 3.
pub(super) fn jumping(size: [usize; 3], axes: usize) -> impl Fn([usize; 3]) -> Star {
    const POWERS: [f64; 7] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
    let cell = move |at: [usize; 3]| {
        let number = (at[2] * size[1] + at[1]) * size[0] + at[0];
        POWERS[(hash(number as u64) % 7) as usize]
    };
    move |at| {
        let own = cell(at);
        let mut star = Star {
            diagonal: 0.0,
            next: [0.0; 3],
        };
        for axis in 0..axes {
            let face = |inside: bool, beside: usize| {
                if !inside {
                    return 2.0 * own;
                }
                let mut there = at;
                there[axis] = beside;
                let other = cell(there);
                2.0 * own * other / (own + other)
            };
            let before = face(at[axis] > 0, at[axis].wrapping_sub(1));
            star.next[axis] = face(at[axis] + 1 < size[axis], at[axis] + 1);
            star.diagonal += before + star.next[axis];
        }
        star
    }
}

/// Each cell coupled with its neighbors across faces.
pub(super) fn star<T: Scalar>(
    size: [usize; 3],
    stencil: impl Fn([usize; 3]) -> Star,
) -> Result<SymmetricCsc<T>, ModelError> {
    let n = size.iter().product();
    let faces = size.map(|m| (n - n / m) as u128);
    let mut out = Columns::new(n, n as u128 + faces.iter().sum::<u128>())?;
    let stride = [1, size[0], size[0] * size[1]];
    each_cell(size, |at, j| {
        let star = stencil(at);
        out.push(j, star.diagonal);
        for axis in 0..3 {
            if at[axis] + 1 < size[axis] {
                out.push(j + stride[axis], -star.next[axis]);
            }
        }
        out.end();
    });
    out.finish()
}

/// Each cell coupled by −1 with all cells it touches, corners included.
pub(super) fn full<T: Scalar>(
    size: [usize; 3],
    diagonal: f64,
) -> Result<SymmetricCsc<T>, ModelError> {
    let n: usize = size.iter().product();
    let pairs: u128 = size.iter().map(|m| 3 * *m as u128 - 2).product();
    let mut out = Columns::new(n, (pairs + n as u128) / 2)?;
    each_cell(size, |at, j| {
        for there in neighbors(at, size) {
            let i = (there[2] * size[1] + there[1]) * size[0] + there[0];
            if i >= j {
                out.push(i, if i == j { diagonal } else { -1.0 });
            }
        }
        out.end();
    });
    out.finish()
}

/// Visits `(position, number)` of all cells in order of their numbers.
pub(super) fn each_cell(size: [usize; 3], mut visit: impl FnMut([usize; 3], usize)) {
    let mut number = 0;
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                visit([x, y, z], number);
                number += 1;
            }
        }
    }
}

/// The positions that differ from `at` by at most 1 along each axis, itself included, in order,
/// from its own plane of z on (those before it have smaller numbers).
pub(super) fn neighbors(at: [usize; 3], size: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let span = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(size[a]);
    let (xs, ys) = (span(0), span(1));
    (at[2]..(at[2] + 2).min(size[2])).flat_map(move |z| {
        let xs = xs.clone();
        ys.clone()
            .flat_map(move |y| xs.clone().map(move |x| [x, y, z]))
    })
}
