//! The quotient graph of an elimination, in place.
//!
//! Eliminating pivots `1..k` of a symmetric matrix leaves a graph on the remaining variables whose
//! cliques are the *elements*: one element per pivot, its list the variables it made adjacent. A
//! variable's list holds the elements it belongs to and the variables it is still joined to by an
//! entry of A that no element covers (George and Liu 1981; Amestoy, Davis, Duff 1996).
//!
//! Invariants between steps: every list lies inside `store[..free]`, no two overlap; a live
//! variable `i` has `weight > 0` and its list starts with `elements` elements; a live element has
//! `mark != 0`. A new element is never longer than the lists it replaces, so the live lists never
//! outgrow the lists of A, and one new element always fits after [`QuotientGraph::compact`].

use tamarack_sparse::Pattern;

use crate::error::{OrderingError, refill, reserve};
use crate::graph::Graph;
use crate::mindeg::dense::DenseLimits;
use crate::mindeg::lists::NONE;
use crate::near::reversed_search;

/// Largest number of variables: weights are `i32`, and a list entry keeps one bit for
/// [`QuotientGraph::compact`] and one for the headroom of marks.
pub(crate) const MAX_ORDER: usize = 1 << 30;

/// How many entries ahead the nodes of a list are asked for.
const NODES_AHEAD: usize = 8;

/// In `store`: the entry names the owner of the list that starts here.
const OWNER: u32 = 1 << 31;

/// `elements` of a node that is an element itself.
pub(crate) const IS_ELEMENT: u32 = u32::MAX;

/// A variable or an element; together, because a step that reads one field needs the others.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub(crate) struct Node {
    /// Offset of the list in `store`; of a node that is gone, the node that took it over.
    pub(crate) start: u64,
    /// Length of the list; 0 for a node that is gone.
    pub(crate) len: u32,
    /// Elements at the front of a variable's list, or [`IS_ELEMENT`].
    pub(crate) elements: u32,
    /// Original variables it stands for; 0 when absorbed, negated while in the current element.
    pub(crate) weight: i32,
    /// Variable: external degree, or a bound of it. Element: weight of its list when it was made.
    pub(crate) degree: u32,
    /// Scratch compared with the stamp; 0 for an absorbed element.
    pub(crate) mark: u32,
    /// Hash of a variable's list, valid within one step; before the first one its neighbors, as a number: exclusive or.
    pub(crate) hash: u32,
}

/// Nodes and lists of a quotient graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotientGraph {
    /// Length n.
    pub(crate) nodes: Vec<Node>,
    /// Lists, then free space: length nnz(A) + nnz(A)/5 + n.
    pub(crate) store: Vec<u32>,
    /// Entries of `store` in use.
    pub(crate) free: usize,
    /// Marks below it are old.
    pub(crate) stamp: u32,
    /// Σ weights of all variables.
    pub(crate) total: u32,
    /// Weight of the variables that are eliminated or set aside.
    pub(crate) eliminated: u32,
    /// Elements in the order in which they were made.
    pub(crate) pivots: Vec<u32>,
    /// Entries of variables' lists that were read, each as often as it was.
    pub(crate) work: u64,
}

/// The list of the element being formed: `store[start..end]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) pivot: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Σ weights of its variables.
    pub(crate) degree: u32,
    /// The list lies where the free space began, so that what it loses becomes free again.
    pub(crate) at_end: bool,
}

impl QuotientGraph {
    /// Room for `n` variables whose lists hold `nnz` entries, each list empty. What is in the store stays.
    pub(crate) fn reset(&mut self, n: usize, nnz: usize) -> Result<(), OrderingError> {
        if n > MAX_ORDER {
            let (n, limit) = (n as u64, MAX_ORDER as u64);
            return Err(OrderingError::TooLarge { n, limit });
        }
        let node = Node {
            weight: 1,
            mark: 1,
            ..Node::default()
        };
        refill(&mut self.nodes, n, node)?;
        self.make_room(nnz + nnz / 5 + n)?;
        self.pivots.clear();
        reserve(&mut self.pivots, n)?;
        self.free = 0;
        self.stamp = 2;
        self.total = n as u32;
        self.eliminated = 0;
        self.work = 0;
        Ok(())
    }

