//! Trees and chains, eliminated before a dissection.
//!
//! Two of three unknowns of `circuit_500000` have one or two neighbors, or come to it when others go. They are no part of a good separator,
//! and what cuts them off would be eliminated last; without them a dissection has a third of the graph (Ost, Schulz and Strash 2021). One
//! neighbor: nothing is filled in. Two: an edge between them takes the place of two. Time linear in the edges.

use tamarack_sparse::memory::with_room;

use crate::mindeg::NONE;
use crate::nd::graph::Weighted;

/// One vertex in so many has few neighbors where it is worth it: not for the corners of grids.
const LEAST_SHARE: usize = 8;

/// One vertex in so many is left: trees, and what is hardly more, are dissected, so that their parts are independent of each other.
const LEAST_LEFT: usize = 64;

/// Neighbors, those that are gone included, of who gets another one for it.
const LONGEST: usize = 64;

/// A graph without its trees and chains.
pub(crate) struct Fringe {
    /// Those that go first, in the order of elimination.
    pub(crate) eliminated: Vec<u32>,
    /// The other vertices, and what is left of the graph, with edges for what was filled in.
    pub(crate) left: Vec<u32>,
    pub(crate) graph: Weighted,
}

impl Fringe {
    /// Eliminates trees and chains of `graph`, if they are a large part of it and not nearly all.
    pub(crate) fn of(graph: &Weighted) -> Option<Self> {
        let n = graph.n();
        let degrees = || (0..n as u32).map(|v| graph.neighbors(v).len());
        // Unknowns without neighbors say nothing of the others.
        let joined = degrees().filter(|&degree| degree > 0).count();
        let few = degrees().filter(|degree| (1..=2).contains(degree));
        if few.count() <= joined / LEAST_SHARE {
            return None;
        }
        let mut going = Going::new(graph);
        going.eliminate_trees();
        going.eliminate_chains();
        let left = n - going.eliminated.len();
        (left > joined / LEAST_LEFT).then(|| going.finish())
    }

    /// The order of all vertices, given that of what is left.
    pub(crate) fn order(mut self, left: &[u32]) -> Vec<u32> {
        let dissected = left.iter().map(|&v| self.left[v as usize]);
        self.eliminated.extend(dissected);
        self.eliminated
    }
}

/// A graph of which vertices go one by one.
struct Going {
    /// As it was, but for neighbors that took the place of who went between.
    graph: Weighted,
    vertices: Vec<Vertex>,
    eliminated: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Vertex {
    /// Neighbors that are there; [`NONE`] if it is gone itself.
    count: u32,
    /// Their numbers, every bit of them added without carrying: that of the only one.
    sum: u32,
}

impl Going {
    fn new(graph: &Weighted) -> Self {
        let vertex = |v: u32| {
            let list = graph.neighbors(v);
            Vertex {
                count: list.len() as u32,
                sum: list.iter().fold(0, |sum, u| sum ^ u),
            }
        };
        Self {
            graph: graph.clone(),
            vertices: (0..graph.n() as u32).map(vertex).collect(),
            eliminated: Vec::new(),
        }
    }

    /// Leaf by leaf.
    fn eliminate_trees(&mut self) {
        for first in 0..self.vertices.len() as u32 {
            let mut next = first;
            while let Vertex { count: 1, sum } = self.vertices[next as usize] {
                self.eliminate(next);
                self.lose(sum, next);
                next = sum;
            }
        }
    }

    fn eliminate_chains(&mut self) {
        let mut waiting = Vec::new();
        for first in 0..self.vertices.len() as u32 {
            let mut next = Some(first);
            while let Some(me) = next {
                match self.vertices[me as usize] {
                    Vertex { count: 0, .. } => self.eliminate(me),
                    Vertex { count: 1, sum } => {
                        self.eliminate(me);
                        self.lose(sum, me);
                        waiting.push(sum);
                    }
                    Vertex { count: 2, .. } => {
                        if let Some(both) = self.link(me) {
                            self.eliminate(me);
                            waiting.extend(both);
                        }
                    }
                    _ => {}
                }
                next = waiting.pop();
            }
        }
    }

    fn eliminate(&mut self, v: u32) {
        self.vertices[v as usize].count = NONE;
        self.eliminated.push(v);
    }

    /// Takes a neighbor from `v`, whose list keeps it.
    fn lose(&mut self, v: u32, neighbor: u32) {
        let vertex = &mut self.vertices[v as usize];
        vertex.count -= 1;
        vertex.sum ^= neighbor;
    }

    /// Makes the two neighbors of `me` neighbors of each other instead, and returns them; not where that would be dear: where one of them
    /// stands for more unknowns, or has a long list.
    fn link(&mut self, me: u32) -> Option<[u32; 2]> {
        let weight = |v: u32| self.graph.weights[v as usize];
        let is_short = |v: u32| self.graph.neighbors(v).len() <= LONGEST;
        if !is_short(me) {
            return None;
        }
        let mut list = self.graph.neighbors(me).iter().copied();
        let a = list.find(|&u| self.is_there(u))?;
        let b = self.vertices[me as usize].sum ^ a;
        let is_cheap = |v: u32| weight(v) <= weight(me) && is_short(v);
        if !is_cheap(a) || !is_cheap(b) {
            return None;
        }
        if self.graph.neighbors(a).contains(&b) {
            self.lose(a, me);
            self.lose(b, me);
        } else {
            self.replace(a, me, b);
            self.replace(b, me, a);
        }
        Some([a, b])
    }

