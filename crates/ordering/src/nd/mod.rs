//! Multilevel nested dissection.
//!
//! George 1973; multilevel as Hendrickson and Rothberg 1998 and Karypis and Kumar 1998. Twins are
//! merged (`compress`), vertices with very many neighbors set aside. A large graph is coarsened
//! once for many separators (`tree`); its pieces, in cache, are bisected one by one (`bisect`). Both
//! halves are ordered before their separator; pieces of a hundred unknowns go to constrained AMD
//! (`leaf`). Time `O(nnz(A))` for the upper levels together and for each of the lower ones.
//!
//! The result depends on the pattern, the options and the seed, not on the number of threads:
//! every bisection draws its random numbers from its place in the recursion.

mod bisect;
mod board;
mod buckets;
mod coarsen;
mod compress;
mod divide;
mod graph;
mod heap;
mod leaf;
mod levels;
mod options;
mod predict;
mod random;
mod refine;
mod runs;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tamarack_sparse::Pattern;

use crate::error::OrderingError;
use crate::graph::Graph;
use crate::mindeg::{AmdOptions, NONE};
use bisect::{Bisector, Separation};
use board::SEPARATOR;
use buckets::{Counted, atomics, values};
use compress::{Compressed, compress};
use graph::Weighted;
use leaf::LeafSpace;
use levels::{best_level, may_be_thin};
pub use options::NdOptions;
use options::QUICK;
use random::mix;
use runs::Runs;
use tree::Tree;

/// Levels of a breadth-first search are looked at in graphs of so many times `options.piece` vertices.
/// With 8 in place of 30 grids take longer and gain nothing.
const LEVELS: usize = 30;

/// A level is taken if its cost is below this share of that of the separator it replaces.
const THINNER: f64 = 0.95;

/// Graphs of so many vertices are worth a task of their own.
const TASK: usize = 2000;

/// Writes the elimination order of the unknowns of `pattern` to `order`, unless `stop` becomes true.
pub(crate) fn order(
    pattern: &Pattern,
    options: &NdOptions,
    stop: &AtomicBool,
    order: &mut Vec<u32>,
) -> Result<(), OrderingError> {
    let n = pattern.n();
    if n > crate::mindeg::MAX_ORDER {
        let (n, limit) = (n as u64, crate::mindeg::MAX_ORDER as u64);
        return Err(OrderingError::TooLarge { n, limit });
    }
    if stop.load(Relaxed) {
        return Err(OrderingError::Stopped);
    }
    let merged = Merged::new(pattern)?;
    let mut list: Vec<u32> = (0..merged.compressed.graph.n() as u32).collect();
    let dissection = Dissection {
        graph: &merged.compressed.graph,
        options,
        stop,
        spaces: Mutex::default(),
    };
    dissection.run(&mut list)?;
    merged.expand(list, order);
    Ok(())
}

/// The graph of a pattern without twins.
struct Merged {
    unknowns: usize,
    compressed: Compressed,
    /// The unknowns that each vertex before compression stands for.
    runs: Option<Runs>,
}

impl Merged {
    fn new(pattern: &Pattern) -> Result<Self, OrderingError> {
        let runs = Runs::find(pattern)?;
        let (graph, weights) = match &runs {
            Some(runs) => (Graph::from_lower(runs.lower())?, runs.weights()),
            None => (Graph::from_pattern(pattern)?, vec![1; pattern.n()]),
        };
        let dense_limit = AmdOptions::default().dense_limit(pattern.n());
        Ok(Self {
            unknowns: pattern.n(),
            compressed: compress(graph, weights, u64::from(dense_limit)),
            runs,
        })
    }

    /// From an order of the vertices to one of the unknowns.
    fn expand(&self, list: Vec<u32>, order: &mut Vec<u32>) {
        order.clear();
        order.reserve_exact(self.unknowns);
        let mut add = |v: u32| match &self.runs {
            Some(runs) => order.extend(runs.first[v as usize]..runs.first[v as usize + 1]),
            None => order.push(v),
        };
        for c in list {
            self.compressed
                .members_of(&c)
                .iter()
                .copied()
                .for_each(&mut add);
        }
        self.compressed.dense.iter().copied().for_each(add);
    }
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
}

/// A large piece on the way from its tree to the pieces of the tree.
struct Descent<'a> {
    graph: &'a Weighted,
    tree: Tree,
    /// Where the subtree of each node ends in `arranged`.
    bounds: Vec<u32>,
    /// The vertices in the order of the tree.
    arranged: Vec<u32>,
    /// Where in `arranged` each vertex stands.
    place: Vec<u32>,
}

