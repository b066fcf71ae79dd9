//! Which ordering: by the predicted seconds of the factorization that it leads to.
//!
//! Minimum degree is cheap, of a graph whose twins are merged even more so; minimum fill is better and takes about as long where there is
//! much to eliminate. Nested dissection is taken where it saves more of the factorization than it takes itself. Where there are threads for both they begin at the same time, and the graph's
//! shape ([`shape`](crate::shape)) says which one is in vain: on a plane a dissection is hardly ever worth its time, in a solid
//! minimum degree is never better.
//! Alternatives are compared by the sizes of their fronts ([`SymbolicDraft`]); only the one that is
//! taken is analyzed to the end. Which one that is depends on the pattern and the options, not on the clock, not on
//! the number of threads and not on measured rates: another order would give other bits.

mod auto;
mod degree;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tamarack_ordering::{
    AmdOptions, MergedGraph, Method, NdOptions, OrderingError, Selection, Stop, Workspace,
    order_until, order_without_fill,
};
use tamarack_plan::{FrontRates, Machine, predicted_secs};
use tamarack_sparse::{Pattern, Permutation, Runs};
use tamarack_symbolic::{SymbolicDraft, SymbolicFactor, SymbolicOptions};

use crate::Error;
use crate::analysis::AnalysisSecs;
use crate::device::{self, Device};
use crate::options::{Options, Ordering};
use crate::threads::with_threads;

/// The machine that all orderings are judged for, whichever it is and however many threads there are: a choice that goes by what was
/// measured would give other bits each time. Two cores with AVX-512, as [`calibrate`](crate::calibrate) finds them (AMD EPYC of 2023; rounded, no lines kept).
pub(crate) const MACHINE: Machine = Machine {
    threads: 2,
    memory_bytes: None,
    f64: FrontRates {
        overhead_secs: 3.0e-8,
        per_pivot_secs: 6.0e-9,
        per_panel_byte_secs: 6.0e-11,
        per_assembly_byte_secs: 1.25e-11,
        per_flop_secs: 1.8e-11,
    },
    f32: FrontRates {
        overhead_secs: 3.0e-8,
        per_pivot_secs: 6.5e-9,
        per_panel_byte_secs: 8.0e-11,
        per_assembly_byte_secs: 1.4e-11,
        per_flop_secs: 9.0e-12,
    },
};

/// Entries of lists that minimum degree or fill may read for each variable and entry of the graph, where it is not asked for by name. Meshes,
/// networks and programs read 1.5 to 10, networks of skewed degrees 22 to 40, of which nine tenths are eliminated by then (no lines kept); 100,000 points that share 250 cameras read
/// 800 one by one, in 17 times the time of a dissection; some that are neighbors of each other still are eliminated so.
/// Where 60,000 unknowns have neighbors anywhere minimum fill reads 69, in four times the time of minimum degree, which reads 12.
const MOST_READS: u32 = 30;

/// Orders and analyzes as the options say.
pub(crate) struct Chosen {
    pub(crate) symbolic: SymbolicFactor,
    /// Name of the ordering that was taken.
    pub(crate) name: &'static str,
    pub(crate) seconds: AnalysisSecs,
}

impl Chosen {
    /// Orders `pattern` by one or by several methods and analyzes what came out best, unless `stop` is set.
    pub(crate) fn until(
        pattern: &Arc<Pattern>,
        options: &Options,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let chosen = Self::by_search(pattern, options, stop);
        // One of several orderings that is stopped may pass for one that is in vain.
        match stop.is_set() {
            true => Err(OrderingError::Stopped.into()),
            false => chosen,
        }
    }

    fn by_search(pattern: &Arc<Pattern>, options: &Options, stop: Stop<'_>) -> Result<Self, Error> {
        let mut search = Search {
            pattern,
            options,
            stop,
            start: Instant::now(),
            order_secs: 0.0,
        };
        match &options.ordering {
            Ordering::Permutation(given) => search.finish(given, Runs::find(pattern), "given"),
            Ordering::Method(Method::NestedDissection(dissection)) => {
                let graph = MergedGraph::new(pattern)?;
                let permutation = graph.dissect(dissection, stop)?;
                search.order_secs = search.start.elapsed().as_secs_f64();
                search.finish(&permutation, graph.into_runs(), ND)
            }
            Ordering::Method(Method::Amd(degree))
                if *degree == AmdOptions::from(degree.selection) =>
            {
                search.merged_degree(degree)
            }
            Ordering::Method(method) => {
                let by_method = || order_until(pattern, method, &mut Workspace::new(), stop);
                let permutation = with_threads(1, by_method)?; // in the pool where there is one
                search.order_secs = search.start.elapsed().as_secs_f64();
                search.finish(&permutation, Runs::find(pattern), method.name())
            }
            Ordering::Auto => search.auto(),
            Ordering::Best(budget) => search.best(*budget),
        }
    }
}

/// A search for an ordering.
struct Search<'a> {
    pattern: &'a Arc<Pattern>,
    options: &'a Options,
    stop: Stop<'a>,
    start: Instant,
    /// Spent in orderings, of the time since `start`.
    order_secs: f64,
}

