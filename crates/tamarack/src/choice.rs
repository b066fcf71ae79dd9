//! Which ordering: by the predicted seconds of the factorization that it leads to.
//!
//! Minimum degree is cheap, of a graph whose twins are merged even more so. Nested dissection is taken where it saves more of
//! the factorization than it takes itself. Where there are threads for both they begin at the same time, unless
//! the graph is like a plane ([`shape`](crate::shape)): then a dissection is hardly ever worth its time, and
//! one that has begun would take memory bandwidth from the elimination.
//! Alternatives are compared by the sizes of their fronts ([`SymbolicDraft`]); only the one that is
//! taken is analyzed to the end. Which one that is depends on the pattern and the options, not on the clock and not on
//! the number of threads: another order would give other bits.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tamarack_ordering::{
    AmdOptions, Method, NdOptions, OrderingError, Workspace, order, order_until,
};
use tamarack_plan::{Machine, predicted_secs};
use tamarack_sparse::{Pattern, Permutation};
use tamarack_symbolic::{SymbolicDraft, SymbolicFactor};

use crate::Error;
use crate::analysis::AnalysisSecs;
use crate::options::{Options, Ordering};
use crate::shape::{Shape, is_narrow};

/// Graphs of fewer stored neighbors are ordered one way after the other: they are done before another thread
/// has begun.
const BOTH_AT_ONCE: f64 = 200_000.0;

/// All seconds that an ordering is judged by are predicted for so many threads, however many there are: a choice that goes by their
/// number would give other bits for another number.
const THREADS: usize = 2;

/// Orders and analyzes as the options say.
pub(crate) struct Chosen {
    pub(crate) symbolic: SymbolicFactor,
    /// Name of the ordering that was taken.
    pub(crate) name: &'static str,
    pub(crate) seconds: AnalysisSecs,
}

impl Chosen {
    /// Orders `pattern` by one or by several methods and analyzes what came out best.
    pub(crate) fn new(pattern: &Pattern, options: &Options) -> Result<Self, Error> {
        let mut search = Search {
            pattern,
            options,
            start: Instant::now(),
            order_secs: 0.0,
        };
        match &options.ordering {
            Ordering::Permutation(given) => search.finish(given, "given"),
            Ordering::Method(method) => {
                let permutation = search.order(method)?;
                search.finish(&permutation, method.name())
            }
            Ordering::Auto => search.auto(),
            Ordering::Best(budget) => search.best(*budget),
        }
    }
}

/// A search for an ordering.
struct Search<'a> {
    pattern: &'a Pattern,
    options: &'a Options,
    start: Instant,
    /// Spent in orderings, of the time since `start`.
    order_secs: f64,
}

/// What minimum degree leads to.
enum Degree {
    /// A factorization that takes no longer than a dissection.
    Enough(Box<Chosen>),
    /// One of so many predicted seconds.
    Dear { permutation: Permutation, secs: f64 },
}

