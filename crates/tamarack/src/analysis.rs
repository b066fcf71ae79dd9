//! Analysis: everything that depends on the pattern alone.

mod profiles;
mod saved;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use tamarack_gpu::{DeviceView, Gpu};
use tamarack_numeric::{Control, Team};
use tamarack_ordering::{Method, NdOptions, Stop};
use tamarack_plan::{FactorPlan, Machine, Precision as PlanPrecision};
use tamarack_solve::{Engine, Host, Substitution};
use tamarack_sparse::{Pattern, SymmetricCsc};
use tamarack_store::{return_end_of_heap, return_freed_memory};
use tamarack_symbolic::SymbolicFactor;

use crate::choice::Chosen;
use crate::device::{self, Device, Opening, Place};
use crate::options::{Options, Ordering, Precision};
use crate::pooled::Pooled;
use crate::threads::with_threads;
use crate::witness::Witness;
use crate::{Error, Factor};

/// Patterns of fewer entries and unknowns are analyzed by the caller's thread: their steps are hardly cut into tasks, and to start
/// threads takes longer.
const FEW_ENTRIES: u64 = 200_000;
const FEW_UNKNOWNS: usize = 1 << 13;

/// Name of the ordering of a saved analysis.
const SAVED: &str = "saved";

/// Bytes of a factor from which on the analysis gives back what it has freed: the factor will want it.
const LARGE_FACTOR: u64 = 1 << 26;

/// The analysis of a pattern: ordering, structure of the factor, and the plan. Made once per mesh,
/// used for any number of matrices with that pattern, shared between threads.
pub struct Analysis {
    pattern: Arc<Pattern>,
    plan: Arc<FactorPlan>,
    /// Of factors on the host: made with the analysis, or late if it was to choose a GPU and did not.
    substitution: OnceLock<Arc<Substitution>>,
    /// Name of the ordering that was taken.
    ordering: &'static str,
    options: Options,
    seconds: AnalysisSecs,
    /// Started with the first factorization, and when.
    team: OnceLock<(Arc<Team>, Instant)>,
    /// Where a profile of the device is being taken: seconds from the team's start to its beginning.
    device_origin: Mutex<Option<f64>>,
    place: Place,
    /// On a GPU: who says which column a matrix is refused for.
    witness: Option<Arc<Witness>>,
}

/// Seconds that the parts of an analysis took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnalysisSecs {
    /// Ordering; 0 for a given permutation, a saved analysis, or another one's structure.
    pub order_secs: f64,
    /// Elimination tree, supernodes, row structures; 0 for a saved analysis, or another one's structure.
    pub symbolic_secs: f64,
    /// Plan.
    pub plan_secs: f64,
}

