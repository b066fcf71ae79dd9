//! Multilevel nested dissection.
//!
//! George 1973; multilevel as Hendrickson and Rothberg 1998 and Karypis and Kumar 1998. Twins are
//! merged, vertices with very many neighbors set aside; then a vertex separator is found, both
//! halves are dissected, and the separator is eliminated after them. Pieces of a few hundred
//! unknowns go to constrained AMD. Time `O(nnz(A) log n)` for graphs with small separators.
//!
//! The result depends on the pattern, the options and the seed, not on the number of threads:
//! every bisection draws its random numbers from its place in the recursion.

mod bisect;
mod coarsen;
mod graph;
mod heap;
mod leaf;
mod random;
mod refine;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use crate::error::OrderingError;
use crate::graph::Graph;
use crate::mindeg::{AmdOptions, NONE};
use graph::{Weighted, compress};
use leaf::LeafSpace;
use random::mix;
use refine::{Refiner, SEPARATOR};

/// Options of [`Method::NestedDissection`](crate::Method::NestedDissection).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NdOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Pieces with at most so many (merged) vertices are ordered by constrained AMD.
    pub leaf: usize,
    /// Multilevel runs tried on a coarse version of a large graph.
    pub tries: u32,
    /// Bisections tried on the coarsest graph.
    pub starts: u32,
    /// Refinement passes on each level, at most.
    pub passes: u32,
    /// Coarsening stops at so many vertices.
    pub coarsest: usize,
    /// Weight of the heavier side over half of the weight, at most.
    pub imbalance: f64,
}

impl Default for NdOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            leaf: 100,
            tries: 3,
            starts: 3,
            passes: 6,
            coarsest: 200,
            imbalance: 1.2,
        }
    }
}

/// Graphs of so many vertices are worth a task of their own.
const TASK: usize = 2000;

/// Writes the elimination order of `graph` to `order`.
pub(crate) fn order(
    graph: &Graph,
    options: &NdOptions,
    order: &mut Vec<u32>,
) -> Result<(), OrderingError> {
    let n = graph.n();
    if n > crate::mindeg::MAX_ORDER {
        let (n, limit) = (n as u64, crate::mindeg::MAX_ORDER as u64);
        return Err(OrderingError::TooLarge { n, limit });
    }
    let dense_limit = AmdOptions::default().dense_limit(n);
    let compressed = compress(graph, dense_limit as usize);
    let mut list: Vec<u32> = (0..compressed.graph.n() as u32).collect();
    let dissection = Dissection {
        graph: &compressed.graph,
        options,
        spaces: Mutex::default(),
    };
    dissection.run(&mut list)?;
    order.clear();
    order.reserve_exact(n);
    for c in list.into_iter().map(|c| c as usize) {
        let range = compressed.member_ptr[c] as usize..compressed.member_ptr[c + 1] as usize;
        order.extend_from_slice(&compressed.members[range]);
    }
    order.extend_from_slice(&compressed.dense);
    Ok(())
}

/// Memory of one thread.
#[derive(Default)]
struct Space {
    leaf: LeafSpace,
    refiner: Refiner,
}

struct Dissection<'a> {
    graph: &'a Weighted,
    options: &'a NdOptions,
    /// Spaces not in use.
    spaces: Mutex<Vec<Space>>,
}