    /// Makes the store so long at least. Grown, never cleared: entries are written before they are read.
    pub(crate) fn make_room(&mut self, entries: usize) -> Result<(), OrderingError> {
        if self.store.len() < entries {
            let more = entries - self.store.len();
            reserve(&mut self.store, more)?;
            self.store.resize(entries, 0);
        }
        Ok(())
    }

    /// The graph of a pattern: every unknown a variable, lists sorted, degrees exact.
    pub(crate) fn load(&mut self, pattern: &Pattern) -> Result<(), OrderingError> {
        let n = pattern.n();
        self.reset(n, pattern.nnz_full() as usize - n)?;
        let (nodes, store) = (&mut self.nodes[..], &mut self.store[..]);
        let (ptr, rows) = (pattern.col_ptr(), pattern.row_idx());
        for &i in rows {
            nodes[i as usize].len += 1;
        }
        for (node, column) in nodes.iter_mut().zip(ptr.windows(2)) {
            // The diagonal has been counted twice.
            node.len = node.len + (column[1] - column[0]) as u32 - 2;
            node.start = self.free as u64;
            self.free += node.len as usize;
        }
        // Column j gives j to its rows before their own columns come: every list ends up sorted.
        for (j, column) in ptr.windows(2).enumerate() {
            let below = &rows[column[0] as usize + 1..column[1] as usize];
            let node = &mut nodes[j];
            let from = node.start as usize + node.degree as usize;
            node.degree = node.len;
            let mut hash = node.hash;
            // One by one: most columns are shorter than a call to copy them.
            for (at, &i) in (from..).zip(below) {
                store[at] = i;
                hash ^= i;
                let node = &mut nodes[i as usize];
                store[node.start as usize + node.degree as usize] = j as u32;
                node.degree += 1;
                node.hash ^= j as u32;
            }
            nodes[j].hash = hash;
        }
        Ok(())
    }

    /// The same of a graph whose vertices are numbered [anew](reversed_search), lists in any order; writes the vertex of each number.
    pub(crate) fn load_near(
        &mut self,
        graph: &Graph,
        limits: DenseLimits,
        order: &mut Vec<u32>,
    ) -> Result<(), OrderingError> {
        self.reset(graph.n(), graph.nnz())?;
        let (nodes, store, free) = (&mut self.nodes, &mut self.store, &mut self.free);
        let load = |number: u32, list: &[u32], place: &[u32]| {
            let node = &mut nodes[number as usize];
            node.start = *free as u64;
            node.len = list.len() as u32;
            node.degree = node.len;
            for (to, &u) in store[*free..].iter_mut().zip(list) {
                *to = place[u as usize];
                node.hash ^= *to;
            }
            *free += list.len();
        };
        let degrees = (0..graph.n() as u32).map(|v| (graph.degree(v) as u64, 1));
        let most = limits.of(degrees);
        reversed_search(graph.n(), |v| graph.neighbors(v), most, order, load)
    }

    /// Number of variables in the beginning.
    pub(crate) fn n(&self) -> usize {
        self.nodes.len()
    }

    /// The list of a node.
    pub(crate) fn list(&self, x: u32) -> &[u32] {
        let node = &self.nodes[x as usize];
        &self.store[node.start as usize..node.start as usize + node.len as usize]
    }

    /// Makes `x` part of `owner`: it has no list of its own any more.
    #[inline]
    pub(crate) fn absorb(nodes: &mut [Node], x: u32, owner: u32) {
        let node = &mut nodes[x as usize];
        node.start = u64::from(owner);
        node.len = 0;
    }

    /// A stamp larger than every mark, with room for `headroom` marks above it.
    pub(crate) fn new_stamp(&mut self, headroom: u32) {
        if self.stamp.checked_add(headroom.max(2)).is_none() {
            for node in &mut self.nodes {
                node.mark = node.mark.min(1);
            }
            self.stamp = 2;
        }
    }

