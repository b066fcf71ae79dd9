//! Pieces of a growing tree, bisected until they are small.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::buckets::Counted;
use crate::nd::graph::Weighted;
use crate::nd::growing::Growing;
use crate::nd::options::THOROUGH;
use crate::nd::random::mix;
use crate::nd::split::split;
use crate::nd::{Dissection, Space, TASK};

impl Dissection<'_> {
    /// Bisects pieces until all have less than `piece` vertices on this level.
    pub(crate) fn divide(&self, graph: &Weighted, tree: &mut Growing) {
        let (mut pieces, bounds) = tree.large_pieces(self.piece);
        let mut place = Vec::new();
        if !bounds.is_empty() {
            place = tree.places(&pieces);
        }
        let mut rest = &mut pieces[..];
        let mut lists = Vec::with_capacity(bounds.len());
        for &(t, len) in &bounds {
            let (list, after) = std::mem::take(&mut rest).split_at_mut(len as usize);
            lists.push((t, list));
            rest = after;
        }
        let shared = &*tree;
        let found: Vec<Vec<(u32, bool)>> = lists
            .into_par_iter()
            .with_max_len(1)
            .map(|(t, list)| {
                let mut space = self.take_space();
                let mut part = space.graphs.pop().unwrap_or_default();
                let start = place[list[0] as usize];
                graph.extract(&mut part, list, |u| {
                    match shared.labels[u as usize].load(Relaxed) == t {
                        true => place[u as usize] - start,
                        false => NONE,
                    }
                });
                let found = self.divide_piece(part, shared, t, list, &mut space);
                self.give_space(space);
                found
            })
            .collect();
        for (t, found) in found.into_iter().flatten() {
            tree.divided[t as usize] = found;
            tree.closed[t as usize] = !found;
        }
    }

    /// Bisects piece `t`, whose graph is `part` and whose vertices are `list`, as far as is worth it;
    /// returns which nodes were divided and which could not be.
    fn divide_piece(
        &self,
        part: Weighted,
        tree: &Growing,
        t: u32,
        list: &mut [u32],
        space: &mut Space,
    ) -> Vec<(u32, bool)> {
        if part.n() < self.piece || t as usize >= tree.limit {
            tree.put(list, t, part.total);
            space.graphs.push(part);
            return Vec::new();
        }
        let own_seed = mix(tree.seed ^ u64::from(t));
        let separation = space
            .bisector
            .bisect(&part, self.options, THOROUGH, own_seed);
        if !self.options.is_worth(part.n(), &separation.weight) {
            tree.put(list, t, part.total);
            space.graphs.push(part);
            space.bisector.recycle(separation);
            return vec![(t, false)];
        }
        let n = part.n();
        let ([left, right], count) = split(&part, &separation, list, space);
        space.graphs.push(part);
        let both = count + right.n();
        tree.put(&list[both..], t, separation.weight[2]);
        space.bisector.recycle(separation);
        let (left_list, right_list) = list[..both].split_at_mut(count);
        let mut found = vec![(t, true)];
        if n < TASK {
            found.extend(self.divide_piece(left, tree, 2 * t, left_list, space));
            found.extend(self.divide_piece(right, tree, 2 * t + 1, right_list, space));
            return found;
        }
        let (a, b) = rayon::join(
            || self.divide_piece(left, tree, 2 * t, left_list, space),
            || {
                let mut other = self.take_space();
                let found = self.divide_piece(right, tree, 2 * t + 1, right_list, &mut other);
                self.give_space(other);
                found
            },
        );
        found.extend(a);
        found.extend(b);
        found
    }
}

impl Growing {
    /// Makes `list`, of weight `weight`, all that belongs to node `t` itself.
    fn put(&self, list: &[u32], t: u32, weight: u64) {
        for &v in list {
            self.labels[v as usize].store(t, Relaxed);
        }
        self.label_weights[t as usize].set(weight);
    }

    /// The vertices of the undivided nodes of at least `least` vertices, one node after the other, and
    /// these nodes with the lengths of their lists.
    fn large_pieces(&self, least: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
        let labels = &self.labels;
        let label = |v: usize| labels[v].load(Relaxed);
        let counted = Counted::new(labels.len(), self.nodes(), label);
        let totals = counted.totals();
        let mut starts = vec![NONE; totals.len()];
        let mut bounds = Vec::new();
        let mut end = 0;
        for t in 1..totals.len().min(self.limit) {
            if totals[t] as usize >= least && !self.divided[t] && !self.closed[t] {
                starts[t] = end;
                end += totals[t];
                bounds.push((t as u32, totals[t]));
            }
        }
        (counted.sorted(starts, end as usize), bounds)
    }

    /// Where in `list` each of its vertices stands; nothing of use for the others.
    fn places(&self, list: &[u32]) -> Vec<u32> {
        crate::nd::large::places(list, self.labels.len())
    }
}
