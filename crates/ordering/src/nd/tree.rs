//! Many separators from one coarse hierarchy.
//!
//! A large graph is coarsened once. Going back up, a piece is bisected as soon as it has enough
//! vertices on the current level, and all separators found so far are refined on every level. So the
//! upper levels of the recursion share their coarsening, and only their separators' surroundings are
//! looked at on the large graphs. A separator that gets worse on the way, because those above it
//! moved too far, is given up, and its piece bisected anew on the level reached. The result is a tree
//! of separators; its pieces are small enough to be dissected one by one in cache.
//!
//! Time linear in the edges. Nodes of one depth are independent of each other and run in parallel.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::Level;
use crate::nd::board::TreeNode;
use crate::nd::coarsen::Coarsener;
use crate::nd::graph::Weighted;
use crate::nd::options::{FINE, THOROUGH};
use crate::nd::predict::predicted_flops;
use crate::nd::random::mix;
use crate::nd::refine::Task;
use crate::nd::{Dissection, NdOptions, Space};

/// Nodes of the tree have numbers below 2 to this power.
const DEPTH: u32 = 16;
const NODES: usize = 1 << DEPTH;

/// A separator is given up if its cost is not below this share of that on the coarser level, where
/// it was thicker: 0.9 gives 1 % less flops than 1.2, and 7-point grids 4 %.
const PROGRESS: f64 = 0.9;

/// Trees are compared on a level with at most the `SHARE`th part of the vertices.
const SHARE: usize = 8;

/// A dissection tree: node 1 is the root, node `t` has the children `2t` and `2t + 1`.
pub(crate) struct Tree {
    /// Node whose separator or piece each vertex belongs to.
    pub(crate) labels: Vec<u32>,
    /// Whether each node is divided.
    pub(crate) divided: Vec<bool>,
}

/// The tree on the way up.
struct Growing {
    /// Node of each vertex of the current level.
    labels: Vec<AtomicU32>,
    /// Weight of the vertices of each node.
    label_weights: Vec<AtomicU64>,
    /// Numbers that the refinement keeps for vertices.
    slots: Vec<AtomicU32>,
    divided: Vec<bool>,
    /// Pieces in which no good separator was found.
    closed: Vec<bool>,
    /// Cost of each separator when it was last refined.
    costs: Vec<f64>,
}

