//! Minimum fill, minimum degree or nested dissection: which is tried, at the same time where there are threads for both, and which is taken.
//!
//! ```text
//! an order without fill ──► taken
//! few entries, or hardly more than a tree has ──► minimum degree ──► leads to little work ──► taken
//!                                                              └──► to much ──► dissection; the better is taken
//! many entries ──► look at the levels of a search ──► thick ────► a piece of it has much to do ──► dissection
//!                                                 │         └──► little ──► minimum fill, as minimum degree above
//!                                                 ├─► wide ─────► minimum degree ──► leads to very much work ──► dissection, as above
//!                                                 │                             └──► to less ──► taken, or minimum fill
//!                                                 ├─► long ─────► minimum degree in two halves, as minimum degree above
//!                                                 └─► narrow or unclear ──► minimum degree, as above
//! ```
//!
//! Minimum degree stands for minimum fill where there are many vertices or unknowns share them ([`Both::is_worth_filling`]), and for the
//! better of both where the factorization takes long, or longer than a graph of such levels should ([`Both::is_unlucky`]). What is little, many,
//! thick and wide is in [`shape`](crate::shape), what a piece says in [`piece`](crate::piece), all of it for one machine.

use std::sync::atomic::Ordering::Relaxed;

use tamarack_ordering::{
    Method, OrderingError, Selection, Workspace, order_until, order_without_fill,
};
use tamarack_sparse::{Permutation, Runs};

use super::degree::{Degree, is_unlucky};
use super::{Candidate, Chosen, MOST_READS, ND, Search, name_of, within_reads};
use crate::Error;
use crate::both::Both;
use crate::shape::{Look, Shape};
use crate::threads::{is_alone, with_threads};

impl Search<'_> {
    /// Minimum degree or fill, or nested dissection where it pays.
    pub(super) fn auto(&mut self) -> Result<Chosen, Error> {
        if let Some(order) = order_without_fill(self.pattern)? {
            self.order_secs = self.start.elapsed().as_secs_f64();
            return self.finish(&order, Runs::find(self.pattern), name_of(Selection::Degree));
        }
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
        let degree = match look {
            Look::Long { end } => self.halves_or_degree(end, &both),
            _ => degree,
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
}
