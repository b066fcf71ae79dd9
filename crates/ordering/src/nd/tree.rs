//! Many separators from one coarse hierarchy.
//!
//! A large graph is coarsened once. Going back up, a piece is bisected as soon as it has enough
//! vertices on the current level, and all separators found so far are refined, on every other of the
//! largest levels. So the upper levels of the recursion share their coarsening, and only their separators' surroundings are
//! looked at on the large graphs. The result is a tree
//! of separators; its pieces are small enough to be dissected one by one in cache.
//!
//! Time linear in the edges. Nodes of one depth are independent of each other and run in parallel.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::{Level, Separation};
use crate::nd::board::{LabelWeight, SEPARATOR, TreeNode};
use crate::nd::buckets::{Counted, values};
use crate::nd::coarsen::Coarsener;
use crate::nd::graph::Weighted;
use crate::nd::options::{COARSE, FINE};
use crate::nd::predict::predicted_flops;
use crate::nd::random::mix;
use crate::nd::refine::Task;
use crate::nd::{Dissection, Space};

/// Nodes of a tree have numbers below this at most, and below `SPARE` times the pieces there would be if all had as many
/// vertices: uneven trees are deeper by some rows.
const NODES: usize = 1 << 16;
const SPARE: usize = 64;

/// Of the levels with at least so many vertices, every other one is passed over: separators are refined on the next one
/// all the same, and refining those of the upper nodes, one after the other, is what many threads wait for. A part that has
/// come below this is coarsened anew, on every level.
pub(crate) const PASSED: usize = 50_000;

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
    pub(crate) label_weights: Vec<LabelWeight>,
    /// Numbers that the refinement keeps for vertices of the current level.
    slots: Vec<AtomicU32>,
    /// Vertices of the finest level.
    finest: usize,
    pub(crate) divided: Vec<bool>,
    /// Pieces in which no good separator was found.
    pub(crate) closed: Vec<bool>,
    /// Only nodes below this number are divided; the last row of the tree has no children.
    pub(crate) limit: usize,
}

/// A tree on a level on which trees are compared.
struct Start {
    at: usize,
    cost: f64,
    tree: Growing,
}

/// The number of the first of the `levels` below `graph` with at most an eighth of its vertices, or of the last: there several trials,
/// or a search, cost little.
pub(crate) fn small_level(graph: &Weighted, levels: &[Level]) -> usize {
    let large = levels.iter().take_while(|l| 8 * l.graph.n() > graph.n());
    (large.count() + 1).min(levels.len())
}

/// The graph that `levels[at]` is a coarser version of.
pub(crate) fn at_level<'a>(graph: &'a Weighted, levels: &'a [Level], at: usize) -> &'a Weighted {
    match at {
        0 => graph,
        _ => &levels[at - 1].graph,
    }
}

