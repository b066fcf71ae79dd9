//! The graph of a pattern without twins: what is dissected, and what tells beforehand how long that will take.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tamarack_sparse::{Pattern, Permutation, Runs};

use crate::error::OrderingError;
use crate::graph::{Graph, Lower};
use crate::mindeg::AmdOptions;
use crate::nd::compress::{Compressed, compress};
use crate::nd::degree::{by_degree, in_halves};
use crate::nd::fringe::Fringe;
use crate::nd::graph::Weighted;
use crate::nd::planes::Points;
use crate::nd::spokes::{Spokes, may_have_spokes};
use crate::nd::{By, Dissection, NdOptions, check_order};
use crate::stop::Stop;

/// The adjacency graph of a symmetric matrix in which unknowns with the same neighbors, themselves included, are one vertex
/// (Ashcraft 1995), and unknowns with very many neighbors are left out.
///
/// With three unknowns for each node of a mesh it has a ninth of the entries. Several orderings share one.
pub struct MergedGraph {
    unknowns: usize,
    compressed: Compressed,
    /// The unknowns that each vertex before compression stands for.
    runs: Option<Runs>,
}

impl MergedGraph {
    /// Merges the twins of a pattern. Time linear in its entries, on all threads.
    ///
    /// # Errors
    /// [`OrderingError::OutOfMemory`].
    pub fn new(pattern: &Pattern) -> Result<Self, OrderingError> {
        Self::with_runs(pattern, Runs::find(pattern))
    }

