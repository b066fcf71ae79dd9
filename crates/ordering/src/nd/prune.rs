//! Separators that are not worth it after all, once the tree has come up to the graph itself.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::nd::graph::Weighted;
use crate::nd::growing::Growing;
use crate::nd::options::is_small;

impl Growing {
    /// Makes a piece of every node whose separator is too large for the vertices of `graph` below it, and of all below that node.
    ///
    /// On a coarse graph every separator is large for what it cuts, as every vertex is; that of a network without good ones stays so.
    pub(crate) fn prune(&mut self, graph: &Weighted) {
        let mut stands_for: Vec<u32> = (0..self.divided.len() as u32).collect();
        let mut is_pruned = false;
        for t in 1..self.nodes() {
            let above = stands_for[t / 2];
            if t > 1 && (above as usize != t / 2 || !self.divided[t / 2]) {
                stands_for[t] = above;
                self.divided[t] = false;
            } else if self.divided[t] {
                let [a, b] = [2 * t, 2 * t + 1].map(|child| self.weight_below(child as u32));
                let weight = [a, b, self.label_weights[t].get()];
                let vertices =
                    weight.iter().sum::<u64>() as f64 / graph.total as f64 * graph.n() as f64;
                if !is_small(vertices as usize, &weight) {
                    self.divided[t] = false;
                    is_pruned = true;
                }
            }
        }
        if is_pruned {
            let labels = self.labels.par_iter_mut().with_min_len(1 << 14);
            labels.for_each(|label| *label = stands_for[label.load(Relaxed) as usize].into());
        }
    }
}
