//! A tree of separators while it grows, from the coarsest level up; see `tree`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::Separation;
use crate::nd::board::{LabelWeight, SEPARATOR};
use crate::nd::buckets::Counted;
use crate::nd::graph::Weighted;

/// The tree on the way up.
pub(crate) struct Growing {
    /// Node of each vertex of the current level.
    pub(crate) labels: Vec<AtomicU32>,
    /// Weight of the vertices of each node.
    pub(crate) label_weights: Vec<LabelWeight>,
    /// Numbers that the refinement keeps for vertices of the current level.
    pub(crate) slots: Vec<AtomicU32>,
    /// Vertices of the finest level.
    pub(crate) finest: usize,
    /// Of the random choices to come.
    pub(crate) seed: u64,
    pub(crate) divided: Vec<bool>,
    /// Pieces in which no good separator was found.
    pub(crate) closed: Vec<bool>,
    /// Only nodes below this number are divided; the last row of the tree has no children.
    pub(crate) limit: usize,
}

impl Growing {
    /// One piece, to be divided once: the coarsest graph; `n` is the number of vertices of the finest.
    pub(crate) fn new(coarsest: &Weighted, n: usize, seed: u64) -> Self {
        let mut tree = Self {
            labels: Vec::new(),
            label_weights: Vec::new(),
            slots: Vec::new(),
            finest: n,
            seed,
            divided: vec![false; 4],
            closed: vec![false; 4],
            limit: 2,
        };
        tree.labels.resize_with(coarsest.n(), || AtomicU32::new(1));
        tree.label_weights.resize_with(4, LabelWeight::default);
        tree.label_weights[1].set(coarsest.total);
        tree
    }

    /// A copy, on the coarsest level, with room for nodes of numbers below `nodes`.
    pub(crate) fn with_nodes(&self, nodes: usize) -> Self {
        let label = |label: &AtomicU32| AtomicU32::new(label.load(Relaxed));
        let weight = |t| LabelWeight::new(self.label_weights.get(t).map_or(0, LabelWeight::get));
        let filled = |of: &[bool]| (0..nodes).map(|t| of.get(t) == Some(&true)).collect();
        Self {
            labels: self.labels.iter().map(label).collect(),
            label_weights: (0..nodes).map(weight).collect(),
            slots: Vec::new(),
            divided: filled(&self.divided),
            closed: filled(&self.closed),
            limit: nodes / 2,
            ..*self
        }
    }

    /// Weights of the two sides and of the separator of a tree of one.
    pub(crate) fn weights(&self) -> [u64; 3] {
        [2, 3, 1].map(|t: usize| self.label_weights[t].get())
    }

    /// The tree of one separator as a separation.
    pub(crate) fn into_separation(self) -> Separation {
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
            weight: self.weights(),
            side,
        }
    }

    /// Nodes beyond which no vertex has a label.
    pub(crate) fn nodes(&self) -> usize {
        let last = self.divided.iter().rposition(|&divided| divided);
        2 * last.unwrap_or(0) + 2
    }

    /// Weight of the subtree of node `t`.
    pub(crate) fn weight_below(&self, t: u32) -> u64 {
        let own = self.label_weights[t as usize].get();
        if !self.divided[t as usize] {
            return own;
        }
        own + self.weight_below(2 * t) + self.weight_below(2 * t + 1)
    }

    /// The vertices of the separator of each node.
    pub(crate) fn separators(&self) -> Vec<Mutex<Vec<u32>>> {
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
