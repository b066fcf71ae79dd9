//! Pivots with one or two neighbors.
//!
//! What the elimination of one joins is nothing or one pair, which becomes an edge: in either list it takes the pivot's place, and variables
//! that were in no element still are in none. Where many are such from the beginning they are eliminated before all others
//! ([fringe](super::fringe)).

use crate::mindeg::quotient::{IS_ELEMENT, QuotientGraph};

/// Pairs of elements that are compared to see whether two variables share one.
const MOST_PAIRS: usize = if cfg!(test) { 8 } else { 256 };

/// Entries of a list that is long enough to be worth a look at how many of them are gone.
const LONG: u32 = if cfg!(test) { 4 } else { 64 };

/// A list is read for its living entries alone if it has so many times as many.
const MOSTLY_GONE: u32 = if cfg!(test) { 1 } else { 4 };

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

impl QuotientGraph {
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
        match *few {
            Few::One(j) => self.eliminate_leaf(me, j),
            Few::Two([a, b]) => {
                self.drop_gone(a);
                self.drop_gone(b);
                let joined = self.share_element(a, b);
                self.eliminate_between(me, [a, b], joined);
            }
        }
    }

    /// Takes the variables that are gone out of a list of variable `i` that is mostly made of them: pivots whose only neighbor it was
    /// stay there until it is rewritten, and pivots with two would each read them all beside a hub.
    #[inline(always)]
    fn drop_gone(&mut self, i: u32) {
        if self.nodes[i as usize].len > LONG {
            self.drop_gone_of_many(i);
        }
    }

    /// [`drop_gone`](Self::drop_gone) for a list that is long.
    #[inline(never)]
    fn drop_gone_of_many(&mut self, i: u32) {
        let node = self.nodes[i as usize];
        // Its elements, and at most as many variables as it has neighbors.
        let alive = node.elements.saturating_add(node.degree);
        if node.len <= alive.saturating_mul(MOSTLY_GONE) {
            return;
        }
        self.work += u64::from(node.len);
        let (start, len) = (node.start as usize, node.len as usize);
        let first = start + node.elements as usize;
        let mut to = first;
        for from in first..start + len {
            let j = self.store[from];
            self.store[to] = j;
            to += usize::from(self.nodes[j as usize].weight > 0);
        }
        self.nodes[i as usize].len = (to - start) as u32;
    }

    /// Eliminates pivot `me`, whose only neighbor is `above`.
    #[inline(always)]
    pub(super) fn eliminate_leaf(&mut self, me: u32, above: u32) {
        let weight = self.make_element(me, [above]);
        let node = &mut self.nodes[above as usize];
        node.degree = node.degree.saturating_sub(weight);
        node.hash ^= me;
    }

    /// Eliminates pivot `me` with two neighbors, which may share an element.
    #[inline(always)]
    pub(super) fn eliminate_between(&mut self, me: u32, [a, b]: [u32; 2], share_element: bool) {
        let weight = self.make_element(me, [a, b]);
        self.replace_neighbor(a, me, weight, b, share_element);
        self.replace_neighbor(b, me, weight, a, share_element);
    }

    /// Turns pivot `me` into the element of its neighbors; returns its weight.
    #[inline(always)]
    fn make_element<const K: usize>(&mut self, me: u32, neighbors: [u32; K]) -> u32 {
        let weight_of = |&j: &u32| self.nodes[j as usize].weight as u32;
        let degree = neighbors.iter().map(weight_of).sum();
        let node = &mut self.nodes[me as usize];
        let (start, weight) = (node.start as usize, node.weight as u32);
        (node.len, node.elements, node.mark) = (K as u32, IS_ELEMENT, 0);
        (node.weight, node.degree) = (-node.weight, degree);
        self.store[start..start + K].copy_from_slice(&neighbors);
        self.eliminated += weight;
        self.pivots.push(me);
        weight
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
    #[inline(always)]
    fn replace_neighbor(&mut self, i: u32, me: u32, weight: u32, other: u32, joined: bool) {
        let gained = self.nodes[other as usize].weight as u32;
        let left = self.total - self.eliminated;
        let node = &mut self.nodes[i as usize];
        self.work += u64::from(node.len);
        let list = &mut self.store[node.start as usize..][..node.len as usize];
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
