//! A random tree of factored fronts, and substitution with its factor on the host.

use super::super::super::tests::Random;
use super::super::super::{FrontShape, Fronts, Placed, Tile};
use super::super::{SolveChild, SolveFront};
use crate::primitives::Real;

/// A front of the tree.
pub struct Node {
    pub pivots: u32,
    pub column: u32,
    pub rows: Vec<u32>,
    /// Its own update rows among its parent's.
    pub relative: Vec<u32>,
    pub parent: Option<usize>,
    pub stage: usize,
    pub update: u64,
    panel: u64,
    inverse: u64,
}

/// Fronts, children before parents; and their panels, all that is never to be read being NaN.
pub struct Tree<T> {
    pub nodes: Vec<Node>,
    pub n: u32,
    pub updates: u64,
    pub arena: Vec<T>,
    pub tile: Tile,
    /// Rows of each column of the factor, the diagonal first.
    columns: Vec<Vec<(u32, f64)>>,
}

/// Pivots, most update rows, parent (a later front).
pub type Spec = (u32, usize, Option<usize>);

impl<T: Real> Tree<T> {
    pub fn new(specs: &[Spec], tile: Tile, random: &mut Random) -> Self {
        let mut nodes = Vec::new();
        let (mut n, mut updates, mut end) = (0, 0, 0);
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); specs.len()];
        let mut relative = rows.clone();
        let firsts: Vec<u32> = specs
            .iter()
            .scan(0, |n, s| Some(std::mem::replace(n, *n + s.0)))
            .collect();
        for (i, &(_, most, parent)) in specs.iter().enumerate().rev() {
            let Some(parent) = parent else { continue };
            assert!(parent > i);
            let first = firsts[parent];
            let all: Vec<u32> = (first..first + specs[parent].0)
                .chain(rows[parent].iter().copied())
                .collect();
            let share = most as f64 / all.len().max(1) as f64;
            let chosen: Vec<usize> = (0..all.len())
                .filter(|_| (random.next() + 1.0) / 2.0 < share)
                .collect();
            rows[i] = chosen.iter().map(|&c| all[c]).collect();
            relative[i] = chosen.iter().map(|&c| c as u32).collect();
        }
        let mut stages = vec![0; specs.len()];
        for (i, &(pivots, _, parent)) in specs.iter().enumerate() {
            if let Some(parent) = parent {
                stages[parent] = stages[parent].max(stages[i] + 1);
            }
            let order = rows[i].len() as u32;
            let shape = FrontShape::of::<T>(pivots, order).unwrap();
            let inverse = end + shape.panel_len;
            nodes.push(Node {
                pivots,
                column: n,
                rows: std::mem::take(&mut rows[i]),
                relative: std::mem::take(&mut relative[i]),
                parent,
                stage: stages[i],
                update: updates,
                panel: end,
                inverse,
            });
            end = inverse + Fronts::inverse_len(pivots);
            n += pivots;
            updates += u64::from(order);
        }
        let mut tree = Self {
            nodes,
            n,
            updates,
            arena: vec![T::from_f64(f64::NAN); end as usize],
            tile,
            columns: Vec::new(),
        };
        for i in 0..specs.len() {
            tree.fill(i, random);
        }
        tree
    }

    /// Makes up a panel, and inverts its diagonal tiles.
    fn fill(&mut self, node: usize, random: &mut Random) {
        let node = &self.nodes[node];
        let shape = FrontShape::of::<T>(node.pivots, node.rows.len() as u32).unwrap();
        let panel = Placed::packed(node.panel, shape.panel_height);
        let mut diagonal = vec![vec![0.0; node.pivots as usize]; node.pivots as usize];
        let scale = 1.0 / f64::from(node.pivots + 1);
        for j in 0..node.pivots {
            let mut column = Vec::new();
            let mut put = |row: u32, entry: u32, value: f64| {
                let value = T::from_f64(value);
                self.arena[panel.index(row, j) as usize] = value;
                column.push((entry, value.to_f64()));
                value.to_f64()
            };
            for i in j..node.pivots {
                let value = if i == j {
                    1.5 + random.next() / 2.0
                } else {
                    scale * random.next()
                };
                diagonal[j as usize][i as usize] = put(i, node.column + i, value);
            }
            for (i, &entry) in (0..).zip(&node.rows) {
                put(shape.first_update + i, entry, scale * random.next());
            }
            self.columns.push(column);
        }
        let size = self.tile.columns() as usize;
        for first in (0..node.pivots as usize).step_by(size) {
            let last = (first + size).min(node.pivots as usize);
            for j in first..last {
                // column j of the inverse is row j of its transpose, L⁻ᵀ
                let mut x = vec![0.0; last];
                x[j] = 1.0;
                for k in j..last {
                    x[k] /= diagonal[k][k];
                    for i in k + 1..last {
                        x[i] -= diagonal[k][i] * x[k];
                    }
                }
                self.arena[node.inverse as usize + j] = T::from_f64(x[j]);
                for (k, &x) in (0..).zip(&x).skip(j + 1) {
                    self.arena[panel.index(j as u32, k) as usize] = T::from_f64(x);
                }
            }
        }
    }

    /// `L y = b`, then `Lᵀ x = y`, in place.
    pub fn solve(&self, x: &mut [f64]) {
        for (j, column) in self.columns.iter().enumerate() {
            x[j] /= column[0].1;
            for &(i, l) in &column[1..] {
                x[i as usize] -= l * x[j];
            }
        }
        for (j, column) in self.columns.iter().enumerate().rev() {
            for &(i, l) in &column[1..] {
                x[j] -= l * x[i as usize];
            }
            x[j] /= column[0].1;
        }
    }

    /// The children of every front, as the substitution wants them.
    pub fn children(&self) -> Vec<Vec<SolveChild<'_>>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for node in &self.nodes {
            if let Some(parent) = node.parent {
                children[parent].push(SolveChild {
                    update: node.update,
                    relative: &node.relative,
                });
            }
        }
        children
    }

    /// A front, as the substitution wants it.
    pub fn front<'a>(&'a self, node: usize, children: &'a [Vec<SolveChild<'a>>]) -> SolveFront<'a> {
        let own = &self.nodes[node];
        SolveFront {
            pivots: own.pivots,
            panel: own.panel,
            inverse: own.inverse,
            column: own.column,
            rows: &own.rows,
            update: own.update,
            children: &children[node],
        }
    }

    /// Rows of a front.
    pub fn order(&self, node: usize) -> u32 {
        self.nodes[node].pivots + self.nodes[node].rows.len() as u32
    }
}
