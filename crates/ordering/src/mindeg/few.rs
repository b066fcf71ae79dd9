//! Pivots with one or two neighbors.
//!
//! Trees, chains and the fringes of networks consist of them: five of six pivots of `1138_bus`, two of three of `circuit_500000` (Ost,
//! Schulz, Strash 2021 reduce graphs by them before a dissection). What the elimination joins is nothing or one pair, which becomes
//! an edge: in either list it takes the pivot's place, and variables that were in no element still are in none. Those that are such from
//! the beginning, or become it when others of them go, need no degree lists.

use crate::mindeg::amd::Amd;
use crate::mindeg::observer::Observer;
use crate::mindeg::quotient::{IS_ELEMENT, QuotientGraph};

/// Pairs of elements that are compared to see whether two variables share one.
const MOST_PAIRS: usize = if cfg!(test) { 8 } else { 256 };

/// The neighbors of a variable that has few and is in no element.
pub(crate) enum Few {
    One(u32),
    Two([u32; 2]),
}

impl Few {
    /// All of them.
    #[inline]
    pub(crate) fn all(&self) -> &[u32] {
        match self {
            Self::One(j) => std::slice::from_ref(j),
            Self::Two(both) => both,
        }
    }
}

/// One vertex in so many has few neighbors where it is worth eliminating them beforehand.
const LEAST_SHARE: usize = 8;

/// Entries of the longest list that is read for that: vertices beside a hub are left for later, when it has been set aside.
const LONGEST: u32 = if cfg!(test) { 8 } else { 64 };

impl Amd<'_> {
    /// Whether trees and chains are a part of the graph that is worth [`eliminate_fringe`](Self::eliminate_fringe). Not where there are a
    /// few such vertices only: the corners of grids, for example, where a good order begins at what the first pivots touch.
    pub(crate) fn has_fringe(&self) -> bool {
        let few = self.q.nodes.iter().filter(|node| node.degree <= 2).count();
        few >= self.q.n() / LEAST_SHARE
    }

    /// Eliminates the trees that hang on the graph, leaf by leaf, and then its chains, before any degrees are sorted: of a graph as
    /// [`load`](QuotientGraph::load) left it, whose degrees are exact and weights 1, and without a halo.
    pub(crate) fn eliminate_fringe(&mut self, observer: &mut impl Observer) {
        let mut waiting = Vec::new();
        for most in [1, 2] {
            for first in 0..self.q.n() as u32 {
                let mut next = Some(first);
                while let Some(me) = next {
                    if let Some(few) = self.q.last_neighbors(me, most) {
                        self.q.eliminate_with_few(me, &few);
                        observer.formed(self.q, self.lists, me);
                        waiting.extend_from_slice(few.all());
                    }
                    next = waiting.pop();
                }
            }
        }
    }
}

impl QuotientGraph {
    /// The neighbors of variable `me`, if it is there and has so many at most, and not none, nor two in long lists; no element has been
    /// formed yet, and `hash` says who the last neighbor is.
    #[inline(always)]
    fn last_neighbors(&self, me: u32, most: u32) -> Option<Few> {
        let node = &self.nodes[me as usize];
        if node.elements != 0 || node.degree > most {
            return None;
        }
        match node.degree {
            0 => None,
            1 => Some(Few::One(node.hash)),
            _ => {
                let is_short = |&j: &u32| self.nodes[j as usize].len <= LONGEST;
                let alive = |&j: &u32| self.nodes[j as usize].weight > 0;
                let list = is_short(&me).then(|| self.list(me))?;
                let first = list.iter().copied().find(alive)?;
                let both = [first, node.hash ^ first];
                both.iter().all(is_short).then_some(Few::Two(both))
            }
        }
    }

    /// The neighbors of variable `me`, if they are one or two and it is in no element.
    #[inline]
    pub(crate) fn few_neighbors(&self, me: u32) -> Option<Few> {
        if self.nodes[me as usize].elements != 0 {
            return None;
        }
        let alive = |&j: &u32| self.nodes[j as usize].weight > 0;
        let mut neighbors = self.list(me).iter().copied().filter(alive);
        let first = neighbors.next()?;
        let Some(second) = neighbors.next() else {
            return Some(Few::One(first));
        };
        let no_third = neighbors.next().is_none();
        no_third.then_some(Few::Two([first, second]))
    }

    /// Eliminates pivot `me`. The element of one with a single neighbor joins nothing: its negative weight takes it out of the
    /// neighbor's list as soon as that is rewritten. Two neighbors are joined by an edge, unless they are joined already.
    #[inline]
    pub(crate) fn eliminate_with_few(&mut self, me: u32, few: &Few) {
        let neighbors = few.all();
        let weight_of = |&j: &u32| self.nodes[j as usize].weight as u32;
        let degree = neighbors.iter().map(weight_of).sum();
        let node = &mut self.nodes[me as usize];
        let (start, weight) = (node.start as usize, node.weight as u32);
        (node.len, node.elements, node.mark) = (neighbors.len() as u32, IS_ELEMENT, 0);
        (node.weight, node.degree) = (-node.weight, degree);
        let list = self.store[start..].iter_mut();
        list.zip(neighbors).for_each(|(to, &j)| *to = j);
        self.eliminated += weight;
        self.pivots.push(me);
        match *few {
            Few::One(j) => {
                let node = &mut self.nodes[j as usize];
                node.degree = node.degree.saturating_sub(weight);
                node.hash ^= me;
            }
            Few::Two([a, b]) => {
                let joined = self.share_element(a, b);
                self.replace_neighbor(a, me, weight, b, joined);
                self.replace_neighbor(b, me, weight, a, joined);
            }
        }
    }

    /// Whether some element has both variables. Where each is in many it is not looked for, and bounds of their degrees are
    /// larger for it.
    #[inline]
    fn share_element(&self, a: u32, b: u32) -> bool {
        let [of_a, of_b] =
            [a, b].map(|i| &self.list(i)[..self.nodes[i as usize].elements as usize]);
        let few = of_a.len().min(of_b.len()) <= 2 || of_a.len() * of_b.len() <= MOST_PAIRS;
        few && of_a.iter().any(|e| of_b.contains(e))
    }

    /// In the list of `i`, puts `other` in the place of `me`, which weighed so much and is gone; where `other` is a neighbor already, `me`
    /// leaves.
    #[inline]
    fn replace_neighbor(&mut self, i: u32, me: u32, weight: u32, other: u32, joined: bool) {
        let gained = self.nodes[other as usize].weight as u32;
        let left = self.total - self.eliminated;
        let node = &mut self.nodes[i as usize];
        self.work += u64::from(node.len);
        let start = node.start as usize;
        let list = &mut self.store[start..start + node.len as usize];
        let variables = &mut list[node.elements as usize..];
        let (mut place, mut joined) = (None, joined);
        for (k, &j) in variables.iter().enumerate() {
            if j == me {
                place = Some(k);
            }
            joined |= j == other;
        }
        let Some(place) = place else {
            return; // never: edges stand at both ends
        };
        node.degree = node.degree.saturating_sub(weight);
        node.hash ^= me;
        if joined {
            variables[place] = variables[variables.len() - 1];
            node.len -= 1;
        } else {
            variables[place] = other;
            node.hash ^= other;
            let bound = node.degree.saturating_add(gained);
            node.degree = bound.min(left - node.weight as u32);
        }
    }
}
