//! A cylindrical shell roof of flat facets: radius 25, length 50, opening 80°, thickness 0.25.
//!
//! Each facet is a 4-node rectangle with 6 unknowns a node, three displacements and three rotations:
//! bilinear membrane (2 × 2 Gauss points), Mindlin plate whose transverse shear is integrated at the
//! center alone (Hughes, Taylor, Kanoknukulchai 1977), a drilling stiffness on the rotation about
//! the normal and a tiny stiffness against the hourglass mode of the deflection. `nx × nt` nodes
//! along the axis and around; those at x = 0 are clamped. Unknown `6·(t·(nx − 1) + x − 1) + c`.
//! Strongly varying stiffnesses make the matrix ill-conditioned, as those of thin shells are.

use std::array::from_fn;

use super::ModelError;
use super::columns::Columns;
use super::math::sin_cos;
use crate::{Scalar, SymmetricCsc};

type Element = [[f64; 24]; 24];

const RADIUS: f64 = 25.0;
const LENGTH: f64 = 50.0;
const OPENING: f64 = 80.0 * std::f64::consts::PI / 180.0;
const THICKNESS: f64 = 0.25;
const NU: f64 = 0.3;

/// Signs of the corners along the facet's two directions, in the order of its nodes.
const SIGNS: [[f64; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
/// Corners as steps from the facet's first node.
const CORNERS: [[usize; 2]; 4] = [[0, 0], [1, 0], [1, 1], [0, 1]];

/// `k += weight · Bᵀ D B`.
fn accumulate<const S: usize>(k: &mut Element, b: &[[f64; 24]; S], d: [[f64; S]; S], weight: f64) {
    for (i, row) in k.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            let mut sum = 0.0;
            for p in 0..S {
                for q in 0..S {
                    sum += b[p][i] * d[p][q] * b[q][j];
                }
            }
            *entry += weight * sum;
        }
    }
}

/// Plane stress law scaled by `d`.
fn plane_stress(d: f64) -> [[f64; 3]; 3] {
    let shear = d * (1.0 - NU) / 2.0;
    [[d, NU * d, 0.0], [NU * d, d, 0.0], [0.0, 0.0, shear]]
}

/// Stiffness of a facet of `a × b` in its own axes: length, tangent, normal. Young's modulus 1.
fn facet(a: f64, b: f64) -> Element {
    let membrane = THICKNESS / (1.0 - NU * NU);
    let bending = THICKNESS * THICKNESS * THICKNESS / 12.0 / (1.0 - NU * NU);
    let shear = 5.0 / 6.0 * THICKNESS / 2.0 / (1.0 + NU);
    let gauss = 1.0 / 3f64.sqrt();
    let mut k = [[0.0; 24]; 24];
    for point in SIGNS {
        let [x, y] = point.map(|s| s * gauss);
        let (mut bm, mut bb) = ([[0.0; 24]; 3], [[0.0; 24]; 3]);
        for (node, [s, r]) in SIGNS.into_iter().enumerate() {
            let dx = s * (1.0 + r * y) / 4.0 * 2.0 / a;
            let dy = r * (1.0 + s * x) / 4.0 * 2.0 / b;
            let [u, v, rx, ry] = [0, 1, 3, 4].map(|c| 6 * node + c);
            (bm[0][u], bm[1][v]) = (dx, dy);
            (bm[2][u], bm[2][v]) = (dy, dx);
            (bb[0][ry], bb[1][rx]) = (dx, -dy);
            (bb[2][ry], bb[2][rx]) = (dy, -dx);
        }
        accumulate(&mut k, &bm, plane_stress(membrane), a * b / 4.0);
        accumulate(&mut k, &bb, plane_stress(bending), a * b / 4.0);
    }
    let mut bs = [[0.0; 24]; 2];
    for (node, [s, r]) in SIGNS.into_iter().enumerate() {
        let [w, rx, ry] = [2, 3, 4].map(|c| 6 * node + c);
        (bs[0][w], bs[0][ry]) = (s / 4.0 * 2.0 / a, 0.25);
        (bs[1][w], bs[1][rx]) = (r / 4.0 * 2.0 / b, -0.25);
    }
    accumulate(&mut k, &bs, [[shear, 0.0], [0.0, shear]], a * b);
    for node in 0..4 {
        let (w, rz) = (6 * node + 2, 6 * node + 5);
        k[rz][rz] += 1e-3 * membrane * a * b;
        k[w][w] += 1e-7 * shear;
    }
    k
}