    /// The same where the runs of twins are known, as [`Runs::find`] says.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_runs(pattern: &Pattern, runs: Option<Runs>) -> Result<Self, OrderingError> {
        let (graph, weights) = match &runs {
            Some(runs) => {
                let weights = (0..runs.len()).map(|r| runs.unknowns(r).len() as u32);
                (Graph::from_lower(Lower::of_runs(runs))?, weights.collect())
            }
            None => (Graph::from_pattern(pattern)?, vec![1; pattern.n()]),
        };
        let dense = AmdOptions::default().dense_limits(pattern);
        Ok(Self {
            unknowns: pattern.n(),
            compressed: compress(graph, weights, dense),
            runs,
        })
    }

    /// Unknowns that were merged because they follow one another, if there are enough.
    pub fn runs(&self) -> Option<&Runs> {
        self.runs.as_ref()
    }

    /// The same alone: what the graph takes is free for what comes after the ordering.
    pub fn into_runs(self) -> Option<Runs> {
        self.runs
    }

    /// Number of vertices.
    pub fn n(&self) -> usize {
        self.compressed.graph.n()
    }

    /// Number of stored neighbors: twice the edges.
    pub fn nnz(&self) -> usize {
        self.compressed.graph.adjacency.len()
    }

    /// Neighbors of vertex `v`.
    #[inline]
    pub fn neighbors(&self, v: u32) -> &[u32] {
        self.compressed.graph.neighbors(v)
    }

    /// Whether many vertices may be points that are seen by a few cameras each, of many points, which [`minimum_degree`](Self::minimum_degree)
    /// eliminates first: as a sample of the vertices says.
    pub fn may_have_points(&self) -> bool {
        may_have_spokes(self.n(), |v| self.neighbors(v), usize::MAX)
    }

    /// The order of the unknowns by nested dissection, unless `stop` becomes true: as
    /// [`order_until`](crate::order_until).
    ///
    /// # Errors
    /// [`OrderingError::Stopped`] if it was given up; [`OrderingError::TooLarge`].
    pub fn dissect(
        &self,
        options: &NdOptions,
        stop: Stop<'_>,
    ) -> Result<Permutation, OrderingError> {
        let mut order = Vec::new();
        self.order(options, By::Graph, stop, &mut order)?;
        Permutation::from_elimination_order(&order).map_err(|_| OrderingError::Internal)
    }

    /// The same where something is worth cutting; none where [`dissect`](Self::dissect) would leave it all to minimum degree, as in networks
    /// without good separators: that of a graph, or of its only component of many vertices.
    ///
    /// # Errors
    /// As [`dissect`](Self::dissect).
    pub fn dissect_if_cut(
        &self,
        options: &NdOptions,
        stop: Stop<'_>,
    ) -> Result<Option<Permutation>, OrderingError> {
        let uncut = AtomicBool::new(false);
        match self.dissected(options, stop, Some(&uncut)) {
            Err(OrderingError::Stopped) if uncut.load(Relaxed) => Ok(None),
            list => {
                let mut order = Vec::new();
                self.expand(list?, &mut order);
                let permutation = Permutation::from_elimination_order(&order);
                permutation.map(Some).map_err(|_| OrderingError::Internal)
            }
        }
    }

    /// The order by approximate minimum degree or fill, unless `stop` becomes true or lists are read more often than
    /// [`AmdOptions::most_reads`] says. [`AmdOptions::dense`] says nothing here: what has very many neighbors was left out before.
    ///
    /// # Errors
    /// As [`dissect`](Self::dissect).
    pub fn minimum_degree(
        &self,
        options: &AmdOptions,
        stop: Stop<'_>,
    ) -> Result<Permutation, OrderingError> {
        let graph = &self.compressed.graph;
        check_order(graph)?;
        let mut order = Vec::new();
        self.expand(by_degree(graph, options, stop)?, &mut order);
        Permutation::from_elimination_order(&order).map_err(|_| OrderingError::Internal)
    }

    /// The same of a long graph, of which `end`, a vertex as in [`neighbors`](Self::neighbors), is at one end: cut in two by a level of the
    /// breadth-first search from there, whose vertices come last, and both halves ordered at the same time. None where no level is so
    /// narrow. Points of cameras do not go first here: see [`may_have_points`](Self::may_have_points).
    ///
    /// # Errors
    /// As [`minimum_degree`](Self::minimum_degree).
    pub fn minimum_degree_in_halves(
        &self,
        end: u32,
        options: &AmdOptions,
        stop: Stop<'_>,
    ) -> Result<Option<Permutation>, OrderingError> {
        let graph = &self.compressed.graph;
        check_order(graph)?;
        let Some(list) = in_halves(graph, end, options, stop)? else {
            return Ok(None);
        };
        let mut order = Vec::new();
        self.expand(list, &mut order);
        let permutation = Permutation::from_elimination_order(&order);
        permutation.map(Some).map_err(|_| OrderingError::Internal)
    }

    /// Writes an elimination order of the unknowns to `order`.
    pub(crate) fn order(
        &self,
        options: &NdOptions,
        by: By<'_>,
        stop: Stop<'_>,
        order: &mut Vec<u32>,
    ) -> Result<(), OrderingError> {
        let list = match by {
            By::Graph => self.dissected(options, stop, None)?,
            By::Coordinates(places) => {
                let mut list: Vec<u32> = (0..self.n() as u32).collect();
                let dissection = Dissection::new(&self.compressed.graph, options, stop)?;
                let unknowns: Vec<u32> = list.iter().map(|&c| self.first_unknown(c)).collect();
                dissection.run_by_planes(&Points::new(places, &unknowns), &mut list)?;
                list
            }
        };
        self.expand(list, order);
        Ok(())
    }

    /// The vertices in the order of a dissection; where nothing is worth cutting that is given up if there is an `uncut` to be told.
    fn dissected(
        &self,
        options: &NdOptions,
        stop: Stop<'_>,
        uncut: Option<&AtomicBool>,
    ) -> Result<Vec<u32>, OrderingError> {
        let dissected = |graph: &Weighted| {
            let mut list: Vec<u32> = (0..graph.n() as u32).collect();
            let dissection = Dissection {
                uncut,
                ..Dissection::new(graph, options, stop)?
            };
            dissection.run(&mut list)?;
            Ok(list)
        };
        if let Some(spokes) = Spokes::of(&self.compressed.graph)? {
            let left = dissected(&spokes.graph)?;
            return spokes.order(&left);
        }
        match Fringe::of(&self.compressed.graph) {
            Some(fringe) => {
                let left = dissected(&fringe.graph)?;
                Ok(fringe.order(&left))
            }
            None => dissected(&self.compressed.graph),
        }
    }

    /// The first of the unknowns that compressed vertex `c` stands for.
    fn first_unknown(&self, c: u32) -> u32 {
        let vertex = self.compressed.members_of(&c)[0];
        match &self.runs {
            Some(runs) => runs.first()[vertex as usize],
            None => vertex,
        }
    }

    /// From an order of the vertices to one of the unknowns.
    fn expand(&self, list: Vec<u32>, order: &mut Vec<u32>) {
        if self.runs.is_none() && self.compressed.members.is_empty() {
            // Every unknown stands for itself.
            *order = list;
            return order.extend_from_slice(&self.compressed.dense);
        }
        order.clear();
        order.reserve_exact(self.unknowns);
        let mut add = |v: u32| match &self.runs {
            Some(runs) => order.extend(runs.unknowns(v as usize)),
            None => order.push(v),
        };
        for c in list {
            let members = self.compressed.members_of(&c).iter();
            members.copied().for_each(&mut add);
        }
        self.compressed.dense.iter().copied().for_each(add);
    }
}
