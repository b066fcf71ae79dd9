//! Minimum fill, minimum degree or nested dissection: which is tried, at the same time where there are threads for both, and which is taken.
//!
//! ```text
//! few entries, or hardly more than a tree has ──► minimum degree ──► leads to little work ──► taken
//!                                                              └──► to much ──► dissection; the better is taken
//! many entries ──► look at the levels of a search ──► thick ────► a piece of it has much to do ──► dissection
//!                                                 │         └──► little ──► minimum fill, as minimum degree above
//!                                                 ├─► wide ─────► minimum degree ──► leads to very much work ──► dissection, as above
//!                                                 │                             └──► to less ──► taken, or minimum fill
//!                                                 └─► narrow or unclear ──► minimum degree, as above
//! ```
//!
//! Minimum degree stands for minimum fill where there are many vertices or unknowns share them ([`Both::is_worth_filling`]), and for the
//! better of both where the factorization takes long, or longer than a graph of such levels should ([`Both::is_unlucky`]). What is little, many,
//! thick and wide is in [`shape`](crate::shape), what a piece says in [`piece`](crate::piece), all of it for one machine.

use std::sync::atomic::Ordering::Relaxed;

use tamarack_ordering::{MergedGraph, Method, OrderingError, Selection, Workspace, order_until};
use tamarack_sparse::{Permutation, Runs};

use super::{Candidate, Chosen, MOST_READS, ND, Search, name_of, within_reads};
use crate::Error;
use crate::both::Both;
use crate::shape::{Look, Shape};
use crate::threads::{is_alone, with_threads};

/// Where minimum fill is given up, minimum degree has one in so many of its reads: it is mostly given up as well. With all of them a path of 200,000
/// unknowns with 2500 hubs took 2.3 times as long as its dissection alone (no lines kept).
const SECOND_SHARE: u32 = 4;

/// What minimum fill, or else minimum degree, leads to.
enum Degree {
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
    fn into_candidate(self) -> Option<Candidate> {
        match self {
            Self::Dear(degree) | Self::Open { degree, .. } => Some(degree),
            Self::Enough(..) | Self::Endless => None,
        }
    }