    /// Turns variable `i` that has no neighbor left into an element.
    pub(crate) fn eliminate_isolated(&mut self, i: u32) {
        let node = &mut self.nodes[i as usize];
        node.len = 0;
        node.elements = IS_ELEMENT;
        node.mark = 0;
        self.eliminated += node.weight as u32;
        self.pivots.push(i);
    }

    /// Takes variables of very many neighbors out of the graph without eliminating them.
    pub(crate) fn set_dense_aside(&mut self, limits: DenseLimits) {
        let limit = self.dense_limit(limits);
        let dense: Vec<u32> = self
            .variables()
            .filter(|(node, _)| u64::from(node.degree) > limit)
            .map(|(_, i)| i)
            .collect();
        dense.into_iter().for_each(|i| self.set_aside(i));
    }

    /// The number of neighbors above which variables are set aside.
    pub(crate) fn dense_limit(&self, limits: DenseLimits) -> u64 {
        let degrees = self.variables();
        limits.of(degrees.map(|(node, _)| (node.degree.into(), node.weight as u32)))
    }

    /// The variables that are left, and their numbers.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&Node, u32)> {
        let all = self.nodes.iter().zip(0..);
        all.filter(|(node, _)| node.elements != IS_ELEMENT && node.weight > 0)
    }

    /// Takes variable `i` out of the graph: it is no neighbor of others any more.
    fn set_aside(&mut self, i: u32) {
        let node = self.nodes[i as usize];
        let (start, weight) = (node.start as usize, node.weight as u32);
        for &j in &self.store[start + node.elements as usize..start + node.len as usize] {
            let degree = &mut self.nodes[j as usize].degree;
            *degree = degree.saturating_sub(weight);
        }
        Self::absorb(&mut self.nodes, i, NONE);
        self.eliminated += weight;
        self.nodes[i as usize].weight = 0;
    }

    /// Makes the element of pivot `me`: gathers its variables, negates their weights, absorbs the
    /// elements it was part of. Calls `leave(i)` for each of its variables.
    pub(crate) fn form_element(&mut self, me: u32, mut leave: impl FnMut(u32)) -> Element {
        let pivot = self.nodes[me as usize];
        // One more is written than belongs to it.
        let bound = (pivot.degree as usize + 1).min(self.n());
        if pivot.elements != 0 && self.free + bound > self.store.len() {
            self.compact();
        }
        let pivot = self.nodes[me as usize];
        let (nodes, store) = (&mut self.nodes[..], &mut self.store[..]);
        self.eliminated += pivot.weight as u32;
        nodes[me as usize].weight = -pivot.weight;
        let at_end = pivot.elements != 0;
        let first = pivot.start as usize;
        let variables = first + pivot.elements as usize;
        let start = if at_end { self.free } else { first };
        let (mut end, mut degree) = (start, 0);
        // The lists of its elements, then its variables.
        for p in first..=variables {
            let (from, len) = if p < variables {
                let e = store[p];
                let element = nodes[e as usize];
                Self::absorb(nodes, e, me);
                nodes[e as usize].mark = 0;
                (element.start as usize, element.len as usize)
            } else {
                (variables, (pivot.len - pivot.elements) as usize)
            };
            for q in from..from + len {
                if let Some(&ahead) = store.get(q + NODES_AHEAD) {
                    prefetch(nodes, ahead as usize);
                }
                let i = store[q];
                let node = &mut nodes[i as usize];
                // Whether it is new to the list is anybody's guess: no branch.
                let new = node.weight > 0;
                degree += node.weight.max(0) as u32;
                node.weight = -node.weight.abs();
                store[end] = i;
                end += usize::from(new);
            }
        }
        for &i in &store[start..end] {
            let node = &nodes[i as usize];
            // Its list is what the next pass reads.
            prefetch(store, node.start as usize);
            leave(i);
        }
        if at_end {
            self.free = end;
        }
        let node = &mut nodes[me as usize];
        node.start = start as u64;
        node.len = (end - start) as u32;
        node.elements = IS_ELEMENT;
        node.degree = degree;
        self.pivots.push(me);
        Element {
            pivot: me,
            start,
            end,
            degree,
            at_end,
        }
    }

    /// Rewrites the list of `i`, a variable of the element `me`: `me` first, then the elements that
    /// `keep` lets stand, then the variables that are neither gone nor in `me`. Sets the hash.
    /// Returns the weight of those variables.
    ///
    /// There is room: the list held `me` as a variable or an element, or one that `me` absorbed.
    /// What stays is not foreseeable, so that it is written in any case and counted without a branch.
    #[inline(always)]
    pub(crate) fn rewrite_list(
        &mut self,
        i: u32,
        me: u32,
        mut keep: impl FnMut(&mut [Node], u32) -> bool,
    ) -> u32 {
        let (nodes, store) = (&mut self.nodes[..], &mut self.store[..]);
        let node = nodes[i as usize];
        self.work += u64::from(node.len);
        let start = node.start as usize;
        let variables = start + node.elements as usize;
        let (mut to, mut outside, mut hash) = (start, 0, 0u32);
        for p in start..variables {
            let e = store[p];
            let stays = keep(nodes, e);
            hash = hash.wrapping_add(e * u32::from(stays));
            store[to] = e;
            to += usize::from(stays);
        }
        let first_variable = to;
        for p in variables..start + node.len as usize {
            let j = store[p];
            let weight = nodes[j as usize].weight;
            let stays = weight > 0;
            outside += weight.max(0) as u32;
            hash = hash.wrapping_add(j * u32::from(stays));
            store[to] = j;
            to += usize::from(stays);
        }
        // Who stood first moves behind its kind.
        store[to] = store[first_variable];
        store[first_variable] = store[start];
        store[start] = me;
        let node = &mut nodes[i as usize];
        node.elements = (first_variable - start) as u32 + 1;
        node.len = (to - start) as u32 + 1;
        node.hash = hash;
        outside
    }

    /// Drops variable `i`, whose only neighbors are those of `element`, into its pivot (mass
    /// elimination).
    pub(crate) fn mass_eliminate(&mut self, i: u32, element: &mut Element) {
        let weight = -self.nodes[i as usize].weight;
        Self::absorb(&mut self.nodes, i, element.pivot);
        self.nodes[i as usize].weight = 0;
        self.nodes[i as usize].elements = 0;
        // The pivot's weight is still negated.
        self.nodes[element.pivot as usize].weight -= weight;
        element.degree -= weight as u32;
        self.eliminated += weight as u32;
    }

    /// Closes `element`: `end` is where its list, purged of variables that are gone, ends now.
    pub(crate) fn close_element(&mut self, element: &Element, end: usize) {
        let node = &mut self.nodes[element.pivot as usize];
        node.weight = -node.weight;
        node.degree = element.degree;
        node.len = (end - element.start) as u32;
        if node.len == 0 {
            node.mark = 0;
        }
        if element.at_end {
            self.free = end;
        }
    }

    /// Moves all lists to the front of the store.
    pub(crate) fn compact(&mut self) {
        for (x, node) in self.nodes.iter_mut().enumerate() {
            if node.len > 0 {
                let at = node.start as usize;
                node.start = u64::from(std::mem::replace(&mut self.store[at], OWNER | x as u32));
            }
        }
        let (mut from, mut to) = (0, 0);
        while from < self.free {
            let entry = self.store[from];
            from += 1;
            if entry & OWNER == 0 {
                continue;
            }
            let node = &mut self.nodes[(entry & !OWNER) as usize];
            let rest = node.len as usize - 1;
            self.store[to] = node.start as u32;
            node.start = to as u64;
            self.store.copy_within(from..from + rest, to + 1);
            from += rest;
            to += 1 + rest;
        }
        self.free = to;
    }

    /// Whether variable `x` was taken over by another node or set aside.
    pub(super) fn is_absorbed(&self, x: u32) -> bool {
        self.nodes[x as usize].weight == 0
    }
}

/// Asks for an item that is read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: any address may be asked for; none is read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}