impl Dissection<'_> {
    /// Divides `graph`, whose coarser versions are `levels`, into pieces of less than `options.piece`
    /// vertices, where it can; the best of `tries` trees.
    pub(crate) fn tree(
        &self,
        graph: &Weighted,
        mut levels: Vec<Level>,
        tries: u32,
        seed: u64,
    ) -> Tree {
        let pieces = graph
            .n()
            .div_ceil(self.options.piece.max(1))
            .next_power_of_two();
        let nodes = NODES.min(SPARE * pieces);
        let start = self.start(graph, &levels, nodes, tries, seed, |level, tree| {
            predicted_flops(level, &tree.labels, &tree.divided)
        });
        let Start { at, mut tree, .. } = start;
        for at in (0..at).rev() {
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
        let mut count = 0;
        let mut coarser = |graph: &Weighted| {
            let mut next = Level::default();
            let seed = mix(seed.wrapping_add(count));
            count += 1;
            coarsener.coarsen(graph, heaviest, seed, &mut next.graph, &mut next.map);
            (next.graph.n() as f64 <= 0.95 * graph.n() as f64).then_some(next)
        };
        loop {
            let last = levels.last().map_or(graph, |l| &l.graph);
            if last.n() < 2 * options.piece || self.is_stopped() {
                return levels;
            }
            let Some(mut next) = coarser(last) else {
                return levels;
            };
            if next.graph.n() >= PASSED
                && let Some(second) = coarser(&next.graph)
            {
                next = next.passed_over(second);
            }
            next.graph.shrink();
            levels.push(next);
        }
    }

    /// The first separator alone, the best of `tries`, refined up to `graph`, and its cost; none where its cost and
    /// the graph on the level where trials are compared are not as `wanted`.
    pub(crate) fn root(
        &self,
        graph: &Weighted,
        levels: &[Level],
        tries: u32,
        seed: u64,
        wanted: impl Fn(f64, &Weighted) -> bool,
    ) -> Option<(f64, Separation)> {
        let cost = |level: &Weighted, tree: &Growing| self.root_cost(level, tree);
        let start = self.start(graph, levels, 4, tries, seed, cost);
        let mut tree = start.tree;
        if !tree.divided[1] || !wanted(start.cost, at_level(graph, levels, start.at)) {
            return None;
        }
        for at in (0..start.at).rev() {
            self.raise(graph, levels, at, &mut tree, seed);
        }
        Some((self.root_cost(graph, &tree), tree.into_separation()))
    }

    /// Trees of nodes below `nodes` grown up to a level of few vertices, so that several cost little; the best.
    fn start(
        &self,
        graph: &Weighted,
        levels: &[Level],
        nodes: usize,
        tries: u32,
        seed: u64,
        cost: impl Fn(&Weighted, &Growing) -> f64 + Sync,
    ) -> Start {
        let at = small_level(graph, levels);
        let grown = |k: u32| {
            let seed = match k {
                0 => seed,
                _ => mix(seed ^ mix(u64::from(k))),
            };
            let coarsest = at_level(graph, levels, levels.len());
            let mut tree = Growing::new(coarsest, graph.n(), nodes);
            for at in (at..=levels.len()).rev() {
                self.raise(graph, levels, at, &mut tree, seed);
            }
            let cost = cost(at_level(graph, levels, at), &tree);
            Start { at, cost, tree }
        };
        let others = (1..tries).into_par_iter().map(grown);
        let (first, others) = rayon::join(|| grown(0), || others.collect::<Vec<Start>>());
        let better = |a: Start, b: Start| if b.cost < a.cost { b } else { a };
        others.into_iter().fold(first, better)
    }

    fn root_cost(&self, graph: &Weighted, tree: &Growing) -> f64 {
        let weight = [2, 3, 1].map(|t: usize| tree.label_weights[t].get());
        self.options.goal(graph.total).cost(&weight)
    }

    /// Takes the tree from `levels[at]` (from nowhere: the end of `levels`) to the level above it in
    /// size, refines its separators there and divides its pieces.
    fn raise(&self, graph: &Weighted, levels: &[Level], at: usize, tree: &mut Growing, seed: u64) {
        let fine = at_level(graph, levels, at);
        if let Some(level) = levels.get(at) {
            tree.labels = (level.map.par_iter())
                .with_min_len(4096)
                .map(|&c| AtomicU32::new(tree.labels[c as usize].load(Relaxed)))
                .collect();
            if !self.is_stopped() {
                tree.slots.resize_with(fine.n(), || AtomicU32::new(NONE));
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
        self.refine_below(graph, tree, &separators, 1);
    }

    /// Refines the separator of node `t`, if it is divided, then those below at the same time.
    fn refine_below(
        &self,
        graph: &Weighted,
        tree: &Growing,
        separators: &[Mutex<Vec<u32>>],
        t: u32,
    ) {
        if !tree.divided[t as usize] {
            return;
        }
        let mut space = self.take_space();
        let lock = |t: usize| separators[t].lock().unwrap_or_else(PoisonError::into_inner);
        let separator = std::mem::take(&mut *lock(t as usize));
        self.refine_node(graph, tree, t, separator, &mut space);
        for &v in &space.bisector.refiner.left {
            let label = tree.labels[v as usize].load(Relaxed) as usize;
            if label != t as usize && tree.divided[label] {
                lock(label).push(v);
            }
        }
        self.give_space(space);
        rayon::join(
            || self.refine_below(graph, tree, separators, 2 * t),
            || self.refine_below(graph, tree, separators, 2 * t + 1),
        );
    }

    /// Refines the separator of node `t`. Vertices that may have left the separator are in the refiner's list.
    fn refine_node(
        &self,
        graph: &Weighted,
        tree: &Growing,
        t: u32,
        mut separator: Vec<u32>,
        space: &mut Space,
    ) {
        separator.retain(|&v| tree.labels[v as usize].load(Relaxed) == t);
        separator.sort_unstable();
        separator.dedup();
        let own = tree.label_weights[t as usize].get();
        let mut weight = [tree.weight_below(2 * t), tree.weight_below(2 * t + 1), own];
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
        let small = 4 * graph.n() < tree.finest;
        let patience = if small { COARSE } else { FINE };
        refiner.refine(&mut task, patience);
    }
}

impl Growing {
    /// One piece: the coarsest graph; `n` is the number of vertices of the finest, nodes have numbers below `nodes`.
    fn new(coarsest: &Weighted, n: usize, nodes: usize) -> Self {
        let mut tree = Self {
            labels: Vec::new(),
            label_weights: Vec::new(),
            slots: Vec::new(),
            finest: n,
            divided: vec![false; nodes],
            closed: vec![false; nodes],
            limit: nodes / 2,
        };
        tree.labels.resize_with(coarsest.n(), || AtomicU32::new(1));
        tree.label_weights.resize_with(nodes, LabelWeight::default);
        tree.label_weights[1].set(coarsest.total);
        tree
    }

    /// The tree of one separator as a separation.
    fn into_separation(self) -> Separation {
        let sides = [SEPARATOR, SEPARATOR, 0, 1];
        let labels = self.labels.par_iter().with_min_len(1 << 14);
        let side: Vec<u8> = labels
            .map(|label| sides[label.load(Relaxed) as usize & 3])
            .collect();
        let separator = (0..side.len() as u32).into_par_iter().with_min_len(1 << 14);
        Separation {
            separator: separator
                .filter(|&v| side[v as usize] == SEPARATOR)
                .collect(),
            weight: [2, 3, 1].map(|t: usize| self.label_weights[t].get()),
            side,
        }
    }

    /// Nodes beyond which no vertex has a label.
    pub(crate) fn nodes(&self) -> usize {
        let last = self.divided.iter().rposition(|&divided| divided);
        2 * last.unwrap_or(0) + 2
    }

    /// Weight of the subtree of node `t`.
    fn weight_below(&self, t: u32) -> u64 {
        let own = self.label_weights[t as usize].get();
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
}
