//! Laplacians of random graphs: `Σ_e w_e (e_i − e_j)(e_i − e_j)ᵀ + shift · I`.

use super::ModelError;
use super::columns::{Columns, probe};
use super::math::{Xorshift, power_of_ten};
use crate::{Duplicates, Scalar, SymmetricCsc, Triplets};

/// Random geometric graph: `n` points in the unit square, joined where they are closer than the
/// radius that gives a mean degree of 12 (less at the border). Weights 1, shift 1e-3.
///
/// Points lie in a grid of cells no smaller than the radius; only cells that touch are searched.
pub(super) fn geometric<T: Scalar>(n: usize) -> Result<SymmetricCsc<T>, ModelError> {
    let entries = 8 * n as u128; // a degree of 12 is 6 below the diagonal
    probe(entries, 16)?;
    let mut random = Xorshift::new();
    let points: Vec<[f64; 2]> = (0..n)
        .map(|_| {
            let x = random.unit();
            [x, random.unit()]
        })
        .collect();
    let radius = (12.0 / (std::f64::consts::PI * n as f64)).sqrt();
    let cells = Cells::new(&points, (1.0 / radius) as usize);
    let mut out = Columns::new(n, entries)?;
    let mut rows = Vec::new();
    for (j, p) in points.iter().enumerate() {
        rows.clear();
        let mut diagonal = 1e-3;
        cells.each_near(*p, |i| {
            let (dx, dy) = (p[0] - points[i][0], p[1] - points[i][1]);
            if i != j && dx * dx + dy * dy < radius * radius {
                diagonal += 1.0;
                if i > j {
                    rows.push(i);
                }
            }
        });
        rows.sort_unstable();
        out.push(j, diagonal);
        rows.iter().for_each(|&i| out.push(i, -1.0));
        out.end();
    }
    out.finish()
}

/// Points of the unit square sorted into `side × side` cells.
struct Cells {
    side: usize,
    /// Offsets into `points`, length `side² + 1`.
    start: Vec<usize>,
    points: Vec<usize>,
}

impl Cells {
    fn new(points: &[[f64; 2]], side: usize) -> Self {
        let side = side.max(1);
        let mut cells = Self {
            side,
            start: vec![0; side * side + 1],
            points: vec![0; points.len()],
        };
        let cell = |p: [f64; 2]| {
            let [a, b] = p.map(|v| ((v * side as f64) as usize).min(side - 1));
            b * side + a
        };
        for p in points {
            cells.start[cell(*p) + 1] += 1;
        }
        for c in 0..side * side {
            cells.start[c + 1] += cells.start[c];
        }
        let mut next = cells.start.clone();
        for (i, p) in points.iter().enumerate() {
            let slot = &mut next[cell(*p)];
            cells.points[*slot] = i;
            *slot += 1;
        }
        cells
    }

    /// Visits all points in the cell of `p` and the cells around it.
    fn each_near(&self, p: [f64; 2], mut visit: impl FnMut(usize)) {
        let side = self.side;
        let [a, b] = p.map(|v| ((v * side as f64) as usize).min(side - 1));
        for b in b.saturating_sub(1)..(b + 2).min(side) {
            // Cells of a row are neighbors in memory too.
            let first = b * side + a.saturating_sub(1);
            let last = b * side + (a + 1).min(side - 1);
            for &i in &self.points[self.start[first]..self.start[last + 1]] {
                visit(i);
            }
        }
    }
}

/// Circuit-like: a square grid that has lost a third of its wires and gained busses (weight 100)
/// every 16 nodes, with trees hanging on it, some second links, and 400 long wires; conductances
/// `10^u`, u uniform in [−2, 2); nodes renumbered at random. Shift 1e-6.
pub(super) fn circuit<T: Scalar>(n: usize) -> Result<SymmetricCsc<T>, ModelError> {
    probe(3 * n as u128, 64)?;
    let mut random = Xorshift::new();
    let mut edges = circuit_edges(n, &mut random);
    let mut number: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        let j = random.below(i + 1);
        number.swap(i, j);
    }
    for (i, j, _) in &mut edges {
        (*i, *j) = (number[*i], number[*j]);
    }
    let mut diagonal = vec![1e-6; n];
    let mut entries = Triplets::new(n)?;
    entries.reserve(edges.len() + n);
    for (i, j, w) in edges {
        if i != j {
            entries.push(i as u32, j as u32, T::from_f64(-w))?;
            diagonal[i] += w;
            diagonal[j] += w;
        }
    }
    for (i, d) in diagonal.into_iter().enumerate() {
        entries.push(i as u32, i as u32, T::from_f64(d))?;
    }
    Ok(entries.into_symmetric(Duplicates::Sum)?)
}

fn conductance(random: &mut Xorshift) -> f64 {
    power_of_ten(-2.0 + 4.0 * random.unit())
}

/// Edges `(i, j, weight)`, loops and repetitions among them.
fn circuit_edges(n: usize, random: &mut Xorshift) -> Vec<(usize, usize, f64)> {
    let side = (0.72 * n as f64).sqrt() as usize;
    let base = side * side;
    let mut edges = Vec::with_capacity(2 * n);
    for y in 0..side {
        for x in 0..side {
            let a = y * side + x;
            if x + 1 < side && random.unit() < 0.65 {
                edges.push((a, a + 1, conductance(random)));
            }
            if y + 1 < side && random.unit() < 0.65 {
                edges.push((a, a + side, conductance(random)));
            }
            let bus = x % 16 == 0 && y % 16 == 0;
            if bus && x + 16 < side {
                edges.push((a, a + 16, 100.0));
            }
            if bus && y + 16 < side {
                edges.push((a, a + 16 * side, 100.0));
            }
        }
    }
    for i in base..n {
        let mut p = if random.unit() < 0.7 {
            random.below(base)
        } else {
            base + random.below(i - base + 1)
        };
        if p >= i {
            p = random.below(base);
        }
        edges.push((i, p, conductance(random)));
        if random.unit() < 0.15 {
            let mut q = p;
            if p < base {
                let down = random.below(3);
                q = (base - 1).min(p + down * side + random.below(3));
            }
            if q != p {
                edges.push((i, q, conductance(random)));
            }
        }
    }
    for _ in 0..400 {
        let a = random.below(base);
        let b = random.below(base);
        if a != b {
            edges.push((a, b, conductance(random)));
        }
    }
    edges
}