/// `Tᵀ K T` made exactly symmetric, T turning all eight vectors of the facet by `angle` about x.
fn turned(k: &Element, angle: f64) -> Element {
    let (sin, cos) = sin_cos(angle);
    let q = [[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]];
    let block = |i: usize| i - i % 3;
    let kq: Element =
        from_fn(|i| from_fn(|j| (0..3).map(|p| k[i][block(j) + p] * q[p][j % 3]).sum()));
    let qkq: Element =
        from_fn(|i| from_fn(|j| (0..3).map(|p| q[p][i % 3] * kq[block(i) + p][j]).sum()));
    from_fn(|i| from_fn(|j| 0.5 * (qkq[i][j] + qkq[j][i])))
}

/// The roof; `nx, nt >= 2`. Entries that are 0 in every facet are not stored.
pub(super) fn roof<T: Scalar>(nx: usize, nt: usize) -> Result<SymmetricCsc<T>, ModelError> {
    let (columns, strips) = (nx - 1, nt - 1);
    let n = 6 * columns * nt;
    let pairs = (3 * columns as u128 - 2) * (3 * nt as u128 - 2);
    let mut out = Columns::new(n, (36 * pairs + n as u128) / 2)?;
    let (half, _) = sin_cos(OPENING / strips as f64 / 2.0);
    let flat = facet(LENGTH / columns as f64, 2.0 * RADIUS * half);
    let strip = |t: usize| {
        let angle = -OPENING / 2.0 + OPENING * (t as f64 + 0.5) / strips as f64;
        turned(&flat, angle)
    };
    let mut around = [None, Some(strip(0))]; // facets before and after the row of nodes
    for t in 0..nt {
        for x in 1..nx {
            let node = Node { x, t, nx, nt };
            let blocks = node.blocks(&around);
            for j in 0..6 {
                for (row, block) in &blocks {
                    let first = if *row == node.number() { j } else { 0 };
                    for (i, entries) in block.iter().enumerate().skip(first) {
                        if let Some(value) = entries[j] {
                            out.push(6 * row + i, value);
                        }
                    }
                }
                out.end();
            }
        }
        around = [around[1], (t + 1 < strips).then(|| strip(t + 1))];
    }
    out.finish()
}

/// Entries `[row][column]` between two nodes; `None` where no facet has one.
type Block = [[Option<f64>; 6]; 6];

/// A free node.
#[derive(Clone, Copy)]
struct Node {
    x: usize,
    t: usize,
    nx: usize,
    nt: usize,
}

impl Node {
    fn number(self) -> usize {
        self.t * (self.nx - 1) + self.x - 1
    }

    /// Blocks below the diagonal of this node's columns, by increasing number of the row's node.
    fn blocks(self, around: &[Option<Element>; 2]) -> Vec<(usize, Block)> {
        let mut blocks: Vec<(usize, Block)> = Vec::with_capacity(5);
        for t in self.t..(self.t + 2).min(self.nt) {
            for x in (self.x - 1).max(1)..(self.x + 2).min(self.nx) {
                let other = Self { x, t, ..self };
                if other.number() >= self.number() {
                    blocks.push((other.number(), self.block(other, around)));
                }
            }
        }
        blocks
    }

    /// Sum over the facets that have both nodes.
    fn block(self, other: Self, around: &[Option<Element>; 2]) -> Block {
        let mut block = Block::default();
        for (strip, element) in around.iter().enumerate() {
            let Some(k) = element else { continue };
            for before in [1, 0] {
                // The facet begins at (x − before, t − 1 + strip).
                if self.x + 1 == self.nx && before == 0 {
                    continue;
                }
                let corner = |node: Self| {
                    let step = [
                        (node.x + before).checked_sub(self.x),
                        (node.t + 1).checked_sub(self.t + strip),
                    ];
                    CORNERS.iter().position(|c| step == c.map(Some))
                };
                let (Some(b), Some(a)) = (corner(self), corner(other)) else {
                    continue;
                };
                for (i, row) in block.iter_mut().enumerate() {
                    for (j, entry) in row.iter_mut().enumerate() {
                        let value = k[6 * a + i][6 * b + j];
                        if value != 0.0 || (a == b && i == j) {
                            *entry = Some(entry.unwrap_or(0.0) + value);
                        }
                    }
                }
            }
        }
        block
    }
}
