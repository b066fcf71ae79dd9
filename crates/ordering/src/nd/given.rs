//! Dissection by a tree of separators and pieces that somebody else has found.

use rayon::prelude::*;

use crate::error::OrderingError;
use crate::guide::{NO_NODE, PartitionTree};
use crate::mindeg::NONE;
use crate::nd::Dissection;
use crate::nd::graph::Weighted;
use crate::nd::random::mix;

impl Dissection<'_> {
    /// Writes the order of all vertices: each node behind those below it. Pieces, which are the nodes with nothing
    /// below them, are dissected; separators keep their own order.
    pub(super) fn run_by_tree(
        &self,
        tree: &PartitionTree,
        order: &mut Vec<u32>,
    ) -> Result<(), OrderingError> {
        let (order_of_nodes, sizes) = depth_first(&tree.parent);
        self.check(tree, &order_of_nodes, &sizes)?;
        let nodes = tree.parent.len();
        let mut count = vec![0u32; nodes];
        for &t in tree.node_of.iter() {
            count[t as usize] += 1;
        }
        let mut next = vec![0u32; nodes];
        let mut at = 0;
        for &t in &order_of_nodes {
            next[t as usize] = at;
            at += count[t as usize];
        }
        order.clear();
        order.resize(tree.node_of.len(), 0);
        let mut place = vec![0u32; tree.node_of.len()];
        let starts = next.clone();
        for (v, &t) in (0..).zip(tree.node_of.iter()) {
            let own = &mut next[t as usize];
            order[*own as usize] = v;
            place[v as usize] = *own;
            *own += 1;
        }
        let mut divided = vec![false; nodes];
        for &up in tree.parent.iter().filter(|&&up| up != NO_NODE) {
            divided[up as usize] = true;
        }
        let mut rest = &mut order[..];
        let mut pieces = Vec::new();
        for &t in &order_of_nodes {
            let (own, after) = std::mem::take(&mut rest).split_at_mut(count[t as usize] as usize);
            rest = after;
            if !divided[t as usize] && !own.is_empty() {
                pieces.push((t, own));
            }
        }
        pieces.into_par_iter().try_for_each(|(t, list)| {
            let start = starts[t as usize];
            let inside = |u: u32| match tree.node_of[u as usize] == t {
                true => place[u as usize] - start,
                false => NONE,
            };
            self.dissect_piece(list, inside, mix(self.options.seed ^ u64::from(t)))
        })
    }

    fn dissect_piece(
        &self,
        list: &mut [u32],
        inside: impl Fn(u32) -> u32 + Sync,
        seed: u64,
    ) -> Result<(), OrderingError> {
        let mut graph = Weighted::default();
        self.graph.extract(&mut graph, list, inside);
        match self.components(&graph) {
            None => self.dissect_half(graph, None, list, seed),
            Some(components) => self.run_apart(&graph, components, list, |graph, list| {
                self.dissect_half(graph, None, list, seed)
            }),
        }
    }

    /// Whether no edge joins two nodes of which neither is above the other.
    fn check(
        &self,
        tree: &PartitionTree,
        order: &[u32],
        sizes: &[u32],
    ) -> Result<(), OrderingError> {
        let mut number = vec![0u32; order.len()];
        for (k, &t) in (0..).zip(order) {
            number[t as usize] = k;
        }
        // Nodes below t have numbers from the start of its subtree up to its own.
        let below = |s: u32, t: u32| {
            let (own, last) = (number[s as usize], number[t as usize]);
            own <= last && own + sizes[t as usize] > last
        };
        let crossing = |v: u32| {
            let own = tree.node_of[v as usize];
            let mut others = self.graph.neighbors(v).iter();
            let apart = others.find(|&&u| {
                let other = tree.node_of[u as usize];
                u > v && !below(own, other) && !below(other, own)
            });
            apart.map(|&u| (u, v))
        };
        let first = (0..self.graph.n() as u32)
            .into_par_iter()
            .find_map_first(crossing);
        match first {
            Some((row, column)) => Err(OrderingError::NotSeparated { row, column }),
            None => Ok(()),
        }
    }
}