    /// The same where a look at the graph says more: a network is not dissected as soon, nor as a solid; a light solid only where minimum fill
    /// is dear.
    fn seen_as(self, look: Look, shape: &Shape) -> Self {
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
    /// Minimum degree or fill, or nested dissection where it pays.
    pub(super) fn auto(&mut self) -> Result<Chosen, Error> {
        let shape = Shape::of(self.pattern);
        if shape.is_worth_a_look() {
            return with_threads(1, || self.auto_of_many(shape)); // in the pool where there is one
        }
        let both = Both::new(self.pattern, shape, self.stop)?;
        match self.minimum_degree(&both)? {
            Degree::Enough(chosen, _) => Ok(*chosen),
            degree => {
                let found = both.dissect_if_cut()?;
                self.better(degree.into_candidate(), found, both)
            }
        }
    }

    /// The same for many entries: the graph's shape says what need not be tried. Where there are threads for
    /// both orderings they run at the same time, and either is stopped as soon as it is seen to be in vain.
    ///
    /// What is returned does not depend on which one is sooner done: what is thick is dissected whatever minimum degree finds.
    fn auto_of_many(&mut self, sampled: Shape) -> Result<Chosen, Error> {
        let both = Both::new(self.pattern, sampled, self.stop)?;
        let look = || both.look();
        let degree = || self.minimum_degree(&both);
        let dissect = || both.dissect_beside().ok();
        let (look, degree, found) = if is_alone() {
            (look()?, degree(), None) // begun, it would be eliminated to the end before anybody looks
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
        let degree = match self.as_seen(look, degree, &both)? {
            Some(Degree::Enough(mut chosen, secs)) => {
                let begun = self.start.elapsed();
                if let Some(filled) = self.fill_if_unlucky(chosen.name, secs, &both)? {
                    return Ok(filled);
                }
                chosen.seconds.order_secs += (self.start.elapsed() - begun).as_secs_f64();
                return Ok(*chosen);
            }
            Some(Degree::Open { degree, is_solid }) => {
                if let Some(filled) = self.fill_if_unlucky(degree.name, degree.secs, &both)? {
                    return Ok(filled);
                }
                if !is_solid {
                    self.order_secs = self.start.elapsed().as_secs_f64();
                    return self.finish(&degree.permutation, both.into_runs(), degree.name);
                }
                Some(degree)
            }
            other => other.and_then(Degree::into_candidate),
        };
        let found = match found {
            Some(found) => found,
            None => both.dissect_if_cut()?,
        };
        self.better(degree, found, both)
    }

    /// What minimum degree found, if it counts: of a light solid minimum fill is better, for which it was given up.
    fn as_seen(
        &self,
        look: Look,
        degree: Result<Degree, Error>,
        both: &Both<'_>,
    ) -> Result<Option<Degree>, Error> {
        let degree = match look {
            Look::Thick => return Ok(None),
            Look::Light if !both.is_worth_filling() => {
                both.no_degree.store(false, Relaxed);
                self.minimum_of(Selection::MeanFill, MOST_READS, both)
            }
            _ => degree,
        };
        Ok(Some(degree?.seen_as(look, &both.shape)))
    }

    /// Minimum fill, where minimum degree was unlucky, if it is better: see [`Both::is_unlucky`].
    fn fill_if_unlucky(
        &mut self,
        name: &str,
        secs: f64,
        both: &Both<'_>,
    ) -> Result<Option<Chosen>, Error> {
        if !is_unlucky(name, secs, both) {
            return Ok(None);
        }
        let method = Method::Amd(within_reads(Selection::MeanFill, MOST_READS));
        let found = order_until(self.pattern, &method, &mut Workspace::new(), self.stop);
        self.order_secs = self.start.elapsed().as_secs_f64();
        let permutation = match found {
            Err(OrderingError::Stopped) => return Ok(None), // it takes too long
            found => found?,
        };
        let runs = Runs::find(self.pattern);
        let draft = self.draft(&permutation, runs.as_ref())?;
        if self.predicted_secs(&draft) >= secs {
            return Ok(None);
        }
        let chosen = self.finish_draft(draft, name_of(Selection::MeanFill));
        chosen.map(Some)
    }

    /// The better of minimum fill or degree, if there is its order, and nested dissection, if it cuts anything: else it is minimum degree
    /// once more. Where there is neither, minimum degree has all the time that it takes.
    fn better(
        &mut self,
        degree: Option<Candidate>,
        dissection: Option<Permutation>,
        both: Both<'_>,
    ) -> Result<Chosen, Error> {
        let (degree, dissection) = match (degree, dissection) {
            (Some(degree), Some(dissection)) => (degree, dissection),
            (degree, dissection) => {
                let (permutation, name) = match (degree, dissection) {
                    (Some(degree), _) => (degree.permutation, degree.name),
                    (None, Some(dissection)) => (dissection, ND),
                    (None, None) => (both.minimum_degree()?, name_of(Selection::Degree)),
                };
                self.order_secs = self.start.elapsed().as_secs_f64();
                return self.finish(&permutation, both.into_runs(), name);
            }
        };
        self.order_secs = self.start.elapsed().as_secs_f64();
        let runs = both.into_runs();
        let draft = self.draft(&dissection, runs.as_ref())?;
        if self.predicted_secs(&draft) < degree.secs {
            drop(runs);
            return self.finish_draft(draft, ND);
        }
        drop(draft);
        self.finish(&degree.permutation, runs, degree.name)
    }

    /// Minimum fill or minimum degree, as the shape says: minimum degree where minimum fill takes too long, the better of both where
    /// minimum degree leads to a factorization that takes much longer than minimum fill.
    fn minimum_degree(&self, both: &Both<'_>) -> Result<Degree, Error> {
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
    fn minimum_of(
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
        let found = match twins {
            Some(_) => None,
            None => Runs::find(self.pattern),
        };
        let runs = twins.map_or(found.as_ref(), MergedGraph::runs);
        let draft = own.draft(&permutation, runs)?;
        drop(found);
        let (name, secs) = (name_of(selection), own.predicted_secs(&draft));
        let is_dear = both.shape.is_worth_dissecting(secs);
        let is_solid = both.shape.is_worth_dissecting_as_solid(secs, draft.flops());
        if !is_dear && !is_solid {
            both.no_dissection.store(true, Relaxed);
            if !is_unlucky(name, secs, both) {
                let chosen = own.finish_draft(draft, name)?;
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
fn is_unlucky(name: &str, secs: f64, both: &Both<'_>) -> bool {
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
