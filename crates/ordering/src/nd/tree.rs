//! Many separators from one coarse hierarchy.
//!
//! A large graph is coarsened once. Going back up, a piece is bisected as soon as it has enough
//! vertices on the current level, and all separators found so far are refined on every
//! level. So the upper levels of the recursion share their coarsening, and only their separators'
//! surroundings are looked at on the large graphs. The result is a tree of separators; its pieces
//! are small enough to be dissected one by one in cache.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::Level;
use crate::nd::board::TreeNode;
use crate::nd::coarsen::Coarsener;
use crate::nd::graph::Weighted;
use crate::nd::random::mix;
use crate::nd::refine::Goal;
use crate::nd::{Dissection, NdOptions, Space};

/// Nodes of the tree have numbers below 2 to this power.
const DEPTH: u32 = 16;

/// A dissection tree: node 1 is the root, node `t` has the children `2t` and `2t + 1`.
pub(crate) struct Tree {
    /// Node whose separator or piece each vertex belongs to.
    pub(crate) labels: Vec<u32>,
    /// Whether each node is divided.
    pub(crate) divided: Vec<bool>,
}

/// The state of the dissection on one level.
struct Layer<'a> {
    graph: &'a Weighted,
    labels: Vec<AtomicU32>,
    label_weights: Vec<AtomicU64>,
    divided: Vec<bool>,
    /// Pieces in which no good separator was found.
    final_pieces: Vec<bool>,
    /// Cost of each separator on the level before.
    costs: Vec<f64>,
}

impl Layer<'_> {
    /// Forgets that `t` and the nodes below are divided.
    fn undivide(&mut self, t: u32) {
        if std::mem::replace(&mut self.divided[t as usize], false) {
            self.undivide(2 * t);
            self.undivide(2 * t + 1);
        }
        self.final_pieces[t as usize] = false;
        self.costs[t as usize] = f64::INFINITY;
    }

    /// Makes each of the nodes `lost`, which are divided no more, one piece again.
    fn merge(&mut self, lost: &[u32]) {
        for w in &self.label_weights {
            w.store(0, Relaxed);
        }
        for (v, label) in self.labels.iter().enumerate() {
            let own = label.load(Relaxed);
            let mut up = own;
            let mut new = own;
            while up > 0 {
                if lost.contains(&up) {
                    new = up;
                }
                up /= 2;
            }
            label.store(new, Relaxed);
            self.label_weights[new as usize].fetch_add(u64::from(self.graph.weights[v]), Relaxed);
        }
    }
}