impl Dissection<'_> {
    /// Divides `graph` into pieces of less than `options.piece` vertices, where it can.
    pub(crate) fn tree(&self, graph: &Weighted, seed: u64) -> Tree {
        let mut levels = hierarchy(graph, self.options, seed);
        let grown = |upto: usize, seed: u64| {
            let coarsest = levels.last().map_or(graph, |l| &l.graph);
            let mut tree = Growing::new(coarsest, graph.n());
            for at in (upto..=levels.len()).rev() {
                self.raise(graph, &levels, at, &mut tree, seed);
            }
            tree
        };
        // Where trees are compared: few vertices, so that several cost little.
        let few = graph.n() / SHARE;
        let mut compared = 1 + levels.iter().take_while(|l| l.graph.n() > few).count();
        let mut tree = if compared <= levels.len() {
            let coarse = &levels[compared - 1].graph;
            let trials: Vec<(f64, Growing)> = (0..self.options.tries.max(1))
                .into_par_iter()
                .map(|k| {
                    let own = if k == 0 {
                        seed
                    } else {
                        mix(seed ^ mix(u64::from(k)))
                    };
                    let trial = grown(compared, own);
                    let cost = predicted_flops(coarse, &trial.labels, &trial.divided);
                    (cost, trial)
                })
                .collect();
            let best = trials
                .into_iter()
                .reduce(|a, b| if b.0 < a.0 { b } else { a });
            best.map_or_else(|| grown(compared, seed), |(_, tree)| tree)
        } else {
            compared = levels.len();
            grown(compared, seed)
        };
        for at in (0..compared).rev() {
            levels.truncate(at + 1);
            self.raise(graph, &levels, at, &mut tree, seed);
        }
        Tree {
            labels: tree.labels.into_iter().map(AtomicU32::into_inner).collect(),
            divided: tree.divided,
        }
    }

    /// Takes the tree from `levels[at]` (from nowhere: the end of `levels`) to the level above it in
    /// size, refines its separators there and divides its pieces.
    fn raise(&self, graph: &Weighted, levels: &[Level], at: usize, tree: &mut Growing, seed: u64) {
        let fine = match at {
            0 => graph,
            _ => &levels[at - 1].graph,
        };
        if let Some(level) = levels.get(at) {
            tree.labels = (level.map.par_iter())
                .with_min_len(4096)
                .map(|&c| AtomicU32::new(tree.labels[c as usize].load(Relaxed)))
                .collect();
            self.refine_all(fine, tree);
        }
        self.divide(fine, tree, seed);
    }

    /// Refines every separator, from the root down.
    fn refine_all(&self, graph: &Weighted, tree: &mut Growing) {
        let mut separators: Vec<Vec<u32>> = vec![Vec::new(); NODES];
        for (v, label) in tree.labels.iter().enumerate() {
            let label = label.load(Relaxed) as usize;
            if tree.divided[label] {
                separators[label].push(v as u32);
            }
        }
        let mut lost = Vec::new();
        for depth in 0..DEPTH {
            let work: Vec<(u32, Vec<u32>)> = (1u32 << depth..2 << depth)
                .filter(|&t| tree.divided[t as usize])
                .map(|t| (t, std::mem::take(&mut separators[t as usize])))
                .collect();
            if work.is_empty() {
                break;
            }
            let sums = subtree_weights(&tree.label_weights);
            let shared = &*tree;
            let refined: Vec<(u32, f64, Vec<u32>)> = (work.into_par_iter())
                .map(|(t, separator)| {
                    let mut space = self.take_space();
                    let refined = self.refine_node(graph, shared, &sums, t, separator, &mut space);
                    self.give_space(space);
                    refined
                })
                .collect();
            for (t, cost, left) in refined {
                let before = std::mem::replace(&mut tree.costs[t as usize], cost);
                if cost > PROGRESS * before {
                    lost.push(t);
                    tree.undivide(t);
                }
                for v in left {
                    let label = tree.labels[v as usize].load(Relaxed) as usize;
                    if tree.divided[label] {
                        separators[label].push(v);
                    }
                }
            }
        }
        if !lost.is_empty() {
            tree.merge(graph, &lost);
        }
    }

    /// Refines the separator of node `t`; returns the node, its cost, and vertices that may have left
    /// the separator.
    fn refine_node(
        &self,
        graph: &Weighted,
        tree: &Growing,
        sums: &[u64],
        t: u32,
        mut separator: Vec<u32>,
        space: &mut Space,
    ) -> (u32, f64, Vec<u32>) {
        separator.retain(|&v| tree.labels[v as usize].load(Relaxed) == t);
        separator.sort_unstable();
        separator.dedup();
        let own = tree.label_weights[t as usize].load(Relaxed);
        let mut weight = [sums[2 * t as usize], sums[2 * t as usize + 1], own];
        let goal = self.options.goal(weight.iter().sum());
        let mut task = Task {
            graph,
            board: TreeNode {
                weights: &graph.weights,
                labels: &tree.labels,
                slots: &tree.slots,
                label_weights: &tree.label_weights,
                node: t,
            },
            separator: &mut separator,
            weight: &mut weight,
            goal,
        };
        let refiner = &mut space.bisector.refiner;
        refiner.settle(&mut task);
        let small = 4 * graph.n() < tree.slots.len();
        let patience = if small { THOROUGH } else { FINE };
        refiner.refine(&mut task, patience);
        (t, goal.cost(&weight), std::mem::take(&mut refiner.left))
    }

    /// Bisects pieces until all have less than `options.piece` vertices on this level.
    fn divide(&self, graph: &Weighted, tree: &mut Growing, seed: u64) {
        let mut place = Vec::new();
        loop {
            let large = tree.large_pieces(self.options.piece, graph.n(), &mut place);
            if large.is_empty() {
                return;
            }
            let found: Vec<(u32, bool)> = (large.par_iter())
                .map(|(t, list)| {
                    let mut space = self.take_space();
                    let found = self.divide_piece(graph, tree, *t, list, &place, seed, &mut space);
                    self.give_space(space);
                    (*t, found)
                })
                .collect();
            for (t, found) in found {
                tree.divided[t as usize] = found;
                tree.closed[t as usize] = !found;
            }
        }
    }

    /// Bisects piece `t`, whose vertices are `list`; whether that was worth it.
    #[allow(clippy::too_many_arguments)]
    fn divide_piece(
        &self,
        graph: &Weighted,
        tree: &Growing,
        t: u32,
        list: &[u32],
        place: &[u32],
        seed: u64,
        space: &mut Space,
    ) -> bool {
        let mut part = space.graphs.pop().unwrap_or_default();
        graph.extract(&mut part, list, |u| {
            let own = tree.labels[u as usize].load(Relaxed) == t;
            own.then(|| place[u as usize])
        });
        let seed = mix(seed ^ u64::from(t));
        let separation = space.bisector.bisect(&part, self.options, THOROUGH, seed);
        space.graphs.push(part);
        let worth = self.options.is_worth(&separation.weight);
        if worth {
            let labels = [2 * t, 2 * t + 1, t];
            for (&v, &side) in list.iter().zip(&separation.side) {
                tree.labels[v as usize].store(labels[side as usize], Relaxed);
            }
            for (label, weight) in labels.into_iter().zip(separation.weight) {
                tree.label_weights[label as usize].store(weight, Relaxed);
            }
        }
        space.bisector.recycle(separation);
        worth
    }
}

