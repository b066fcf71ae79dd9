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
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::Level;
use crate::nd::board::TreeNode;
use crate::nd::buckets::{Counted, values};
use crate::nd::coarsen::Coarsener;
use crate::nd::graph::Weighted;
use crate::nd::options::{FINE, THOROUGH};
use crate::nd::predict::predicted_flops;
use crate::nd::random::mix;
use crate::nd::refine::Task;
use crate::nd::{Dissection, Space};

/// Nodes of the tree have numbers below 2 to this power.
const DEPTH: u32 = 16;
const NODES: usize = 1 << DEPTH;

/// A separator is given up if its cost is not below this share of that on the coarser level, where
/// it was thicker: 0.9 gives 1 % less flops than 1.2, and 7-point grids 4 %.
const PROGRESS: f64 = 0.9;

/// No separator of more than so many times `options.piece` vertices is given up: bisecting them anew
/// takes one thread long, and brings 1 to 2 % on 5- and 7-point grids only.
const LARGEST_LOST: f64 = 48.0;

/// Nor is one of a piece of fewer vertices than so many times `options.piece`: there are many of these, and
/// little of the fill comes from them (1 % on `p2d9_700` and `qp_DTOC3`, which takes half longer with 4).
const LEAST_LOST: f64 = 10.0;

/// Nor is one that has more vertices than so many times the square root of its piece: in solids that
/// brings nothing (`p3d27_64`: the same flops in two thirds of the time); in planes 2 to 7 %.
const LONGEST_LOST: f64 = 2.0;

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
pub(crate) struct Growing {
    /// Node of each vertex of the current level.
    pub(crate) labels: Vec<AtomicU32>,
    /// Weight of the vertices of each node.
    pub(crate) label_weights: Vec<AtomicU64>,
    /// Numbers that the refinement keeps for vertices.
    slots: Vec<AtomicU32>,
    pub(crate) divided: Vec<bool>,
    /// Pieces in which no good separator was found.
    pub(crate) closed: Vec<bool>,
    /// Only nodes below this number are divided; the last row of the tree has no children.
    pub(crate) limit: usize,
    /// Cost of each separator when it was last refined.
    costs: Vec<f64>,
}