impl Search<'_> {
    /// The machine that orderings are judged for.
    fn machine(&self) -> Machine {
        Machine {
            threads: THREADS,
            ..self.options.machine()
        }
    }

    fn order(&mut self, method: &Method) -> Result<Permutation, Error> {
        let start = Instant::now();
        let permutation = order(self.pattern, method, &mut Workspace::new())?;
        self.order_secs += start.elapsed().as_secs_f64();
        Ok(permutation)
    }

    fn draft<'p>(&self, permutation: &'p Permutation) -> Result<SymbolicDraft<'p>, Error>
    where
        Self: 'p,
    {
        let options = &self.options.symbolic;
        Ok(SymbolicDraft::new(self.pattern, permutation, options)?)
    }

    fn predicted_secs(&self, draft: &SymbolicDraft<'_>) -> f64 {
        let precision = self.options.precision.of_factor();
        predicted_secs(draft.front_sizes(), &self.machine(), precision)
    }

    fn finish(&self, permutation: &Permutation, name: &'static str) -> Result<Chosen, Error> {
        self.finish_draft(self.draft(permutation)?, name)
    }

    fn finish_draft(&self, draft: SymbolicDraft<'_>, name: &'static str) -> Result<Chosen, Error> {
        let symbolic = draft.finish()?;
        let order_secs = self.order_secs;
        let seconds = AnalysisSecs {
            order_secs,
            symbolic_secs: self.start.elapsed().as_secs_f64() - order_secs,
            plan_secs: 0.0,
        };
        Ok(Chosen {
            symbolic,
            name,
            seconds,
        })
    }

    /// Minimum degree, or nested dissection where it pays. Where there are threads for both they run at
    /// the same time, and the dissection is stopped as soon as minimum degree is seen to be enough.
    fn auto(&mut self) -> Result<Chosen, Error> {
        let shape = Shape::of(self.pattern);
        let nd = Method::NestedDissection(NdOptions::default());
        let dissect =
            |stop: &AtomicBool| order_until(self.pattern, &nd, &mut Workspace::new(), stop);
        let stop = AtomicBool::new(false);
        let first = || {
            let found = self.minimum_degree(shape, &stop);
            stop.fetch_or(found.is_err(), Relaxed);
            found
        };
        let second = || match self.is_plane(shape)? || stop.load(Relaxed) {
            true => Ok(None),
            false => dissect(&stop).map(Some),
        };
        let at_once = self.options.machine().threads > 1 && shape.neighbors() >= BOTH_AT_ONCE;
        let (first, second) = match at_once && !shape.is_like_a_tree() {
            true => rayon::join(first, second),
            false => (first(), Ok(None)),
        };
        let (degree, secs) = match first? {
            Degree::Enough(chosen) => return Ok(*chosen),
            Degree::Dear { permutation, secs } => (permutation, secs),
        };
        let second = match second? {
            Some(permutation) => permutation,
            None => dissect(&stop)?,
        };
        self.order_secs = self.start.elapsed().as_secs_f64();
        let draft = self.draft(&second)?;
        if self.predicted_secs(&draft) < secs {
            return self.finish_draft(draft, nd.name());
        }
        drop(draft);
        self.finish(&degree, AMD)
    }

    /// Whether a dissection need not begin before minimum degree has shown that it is needed. Twins are not merged here: that would
    /// take as long as minimum degree of the merged graph.
    fn is_plane(&self, shape: Shape) -> Result<bool, OrderingError> {
        let secs = shape.dissection_secs(THREADS);
        Ok(!shape.has_twins() && is_narrow(self.pattern, &self.machine(), secs)?)
    }

    /// Orders by minimum degree, and where a dissection would not save more than it takes
    /// raises `stop` and analyzes it.
    fn minimum_degree(&self, shape: Shape, stop: &AtomicBool) -> Result<Degree, Error> {
        let mut own = Search { ..*self };
        let permutation = own.order(&minimum_degree(shape))?;
        let draft = own.draft(&permutation)?;
        let secs = own.predicted_secs(&draft);
        let saved = shape.saved_secs(draft.flops() as f64, secs);
        if saved <= shape.dissection_secs(THREADS) {
            stop.store(true, Relaxed);
            let chosen = own.finish_draft(draft, AMD)?;
            return Ok(Degree::Enough(Box::new(chosen)));
        }
        drop(draft);
        Ok(Degree::Dear { permutation, secs })
    }

    /// The best that is found before `budget` is over: minimum degree, then dissections from one seed
    /// after the other. At least one of each.
    fn best(&mut self, budget: Duration) -> Result<Chosen, Error> {
        let amd = Method::Amd(AmdOptions::default());
        let mut best = self.order(&amd)?;
        let mut name = amd.name();
        let mut secs = self.predicted_secs(&self.draft(&best)?);
        for seed in 0.. {
            let begun = self.start.elapsed();
            let mut dissection = NdOptions::default();
            dissection.seed = seed;
            let nd = Method::NestedDissection(dissection);
            let found = self.order(&nd)?;
            let own = self.predicted_secs(&self.draft(&found)?);
            if own < secs {
                (best, secs, name) = (found, own, nd.name());
            }
            // Another one takes as long as this one did.
            let now = self.start.elapsed();
            if now + (now - begun) > budget {
                break;
            }
        }
        self.finish(&best, name)
    }
}

/// Name of minimum degree, with twins merged or not.
const AMD: &str = "amd";

/// Approximate minimum degree, of the graph without twins where that pays: a dissection that takes the whole for one leaf.
fn minimum_degree(shape: Shape) -> Method {
    if !shape.has_twins() {
        return Method::Amd(AmdOptions::default());
    }
    let mut options = NdOptions::default();
    options.leaf = usize::MAX;
    Method::NestedDissection(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_sparse::models::Model;

    fn pattern(name: &str) -> std::sync::Arc<Pattern> {
        let model: Model = name.parse().unwrap();
        model.generate::<f64>().unwrap().pattern().clone()
    }

    #[test]
    fn auto_dissects_solids_and_spares_itself_that_on_planes() {
        let name = |model: &str, ordering: Ordering| {
            let options = Options {
                threads: Some(1),
                ordering,
                ..Options::default()
            };
            Chosen::new(&pattern(model), &options).unwrap().name
        };
        assert_eq!(name("el3d_14", Ordering::Auto), "nd");
        assert_eq!(name("p2d9_60", Ordering::Auto), "amd");
        assert_eq!(name("el3d_10", Ordering::Best(Duration::ZERO)), "nd");
    }

    #[test]
    fn auto_takes_the_same_order_for_any_number_of_threads() {
        let order = |model: &str, threads: usize| {
            let options = Options {
                threads: Some(threads),
                ..Options::default()
            };
            let chosen = Chosen::new(&pattern(model), &options).unwrap();
            chosen.symbolic.permutation().clone()
        };
        for model in ["p2d9_120", "p3d7_16", "el3d_14", "p3d27_12"] {
            assert_eq!(order(model, 1), order(model, 5), "{model}");
        }
    }

    #[test]
    fn best_is_no_worse_than_its_candidates() {
        let a = pattern("p3d7_14");
        let mut options = Options::default();
        let mut flops = |ordering: Ordering| {
            options.ordering = ordering;
            let chosen = Chosen::new(&a, &options).unwrap();
            chosen.symbolic.stats().flops
        };
        let best = flops(Ordering::Best(Duration::from_millis(100)));
        let amd = flops(Method::Amd(AmdOptions::default()).into());
        // Predicted seconds and operations differ a little.
        assert!(best as f64 <= 1.05 * amd as f64, "{best} {amd}");
    }
}
