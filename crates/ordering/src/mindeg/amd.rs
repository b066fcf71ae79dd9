//! Approximate minimum degree, or approximate minimum fill.
//!
//! Amestoy, Davis, Duff 1996 and 2004: the external degree of a variable is bounded from above by
//! the smallest of (a) all that is left, (b) its previous bound plus what the new element brings,
//! (c) the sizes of its elements, each counted outside the new element only. All the
//! `|Le \ Lme|` together cost one pass over the element lists of the new element's variables, so
//! that a step costs as much as reading their quotient-graph lists. The bound is exact while a
//! variable belongs to at most two elements. Which variable is eliminated next is up to a
//! [`Selection`], by these bounds.

use tamarack_sparse::Pattern;

use crate::error::OrderingError;
use crate::mindeg::dense::DenseLimits;
use crate::mindeg::few::Few;
use crate::mindeg::lists::{DegreeLists, NONE};
use crate::mindeg::observer::Observer;
use crate::mindeg::quotient::{Element, IS_ELEMENT, QuotientGraph};
use crate::mindeg::selection::Selection;
use crate::mindeg::supervariables::{self, HashTable};
use crate::stop::Stop;
use crate::workspace::Workspace;

/// Options of [`Method::Amd`](crate::Method::Amd).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AmdOptions {
    /// A variable with more than `max(16, dense · √n)` neighbors is set aside and eliminated last;
    /// negative: none is. None is either where there are more such variables than that: then they are no exception. Up to `√n` variables
    /// are set aside from 60 times the mean number of neighbors on, and 150.
    pub dense: f64,
    /// Whether an element inside the new one is absorbed by it even where no entry joins them.
    pub aggressive: bool,
    /// What is least of the variable that is eliminated next.
    pub selection: Selection,
    /// The order is given up, with [`OrderingError::Stopped`], once so many entries of lists were read for each variable and
    /// entry of the graph, or twice as many if seven eighths of the variables are eliminated by then; `None`: never. Where many variables of few
    /// neighbors share some of very many, and some are neighbors of each other, each pivot has the long lists read, and that takes time by the square of
    /// their length.
    pub most_reads: Option<u32>,
}

impl Default for AmdOptions {
    fn default() -> Self {
        Self {
            dense: 10.0,
            aggressive: true,
            selection: Selection::Degree,
            most_reads: None,
        }
    }
}

impl From<Selection> for AmdOptions {
    fn from(selection: Selection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }
}

impl AmdOptions {
    /// Degrees above which variables of a pattern are set aside.
    pub(crate) fn dense_limits(&self, pattern: &Pattern) -> DenseLimits {
        let n = pattern.n();
        let neighbors = pattern.nnz_full() - n as u64;
        DenseLimits::new(n, neighbors, self.dense)
    }
}

/// A quotient graph, its degree lists and its hash table: one elimination in progress.
pub(crate) struct Amd<'a> {
    pub(crate) q: &'a mut QuotientGraph,
    pub(crate) lists: &'a mut DegreeLists,
    pub(crate) table: &'a mut HashTable,
    pub(crate) aggressive: bool,
    /// Variables that stay in the graph to the end: none of `halo..` is eliminated.
    pub(crate) halo: u32,
    selection: Selection,
    /// Largest degree of an element so far.
    pub(crate) largest: u32,
    /// True where the order is wanted no more.
    stop: Stop<'a>,
    /// Entries of lists that are read at most.
    most_work: u64,
    /// So many are read before it is asked whether that is too many.
    next_look: u64,
}

impl<'a> Amd<'a> {
    /// An elimination of the variables below `halo` of the quotient graph that `ws` holds.
    pub(crate) fn new(ws: &'a mut Workspace, halo: u32, aggressive: bool) -> Self {
        Self {
            q: &mut ws.quotient,
            lists: &mut ws.lists,
            table: &mut ws.table,
            aggressive,
            halo,
            selection: Selection::Degree,
            largest: 0,
            stop: Stop::NEVER,
            most_work: u64::MAX,
            next_look: u64::MAX,
        }
    }

    /// The same, given up with an error where lists are read more than `most_reads` times; as [`AmdOptions::most_reads`].
    pub(crate) fn within(self, most_reads: Option<u32>) -> Self {
        let Some(most_reads) = most_reads else {
            return self;
        };
        let size = (self.q.free + self.q.n()) as u64;
        let work = |reads: u32| size.saturating_mul(reads.into());
        Self {
            most_work: work(most_reads.saturating_mul(2)),
            next_look: work(most_reads),
            ..self
        }
    }