struct Dissection<'a> {
    graph: &'a Weighted,
    options: &'a NdOptions,
    /// True where the order is wanted no more.
    stop: &'a AtomicBool,
    /// Spaces not in use.
    spaces: Mutex<Vec<Space>>,
}

impl Dissection<'_> {
    /// Orders `list`, which holds all vertices of the graph.
    fn run(&self, list: &mut [u32]) -> Result<(), OrderingError> {
        let seed = mix(self.options.seed);
        let n = self.graph.n();
        if n <= self.options.leaf {
            let mut space = self.take_space();
            return space.leaf.order(self.graph, list);
        }
        if n < 2 * self.options.piece {
            let mut space = self.take_space();
            let mut graph = space.graphs.pop().unwrap_or_default();
            self.graph.extract(&mut graph, list, Some);
            return self.dissect(graph, list, seed, &mut space);
        }
        self.dissect_large(self.graph, list, seed)
    }

    /// Orders the large piece `list` whose graph is `graph`: vertex `v` there is `list[v]` here.
    fn dissect_large(
        &self,
        graph: &Weighted,
        list: &mut [u32],
        seed: u64,
    ) -> Result<(), OrderingError> {
        let thin = graph.n() >= LEVELS * self.options.piece && may_be_thin(graph);
        let (levels, level) = rayon::join(
            || self.hierarchy(graph, seed),
            || thin.then(|| best_level(graph, self.options)).flatten(),
        );
        self.go_on()?;
        if let Some((cost, level)) = level
            && cost < THINNER * self.root_cost(graph, &levels, seed)
        {
            drop(levels);
            let mut space = self.take_space();
            let ([left, right], count) = split(graph, &level, list, &mut space);
            self.give_space(space);
            let (left_list, rest) = list.split_at_mut(count);
            let right_list = &mut rest[..right.n()];
            let (a, b) = rayon::join(
                || self.dissect_half(left, left_list, mix(seed ^ 1)),
                || self.dissect_half(right, right_list, mix(seed ^ 2)),
            );
            return a.and(b);
        }
        let tree = self.tree(graph, levels, seed);
        self.go_on()?;
        let (arranged, bounds) = arrange(&tree);
        let place = places(&arranged, graph.n());
        let globals: Vec<u32> = arranged.iter().map(|&v| list[v as usize]).collect();
        list.copy_from_slice(&globals);
        drop(globals);
        let descent = Descent {
            graph,
            tree,
            bounds,
            place,
            arranged,
        };
        self.descend(&descent, 1, list, 0, seed)
    }

    /// Orders one side of a large piece.
    fn dissect_half(
        &self,
        graph: Weighted,
        list: &mut [u32],
        seed: u64,
    ) -> Result<(), OrderingError> {
        if graph.n() >= 2 * self.options.piece {
            return self.dissect_large(&graph, list, seed);
        }
        let mut space = self.take_space();
        let result = self.dissect(graph, list, seed, &mut space);
        self.give_space(space);
        result
    }

    /// Dissects the pieces below node `t`, whose vertices are `list`, at `start` of the whole list.
    fn descend(
        &self,
        descent: &Descent<'_>,
        t: u32,
        list: &mut [u32],
        start: u32,
        seed: u64,
    ) -> Result<(), OrderingError> {
        let Descent { tree, bounds, .. } = descent;
        if tree.divided[t as usize] {
            let left = (bounds[2 * t as usize] - start) as usize;
            let right = (bounds[2 * t as usize + 1] - start) as usize;
            let (left_list, rest) = list[..right].split_at_mut(left);
            let (a, b) = rayon::join(
                || self.descend(descent, 2 * t, left_list, start, seed),
                || self.descend(descent, 2 * t + 1, rest, start + left as u32, seed),
            );
            return a.and(b);
        }
        let mut space = self.take_space();
        let mut graph = space.graphs.pop().unwrap_or_default();
        let end = start + list.len() as u32;
        let inside = |u: u32| {
            let at = descent.place[u as usize];
            (start..end).contains(&at).then(|| at - start)
        };
        let own = &descent.arranged[start as usize..end as usize];
        descent.graph.extract(&mut graph, own, inside);
        let result = self.dissect(graph, list, mix(seed ^ mix(u64::from(t))), &mut space);
        self.give_space(space);
        result
    }

    /// Orders the piece `list` whose graph is `graph`: vertex `v` there is `list[v]` here.
    fn dissect(
        &self,
        graph: Weighted,
        list: &mut [u32],
        seed: u64,
        space: &mut Space,
    ) -> Result<(), OrderingError> {
        self.go_on()?;
        if graph.n() <= self.options.leaf {
            space.graphs.push(graph);
            return space.leaf.order(self.graph, list);
        }
        let separation = space.bisector.bisect(&graph, self.options, QUICK, seed);
        if !self.options.is_worth(&separation.weight) {
            space.graphs.push(graph);
            space.bisector.recycle(separation);
            return space.leaf.order(self.graph, list);
        }
        let n = graph.n();
        let (graphs, left) = split(&graph, &separation, list, space);
        space.graphs.push(graph);
        space.bisector.recycle(separation);
        let right = left + graphs[1].n();
        let (left_list, rest) = list[..right].split_at_mut(left);
        let [left, right] = graphs;
        if n < TASK {
            self.dissect(left, left_list, mix(seed ^ 1), space)?;
            return self.dissect(right, rest, mix(seed ^ 2), space);
        }
        let (a, b) = rayon::join(
            || self.dissect(left, left_list, mix(seed ^ 1), space),
            || {
                let mut other = self.take_space();
                let result = self.dissect(right, rest, mix(seed ^ 2), &mut other);
                self.give_space(other);
                result
            },
        );
        a.and(b)
    }

    /// Whether all that is done from now on is in vain.
    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn go_on(&self) -> Result<(), OrderingError> {
        match self.is_stopped() {
            true => Err(OrderingError::Stopped),
            false => Ok(()),
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

/// Splits `graph` and puts `list` into the order left, right, separator; returns the graphs of the
/// sides and the number of vertices on the left.
fn split(
    graph: &Weighted,
    separation: &Separation,
    list: &mut [u32],
    space: &mut Space,
) -> ([Weighted; 2], usize) {
    let n = graph.n();
    let side = &separation.side;
    space.local.clear();
    space.local.resize(n, NONE);
    space.list.clear();
    let mut starts = [0; 4];
    for s in 0..=SEPARATOR {
        let from = space.list.len();
        starts[s as usize] = from;
        for (v, &own) in side.iter().enumerate() {
            if own == s {
                space.local[v] = (space.list.len() - from) as u32;
                space.list.push(v as u32);
            }
        }
    }
    let mut parts = [0, 1].map(|_| space.graphs.pop().unwrap_or_default());
    for (s, part) in parts.iter_mut().enumerate() {
        let local = &space.local;
        let own = &space.list[starts[s]..starts[s + 1]];
        graph.extract(part, own, |u| {
            (side[u as usize] == s as u8).then(|| local[u as usize])
        });
    }
    for k in &mut space.list {
        *k = list[*k as usize];
    }
    list.copy_from_slice(&space.list);
    (parts, starts[1])
}

/// The vertices in the order of the tree: left, right, separator; and where each node's subtree ends.
fn arrange(tree: &Tree) -> (Vec<u32>, Vec<u32>) {
    let labels = &tree.labels;
    let counted = Counted::new(labels.len(), tree.divided.len(), |v| labels[v]);
    let count = counted.totals();
    let mut ends = vec![0u32; count.len()];
    let mut starts = vec![0u32; count.len()];
    let mut at = 0;
    place_subtree(tree, &count, 1, &mut at, &mut starts, &mut ends);
    (counted.sorted(starts, at as usize), ends)
}

/// Where in `list` each of its vertices stands; nothing of use for others of the vertices `0..n`.
fn places(list: &[u32], n: usize) -> Vec<u32> {
    let places = atomics(n);
    let vertices = list.par_iter().enumerate().with_min_len(1 << 14);
    vertices.for_each(|(k, &v)| places[v as usize].store(k as u32, Relaxed));
    values(places)
}

fn place_subtree(
    tree: &Tree,
    count: &[u32],
    t: u32,
    at: &mut u32,
    next: &mut [u32],
    ends: &mut [u32],
) {
    if tree.divided[t as usize] {
        place_subtree(tree, count, 2 * t, at, next, ends);
        place_subtree(tree, count, 2 * t + 1, at, next, ends);
    }
    next[t as usize] = *at;
    *at += count[t as usize];
    ends[t as usize] = *at;
}