impl fmt::Debug for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analysis")
            .field("ordering", &self.ordering)
            .field("plan", &self.plan)
            .field("place", &self.place)
            .field("seconds", &self.seconds)
            .finish_non_exhaustive()
    }
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
        let analysis = Self::unbudgeted(pattern, options)?;
        analysis.check_memory()?;
        Ok(analysis)
    }

    /// The same, stopped through `control`, whose progress nobody is told: an ordering looks at the flag again and again (but for exact and
    /// multiple minimum degree, reverse Cuthill-McKee and the natural one), the rest is short.
    ///
    /// # Errors
    /// As [`new`](Self::new), and of kind [`Cancelled`](crate::ErrorKind::Cancelled) if the flag was set.
    pub fn new_with(
        pattern: &Arc<Pattern>,
        options: &Options,
        control: &Control<'_>,
    ) -> Result<Self, Error> {
        let analysis = Self::until(pattern, options, Stop::by(control.cancel))?;
        analysis.check_memory()?;
        Ok(analysis)
    }

    /// The same without a look at the memory budget: to print what a factorization that does not
    /// fit would cost.
    ///
    /// # Errors
    /// As [`new`](Self::new), memory of the host aside.
    pub fn unbudgeted(pattern: &Arc<Pattern>, options: &Options) -> Result<Self, Error> {
        Self::until(pattern, options, Stop::NEVER)
    }

    fn until(pattern: &Arc<Pattern>, options: &Options, stop: Stop<'_>) -> Result<Self, Error> {
        match options.device {
            Device::Cpu => Self::on_host(pattern, options, stop),
            Device::Gpu(index) => {
                let opening = Opening::begin(index, options, false)?;
                let asked = options;
                let mut options = device::for_device(asked);
                let large = pattern.nnz_lower() >= device::WORTH_DISSECTING;
                if matches!(options.ordering, Ordering::Auto) && large {
                    // a wide tree, whatever the number of operations
                    options.ordering = Method::NestedDissection(NdOptions::default()).into();
                }
                let analysis = Self::on_host(pattern, &options, stop);
                let open = opening.wait();
                let mut analysis = analysis?;
                analysis.place = open?.place(analysis.symbolic(), &options)?;
                analysis.call_witness(asked, false);
                Ok(analysis)
            }
            Device::Auto => {
                let analysis = Self::on_host(pattern, options, stop)?;
                analysis.wherever_faster()
            }
        }
    }

    /// Itself on a GPU, if that is predicted to be faster.
    fn wherever_faster(mut self) -> Result<Self, Error> {
        let secs = self.plan.predicted_secs();
        self.place = device::choose(self.symbolic(), &self.options, secs);
        let Place::Gpu { index, .. } = self.place else {
            return Ok(self);
        };
        // the same order, in supernodes that suit the device
        let mut options = device::for_device(&self.options);
        options.device = Device::Gpu(index);
        if !matches!(options.ordering, Ordering::Permutation(_)) {
            options.ordering = self.symbolic().permutation().clone().into();
            options.symbolic.sorted_columns = false;
        }
        let mut better = match Self::unbudgeted(&self.pattern, &options) {
            Ok(better) => better,
            Err(error) => {
                // Supernodes for the device take more memory, and others may have taken some meanwhile.
                let reason = Some(error.to_string());
                self.place = Place::Cpu { reason };
                return Ok(self);
            }
        };
        better.call_witness(&self.options, false);
        Ok(Self {
            ordering: self.ordering,
            seconds: self.seconds + better.seconds,
            ..better
        })
    }

    /// The host may be asked why a matrix was refused: as `options` would have had it, or with the same structure.
    fn call_witness(&mut self, options: &Options, same_structure: bool) {
        let witness = Witness::new(&self.pattern, options, &self.plan, same_structure);
        self.witness = Some(Arc::new(witness));
    }

    /// Orders, analyzes and plans for the host.
    fn on_host(pattern: &Arc<Pattern>, options: &Options, stop: Stop<'_>) -> Result<Self, Error> {
        let work = || {
            let Chosen {
                symbolic,
                name,
                seconds,
            } = Chosen::until(pattern, options, stop)?;
            let analysis = Self::planned(pattern, Arc::new(symbolic), name, options, seconds);
            if pattern.nnz_lower() >= FEW_ENTRIES && wants_memory(options) {
                rayon::broadcast(|_| return_end_of_heap());
            }
            analysis
        };
        let analysis = match is_small(pattern) && !options.ordering.dissects() {
            true => work()?, // what may need a pool all the same makes one
            false => with_threads(threads_for(pattern, options), work)?,
        };
        let is_large = analysis.plan.memory().factor_bytes >= LARGE_FACTOR;
        if is_large && wants_memory(options) {
            return_freed_memory();
        }
        Ok(analysis)
    }

    /// Whether its plan needs no more memory than it [may use](Options::memory_bytes): what [`new`](Self::new) asks, and
    /// [`unbudgeted`](Self::unbudgeted) does not. On a GPU that is known already.
    ///
    /// # Errors
    /// Of kind [`Resources`](crate::ErrorKind::Resources), with the numbers.
    pub fn check_memory(&self) -> Result<(), Error> {
        if let Place::Gpu { .. } = self.place {
            return Ok(());
        }
        let needed = self.plan.memory().peak_bytes();
        Ok(self.plan.check(self.options.budget(needed))?)
    }

    fn planned(
        pattern: &Arc<Pattern>,
        symbolic: Arc<SymbolicFactor>,
        ordering: &'static str,
        options: &Options,
        seconds: AnalysisSecs,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let plan_options = options.plan_options(options.precision.of_factor());
        let of_factor = || FactorPlan::new(symbolic.clone(), &options.machine(), &plan_options);
        let of_solves = || {
            let on_host = matches!(options.device, Device::Cpu);
            on_host.then(|| Arc::new(Substitution::new(&symbolic)))
        };
        let (plan, substitution) = match threads_for(pattern, options) {
            1 => (of_factor(), of_solves()),
            threads => with_threads(threads, || rayon::join(of_factor, of_solves)),
        };
        let seconds = AnalysisSecs {
            plan_secs: start.elapsed().as_secs_f64(),
            ..seconds
        };
        Ok(Self {
            substitution: substitution.map(OnceLock::from).unwrap_or_default(),
            ..Self::of_plan(pattern, plan?.into(), ordering, options, seconds)
        })
    }

    fn of_plan(
        pattern: &Arc<Pattern>,
        plan: Arc<FactorPlan>,
        ordering: &'static str,
        options: &Options,
        seconds: AnalysisSecs,
    ) -> Self {
        Self {
            pattern: pattern.clone(),
            plan,
            substitution: OnceLock::new(),
            ordering,
            options: options.clone(),
            seconds,
            team: OnceLock::new(),
            device_origin: Mutex::new(None),
            place: Place::Cpu { reason: None },
            witness: None,
        }
    }

    /// On the host, by a plan that was made for the same options.
    pub(crate) fn with_plan(
        pattern: &Arc<Pattern>,
        plan: &Arc<FactorPlan>,
        options: &Options,
    ) -> Result<Self, Error> {
        let seconds = AnalysisSecs::default();
        let analysis = Self::of_plan(pattern, plan.clone(), SAVED, options, seconds);
        analysis.check_memory()?;
        Ok(analysis)
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

    /// In mixed precision on the host: bytes at the peak where single precision does not suffice and a factor in double precision
    /// comes beside the one in single. `None` for other precisions and on a GPU.
    ///
    /// # Errors
    /// Sizes beyond what numbers hold, as of [`unbudgeted`](Self::unbudgeted).
    pub fn fallback_bytes(&self) -> Result<Option<u64>, Error> {
        if self.options.precision != Precision::Mixed || self.gpu().is_some() {
            return Ok(None);
        }
        let double = self.options.plan_options(PlanPrecision::F64);
        let double = FactorPlan::new(self.symbolic().clone(), &self.options.machine(), &double)?;
        let held = self.plan.memory().own_bytes();
        Ok(Some(double.memory().peak_bytes() + held))
    }

    /// Where factors are made and used.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The GPU that factors are made on, to allocate there and to make views of others' memory
    /// ([`DeviceView::from_raw`](crate::DeviceView::from_raw)); `None` where they are made on the host.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.place {
            Place::Gpu { gpu, .. } => Some(gpu),
            Place::Cpu { .. } => None,
        }
    }

    /// Who makes them.
    pub(crate) fn engine(&self) -> Box<dyn Engine> {
        match &self.place {
            Place::Gpu { plan, gpu, .. } => {
                let device = tamarack_solve::Device::new(gpu.clone(), plan.clone());
                let device = device.profiled(self.begin_device_profile(gpu));
                Box::new(Pooled::new(device, self.options.thread_count()))
            }
            Place::Cpu { .. } => {
                // A plan in the other precision needs twice as much at most.
                let needed = self.plan.memory().peak_bytes().saturating_mul(2);
                let machine = Machine {
                    memory_bytes: self.options.budget(needed),
                    ..self.options.machine()
                };
                let (plan, substitution) = (self.plan.clone(), self.substitution().clone());
                Box::new(Host::new(plan, substitution, &machine, self.team().clone()))
            }
        }
    }

    /// The plan of the solves with factors on the host.
    fn substitution(&self) -> &Arc<Substitution> {
        let plan = || Arc::new(Substitution::new(self.symbolic()));
        self.substitution.get_or_init(plan)
    }

    /// Who says which column a matrix is refused for, where that is not the engine.
    pub(crate) fn witness(&self) -> Option<&Arc<Witness>> {
        self.witness.as_ref()
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Name of the ordering that was taken: a method's, `given` or `saved`.
    pub fn ordering(&self) -> &'static str {
        self.ordering
    }

    /// What the parts of the analysis took.
    pub fn seconds(&self) -> AnalysisSecs {
        self.seconds
    }

    /// Factorizes a matrix with the analyzed pattern.
    ///
    /// # Errors
    /// Of kind [`NotPositiveDefinite`](crate::ErrorKind::NotPositiveDefinite) with the user's own
    /// column, [`OtherPattern`](crate::ErrorKind::OtherPattern), [`Resources`](crate::ErrorKind::Resources) where there is less memory
    /// than [`Options::memory_bytes`] or the system allows, or [`Device`](crate::ErrorKind::Device).
    pub fn factorize(&self, a: &SymmetricCsc<f64>) -> Result<Factor, Error> {
        self.factorize_with(a, &Control::default())
    }

    /// The same, watched and stopped through `control`.
    ///
    /// # Errors
    /// As [`factorize`](Self::factorize), and of kind [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn factorize_with(
        &self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<Factor, Error> {
        Factor::new(self, a, control)
    }

    /// Factorizes a matrix whose values are on the GPU already, in the order of the analyzed pattern: `nnz_lower` numbers of
    /// the lower triangle by columns. What writes them must be done.
    ///
    /// # Errors
    /// As [`Factor::refactorize_device`].
    pub fn factorize_device(&self, values: DeviceView<'_, f64>) -> Result<Factor, Error> {
        Factor::of_device(self, values)
    }
}

/// Whether a factor may be made on the host, which then wants what the analysis has freed.
fn wants_memory(options: &Options) -> bool {
    !matches!(options.device, Device::Gpu(_))
}

/// Whether an analysis is not worth threads, nor a pool of one.
fn is_small(pattern: &Pattern) -> bool {
    pattern.n() < FEW_UNKNOWNS && pattern.nnz_lower() < FEW_ENTRIES
}

/// Threads that an analysis is worth.
fn threads_for(pattern: &Pattern, options: &Options) -> usize {
    match is_small(pattern) {
        true => 1,
        false => options.thread_count(),
    }
}

impl std::ops::Add for AnalysisSecs {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            order_secs: self.order_secs + other.order_secs,
            symbolic_secs: self.symbolic_secs + other.symbolic_secs,
            plan_secs: self.plan_secs + other.plan_secs,
        }
    }
}
