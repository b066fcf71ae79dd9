//! Minimum degree and nested dissection of one pattern at the same time: what they share, and how one stops the other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tamarack_ordering::{AmdOptions, MergedGraph, NdOptions, OrderingError, Selection, Stop};
use tamarack_sparse::{Pattern, Permutation, Runs};

use crate::shape::{Look, Seen, Shape};
use crate::threads::with_threads;

/// What two orderings of a pattern share while they run at the same time.
pub(crate) struct Both<'a> {
    pattern: &'a Pattern,
    /// Where the caller wants no ordering any more.
    stop: Stop<'a>,
    pub(crate) has_twins: bool,
    pub(crate) shape: Shape,
    /// Made at once where there are twins, for both go by it; else minimum degree goes by the pattern and begins meanwhile.
    merged: OnceLock<MergedGraph>,
    /// True where the one or the other is in vain.
    pub(crate) no_degree: AtomicBool,
    pub(crate) no_dissection: AtomicBool,
    seen: OnceLock<Seen>,
}

impl<'a> Both<'a> {
    pub(crate) fn new(
        pattern: &'a Pattern,
        sampled: Shape,
        stop: Stop<'a>,
    ) -> Result<Self, OrderingError> {
        let mut both = Self {
            pattern,
            stop,
            has_twins: sampled.has_twins(),
            shape: sampled,
            merged: OnceLock::new(),
            no_degree: AtomicBool::new(false),
            no_dissection: AtomicBool::new(false),
            seen: OnceLock::new(),
        };
        if both.has_twins {
            both.shape = Shape::exactly(pattern.n(), both.merged()?);
        }
        Ok(both)
    }

    /// The graph without twins, where there are some.
    pub(crate) fn twins(&self) -> Option<&MergedGraph> {
        self.merged.get().filter(|_| self.has_twins)
    }

    /// Whether minimum fill is worth more than minimum degree: of many vertices, or where several unknowns share a vertex, so that orders
    /// are cheap beside what comes after.
    pub(crate) fn is_worth_filling(&self) -> bool {
        self.has_twins || self.shape.has_many_vertices()
    }

    /// Twins that follow one another, if there are enough; the graph is freed.
    pub(crate) fn into_runs(self) -> Option<Runs> {
        let merged = self.merged.into_inner();
        merged.map_or_else(|| Runs::find(self.pattern), MergedGraph::into_runs)
    }

    /// The graph without twins. One thread asks for it first, in the pool that it is in.
    pub(crate) fn merged(&self) -> Result<&MergedGraph, OrderingError> {
        if let Some(graph) = self.merged.get() {
            return Ok(graph);
        }
        let graph = with_threads(1, || MergedGraph::new(self.pattern))?;
        Ok(self.merged.get_or_init(|| graph))
    }

    /// What the shape says. It may say that one of both is in vain.
    pub(crate) fn look(&self) -> Result<Look, OrderingError> {
        let merged = self.merged()?;
        let seen = *self.seen.get_or_init(|| self.shape.look(merged));
        match seen.look {
            Look::Thick => self.no_degree.store(true, Relaxed),
            Look::Long { .. } => {
                self.no_degree.store(true, Relaxed);
                self.no_dissection.store(true, Relaxed);
            }
            Look::Light => {
                self.no_dissection.store(true, Relaxed);
                self.no_degree.store(!self.is_worth_filling(), Relaxed);
            }
            Look::Narrow | Look::Wide => self.no_dissection.store(true, Relaxed),
            Look::Unclear => (),
        }
        Ok(seen.look)
    }

    /// Whether minimum degree leads to many predicted seconds for a graph that was seen to be narrow, or a network, so that minimum fill may be
    /// better; not where nobody has looked, or not yet.
    pub(crate) fn is_unlucky(&self, degree_secs: f64) -> bool {
        let is_unlucky = |seen| self.shape.is_unlucky(degree_secs, seen);
        !self.is_worth_filling() && self.seen.get().is_some_and(is_unlucky)
    }

    /// Nested dissection; none where nothing is worth cutting.
    pub(crate) fn dissect_if_cut(&self) -> Result<Option<Permutation>, OrderingError> {
        self.dissect_until(self.stop)
    }

    /// The same beside minimum degree, unless that one finds it in vain.
    pub(crate) fn dissect_beside(&self) -> Result<Option<Permutation>, OrderingError> {
        self.dissect_until(self.stop.or(&self.no_dissection))
    }

    fn dissect_until(&self, stop: Stop<'_>) -> Result<Option<Permutation>, OrderingError> {
        let graph = self.merged()?;
        with_threads(1, || graph.dissect_if_cut(&NdOptions::default(), stop))
    }

    /// When minimum degree is wanted no more.
    pub(crate) fn stop_degree(&self) -> Stop<'_> {
        self.stop.or(&self.no_degree)
    }

    /// Minimum degree in two halves of what was seen to be long; none where it is not narrow in its middle, or is given up. Minimum fill has fewer operations
    /// and takes twice as long there: it goes on where it is, one front after the other, where minimum degree has many at a time (run
    /// `long-1`).
    pub(crate) fn in_halves(
        &self,
        end: u32,
        options: &AmdOptions,
    ) -> Result<Option<Permutation>, OrderingError> {
        match (self.merged()?).minimum_degree_in_halves(end, options, self.stop) {
            Err(OrderingError::Stopped) if !self.stop.is_set() => Ok(None), // it takes too long
            found => found,
        }
    }

    /// Minimum degree, however long it takes.
    pub(crate) fn minimum_degree(&self) -> Result<Permutation, OrderingError> {
        let options = AmdOptions::from(Selection::Degree);
        self.merged()?.minimum_degree(&options, self.stop)
    }
}
