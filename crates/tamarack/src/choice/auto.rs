//! Minimum degree or nested dissection: which is tried, at the same time where there are threads for both, and which is taken.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tamarack_ordering::{AmdOptions, MergedGraph, Method, OrderingError, Workspace, order_until};
use tamarack_sparse::{Permutation, Runs};

use super::{AMD, Chosen, MOST_READS, ND, Search};
use crate::Error;
use crate::both::Both;
use crate::shape::{Look, Shape};
use crate::threads::with_threads;

/// What minimum degree leads to.
enum Degree {
    /// A factorization that takes no longer than a dissection.
    Enough(Box<Chosen>),
    /// One of so many predicted seconds.
    Dear { permutation: Permutation, secs: f64 },
    /// It was given up: see [`MOST_READS`].
    Endless,
}

impl Degree {
    /// The order and its predicted seconds, if it is worth comparing.
    fn into_order(self) -> Option<(Permutation, f64)> {
        match self {
            Self::Dear { permutation, secs } => Some((permutation, secs)),
            Self::Enough(_) | Self::Endless => None,
        }
    }
}

impl Search<'_> {
    /// Minimum degree, or nested dissection where it pays.
    pub(super) fn auto(&mut self) -> Result<Chosen, Error> {
        let shape = Shape::of(self.pattern);
        if shape.is_worth_a_look() {
            return with_threads(1, || self.auto_of_many(shape)); // in the pool where there is one
        }
        let both = Both::new(self.pattern, shape)?;
        match self.minimum_degree(&both)? {
            Degree::Enough(chosen) => Ok(*chosen),
            degree => {
                let nd = both.dissect(&AtomicBool::new(false))?;
                self.order_secs = self.start.elapsed().as_secs_f64();
                self.better(degree.into_order(), &nd, both.into_runs())
            }
        }
    }

    /// The same for many entries: the graph's shape says what need not be tried. Where there are threads for
    /// both orderings they run at the same time, and either is stopped as soon as it is seen to be in vain.
    ///
    /// What is returned does not depend on which one is sooner done: what is thick is dissected whatever minimum degree finds.
    fn auto_of_many(&mut self, sampled: Shape) -> Result<Chosen, Error> {
        let both = Both::new(self.pattern, sampled)?;
        let machine = self.machine();
        let look = || both.look(&machine);
        let degree = || self.minimum_degree(&both);
        let dissect = || both.dissect(&both.no_dissection).ok();
        let (look, degree, found) = if machine.threads < 2 {
            (look()?, degree(), None)
        } else if both.has_twins || both.shape.is_dense() {
            both.merged()?;
            let (first, found) = rayon::join(|| (look(), degree()), dissect);
            (first.0?, first.1, found)
        } else {
            let look_and_dissect = || {
                both.merged()?;
                Ok::<_, OrderingError>(rayon::join(look, dissect))
            };
            let (degree, second) = rayon::join(degree, look_and_dissect);
            let (look, found) = second?;
            (look?, degree, found)
        };
        let degree = match look {
            Look::Thick => None,
            _ => match degree? {
                Degree::Enough(chosen) => return Ok(*chosen),
                other => other.into_order(),
            },
        };
        let found = match found {
            Some(permutation) => permutation,
            None => both.dissect(&AtomicBool::new(false))?,
        };
        self.order_secs = self.start.elapsed().as_secs_f64();
        self.better(degree, &found, both.into_runs())
    }

    /// The better of minimum degree, if there is its order of so many predicted seconds, and nested dissection.
    fn better(
        &self,
        degree: Option<(Permutation, f64)>,
        dissection: &Permutation,
        runs: Option<Runs>,
    ) -> Result<Chosen, Error> {
        let Some((degree, secs)) = degree else {
            return self.finish(dissection, runs, ND);
        };
        let draft = self.draft(dissection, runs.as_ref())?;
        if self.predicted_secs(&draft) < secs {
            drop(runs);
            return self.finish_draft(draft, ND);
        }
        drop(draft);
        self.finish(&degree, runs, AMD)
    }

    /// Orders by minimum degree, of the graph without twins where there are some, unless that is seen to be in vain or takes too long.
    /// Where a dissection would not save more than it takes, that one is in vain, and the analysis is finished.
    fn minimum_degree(&self, both: &Both<'_>) -> Result<Degree, Error> {
        let stop = &both.no_degree;
        if stop.load(Relaxed) {
            return Err(OrderingError::Stopped.into());
        }
        let mut own = Search { ..*self };
        let mut degree = AmdOptions::default();
        degree.most_reads = Some(MOST_READS);
        let twins = both.twins();
        let permutation = match twins {
            Some(graph) => graph.minimum_degree(degree.most_reads, stop),
            None => {
                let method = Method::Amd(degree);
                order_until(self.pattern, &method, &mut Workspace::new(), stop)
            }
        };
        let permutation = match permutation {
            Err(OrderingError::Stopped) if !stop.load(Relaxed) => return Ok(Degree::Endless),
            other => other?,
        };
        own.order_secs = own.start.elapsed().as_secs_f64();
        let found = match twins {
            Some(_) => None,
            None => Runs::find(self.pattern),
        };
        let runs = twins.map_or(found.as_ref(), MergedGraph::runs);
        let draft = own.draft(&permutation, runs)?;
        drop(found);
        let secs = own.predicted_secs(&draft);
        if both.shape.is_worth_dissecting(secs, &own.machine()) {
            drop(draft);
            return Ok(Degree::Dear { permutation, secs });
        }
        both.no_dissection.store(true, Relaxed);
        let chosen = own.finish_draft(draft, AMD)?;
        Ok(Degree::Enough(Box::new(chosen)))
    }
}
