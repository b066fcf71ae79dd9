//! Analysis: everything that depends on the pattern alone.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tamarack_numeric::{Control, Team};
use tamarack_ordering::{Workspace, order};
use tamarack_plan::FactorPlan;
use tamarack_sparse::{Pattern, Permutation, SymmetricCsc};
use tamarack_symbolic::{SymbolicFactor, pattern_fingerprint};

use crate::options::{Options, Ordering};
use crate::{Error, Factor};

/// The analysis of a pattern: ordering, structure of the factor, and the plan. Made once per mesh,
/// used for any number of matrices with that pattern, shared between threads.
#[derive(Debug)]
pub struct Analysis {
    pattern: Arc<Pattern>,
    plan: Arc<FactorPlan>,
    options: Options,
    seconds: AnalysisSecs,
    /// Started with the first factorization.
    team: OnceLock<Arc<Team>>,
}

/// Seconds that the parts of an analysis took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnalysisSecs {
    /// Ordering; 0 for a given permutation or a saved analysis.
    pub order_secs: f64,
    /// Elimination tree, supernodes, row structures; 0 for a saved analysis.
    pub symbolic_secs: f64,
    /// Plan.
    pub plan_secs: f64,
}

impl Analysis {
    /// Orders, analyzes and plans.
    ///
    /// Takes time about linear in the entries of the pattern (ordering apart) and no more memory
    /// than a few times the pattern and the structure of the factor.
    ///
    /// # Errors
    /// Of kind [`Resources`](crate::ErrorKind::Resources) where the factorization would need more
    /// memory than it may use, with the numbers; nothing large is allocated for that.
    pub fn new(pattern: &Arc<Pattern>, options: &Options) -> Result<Self, Error> {
        Self::with_budget(pattern, options, true)
    }

    /// The same without a look at the memory budget: to print what a factorization that does not
    /// fit would cost.
    pub fn unbudgeted(pattern: &Arc<Pattern>, options: &Options) -> Result<Self, Error> {
        Self::with_budget(pattern, options, false)
    }

    fn with_budget(
        pattern: &Arc<Pattern>,
        options: &Options,
        budgeted: bool,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let permutation = permutation(pattern, &options.ordering)?;
        let order_secs = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let symbolic = SymbolicFactor::analyze(pattern, &permutation, &options.symbolic)?;
        let symbolic_secs = start.elapsed().as_secs_f64();
        drop(permutation);
        let seconds = AnalysisSecs {
            order_secs,
            symbolic_secs,
            plan_secs: 0.0,
        };
        Self::planned(pattern, Arc::new(symbolic), options, budgeted, seconds)
    }

    fn planned(
        pattern: &Arc<Pattern>,
        symbolic: Arc<SymbolicFactor>,
        options: &Options,
        budgeted: bool,
        seconds: AnalysisSecs,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let plan_options = options.plan_options(options.precision.of_factor());
        let plan = FactorPlan::new(symbolic, &options.machine(budgeted), &plan_options)?;
        Ok(Self {
            pattern: pattern.clone(),
            plan: Arc::new(plan),
            options: options.clone(),
            seconds: AnalysisSecs {
                plan_secs: start.elapsed().as_secs_f64(),
                ..seconds
            },
            team: OnceLock::new(),
        })
    }

    /// The analyzed pattern.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Structure of the factor.
    pub fn symbolic(&self) -> &Arc<SymbolicFactor> {
        self.plan.symbolic()
    }

    /// What a factorization will cost: operations, bytes, predicted seconds. Prints itself.
    pub fn plan(&self) -> &Arc<FactorPlan> {
        &self.plan
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What the parts of the analysis took.
    pub fn seconds(&self) -> AnalysisSecs {
        self.seconds
    }

    /// Factorizes a matrix with the analyzed pattern.
    ///
    /// # Errors
    /// Of kind [`NotPositiveDefinite`](crate::ErrorKind::NotPositiveDefinite) with the user's own
    /// column, or [`Input`](crate::ErrorKind::Input) for another pattern.
    pub fn factorize(&self, a: &SymmetricCsc<f64>) -> Result<Factor, Error> {
        self.factorize_with(a, &Control::default())
    }

    /// The same, watched and stopped through `control`.
    pub fn factorize_with(
        &self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<Factor, Error> {
        Factor::new(self, a, control)
    }

    /// The threads that work on its factors.
    pub(crate) fn team(&self) -> &Arc<Team> {
        self.team
            .get_or_init(|| Arc::new(Team::new(self.plan.threads())))
    }

    /// The analysis as bytes: fingerprint of the pattern, then the structure of the factor.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = pattern_fingerprint(&self.pattern).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.symbolic().to_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) made of the analysis of `pattern`, and plans anew, so
    /// that machine, precision and thread count may differ. `options.ordering` is not looked at.
    ///
    /// # Errors
    /// [`Error::Symbolic`] for damaged bytes, [`Error::OtherPattern`] for those of another pattern.
    pub fn from_bytes(
        bytes: &[u8],
        pattern: &Arc<Pattern>,
        options: &Options,
    ) -> Result<Self, Error> {
        let (fingerprint, body) = bytes.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        let symbolic = SymbolicFactor::from_bytes(body)?;
        let same = u64::from_le_bytes(*fingerprint) == pattern_fingerprint(pattern);
        if symbolic.n() != pattern.n() || !same {
            return Err(Error::OtherPattern {
                saved: symbolic.n(),
                n: pattern.n(),
            });
        }
        Self::planned(
            pattern,
            Arc::new(symbolic),
            options,
            true,
            AnalysisSecs::default(),
        )
    }
}

fn permutation(pattern: &Pattern, ordering: &Ordering) -> Result<Permutation, Error> {
    let mut workspace = Workspace::new();
    Ok(match ordering {
        Ordering::Auto => order(pattern, &Default::default(), &mut workspace)?,
        Ordering::Method(method) => order(pattern, method, &mut workspace)?,
        Ordering::Permutation(given) => given.clone(),
    })
}
