//! Multilevel nested dissection.
//!
//! George 1973; multilevel as Hendrickson and Rothberg 1998 and Karypis and Kumar 1998. Twins are
//! merged (`compress`), vertices with very many neighbors set aside, trees and chains eliminated (`fringe`), or the points of cameras (`spokes`), and what is not connected taken
//! component by component (`components`). A large graph is coarsened
//! once for many separators (`tree`), grids and planes being cut by finished ones first (`large`, `restrict`); its pieces, in
//! cache, are bisected one by one (`bisect`). Both halves are ordered before their separator; pieces of at most
//! [`NdOptions::leaf`] vertices go to constrained AMD (`leaf`). Time `O(nnz(A))` for the upper levels together and for each of the lower ones.
//!
//! The result depends on the pattern, the options and the seed, not on the number of threads:
//! every bisection draws its random numbers from its place in the recursion.

mod apart;
mod bisect;
mod board;
mod buckets;
mod coarsen;
mod components;
mod compress;
mod degree;
mod divide;
mod fringe;
mod given;
mod graph;
mod growing;
mod heap;
mod large;
mod leaf;
mod levels;
mod merged;
mod numbers;
mod options;
mod planes;
mod predict;
mod prune;
mod random;
mod refine;
mod restrict;
mod rivals;
mod split;
mod spokes;
#[cfg(test)]
mod tests;
mod tree;
mod whole;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use tamarack_sparse::Pattern;

use crate::error::OrderingError;
use crate::graph::Graph;
use crate::guide::{Coordinates, PartitionTree};
use crate::stop::Stop;
use bisect::{Bisector, Separation};
pub(crate) use buckets::atomics;
pub(crate) use components::Components;
pub(crate) use degree::order_spokes;
pub(crate) use graph::Weighted;
use leaf::LeafSpace;
pub(crate) use levels::{level_behind, reach_neighbors};
pub use merged::MergedGraph;
pub(crate) use numbers::Numbers;
pub use options::NdOptions;
use options::{EVEN, QUICK, THOROUGH};
use random::mix;
use split::split;
pub(crate) use spokes::may_have_spokes;

/// Graphs of so many vertices are worth a task of their own.
const TASK: usize = 2000;

/// Graphs of so many vertices are worth several threads at every step.
const LARGE: usize = 50_000;

/// Vertices of graphs that are bisected once more, evenly, if the first separator is not worth it but has no more than one in
/// [`FEW_OF`] of the vertices. From a cube without ends a block may be cut off, where two planes would halve it; in larger ones planes are
/// found on coarse levels. Networks have such separators too, and no even one with a third of a side.
const MIDDLING: std::ops::Range<usize> = 1000..20_000;
const FEW_OF: u64 = 8;

/// Bisections one below the other of a piece, at most: with a quarter on the lighter side, as [`NdOptions::imbalance`] has it, a graph of 2^32
/// vertices has 77. Where it lets vertices be cut off one by one, each would take its place on the stack.
const DEEPEST: u32 = 100;

/// A graph has so many pieces, if they may be small enough for that.
const PIECES: usize = 16;

/// The size of the pieces of a graph of `n` vertices. Half as many vertices as the options say cost 0 to 2 % of operations in graphs
/// of some 10,000, up to 19 % in large ones.
fn piece(n: usize, options: &NdOptions) -> usize {
    let most = options.piece.max(1);
    (n / PIECES).clamp(most.div_ceil(2), most)
}

/// Writes the elimination order of the unknowns of `pattern` to `order`, unless `stop` becomes true.
pub(crate) fn order(
    pattern: &Pattern,
    options: &NdOptions,
    by: By<'_>,
    stop: Stop<'_>,
    order: &mut Vec<u32>,
) -> Result<(), OrderingError> {
    if let By::Coordinates(places) = by {
        check_len("coordinates", places.len(), pattern)?;
    }
    MergedGraph::new(pattern)?.order(options, by, stop, order)
}

/// As [`order`], by a tree of separators and pieces. Twins are not merged: they may stand in two nodes.
pub(crate) fn order_by_tree(
    pattern: &Pattern,
    options: &NdOptions,
    tree: &PartitionTree,
    stop: Stop<'_>,
    order: &mut Vec<u32>,
) -> Result<(), OrderingError> {
    check_len("nodes of unknowns", tree.len(), pattern)?;
    let graph = Weighted::new(Graph::from_pattern(pattern)?, vec![1; pattern.n()]);
    let dissection = Dissection::new(&graph, options, stop)?;
    dissection.run_by_tree(tree, order)
}

fn check_len(what: &'static str, found: usize, pattern: &Pattern) -> Result<(), OrderingError> {
    if found == pattern.n() {
        return Ok(());
    }
    Err(OrderingError::Guide {
        what,
        found: found as u64,
        expected: pattern.n() as u64,
    })
}

/// What a dissection goes by.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// The graph alone.
    Graph,
    /// Where unknowns are.
    Coordinates(&'a Coordinates),
}

/// Memory of one thread.
#[derive(Default)]
struct Space {
    leaf: LeafSpace,
    bisector: Bisector,
    /// Graphs not in use.
    graphs: Vec<Weighted>,
    local: Vec<u32>,
    list: Vec<u32>,
    moved: Vec<u32>,
    sides: Vec<u8>,
}