impl Dissection<'_> {
    /// Divides `graph`, whose coarser versions are `levels`, into pieces of less than `options.piece`
    /// vertices, where it can.
    pub(crate) fn tree(&self, graph: &Weighted, mut levels: Vec<Level>, seed: u64) -> Tree {
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
        tree.divided.truncate(tree.nodes());
        Tree {
            labels: values(tree.labels),
            divided: tree.divided,
        }
    }

    /// Coarser and coarser graphs, down to less than `2 options.piece` vertices.
    pub(crate) fn hierarchy(&self, graph: &Weighted, seed: u64) -> Vec<Level> {
        let options = self.options;
        let mut coarsener = Coarsener::default();
        let heaviest = (1.5 * graph.total as f64 / options.piece as f64).max(1.0) as u64;
        let mut levels: Vec<Level> = Vec::new();
        loop {
            let last = levels.last().map_or(graph, |l| &l.graph);
            if last.n() < 2 * options.piece || self.is_stopped() {
                return levels;
            }
            let mut next = Level::default();
            let seed = mix(seed.wrapping_add(levels.len() as u64));
            coarsener.coarsen(last, heaviest, seed, &mut next.graph, &mut next.map);
            if next.graph.n() as f64 > 0.95 * last.n() as f64 {
                return levels;
            }
            next.graph.shrink();
            levels.push(next);
        }
    }

    /// What the first separator alone will cost; infinite where there is none.
    pub(crate) fn root_cost(&self, graph: &Weighted, levels: &[Level], seed: u64) -> f64 {
        let coarsest = levels.last().map_or(graph, |l| &l.graph);
        let mut tree = Growing::new(coarsest, graph.n());
        tree.limit = 2;
        for at in (0..=levels.len()).rev() {
            self.raise(graph, levels, at, &mut tree, seed);
        }
        tree.costs[1]
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
            if !self.is_stopped() {
                self.refine_all(fine, tree);
            }
        }
        if !self.is_stopped() {
            self.divide(fine, tree, seed);
        }
    }

    /// Refines every separator, from the root down.
    fn refine_all(&self, graph: &Weighted, tree: &mut Growing) {
        let separators = tree.separators();
        let mut refined = Vec::new();
        if tree.divided[1] {
            refined = self.refine_below(graph, tree, &separators, 1);
        }
        let mut lost = Vec::new();
        for (t, cost) in refined {
            tree.costs[t as usize] = cost;
            if cost.is_infinite() {
                lost.push(t);
                tree.undivide(t);
            }
        }
        if !lost.is_empty() {
            tree.merge(graph, &lost);
        }
    }

    /// Refines the separator of node `t`, then those below at the same time; returns the nodes with
    /// their costs, which are infinite where the separator is to be given up.
    fn refine_below(
        &self,
        graph: &Weighted,
        tree: &Growing,
        separators: &[Mutex<Vec<u32>>],
        t: u32,
    ) -> Vec<(u32, f64)> {
        let mut space = self.take_space();
        let lock = |t: usize| separators[t].lock().unwrap_or_else(PoisonError::into_inner);
        let separator = std::mem::take(&mut *lock(t as usize));
        let (total, cost) = self.refine_node(graph, tree, t, separator, &mut space);
        let per_weight = graph.n() as f64 / graph.total as f64;
        let vertices = total as f64 * per_weight;
        let pieces = vertices / self.options.piece as f64;
        let small = (LEAST_LOST..LARGEST_LOST).contains(&pieces)
            && cost * per_weight < LONGEST_LOST * vertices.sqrt();
        if small && cost > PROGRESS * tree.costs[t as usize] {
            self.give_space(space);
            return vec![(t, f64::INFINITY)];
        }
        for &v in &space.bisector.refiner.left {
            let label = tree.labels[v as usize].load(Relaxed) as usize;
            if label != t as usize && tree.divided[label] {
                lock(label).push(v);
            }
        }
        self.give_space(space);
        let below = |t: u32| match tree.divided[t as usize] {
            true => self.refine_below(graph, tree, separators, t),
            false => Vec::new(),
        };
        let (left, right) = rayon::join(|| below(2 * t), || below(2 * t + 1));
        let mut refined = vec![(t, cost)];
        refined.extend(left);
        refined.extend(right);
        refined
    }

    /// Refines the separator of node `t`; returns the weight of the subtree and the separator's cost.
    /// Vertices that may have left the separator are in the refiner's list.
    fn refine_node(
        &self,
        graph: &Weighted,
        tree: &Growing,
        t: u32,
        mut separator: Vec<u32>,
        space: &mut Space,
    ) -> (u64, f64) {
        separator.retain(|&v| tree.labels[v as usize].load(Relaxed) == t);
        separator.sort_unstable();
        separator.dedup();
        let own = tree.label_weights[t as usize].load(Relaxed);
        let mut weight = [tree.weight_below(2 * t), tree.weight_below(2 * t + 1), own];
        let total = weight.iter().sum();
        let goal = self.options.goal(total);
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
        (total, goal.cost(&weight))
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
            limit: NODES / 2,
            costs: vec![f64::INFINITY; NODES],
        };
        tree.labels.resize_with(coarsest.n(), || AtomicU32::new(1));
        tree.label_weights.resize_with(NODES, AtomicU64::default);
        tree.slots.resize_with(n, || AtomicU32::new(NONE));
        tree.label_weights[1].store(coarsest.total, Relaxed);
        tree
    }

    /// Nodes beyond which no vertex has a label.
    pub(crate) fn nodes(&self) -> usize {
        let last = self.divided.iter().rposition(|&divided| divided);
        2 * last.unwrap_or(0) + 2
    }

    /// Weight of the subtree of node `t`.
    fn weight_below(&self, t: u32) -> u64 {
        let own = self.label_weights[t as usize].load(Relaxed);
        if !self.divided[t as usize] {
            return own;
        }
        own + self.weight_below(2 * t) + self.weight_below(2 * t + 1)
    }

    /// The vertices of the separator of each node.
    fn separators(&self) -> Vec<Mutex<Vec<u32>>> {
        let labels = &self.labels;
        let label = |v: usize| labels[v].load(Relaxed);
        let counted = Counted::new(labels.len(), self.nodes(), label);
        let totals = counted.totals();
        let mut starts = vec![NONE; totals.len()];
        let mut end = 0;
        for (t, start) in starts.iter_mut().enumerate().filter(|s| self.divided[s.0]) {
            *start = end;
            end += totals[t];
        }
        let sorted = counted.sorted(starts, end as usize);
        let mut rest = &sorted[..];
        let lists = totals.iter().enumerate().map(|(t, &count)| {
            let count = if self.divided[t] { count as usize } else { 0 };
            let (own, after) = rest.split_at(count);
            rest = after;
            Mutex::new(own.to_vec())
        });
        lists.collect()
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