impl Search<'_> {
    /// What an order leads to, given the twins that follow one another.
    fn draft<'p>(
        &self,
        permutation: &'p Permutation,
        runs: Option<&Runs>,
    ) -> Result<SymbolicDraft<'p>, Error>
    where
        Self: 'p,
    {
        // Our own orderings keep the user's order in separators, where rows stand in long runs as it is.
        let given = matches!(self.options.ordering, Ordering::Permutation(_));
        let options = SymbolicOptions {
            sorted_columns: given && self.options.symbolic.sorted_columns,
            ..self.options.symbolic
        };
        Ok(SymbolicDraft::with_runs(
            self.pattern,
            runs,
            permutation,
            &options,
        )?)
    }

    fn predicted_secs(&self, draft: &SymbolicDraft<'_>) -> f64 {
        let precision = self.options.precision.of_factor();
        predicted_secs(draft.front_sizes(), &MACHINE, precision)
    }

    /// The same where the factorization is to be made. On a device a narrow tree costs more than operations, and its levels show at the end
    /// of an analysis only: of `circuit_500000` minimum fill leads to three quarters of a dissection's operations and twice its time there
    /// (run `orders-on-card`).
    fn secs_in_place(&self, draft: SymbolicDraft<'_>) -> Result<f64, Error> {
        if let Device::Cpu | Device::Auto = self.options.device {
            return Ok(self.predicted_secs(&draft));
        }
        let precision = self.options.precision.of_factor();
        Ok(device::judged_secs(draft.finish()?, precision)?)
    }

    /// Analyzes to the end. The runs of twins are freed on the way: later arrays of an analysis are cut from what earlier ones leave.
    fn finish(
        &self,
        permutation: &Permutation,
        runs: Option<Runs>,
        name: &'static str,
    ) -> Result<Chosen, Error> {
        let draft = self.draft(permutation, runs.as_ref())?;
        drop(runs);
        self.finish_draft(draft, name)
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

    /// Minimum degree or fill with its default options: of the graph without twins, where there are some. With three unknowns a node it
    /// has a ninth of the edges.
    fn merged_degree(&mut self, options: &AmdOptions) -> Result<Chosen, Error> {
        let runs = Runs::find(self.pattern);
        let (permutation, runs) = if let Some(order) = order_without_fill(self.pattern)? {
            (order, runs)
        } else if runs.is_some() {
            let merged = || MergedGraph::with_runs(self.pattern, runs);
            let graph = with_threads(1, merged)?; // in the pool where there is one
            let found = graph.minimum_degree(options, self.stop)?;
            (found, graph.into_runs())
        } else {
            let method = Method::Amd(options.clone());
            let space = &mut Workspace::new();
            (order_until(self.pattern, &method, space, self.stop)?, runs)
        };
        self.order_secs = self.start.elapsed().as_secs_f64();
        self.finish(&permutation, runs, name_of(options.selection))
    }

    /// The best that is found before `budget` is over: minimum degree and minimum fill, if they do not take too long, then dissections from
    /// one seed after the other. At least one of each.
    fn best(&mut self, budget: Duration) -> Result<Chosen, Error> {
        let graph = MergedGraph::new(self.pattern)?;
        let mut best = None;
        for selection in [Selection::Degree, Selection::MeanFill] {
            match graph.minimum_degree(&within_reads(selection, MOST_READS), self.stop) {
                Err(OrderingError::Stopped) => (), // what takes so long is not tried to the end
                found => self.keep_better(&mut best, found?, name_of(selection), &graph)?,
            }
        }
        for seed in 0.. {
            let begun = self.start.elapsed();
            let mut dissection = NdOptions::default();
            dissection.seed = seed;
            let found = graph.dissect(&dissection, self.stop)?;
            self.keep_better(&mut best, found, ND, &graph)?;
            // Another one takes as long as this one did.
            let now = self.start.elapsed();
            if now + (now - begun) > budget {
                break;
            }
        }
        self.order_secs = self.start.elapsed().as_secs_f64();
        let Some(best) = best else {
            return Err(OrderingError::Internal.into()); // there is one dissection at least
        };
        self.finish(&best.permutation, graph.into_runs(), best.name)
    }

    /// Puts an order in the place of the best one, if that takes more predicted seconds.
    fn keep_better(
        &self,
        best: &mut Option<Candidate>,
        permutation: Permutation,
        name: &'static str,
        graph: &MergedGraph,
    ) -> Result<(), Error> {
        let secs = self.secs_in_place(self.draft(&permutation, graph.runs())?)?;
        if best.as_ref().is_none_or(|best| secs < best.secs) {
            *best = Some(Candidate {
                permutation,
                name,
                secs,
            });
        }
        Ok(())
    }
}

/// An order, the name of its method, and the predicted seconds of the factorization that it leads to.
struct Candidate {
    permutation: Permutation,
    name: &'static str,
    secs: f64,
}

/// Options of minimum degree or fill that give up what takes too long, as [`MOST_READS`].
fn within_reads(selection: Selection, most_reads: u32) -> AmdOptions {
    let mut options = AmdOptions::from(selection);
    options.most_reads = Some(most_reads);
    options
}

/// Name of minimum degree or fill, with twins merged or not.
fn name_of(selection: Selection) -> &'static str {
    Method::Amd(selection.into()).name()
}

/// Name of nested dissection.
const ND: &str = "nd";
