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
use crate::nd::bisect::Level;
use crate::nd::board::{Board, MarkedSides, TreeNode, side_of};
use crate::nd::buckets::values;
use crate::nd::coarsen::Coarsener;
use crate::nd::graph::Weighted;
use crate::nd::growing::Growing;
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

/// To refine a separator with one of so many vertices, or more, the sides of all are written down first, a byte each: where a vertex
/// stands is asked some hundred times for each vertex of the separator, and a byte is found sooner than told from a node.
const COPIED: usize = 200;

/// A dissection tree: node 1 is the root, node `t` has the children `2t` and `2t + 1`.
pub(crate) struct Tree {
    /// Node whose separator or piece each vertex belongs to.
    pub(crate) labels: Vec<u32>,
    /// Whether each node is divided.
    pub(crate) divided: Vec<bool>,
}

/// Trees to choose from, with one separator each, on the coarsest level. The first separator alone and the whole tree both begin with it.
pub(crate) struct Tries {
    first: Growing,
    others: Vec<Growing>,
}

impl Tries {
    /// Of the random choices of the first one.
    pub(crate) fn seed(&self) -> u64 {
        self.first.seed
    }
}

/// A tree on a level on which trees are compared.
pub(crate) struct Start {
    pub(crate) at: usize,
    pub(crate) cost: f64,
    pub(crate) tree: Growing,
}

/// A tree of one separator, refined up to the graph.
pub(crate) struct Root {
    /// The level on which it was compared with others, and its cost there.
    pub(crate) at: usize,
    pub(crate) small: f64,
    pub(crate) cost: f64,
    pub(crate) tree: Growing,
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
    /// The first separators of `tries` trees, on the coarsest of the `levels` of `graph`.
    pub(crate) fn tries(&self, graph: &Weighted, levels: &[Level], tries: u32, seed: u64) -> Tries {
        let coarsest = at_level(graph, levels, levels.len());
        let begun = |k: u32| {
            let seed = match k {
                0 => seed,
                _ => mix(seed ^ mix(u64::from(k))),
            };
            let mut tree = Growing::new(coarsest, graph.n(), seed);
            self.divide(coarsest, &mut tree);
            tree
        };
        let others = (1..tries).into_par_iter().map(begun);
        let (first, others) = rayon::join(|| begun(0), || others.collect());
        Tries { first, others }
    }

    /// Divides `graph`, whose coarser versions are `levels`, into pieces of less than [`piece`](Self::piece)
    /// vertices, where it can; the best of the `tries`.
    pub(crate) fn tree(&self, graph: &Weighted, mut levels: Vec<Level>, tries: &Tries) -> Tree {
        let pieces = graph.n().div_ceil(self.piece).next_power_of_two();
        let nodes = NODES.min(SPARE * pieces);
        let start = self.start(graph, &levels, tries, nodes, |level, tree| {
            predicted_flops(level, &tree.labels, &tree.divided)
        });
        let Start { at, mut tree, .. } = start;
        // Whichever it was: what follows does not go by the number of the try.
        tree.seed = tries.first.seed;
        for at in (0..at).rev() {
            levels.truncate(at + 1);
            self.raise(graph, &levels, at, &mut tree);
        }
        tree.prune(graph);
        tree.divided.truncate(tree.nodes());
        Tree {
            labels: values(tree.labels),
            divided: tree.divided,
        }
    }

    /// Coarser and coarser graphs, down to less than `2 piece` vertices.
    pub(crate) fn hierarchy(&self, graph: &Weighted, seed: u64) -> Vec<Level> {
        let mut coarsener = Coarsener::default();
        let heaviest = (1.5 * graph.total as f64 / self.piece as f64).max(1.0) as u64;
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
            if last.n() < 2 * self.piece || self.is_stopped() {
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

    /// The first separator of the best of the `tries` alone, refined up to `graph`; none where its cost and
    /// the graph on the level where trials are compared are not as `wanted`.
    pub(crate) fn root(
        &self,
        graph: &Weighted,
        levels: &[Level],
        tries: &Tries,
        wanted: impl Fn(f64, &Weighted) -> bool,
    ) -> Option<Root> {
        let cost = |level: &Weighted, tree: &Growing| self.root_cost(level, tree);
        let start = self.start(graph, levels, tries, 4, cost);
        if !start.tree.divided[1] || !wanted(start.cost, at_level(graph, levels, start.at)) {
            return None;
        }
        Some(self.raised(graph, levels, start))
    }

    /// The separator of `start` refined up to `graph`.
    pub(super) fn raised(&self, graph: &Weighted, levels: &[Level], start: Start) -> Root {
        let Start { at, cost, mut tree } = start;
        for at in (0..at).rev() {
            self.raise(graph, levels, at, &mut tree);
        }
        Root {
            at,
            small: cost,
            cost: self.root_cost(graph, &tree),
            tree,
        }
    }

    /// The `tries` grown to nodes below `nodes` and up to a level of few vertices, so that several cost little; the best.
    fn start(
        &self,
        graph: &Weighted,
        levels: &[Level],
        tries: &Tries,
        nodes: usize,
        cost: impl Fn(&Weighted, &Growing) -> f64 + Sync,
    ) -> Start {
        let at = small_level(graph, levels);
        let grown = |tree: &Growing| {
            let mut tree = tree.with_nodes(nodes);
            for at in (at..=levels.len()).rev() {
                self.raise(graph, levels, at, &mut tree);
            }
            let cost = cost(at_level(graph, levels, at), &tree);
            Start { at, cost, tree }
        };
        let others = tries.others.par_iter().map(grown);
        let (first, others) =
            rayon::join(|| grown(&tries.first), || others.collect::<Vec<Start>>());
        let better = |a: Start, b: Start| if b.cost < a.cost { b } else { a };
        others.into_iter().fold(first, better)
    }

    pub(super) fn root_cost(&self, graph: &Weighted, tree: &Growing) -> f64 {
        self.options.goal(graph.total).cost(&tree.weights())
    }

    /// Takes the tree from `levels[at]` (from nowhere: the end of `levels`) to the level above it in
    /// size, refines its separators there and divides its pieces.
    pub(super) fn raise(&self, graph: &Weighted, levels: &[Level], at: usize, tree: &mut Growing) {
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
            self.divide(fine, tree);
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
        let mut node = TreeNode {
            weights: &graph.weights,
            labels: &tree.labels,
            slots: &tree.slots,
            label_weights: &tree.label_weights,
            node: t,
        };
        let small = 4 * graph.n() < tree.finest;
        let patience = if small { COARSE } else { FINE };
        let refiner = &mut space.bisector.refiner;
        if graph.n() > COPIED * separator.len() {
            let mut task = Task {
                graph,
                board: node,
                separator: &mut separator,
                weight: &mut weight,
                goal,
            };
            refiner.settle(&mut task);
            return refiner.refine(&mut task, patience);
        }
        space.sides.clear();
        let labels = tree.labels.iter();
        (space.sides).extend(labels.map(|label| side_of(label.load(Relaxed), t)));
        let mut task = Task {
            graph,
            board: MarkedSides {
                side: &mut space.sides,
                slots: &tree.slots,
            },
            separator: &mut separator,
            weight: &mut weight,
            goal,
        };
        refiner.settle(&mut task);
        refiner.refine(&mut task, patience);
        for &v in separator.iter().chain(&refiner.left) {
            let side = space.sides[v as usize];
            if side >= MarkedSides::MOVED {
                node.put(v, side - MarkedSides::MOVED);
            }
        }
    }
}
