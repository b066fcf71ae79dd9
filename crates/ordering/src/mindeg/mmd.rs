//! Exact minimum external degree: one pivot at a time (MD), or many (MMD).
//!
//! Liu 1985. A round of MMD eliminates every variable whose degree is at most the least degree
//! plus `delta`, as long as no pivot of the round touched it; only then the degrees of all touched
//! variables are computed, once, instead of once per pivot. MD is a round of one pivot. Degrees
//! are exact: the weight of the union of a variable's elements and of its own variables. Variables of very many neighbors are set aside, and
//! do not count: each pivot would have their lists read.

use crate::error::{OrderingError, reserve};
use crate::mindeg::dense::DenseLimits;
use crate::mindeg::lists::{DegreeLists, NONE};
use crate::mindeg::observer::Observer;
use crate::mindeg::quotient::{Element, Node, QuotientGraph};
use crate::mindeg::supervariables::{self, HashTable};
use crate::workspace::Workspace;

/// Options of [`Method::Mmd`](crate::Method::Mmd).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MmdOptions {
    /// How far above the least degree a pivot's degree may be: more saves degree updates and costs
    /// fill.
    pub delta: u32,
}

/// One elimination with exact degrees in progress.
pub(crate) struct Mmd<'a> {
    q: &'a mut QuotientGraph,
    lists: &'a mut DegreeLists,
    table: &'a mut HashTable,
    /// Pivots of the round.
    round: &'a mut Vec<u32>,
    /// Tolerance of a round; `None`: a round has one pivot.
    delta: Option<u32>,
}

impl<'a> Mmd<'a> {
    /// An elimination of the quotient graph that `ws` holds.
    pub(crate) fn new(ws: &'a mut Workspace, delta: Option<u32>) -> Self {
        let [round, ..] = &mut ws.scratch;
        Self {
            q: &mut ws.quotient,
            lists: &mut ws.lists,
            table: &mut ws.table,
            round,
            delta,
        }
    }

    /// Eliminates all variables; those that are `dense` come last.
    pub(crate) fn run(
        &mut self,
        dense: DenseLimits,
        observer: &mut impl Observer,
    ) -> Result<(), OrderingError> {
        let n = self.q.n();
        self.lists.reset(n, self.q.total)?;
        self.table.reset(n)?;
        self.round.clear();
        reserve(self.round, n)?;
        self.q.set_dense_aside(dense);
        for i in 0..n as u32 {
            match self.q.nodes[i as usize].degree {
                _ if self.q.nodes[i as usize].weight == 0 => (), // set aside
                0 => self.q.eliminate_isolated(i),
                degree => self.lists.insert(i, degree),
            }
        }
        while let Some(least) = self.lists.min_degree() {
            self.round.clear();
            let limit = least.saturating_add(self.delta.unwrap_or(0)).min(NONE - 1);
            while let Some(me) = self.lists.pop_at_most(limit) {
                observer.pivot(self.q, self.lists, me);
                self.eliminate(me);
                observer.formed(self.q, self.lists, me);
                self.round.push(me);
                if self.delta.is_none() {
                    break;
                }
            }
            for k in 0..self.round.len() {
                self.merge(self.round[k]);
            }
            for k in 0..self.round.len() {
                self.update_degrees(self.round[k]);
            }
        }
        Ok(())
    }

    /// Forms the element of `me`, purges its variables' lists, and leaves them out of the degree
    /// lists.
    fn eliminate(&mut self, me: u32) {
        let lists = &mut *self.lists;
        let mut element = self.q.form_element(me, |i| lists.remove(i));
        for p in element.start..element.end {
            let i = self.q.store[p];
            self.q
                .rewrite_list(i, me, |nodes, e| nodes[e as usize].mark != 0);
            if self.q.nodes[i as usize].len == 1 {
                self.q.mass_eliminate(i, &mut element);
            }
        }
        let end = self.restore_weights(&element);
        self.q.close_element(&element, end);
    }

    /// Ends a pass over `element` with negated weights; drops variables that are gone from its
    /// list and returns the list's end.
    fn restore_weights(&mut self, element: &Element) -> usize {
        let mut end = element.start;
        for p in element.start..element.end {
            let i = self.q.store[p];
            let node = &mut self.q.nodes[i as usize];
            if node.weight < 0 {
                node.weight = -node.weight;
                self.q.store[end] = i;
                end += 1;
            }
        }
        end
    }

    /// Merges the indistinguishable variables of the element `me`.
    fn merge(&mut self, me: u32) {
        let node = self.q.nodes[me as usize];
        let start = node.start as usize;
        let element = Element {
            pivot: me,
            start,
            end: start + node.len as usize,
            degree: node.degree,
            at_end: false,
        };
        // A merge in another element of the round may have left its mark here.
        let mut end = start;
        for p in start..element.end {
            let i = self.q.store[p];
            if self.q.nodes[i as usize].weight > 0 {
                self.q.store[end] = i;
                end += 1;
            }
        }
        let element = Element { end, ..element };
        for p in start..end {
            let i = self.q.store[p] as usize;
            self.q.nodes[i].weight = -self.q.nodes[i].weight;
        }
        self.table.begin(end - start);
        for p in start..end {
            // Other pivots of the round came into the list, or took elements out of it, since.
            let i = self.q.store[p];
            self.q
                .rewrite_list(i, me, |nodes, e| e != me && nodes[e as usize].mark != 0);
            self.table.add(p - start, self.q.nodes[i as usize].hash);
        }
        supervariables::merge(self.q, self.table, &element, |_| true);
        let end = self.restore_weights(&element);
        self.q.nodes[me as usize].len = (end - start) as u32;
    }

    /// Computes the degrees of the variables of `me` that wait for it, and lists them.
    fn update_degrees(&mut self, me: u32) {
        let node = self.q.nodes[me as usize];
        for p in node.start as usize..node.start as usize + node.len as usize {
            let i = self.q.store[p];
            if self.q.nodes[i as usize].weight > 0 && !self.lists.contains(i) {
                let degree = self.external_degree(i);
                self.q.nodes[i as usize].degree = degree;
                self.lists.insert(i, degree);
            }
        }
    }

    /// Weight of all neighbors of `i`.
    fn external_degree(&mut self, i: u32) -> u32 {
        self.q.new_stamp(1);
        let (nodes, store, stamp) = (&mut self.q.nodes[..], &self.q.store, self.q.stamp);
        let node = nodes[i as usize];
        let mut degree = 0;
        nodes[i as usize].mark = stamp;
        let mut count = |nodes: &mut [Node], list: &[u32]| {
            for &j in list {
                let node = &mut nodes[j as usize];
                if node.weight > 0 && node.mark != stamp {
                    node.mark = stamp;
                    degree += node.weight as u32;
                }
            }
        };
        let start = node.start as usize;
        let variables = start + node.elements as usize;
        for &e in &store[start..variables] {
            let Node { start, len, .. } = nodes[e as usize];
            count(nodes, &store[start as usize..start as usize + len as usize]);
        }
        count(nodes, &store[variables..start + node.len as usize]);
        self.q.stamp += 1;
        degree
    }
}