/// An error for more unknowns than minimum degree can count: vertices weigh as many as they stand for.
fn check_order(graph: &Weighted) -> Result<(), OrderingError> {
    let (n, limit) = (graph.total, crate::mindeg::MAX_ORDER as u64);
    match n > limit {
        true => Err(OrderingError::TooLarge { n, limit }),
        false => Ok(()),
    }
}

struct Dissection<'a> {
    graph: &'a Weighted,
    /// Vertices of the component that is dissected: of the graph, where that is connected.
    n: usize,
    options: &'a NdOptions,
    /// As the options say, or smaller where the graph is: one by one, a small graph's few pieces are what many threads wait for.
    piece: usize,
    /// True where the order is wanted no more.
    stop: Stop<'a>,
    /// Told if nothing is worth cutting, where all is given up then.
    uncut: Option<&'a AtomicBool>,
    /// Spaces not in use.
    spaces: Mutex<Vec<Space>>,
}

impl<'a> Dissection<'a> {
    /// # Errors
    /// [`OrderingError::TooLarge`]; [`OrderingError::Stopped`] where there is nothing to begin.
    fn new(
        graph: &'a Weighted,
        options: &'a NdOptions,
        stop: Stop<'a>,
    ) -> Result<Self, OrderingError> {
        check_order(graph)?;
        let dissection = Self {
            graph,
            n: graph.n(),
            options,
            piece: piece(graph.n(), options),
            stop,
            uncut: None,
            spaces: Mutex::default(),
        };
        dissection.go_on()?;
        Ok(dissection)
    }

    /// Orders the piece `list` whose graph is `graph`: vertex `v` there is `list[v]` here.
    fn dissect(
        &self,
        graph: Weighted,
        list: &mut [u32],
        seed: u64,
        space: &mut Space,
    ) -> Result<(), OrderingError> {
        self.dissect_within(DEEPEST, graph, list, seed, space)
    }

    /// The same by so many bisections one below the other.
    fn dissect_within(
        &self,
        depth: u32,
        graph: Weighted,
        list: &mut [u32],
        seed: u64,
        space: &mut Space,
    ) -> Result<(), OrderingError> {
        self.go_on()?;
        if graph.n() <= self.options.leaf || depth == 0 {
            space.graphs.push(graph);
            return space.leaf.order(self.graph, list, self.stop);
        }
        let Some(separation) = self.bisected(&graph, seed, &mut space.bisector) else {
            self.give_up_uncut(graph.n())?;
            space.graphs.push(graph);
            return space.leaf.order(self.graph, list, self.stop);
        };
        let seeds = [mix(seed ^ 1), mix(seed ^ 2)];
        self.dissect_sides(
            graph,
            separation,
            list,
            space,
            |side, graph, list, space| {
                self.dissect_within(depth - 1, graph, list, seeds[side], space)
            },
        )
    }

    /// A separation of a piece that is worth it, if one is found.
    fn bisected(&self, graph: &Weighted, seed: u64, bisector: &mut Bisector) -> Option<Separation> {
        let n = graph.n();
        let quick = bisector.bisect(graph, self.options, QUICK, seed);
        if self.options.is_worth(n, &quick.weight) {
            return Some(quick);
        }
        let is_wide = FEW_OF * quick.weight[2] > graph.total;
        bisector.recycle(quick);
        if is_wide || !MIDDLING.contains(&n) {
            return None;
        }
        let even = bisector.bisect(graph, &self.options.priced(EVEN), THOROUGH, mix(seed ^ 3));
        let [a, b, separator] = even.weight;
        if a.min(b) > 0 && 3 * separator <= a.min(b) {
            return Some(even);
        }
        bisector.recycle(even);
        None
    }

    /// Orders both sides of a separation by `order`, at the same time if they are large.
    fn dissect_sides<F>(
        &self,
        graph: Weighted,
        separation: Separation,
        list: &mut [u32],
        space: &mut Space,
        order: F,
    ) -> Result<(), OrderingError>
    where
        F: Fn(usize, Weighted, &mut [u32], &mut Space) -> Result<(), OrderingError> + Sync,
    {
        let n = graph.n();
        let (graphs, left) = split(&graph, &separation, list, space);
        space.graphs.push(graph);
        space.bisector.recycle(separation);
        let right = left + graphs[1].n();
        let (left_list, rest) = list[..right].split_at_mut(left);
        let [left, right] = graphs;
        if n < TASK {
            order(0, left, left_list, space)?;
            return order(1, right, rest, space);
        }
        let (a, b) = rayon::join(
            || order(0, left, left_list, space),
            || {
                let mut other = self.take_space();
                let result = order(1, right, rest, &mut other);
                self.give_space(other);
                result
            },
        );
        a.and(b)
    }

    /// Whether all that is done from now on is in vain.
    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    fn go_on(&self) -> Result<(), OrderingError> {
        match self.is_stopped() {
            true => Err(OrderingError::Stopped),
            false => Ok(()),
        }
    }

    /// Gives up if the piece of so many vertices, which is not cut, is the whole, and whoever asks has no use for minimum degree.
    fn give_up_uncut(&self, n: usize) -> Result<(), OrderingError> {
        match self.uncut {
            Some(uncut) if n == self.n => {
                uncut.store(true, Relaxed);
                Err(OrderingError::Stopped)
            }
            _ => Ok(()),
        }
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