impl Growing {
    /// One piece: the coarsest graph; `n` is the number of vertices of the finest.
    fn new(coarsest: &Weighted, n: usize) -> Self {
        let mut tree = Self {
            labels: Vec::new(),
            label_weights: Vec::new(),
            slots: Vec::new(),
            divided: vec![false; NODES],
            closed: vec![false; NODES],
            costs: vec![f64::INFINITY; NODES],
        };
        tree.labels.resize_with(coarsest.n(), || AtomicU32::new(1));
        tree.label_weights.resize_with(NODES, AtomicU64::default);
        tree.slots.resize_with(n, || AtomicU32::new(NONE));
        tree.label_weights[1].store(coarsest.total, Relaxed);
        tree
    }

    /// The undivided nodes of at least `least` vertices, with their vertices; `place` gets the position
    /// of each of these in its list.
    fn large_pieces(&self, least: usize, n: usize, place: &mut Vec<u32>) -> Vec<(u32, Vec<u32>)> {
        let mut count = vec![0u32; NODES];
        for label in &self.labels {
            count[label.load(Relaxed) as usize] += 1;
        }
        let mut index = vec![NONE; NODES];
        let mut pieces = Vec::new();
        // The last row of the tree has no children.
        for t in 1..NODES / 2 {
            if count[t] as usize >= least && !self.divided[t] && !self.closed[t] {
                index[t] = pieces.len() as u32;
                pieces.push((t as u32, Vec::with_capacity(count[t] as usize)));
            }
        }
        if pieces.is_empty() {
            return pieces;
        }
        place.resize(n, 0);
        for (v, label) in self.labels.iter().enumerate() {
            let k = index[label.load(Relaxed) as usize];
            if k != NONE {
                let list = &mut pieces[k as usize].1;
                place[v] = list.len() as u32;
                list.push(v as u32);
            }
        }
        pieces
    }

    /// Forgets that `t` and the nodes below are divided.
    fn undivide(&mut self, t: u32) {
        if std::mem::replace(&mut self.divided[t as usize], false) {
            self.undivide(2 * t);
            self.undivide(2 * t + 1);
        }
        self.closed[t as usize] = false;
        self.costs[t as usize] = f64::INFINITY;
    }

    /// Makes each of the nodes `lost`, which are divided no more, one piece again.
    fn merge(&mut self, graph: &Weighted, lost: &[u32]) {
        let mut is_lost = vec![false; NODES];
        for &t in lost {
            is_lost[t as usize] = true;
        }
        // The highest of the lost nodes above each node, or the node itself.
        let mut home: Vec<u32> = (0..NODES as u32).collect();
        for t in 1..NODES {
            let up = t / 2;
            if is_lost[up] || home[up] as usize != up {
                home[t] = home[up];
            }
        }
        for weight in &mut self.label_weights {
            *weight.get_mut() = 0;
        }
        for (label, &weight) in self.labels.iter_mut().zip(&graph.weights) {
            let label = label.get_mut();
            *label = home[*label as usize];
            *self.label_weights[*label as usize].get_mut() += u64::from(weight);
        }
    }
}

/// Weight of the whole subtree of each node.
fn subtree_weights(own: &[AtomicU64]) -> Vec<u64> {
    let mut sums: Vec<u64> = own.iter().map(|w| w.load(Relaxed)).collect();
    for t in (2..sums.len()).rev() {
        sums[t / 2] += sums[t];
    }
    sums
}

/// Coarser and coarser graphs, down to less than `2 options.piece` vertices.
fn hierarchy(graph: &Weighted, options: &NdOptions, seed: u64) -> Vec<Level> {
    let mut coarsener = Coarsener::default();
    let heaviest = (1.5 * graph.total as f64 / options.piece as f64).max(1.0) as u64;
    let mut levels: Vec<Level> = Vec::new();
    loop {
        let last = levels.last().map_or(graph, |l| &l.graph);
        if last.n() < 2 * options.piece {
            return levels;
        }
        let mut next = Level::default();
        let seed = mix(seed.wrapping_add(levels.len() as u64));
        coarsener.coarsen(last, heaviest, seed, &mut next.graph, &mut next.map);
        if next.graph.n() as f64 > 0.95 * last.n() as f64 {
            return levels;
        }
        next.graph.adjacency.shrink_to_fit();
        next.graph.edge_weights.shrink_to_fit();
        levels.push(next);
    }
}
