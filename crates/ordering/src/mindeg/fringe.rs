//! Trees and chains, eliminated before all else.
//!
//! Five of six pivots of `1138_bus` are of this kind, two of three of `circuit_500000` (Ost, Schulz, Strash 2021 reduce graphs by them before a
//! dissection): variables that have one or two neighbors from the beginning, or come to it when others go. They need no degree
//! lists, and no lists of elements: all edges are entries of A or take the place of one.

use crate::mindeg::amd::Amd;
use crate::mindeg::few::Few;
use crate::mindeg::observer::Observer;
use crate::mindeg::quotient::QuotientGraph;

/// One vertex in so many has few neighbors where it is worth eliminating them beforehand.
const LEAST_SHARE: usize = 8;

/// Entries of the longest list that is read for that: vertices beside a hub are left for later, when it has been set aside.
const LONGEST: u32 = if cfg!(test) { 8 } else { 64 };

/// Whether so many of a graph's `n` vertices have few neighbors that it is worth eliminating them beforehand.
pub(crate) fn is_fringed(n: usize, degrees: impl Iterator<Item = usize>) -> bool {
    degrees.filter(|&degree| degree <= 2).count() >= n / LEAST_SHARE
}

impl Amd<'_> {
    /// Whether trees and chains are a part of the graph that is worth [`eliminate_fringe`](Self::eliminate_fringe). Not where there are a
    /// few such vertices only: the corners of grids, for example, where a good order begins at what the first pivots touch.
    pub(crate) fn has_fringe(&self) -> bool {
        let degrees = self.q.nodes.iter().map(|node| node.degree as usize);
        is_fringed(self.q.n(), degrees)
    }

    /// Eliminates the trees that hang on the graph, leaf by leaf, and then its chains, before any degrees are sorted: of a graph as
    /// [`load`](QuotientGraph::load) left it, whose degrees are exact and weights 1, and without a halo.
    pub(crate) fn eliminate_fringe(&mut self, observer: &mut impl Observer) {
        let n = self.q.n() as u32;
        for first in 0..n {
            let mut me = first;
            while let Some(above) = self.q.last_neighbor(me) {
                self.q.eliminate_leaf(me, above);
                observer.formed(self.q, self.lists, me);
                me = above;
            }
        }
        let mut waiting = Vec::new();
        for first in 0..n {
            let mut next = Some(first).filter(|&me| self.q.has_few(me));
            while let Some(me) = next {
                if let Some(few) = self.q.last_neighbors(me) {
                    match few {
                        Few::One(above) => self.q.eliminate_leaf(me, above),
                        Few::Two(both) => self.q.eliminate_between(me, both, false),
                    }
                    observer.formed(self.q, self.lists, me);
                    for &neighbor in few.all() {
                        if self.q.has_few(neighbor) {
                            waiting.push(neighbor);
                        }
                    }
                }
                next = waiting.pop();
            }
        }
    }
}

/// What is asked while no element but those of the fringe has been formed: no variable is in one, and `hash` says who the last neighbor is.
impl QuotientGraph {
    /// The only neighbor of variable `me`, if it is there and has one.
    #[inline(always)]
    fn last_neighbor(&self, me: u32) -> Option<u32> {
        let node = &self.nodes[me as usize];
        (node.degree == 1 && node.elements == 0).then_some(node.hash)
    }

    /// Whether variable `me` is there and has at most two neighbors.
    #[inline(always)]
    fn has_few(&self, me: u32) -> bool {
        let node = &self.nodes[me as usize];
        (node.degree <= 2) & (node.elements == 0)
    }

    /// The neighbors of variable `me`, if it is there and has one, or two none of whose lists, nor its own, is long.
    #[inline(always)]
    fn last_neighbors(&self, me: u32) -> Option<Few> {
        let nodes = &self.nodes[..];
        let node = &nodes[me as usize];
        if node.degree == 1 && node.elements == 0 {
            return Some(Few::One(node.hash));
        }
        if node.degree != 2 || node.elements != 0 {
            return None;
        }
        let is_short = |&j: &u32| nodes[j as usize].len <= LONGEST;
        let alive = |&j: &u32| nodes[j as usize].weight > 0;
        let list = is_short(&me).then(|| self.list(me))?;
        let first = list.iter().copied().find(alive)?;
        let both = [first, node.hash ^ first];
        both.iter().all(is_short).then_some(Few::Two(both))
    }
}