impl Dissection<'_> {
    /// Orders `list`, which holds all vertices of the graph.
    fn run(&self, list: &mut [u32]) -> Result<(), OrderingError> {
        let seed = mix(self.options.seed);
        if self.graph.n() <= self.options.leaf {
            return self.leaf(list);
        }
        match components(self.graph) {
            Some(side) => self.split(self.graph, side, list, seed, true),
            None => self.bisect(self.graph, list, seed),
        }
    }

    /// Orders the piece `list` whose graph is `graph`: vertex `v` there is `list[v]` here.
    fn dissect(
        &self,
        graph: Weighted,
        list: &mut [u32],
        seed: u64,
        connected: bool,
    ) -> Result<(), OrderingError> {
        if graph.n() <= self.options.leaf {
            return self.leaf(list);
        }
        if !connected && let Some(side) = components(&graph) {
            return self.split(&graph, side, list, seed, true);
        }
        self.bisect(&graph, list, seed)
    }

    fn bisect(&self, graph: &Weighted, list: &mut [u32], seed: u64) -> Result<(), OrderingError> {
        let mut space = self.take_space();
        let separation = bisect::bisect(graph, self.options, &mut space.refiner, seed);
        self.give_space(space);
        let [a, b, separator] = separation.weight;
        // Nothing to gain from a separator as large as what it separates.
        if a == 0 || b == 0 || separator > a.min(b) {
            return self.leaf(list);
        }
        self.split(graph, separation.side, list, seed, false)
    }

    /// Orders both sides and puts the separator behind them.
    fn split(
        &self,
        graph: &Weighted,
        side: Vec<u8>,
        list: &mut [u32],
        seed: u64,
        disconnected: bool,
    ) -> Result<(), OrderingError> {
        let [(left, left_ids), (right, right_ids)] = graph.split(&side);
        let separator = (0..side.len()).filter(|&v| side[v] == SEPARATOR);
        let arranged: Vec<u32> = (left_ids.iter().chain(&right_ids))
            .map(|&v| list[v as usize])
            .chain(separator.map(|v| list[v]))
            .collect();
        list.copy_from_slice(&arranged);
        drop((arranged, side));
        let (left_list, rest) = list.split_at_mut(left_ids.len());
        let right_list = &mut rest[..right_ids.len()];
        drop((left_ids, right_ids));
        let run_left = || self.dissect(left, left_list, mix(seed ^ 1), !disconnected);
        let run_right = || self.dissect(right, right_list, mix(seed ^ 2), !disconnected);
        let (a, b) = if graph.n() >= TASK {
            rayon::join(run_left, run_right)
        } else {
            (run_left(), run_right())
        };
        a.and(b)
    }

    fn leaf(&self, list: &mut [u32]) -> Result<(), OrderingError> {
        let mut space = self.take_space();
        let result = space.leaf.order(self.graph, list);
        self.give_space(space);
        result
    }

    fn take_space(&self) -> Space {
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        spaces.pop().unwrap_or_default()
    }

    fn give_space(&self, space: Space) {
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        spaces.push(space);
    }
}

/// Sides of about equal weight made of whole components, if there are several.
fn components(graph: &Weighted) -> Option<Vec<u8>> {
    let n = graph.n();
    let mut label = vec![NONE; n];
    let mut queue = Vec::new();
    let mut weights: Vec<u64> = Vec::new();
    for root in 0..n as u32 {
        if label[root as usize] != NONE {
            continue;
        }
        let component = weights.len() as u32;
        let mut weight = 0;
        label[root as usize] = component;
        queue.push(root);
        while let Some(v) = queue.pop() {
            weight += u64::from(graph.weights[v as usize]);
            for &u in graph.neighbors(v) {
                if label[u as usize] == NONE {
                    label[u as usize] = component;
                    queue.push(u);
                }
            }
        }
        weights.push(weight);
    }
    if weights.len() < 2 {
        return None;
    }
    // Heaviest first, to the lighter side.
    let mut by_weight: Vec<u32> = (0..weights.len() as u32).collect();
    by_weight.sort_by_key(|&c| std::cmp::Reverse(weights[c as usize]));
    let mut side_of = vec![0u8; weights.len()];
    let mut sums = [0u64; 2];
    for c in by_weight {
        let s = usize::from(sums[1] < sums[0]);
        side_of[c as usize] = s as u8;
        sums[s] += weights[c as usize];
    }
    Some(label.into_iter().map(|c| side_of[c as usize]).collect())
}
