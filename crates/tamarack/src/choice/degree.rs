//! Minimum degree or fill, and what it leads to: see [`auto`](super::auto).

use std::sync::atomic::Ordering::Relaxed;

use tamarack_ordering::{MergedGraph, Method, OrderingError, Selection, Workspace, order_until};
use tamarack_sparse::{Permutation, Runs};

use super::{Candidate, Chosen, MOST_READS, Search, name_of, within_reads};
use crate::Error;
use crate::both::Both;
use crate::shape::{Look, Shape};

/// Where minimum fill is given up, minimum degree has one in so many of its reads: it is mostly given up as well. With all of them a path of 200,000
/// unknowns with 2500 hubs took 2.3 times as long as its dissection alone (no lines kept).
const SECOND_SHARE: u32 = 4;

/// What minimum fill, or else minimum degree, leads to.
pub(super) enum Degree {
    /// A factorization that takes no longer than a dissection, in so many predicted seconds.
    Enough(Box<Chosen>, f64),
    /// One that is not analyzed to the end: minimum fill may be better, or, of a solid, a dissection.
    Open { degree: Candidate, is_solid: bool },
    /// One that takes long: worth comparing.
    Dear(Candidate),
    /// It was given up: see [`within_reads`].
    Endless,
}

impl Degree {
    /// The order, if it is worth comparing.
    pub(super) fn into_candidate(self) -> Option<Candidate> {
        match self {
            Self::Dear(degree) | Self::Open { degree, .. } => Some(degree),
            Self::Enough(..) | Self::Endless => None,
        }
    }

    /// The same where a look at the graph says more: a network is not dissected as soon, nor as a solid; a light solid only where minimum fill
    /// is dear.
    pub(super) fn seen_as(self, look: Look, shape: &Shape) -> Self {
        match self {
            Self::Dear(degree) | Self::Open { degree, .. } if look == Look::Wide => {
                match shape.is_worth_dissecting_as_network(degree.secs) {
                    true => Self::Dear(degree),
                    false => Self::Open {
                        degree,
                        is_solid: false,
                    },
                }
            }
            Self::Open { degree, .. } if look == Look::Light => Self::Open {
                degree,
                is_solid: false,
            },
            other => other,
        }
    }
}

impl Search<'_> {
    /// Minimum fill or minimum degree, as the shape says: minimum degree where minimum fill takes too long, the better of both where
    /// minimum degree leads to a factorization that takes much longer than minimum fill.
    pub(super) fn minimum_degree(&self, both: &Both<'_>) -> Result<Degree, Error> {
        if both.is_worth_filling() {
            return match self.minimum_of(Selection::MeanFill, MOST_READS, both)? {
                Degree::Endless => {
                    self.minimum_of(Selection::Degree, MOST_READS / SECOND_SHARE, both)
                }
                found => Ok(found),
            };
        }
        let degree = match self.minimum_of(Selection::Degree, MOST_READS, both)? {
            Degree::Dear(degree) => degree,
            found => return Ok(found),
        };
        let shape = &both.shape;
        if !shape.is_worth_filling_too(degree.secs) {
            return Ok(Degree::Dear(degree));
        }
        Ok(
            match self.minimum_of(Selection::MeanFill, MOST_READS, both)? {
                Degree::Endless => Degree::Dear(degree),
                Degree::Dear(fill) if fill.secs >= degree.secs => Degree::Dear(degree),
                found => found,
            },
        )
    }

    /// Orders by minimum degree or fill, of the graph without twins where there are some, unless that is seen to be in vain or takes more than so many
    /// reads. Where a dissection would not save more than it takes, that one is in vain, and the analysis is finished.
    pub(super) fn minimum_of(
        &self,
        selection: Selection,
        most_reads: u32,
        both: &Both<'_>,
    ) -> Result<Degree, Error> {
        let stop = both.stop_degree();
        if stop.is_set() {
            return Err(OrderingError::Stopped.into());
        }
        let mut own = Search { ..*self };
        let options = within_reads(selection, most_reads);
        let twins = both.twins();
        let permutation = match twins {
            Some(graph) => graph.minimum_degree(&options, stop),
            None => {
                let method = Method::Amd(options);
                order_until(self.pattern, &method, &mut Workspace::new(), stop)
            }
        };
        let permutation = match permutation {
            Err(OrderingError::Stopped) if !stop.is_set() => return Ok(Degree::Endless),
            other => other?,
        };
        own.order_secs = own.start.elapsed().as_secs_f64();
        own.judged(permutation, name_of(selection), both)
    }

    /// What is long in two halves, by minimum degree; as a whole where that is none.
    pub(super) fn halves_or_degree(&self, end: u32, both: &Both<'_>) -> Result<Degree, Error> {
        let options = within_reads(Selection::Degree, MOST_READS);
        let Some(permutation) = both.in_halves(end, &options)? else {
            both.no_degree.store(false, Relaxed);
            return self.minimum_degree(both);
        };
        let order_secs = self.start.elapsed().as_secs_f64();
        let own = Search {
            order_secs,
            ..*self
        };
        own.judged(permutation, name_of(Selection::Degree), both)
    }

    /// What an order by minimum degree or fill leads to: the whole analysis where a dissection would not save more than it takes.
    fn judged(
        self,
        permutation: Permutation,
        name: &'static str,
        both: &Both<'_>,
    ) -> Result<Degree, Error> {
        let twins = both.twins();
        let found = match twins {
            Some(_) => None,
            None => Runs::find(self.pattern),
        };
        let runs = twins.map_or(found.as_ref(), MergedGraph::runs);
        let draft = self.draft(&permutation, runs)?;
        drop(found);
        let secs = self.predicted_secs(&draft);
        let is_dear = both.shape.is_worth_dissecting(secs);
        let is_solid = both.shape.is_worth_dissecting_as_solid(secs, draft.flops());
        if !is_dear && !is_solid {
            both.no_dissection.store(true, Relaxed);
            if !is_unlucky(name, secs, both) {
                let chosen = self.finish_draft(draft, name)?;
                return Ok(Degree::Enough(Box::new(chosen), secs));
            }
        }
        drop(draft);
        let degree = Candidate {
            permutation,
            name,
            secs,
        };
        Ok(match is_dear {
            true => Degree::Dear(degree),
            false => Degree::Open { degree, is_solid },
        })
    }
}

/// Whether an order is by minimum degree, and minimum fill may be much better, as far as that is known by now.
pub(super) fn is_unlucky(name: &str, secs: f64, both: &Both<'_>) -> bool {
    name == name_of(Selection::Degree) && both.is_unlucky(secs)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tamarack_ordering::Stop;

    use super::*;
    use crate::Options;
    use crate::choice::tests::skewed;

    #[test]
    fn a_second_attempt_ends_sooner() {
        let (pattern, options) = (skewed(20_000), Options::default());
        let search = Search {
            pattern: &pattern,
            options: &options,
            stop: Stop::NEVER,
            start: Instant::now(),
            order_secs: 0.0,
        };
        let both = Both::new(&pattern, Shape::of(&pattern), Stop::NEVER).unwrap();
        let is_endless = |most_reads| {
            let found = search.minimum_of(Selection::Degree, most_reads, &both);
            matches!(found, Ok(Degree::Endless))
        };
        assert!(!is_endless(MOST_READS));
        assert!(is_endless(MOST_READS / SECOND_SHARE));
    }
}