impl Dissection<'_> {
    /// Divides `graph` into pieces of less than about `options.piece` vertices.
    pub(crate) fn tree(&self, graph: &Weighted, seed: u64) -> Tree {
        let options = self.options;
        let mut levels = hierarchy(graph, options, seed);
        let top = levels.last().map_or(graph, |l| &l.graph);
        let mut layer = Layer {
            graph: top,
            labels: Vec::new(),
            label_weights: (0..1 << DEPTH).map(|_| AtomicU64::new(0)).collect(),
            divided: vec![false; 1 << DEPTH],
            final_pieces: vec![false; 1 << DEPTH],
            costs: vec![f64::INFINITY; 1 << DEPTH],
        };
        layer.labels.resize_with(top.n(), || AtomicU32::new(1));
        layer.label_weights[1] = AtomicU64::new(top.total);
        let slots: Vec<AtomicU32> = (0..graph.n()).map(|_| AtomicU32::new(NONE)).collect();
        let Layer {
            mut labels,
            mut label_weights,
            mut divided,
            mut final_pieces,
            mut costs,
            ..
        } = layer;
        loop {
            let fine = levels.last().map_or(graph, |l| &l.graph);
            let mut layer = Layer {
                graph: fine,
                labels,
                label_weights,
                divided,
                final_pieces,
                costs,
            };
            self.refine_all(&mut layer, &slots);
            self.divide(&mut layer, seed);
            (labels, label_weights, divided, final_pieces, costs) = (
                layer.labels,
                layer.label_weights,
                layer.divided,
                layer.final_pieces,
                layer.costs,
            );
            let Some(level) = levels.pop() else { break };
            labels = level
                .map
                .par_iter()
                .with_min_len(4096)
                .map(|&c| AtomicU32::new(labels[c as usize].load(Relaxed)))
                .collect();
        }
        if std::env::var("DBG").is_ok() {
            let sums = subtree_weights(&label_weights);
            for t in 1..64 { if divided[t] { eprintln!("{t}: {} {} {}", sums[2*t], sums[2*t+1], label_weights[t].load(Relaxed)); } }
        }
        if let Ok(w) = std::env::var("MAP") {
            let w: usize = w.parse().unwrap();
            for row in labels.chunks(w) {
                let line: String = row.iter().map(|l| { let l = l.load(Relaxed); if divided[l as usize] { char::from(b'A' + (l % 26) as u8 - 1) } else { '.' } }).collect();
                eprintln!("{line}");
            }
        }
        Tree {
            labels: labels.into_iter().map(AtomicU32::into_inner).collect(),
            divided,
        }
    }

    /// Refines every separator, from the root down.
    fn refine_all(&self, layer: &mut Layer, slots: &[AtomicU32]) {
        let mut lost = Vec::new();
        let mut separators: Vec<Vec<u32>> = vec![Vec::new(); 1 << DEPTH];
        for (v, label) in layer.labels.iter().enumerate() {
            let label = label.load(Relaxed) as usize;
            if layer.divided[label] {
                separators[label].push(v as u32);
            }
        }
        for depth in 0..DEPTH {
            let nodes: Vec<u32> = (1u32 << depth..2 << depth)
                .filter(|&t| layer.divided[t as usize])
                .collect();
            if nodes.is_empty() {
                break;
            }
            let sums = subtree_weights(&layer.label_weights);
            let work: Vec<(u32, Vec<u32>)> = nodes
                .into_iter()
                .map(|t| (t, std::mem::take(&mut separators[t as usize])))
                .collect();
            let shared = &*layer;
            let moved: Vec<(u32, f64, Vec<u32>)> = work
                .into_par_iter()
                .map(|(t, separator)| {
                    let mut space = self.take_space();
                    let (cost, left) = refine_node(shared, slots, &sums, t, separator, self.options, &mut space);
                    self.give_space(space);
                    (t, cost, left)
                })
                .collect();
            for &(t, cost, _) in &moved {
                let before = std::mem::replace(&mut layer.costs[t as usize], cost);
                if cost > self.options.redo * before {
                    lost.push(t);
                    layer.undivide(t);
                }
            }
            for v in moved.into_iter().flat_map(|m| m.2) {
                let label = layer.labels[v as usize].load(Relaxed) as usize;
                if layer.divided[label] {
                    separators[label].push(v);
                }
            }
        }
        if !lost.is_empty() {
            layer.merge(&lost);
        }
    }

    /// Bisects pieces until all have less than `options.piece` vertices on this level.
    fn divide(&self, layer: &mut Layer, seed: u64) {
        loop {
            let mut count = vec![0u32; 1 << DEPTH];
            for label in &layer.labels {
                count[label.load(Relaxed) as usize] += 1;
            }
            let large: Vec<u32> = (1..1u32 << (DEPTH - 1))
                .filter(|&t| {
                    let t = t as usize;
                    count[t] as usize >= self.options.piece
                        && !layer.divided[t]
                        && !layer.final_pieces[t]
                })
                .collect();
            if large.is_empty() {
                return;
            }
            let mut index = vec![NONE; 1 << DEPTH];
            for (k, &t) in large.iter().enumerate() {
                index[t as usize] = k as u32;
            }
            let mut members: Vec<Vec<u32>> = (large.iter())
                .map(|&t| Vec::with_capacity(count[t as usize] as usize))
                .collect();
            let mut place = vec![0u32; layer.graph.n()];
            for (v, label) in layer.labels.iter().enumerate() {
                let k = index[label.load(Relaxed) as usize];
                if k != NONE {
                    let list = &mut members[k as usize];
                    place[v] = list.len() as u32;
                    list.push(v as u32);
                }
            }
            let found: Vec<bool> = (large.par_iter().zip(&members))
                .map(|(&t, list)| {
                    let mut space = self.take_space();
                    let found = self.divide_piece(layer, t, list, &place, seed, &mut space);
                    self.give_space(space);
                    found
                })
                .collect();
            for (&t, found) in large.iter().zip(found) {
                layer.costs[t as usize] = f64::INFINITY;
                layer.divided[t as usize] = found;
                layer.final_pieces[t as usize] = !found;
            }
        }
    }

    /// Bisects piece `t`; whether that was worth it.
    fn divide_piece(
        &self,
        layer: &Layer,
        t: u32,
        list: &[u32],
        place: &[u32],
        seed: u64,
        space: &mut Space,
    ) -> bool {
        let mut part = space.graphs.pop().unwrap_or_default();
        let inside = |u: u32| {
            let own = layer.labels[u as usize].load(Relaxed) == t;
            own.then(|| place[u as usize])
        };
        layer.graph.extract(&mut part, list, inside);
        let seed = mix(seed ^ u64::from(t));
        let separation = space.bisector.bisect(&part, self.options, seed);
        space.graphs.push(part);
        let worth = self.options.is_worth(&separation.weight);
        if std::env::var("DBG").is_ok() { eprintln!("divide {t} (n {}): {:?}", list.len(), separation.weight); }
        if worth {
            let labels = [2 * t, 2 * t + 1, t];
            for (&v, &side) in list.iter().zip(&separation.side) {
                layer.labels[v as usize].store(labels[side as usize], Relaxed);
            }
            for (label, weight) in labels.into_iter().zip(separation.weight) {
                layer.label_weights[label as usize].store(weight, Relaxed);
            }
        }
        space.bisector.recycle(separation);
        worth
    }
}

