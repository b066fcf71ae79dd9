//! Which ordering: by the predicted seconds of the factorization that it leads to.
//!
//! Minimum degree is cheap. Nested dissection is taken where a factorization would
//! take longer than the dissection itself: it saves about half of it, and predicted seconds are about
//! half of the measured ones. Both begin at the same time where there are threads for both.
//! Alternatives are compared by the sizes of their fronts ([`SymbolicDraft`]); only the one that is
//! taken is analyzed to the end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tamarack_ordering::{AmdOptions, Method, NdOptions, Workspace, order, order_until};
use tamarack_plan::predicted_secs;
use tamarack_sparse::{Pattern, Permutation};
use tamarack_symbolic::{SymbolicDraft, SymbolicFactor};

use crate::Error;
use crate::analysis::AnalysisSecs;
use crate::options::{Options, Ordering};

/// Seconds of a dissection on one thread for a vertex and for a stored neighbor of the graph without
/// twins. Seconds by this formula and measured (2.5 GHz, AVX-512): `p2d5_1000` 4.0 and 4.0,
/// `p3d27_50` 1.3 and 1.35, `el3d_40` 0.7 and 0.9, `p3d7_60` 1.0 and 1.9.
const VERTEX_SECS: f64 = 2.5e-6;
const NEIGHBOR_SECS: f64 = 3e-7;

/// Threads make a dissection faster by their number to this power.
const SPEEDUP: f64 = 0.8;

/// Columns that are looked at to tell how many unknowns share a node.
const SAMPLE: usize = 4096;

/// Patterns of fewer entries are ordered one way after the other: they are done before another thread
/// has begun.
const BOTH_AT_ONCE: u64 = 100_000;

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
        predicted_secs(draft.front_sizes(), &self.options.machine(), precision)
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
    /// the same time, and the dissection is stopped as soon as minimum degree is seen to be enough:
    /// which one is taken does not depend on the clock.
    fn auto(&mut self) -> Result<Chosen, Error> {
        let amd = Method::Amd(AmdOptions::default());
        let nd = Method::NestedDissection(NdOptions::default());
        let stop = AtomicBool::new(false);
        let first = || {
            let found = self.minimum_degree(&amd, &stop);
            stop.fetch_or(found.is_err(), Relaxed);
            found
        };
        let second = || order_until(self.pattern, &nd, &mut Workspace::new(), &stop);
        let threads = self.options.machine().threads;
        let (first, second) = if threads > 1 && self.pattern.nnz_lower() >= BOTH_AT_ONCE {
            rayon::join(first, second)
        } else {
            (first(), second())
        };
        let (degree, secs) = match first? {
            Degree::Enough(chosen) => return Ok(*chosen),
            Degree::Dear { permutation, secs } => (permutation, secs),
        };
        let second = second?;
        self.order_secs = self.start.elapsed().as_secs_f64();
        let draft = self.draft(&second)?;
        if self.predicted_secs(&draft) < secs {
            return self.finish_draft(draft, nd.name());
        }
        drop(draft);
        self.finish(&degree, amd.name())
    }

    /// Orders by minimum degree, and where the factorization takes no longer than a dissection would
    /// raises `stop` and analyzes it.
    fn minimum_degree(&self, amd: &Method, stop: &AtomicBool) -> Result<Degree, Error> {
        let mut own = Search { ..*self };
        let permutation = own.order(amd)?;
        let draft = own.draft(&permutation)?;
        let secs = own.predicted_secs(&draft);
        if secs <= dissection_secs(own.pattern, own.options.machine().threads) {
            stop.store(true, Relaxed);
            let chosen = own.finish_draft(draft, amd.name())?;
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

/// About what a nested dissection takes, in seconds.
fn dissection_secs(pattern: &Pattern, threads: usize) -> f64 {
    let share = unknowns_per_node(pattern);
    let vertices = pattern.n() as f64 / share;
    let neighbors = pattern.nnz_full() as f64 / (share * share);
    let secs = VERTEX_SECS * vertices + NEIGHBOR_SECS * neighbors;
    secs / (threads.max(1) as f64).powf(SPEEDUP)
}

/// How many unknowns share a node, on average: neighbors in the user's order whose columns agree are
/// counted among some columns of the whole.
fn unknowns_per_node(pattern: &Pattern) -> f64 {
    let pairs = pattern.n().saturating_sub(1);
    if pairs == 0 {
        return 1.0;
    }
    // A step that is no multiple of the unknowns of a node.
    let step = (pairs / SAMPLE).max(1) | 1;
    let sample = (0..pairs).step_by(step);
    let count = sample.len();
    let twins = sample.filter(|&j| pattern.rows(j).get(1..) == Some(pattern.rows(j + 1)));
    count as f64 / (count - twins.count()).max(1) as f64
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
    fn unknowns_of_a_node_are_recognized() {
        assert!((unknowns_per_node(&pattern("el3d_8")) - 3.0).abs() < 0.2);
        assert!(unknowns_per_node(&pattern("p2d5_40")) < 1.1);
        assert_eq!(unknowns_per_node(&pattern("p2d5_1")), 1.0);
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