    /// Gives `v` a neighbor for one that goes.
    fn replace(&mut self, v: u32, neighbor: u32, other: u32) {
        let list = self.graph.neighbors_mut(v).iter_mut();
        for u in list.filter(|u| **u == neighbor) {
            *u = other;
        }
        self.vertices[v as usize].sum ^= neighbor ^ other;
    }

    fn is_there(&self, v: u32) -> bool {
        self.vertices[v as usize].count != NONE
    }

    fn finish(self) -> Fringe {
        let mut place = with_room(self.vertices.len());
        let mut left = with_room(self.vertices.len() - self.eliminated.len());
        for v in 0..self.vertices.len() as u32 {
            let is_there = self.is_there(v);
            place.push(if is_there { left.len() as u32 } else { NONE });
            if is_there {
                left.push(v);
            }
        }
        let mut graph = Weighted::default();
        (self.graph).extract(&mut graph, &left, |u| place[u as usize]);
        Fringe {
            eliminated: self.eliminated,
            left,
            graph,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::graph::Graph;
    use tamarack_testkit::{Rng, pattern_of_edges};

    fn weighted(n: usize, edges: &[(u32, u32)], weight: impl Fn(usize) -> u32) -> Weighted {
        let graph = Graph::from_pattern(&pattern_of_edges(n, edges)).unwrap();
        Weighted::new(graph, (0..n).map(weight).collect())
    }

    /// Eliminates the fringe on sets of neighbors; returns what is left.
    fn check(graph: &Weighted, fringe: &Fringe) {
        let neighbors = |v: u32| graph.neighbors(v).iter().copied().collect();
        let mut sets: Vec<BTreeSet<u32>> = (0..graph.n() as u32).map(neighbors).collect();
        for &v in &fringe.eliminated {
            let around = std::mem::take(&mut sets[v as usize]);
            assert!(around.len() <= 2, "{v} has {around:?}");
            for &u in &around {
                let set = &mut sets[u as usize];
                set.remove(&v);
                set.extend(around.iter().filter(|&&w| w != u));
            }
        }
        let all: BTreeSet<u32> = (fringe.eliminated.iter().chain(&fringe.left))
            .copied()
            .collect();
        assert_eq!(all.len(), graph.n());
        assert_eq!(fringe.eliminated.len() + fringe.left.len(), graph.n());
        assert_eq!(fringe.left.len(), fringe.graph.n());
        for (&v, k) in fringe.left.iter().zip(0..) {
            let list = fringe.graph.neighbors(k).iter();
            let list: Vec<u32> = list.map(|&u| fringe.left[u as usize]).collect();
            let set: BTreeSet<u32> = list.iter().copied().collect();
            assert_eq!((list.len(), &set), (set.len(), &sets[v as usize]));
            assert_eq!(fringe.graph.weights[k as usize], graph.weights[v as usize]);
        }
        let weights = fringe.graph.weights.iter().map(|&w| u64::from(w));
        assert_eq!(fringe.graph.total, weights.sum());
    }

    #[test]
    fn what_is_left_is_what_elimination_leaves() {
        let mut found = 0;
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let n = 20 + rng.below(60);
            let count = n + rng.below(n);
            let edges: Vec<(u32, u32)> = (0..count)
                .map(|_| (rng.below(n) as u32, rng.below(n) as u32))
                .filter(|(a, b)| a != b)
                .collect();
            let heavy = seed % 3 == 0;
            let graph = weighted(n, &edges, |v| if heavy { 1 + v as u32 % 3 } else { 1 });
            if let Some(fringe) = Fringe::of(&graph) {
                check(&graph, &fringe);
                let few =
                    (0..fringe.graph.n() as u32).filter(|&v| fringe.graph.neighbors(v).len() <= 2);
                assert!(heavy || few.count() == 0);
                found += 1;
            }
        }
        assert!(found > 50, "{found}");
    }

    #[test]
    fn chains_beside_a_hub_stay() {
        // A wheel whose hub has many spokes, each with a vertex on it.
        let spokes = 2 * LONGEST as u32;
        let rim = |i: u32| 1 + i % spokes;
        let mut edges = Vec::new();
        for i in 0..spokes {
            let middle = 1 + spokes + i;
            edges.extend([(0, middle), (middle, rim(i)), (rim(i), rim(i + 1))]);
        }
        let graph = weighted(1 + 2 * spokes as usize, &edges, |_| 1);
        let fringe = Fringe::of(&graph).unwrap();
        check(&graph, &fringe);
        assert_eq!(fringe.left.len(), graph.n());
    }

    #[test]
    fn trees_and_grids_stay() {
        let path: Vec<(u32, u32)> = (1..50).map(|v| (v, v - 1)).collect();
        assert!(Fringe::of(&weighted(50, &path, |_| 1)).is_none());
        let at = |i: u32, j: u32| 10 * i + j;
        let mut grid = Vec::new();
        for (i, j) in (0..10).flat_map(|i| (1..10).map(move |j| (i, j))) {
            grid.extend([(at(i, j), at(i, j - 1)), (at(j, i), at(j - 1, i))]);
        }
        assert!(Fringe::of(&weighted(100, &grid, |_| 1)).is_none());
    }
}