/// Refines the separator of node `t`; returns vertices that may have left it.
fn refine_node(
    layer: &Layer,
    slots: &[AtomicU32],
    sums: &[u64],
    t: u32,
    mut separator: Vec<u32>,
    options: &NdOptions,
    space: &mut Space,
) -> (f64, Vec<u32>) {
    separator.retain(|&v| layer.labels[v as usize].load(Relaxed) == t);
    separator.sort_unstable();
    separator.dedup();
    let own = layer.label_weights[t as usize].load(Relaxed);
    let mut weight = [sums[2 * t as usize], sums[2 * t as usize + 1], own];
    let mut board = TreeNode {
        weights: &layer.graph.weights,
        labels: &layer.labels,
        slots,
        label_weights: &layer.label_weights,
        node: t,
    };
    let goal = Goal { pat: options.pat_tree, ..options.goal(weight.iter().sum()) };
    let refiner = &mut space.bisector.refiner;
    refiner.settle(layer.graph, &mut board, &mut separator, &mut weight);
    refiner.refine(
        layer.graph,
        &mut board,
        &mut separator,
        &mut weight,
        goal,
        options.passes,
    );
    (goal.cost(&weight), std::mem::take(&mut refiner.left))
}

/// Weight of the whole subtree of each node.
fn subtree_weights(own: &[AtomicU64]) -> Vec<u64> {
    let mut sums: Vec<u64> = own.iter().map(|w| w.load(Relaxed)).collect();
    for t in (2..sums.len()).rev() {
        sums[t / 2] += sums[t];
    }
    sums
}

/// Coarser and coarser graphs, down to about `options.piece` vertices.
fn hierarchy(graph: &Weighted, options: &NdOptions, seed: u64) -> Vec<Level> {
    let mut coarsener = Coarsener::default();
    let heaviest = (1.5 * graph.total as f64 / options.piece as f64).max(1.0) as u64;
    let mut levels: Vec<Level> = Vec::new();
    loop {
        let last = levels.last().map_or(graph, |l| &l.graph);
        if last.n() < 2 * options.piece {
            break;
        }
        let mut next = Level::default();
        let seed = mix(seed.wrapping_add(levels.len() as u64));
        coarsener.coarsen(last, heaviest, seed, &mut next.graph, &mut next.map);
        if next.graph.n() as f64 > 0.95 * last.n() as f64 {
            break;
        }
        next.graph.adjacency.shrink_to_fit();
        next.graph.edge_weights.shrink_to_fit();
        levels.push(next);
    }
    levels
}