    /// The same, by another selection.
    pub(crate) fn by(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// The same, given up with an error where `stop` becomes true.
    pub(crate) fn until(self, stop: Stop<'a>) -> Self {
        Self { stop, ..self }
    }

    /// Eliminates all variables below `halo`.
    pub(crate) fn run(
        &mut self,
        dense: DenseLimits,
        observer: &mut impl Observer,
    ) -> Result<(), OrderingError> {
        let left = self.q.total - self.q.eliminated;
        if left == 0 {
            return Ok(());
        }
        self.lists.reset(self.q.n(), self.selection.keys(left))?;
        self.table.reset(self.q.n().min(left as usize))?;
        self.q.set_dense_aside(dense);
        for k in 0..self.halo {
            let i = self.selection.listed(k, self.halo);
            let node = self.q.nodes[i as usize];
            if node.elements == IS_ELEMENT || node.weight == 0 {
                continue; // eliminated beforehand, or set aside
            }
            if node.degree == 0 {
                self.q.eliminate_isolated(i);
            } else {
                self.list(i, 0);
            }
        }
        while let Some(me) = self.lists.pop_at_most(NONE) {
            if self.stop.is_set() || self.q.work > self.next_look && self.is_hopeless() {
                return Err(OrderingError::Stopped);
            }
            observer.pivot(self.q, self.lists, me);
            if let Some(few) = self.q.few_neighbors(me) {
                self.eliminate_with_few(me, few);
                observer.formed(self.q, self.lists, me);
                continue;
            }
            let lists = &mut *self.lists;
            let mut element = self.q.form_element(me, |i| lists.remove(i));
            self.measure_elements(&element);
            self.update_variables(&mut element);
            self.largest = self.largest.max(element.degree);
            self.q.stamp += self.largest;
            let halo = self.halo;
            supervariables::merge(self.q, self.table, &element, |i| i < halo);
            self.relist(&element);
            observer.formed(self.q, self.lists, me);
        }
        Ok(())
    }

    /// Whether lists were read more often than they may be: twice as often where seven eighths are eliminated when it is first asked.
    #[cold]
    fn is_hopeless(&mut self) -> bool {
        let is_far = 8 * u64::from(self.q.eliminated) >= 7 * u64::from(self.q.total);
        self.next_look = self.most_work;
        self.q.work > self.most_work || !is_far
    }

    /// Eliminates `me`, which has few neighbors.
    fn eliminate_with_few(&mut self, me: u32, few: Few) {
        let halo = self.halo;
        let listed = few.all().iter().filter(move |&&j| j < halo);
        listed.clone().for_each(|&j| self.lists.remove(j));
        self.q.eliminate_with_few(me, &few);
        listed.for_each(|&j| self.list(j, 0));
    }

    /// Puts variable `i` into the lists; the element formed last has so many of its neighbors.
    #[inline(always)]
    fn list(&mut self, i: u32, covered: u32) {
        let node = &self.q.nodes[i as usize];
        let key = self.selection.key(node.degree, covered, node.weight as u32);
        self.lists.insert(i, key);
    }

    /// Sets `mark - stamp` of every element that shares variables with the new one to the weight
    /// it has outside of it.
    fn measure_elements(&mut self, element: &Element) {
        self.largest = self.largest.max(element.degree);
        // Marks reach up to the largest element's degree above the stamp, now and in `merge`.
        self.q
            .new_stamp(self.largest.saturating_mul(2).saturating_add(2));
        let (nodes, store, stamp) = (&mut self.q.nodes, &self.q.store, self.q.stamp);
        for &i in &store[element.start..element.end] {
            let node = nodes[i as usize];
            let weight = node.weight.unsigned_abs();
            let start = node.start as usize;
            for &e in &store[start..start + node.elements as usize] {
                let e = &mut nodes[e as usize];
                // Seen before, or not, or gone: in turns, so without a branch.
                let outside = if e.mark >= stamp {
                    e.mark
                } else {
                    e.degree.wrapping_add(stamp)
                };
                e.mark = if e.mark == 0 {
                    0
                } else {
                    outside.wrapping_sub(weight)
                };
            }
        }
    }

    /// Rewrites the lists of the new element's variables, absorbs elements inside it, and bounds
    /// the degrees outside it.
    fn update_variables(&mut self, element: &mut Element) {
        let (stamp, me, aggressive) = (self.q.stamp, element.pivot, self.aggressive);
        self.table.begin(element.end - element.start);
        for p in element.start..element.end {
            let i = self.q.store[p];
            let mut outside = 0u32;
            let variables = self.q.rewrite_list(i, me, |nodes, e| {
                let mark = nodes[e as usize].mark;
                outside = outside.saturating_add(mark.saturating_sub(stamp));
                if mark == stamp && aggressive {
                    QuotientGraph::absorb(nodes, e, me);
                    nodes[e as usize].mark = 0;
                    return false;
                }
                mark != 0
            });
            let node = &mut self.q.nodes[i as usize];
            if node.len == 1 && i < self.halo {
                self.q.mass_eliminate(i, element);
            } else {
                node.degree = node.degree.min(outside.saturating_add(variables));
                self.table.add(p - element.start, node.hash);
            }
        }
    }

    /// Drops merged variables from the element's list, restores weights, and puts its variables
    /// back into the degree lists.
    fn relist(&mut self, element: &Element) {
        let left = self.q.total - self.q.eliminated;
        let mut end = element.start;
        for p in element.start..element.end {
            let i = self.q.store[p];
            let node = &mut self.q.nodes[i as usize];
            if node.weight >= 0 {
                continue;
            }
            node.weight = -node.weight;
            self.q.store[end] = i;
            end += 1;
            if i < self.halo {
                let weight = node.weight as u32;
                let covered = element.degree - weight;
                node.degree = node.degree.saturating_add(covered).min(left - weight);
                self.list(i, covered);
            }
        }
        self.q.close_element(element, end);
    }
}