/// The nodes such that each comes right behind all those below it, and how many stand in the subtree of each,
/// itself included. Children have lower numbers than their parents.
fn depth_first(parent: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut size = vec![1u32; parent.len()];
    for (t, &up) in parent.iter().enumerate() {
        if up != NO_NODE {
            size[up as usize] += size[t];
        }
    }
    // From the last to the first: a parent's place is known before its children's.
    let mut end = vec![0u32; parent.len()];
    let mut free = vec![0u32; parent.len()];
    let mut all = parent.len() as u32;
    let mut order = vec![0u32; parent.len()];
    for t in (0..parent.len()).rev() {
        let room = match parent[t] {
            NO_NODE => &mut all,
            up => &mut free[up as usize],
        };
        end[t] = *room;
        *room -= size[t];
        order[end[t] as usize - 1] = t as u32;
        free[t] = end[t] - 1;
    }
    (order, size)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tamarack_sparse::Pattern;
    use tamarack_sparse::models::Model;

    use super::*;
    use crate::{Method, Workspace, order};

    /// A square grid of odd width, cut in the middle twice: node of each unknown.
    fn quarters(n: usize) -> Vec<u32> {
        let half = n / 2;
        let node = |v: usize| {
            let (x, y) = (v % n, v / n);
            let side = 2 + u32::from(x > half);
            match (x == half, y == half) {
                (true, _) => 1,
                (_, true) => side,
                _ => 2 * side + u32::from(y > half),
            }
        };
        (0..n * n).map(node).collect()
    }

    fn grid(n: usize) -> Arc<Pattern> {
        let model = format!("p2d5_{n}").parse::<Model>().unwrap();
        model.generate::<f64>().unwrap().pattern().clone()
    }

    #[test]
    fn nodes_come_behind_those_below() {
        let (n, p) = (61, grid(61));
        let nodes = quarters(n);
        let tree = PartitionTree::binary(&nodes).unwrap();
        let found = order(&p, &Method::PartitionTree(tree), &mut Workspace::new()).unwrap();
        let sequence = found.user_of_elim().iter().map(|&v| nodes[v as usize]);
        let mut runs: Vec<u32> = sequence.collect();
        runs.dedup();
        assert_eq!(runs.len(), 7, "each node in one piece");
        let at = |t: u32| runs.iter().position(|&u| u == t).unwrap();
        for t in 2..8 {
            assert!(at(t) < at(t / 2));
        }
    }

    #[test]
    fn a_forest_and_nodes_without_unknowns() {
        let p = grid(20);
        let half: Vec<u32> = (0..400).map(|v| u32::from(v >= 200)).collect();
        // Node 0 below 1, which is below 2, where nothing is; 3 stands alone.
        let parent = [Some(1), Some(2), None, None];
        let tree = PartitionTree::new(&parent, &half).unwrap();
        let found = order(&p, &Method::PartitionTree(tree), &mut Workspace::new()).unwrap();
        assert!(found.user_of_elim()[..200].iter().all(|&v| v < 200));
    }

    #[test]
    fn an_entry_across_the_tree_is_named() {
        let mut nodes = quarters(9);
        nodes[4] = 4; // a hole in the separator, at the border
        let tree = PartitionTree::binary(&nodes).unwrap();
        let error = order(
            &grid(9),
            &Method::PartitionTree(tree),
            &mut Workspace::new(),
        );
        let (row, column) = (5, 4);
        let want = crate::OrderingError::NotSeparated { row, column };
        assert_eq!(error.unwrap_err(), want);
    }

    #[test]
    fn a_tree_of_too_few_unknowns_is_an_error() {
        let tree = PartitionTree::binary(&[1; 80]).unwrap();
        let error = order(
            &grid(9),
            &Method::PartitionTree(tree),
            &mut Workspace::new(),
        );
        assert!(error.unwrap_err().to_string().contains("81"));
    }
}
