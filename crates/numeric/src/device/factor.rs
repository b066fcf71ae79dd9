//! The numeric factor on a device.

use std::sync::Arc;

use rayon::prelude::*;
use tamarack_gpu::dense::{Entries, Real};
use tamarack_gpu::spmv::HalfPattern;
use tamarack_gpu::{DeviceBuffer, DeviceView, Gpu, GpuError, Graph, Stream};
use tamarack_sparse::{ElimIdx, Pattern, Scalar, SymmetricCsc};
use tamarack_symbolic::SymbolicFactor;

use super::contents::split;
use super::entries::entries_of;
use super::launch::{Lanes, Stage};
use super::plan::DevicePlan;
use super::purpose::Purpose;
use super::work::StageWork;
use crate::error::FactorError;
use crate::factor::{FactorOptions, other_pattern};
use crate::not_spd::NotPositiveDefinite;
use crate::shift::Shifts;
use crate::value::Value;

/// A number type that can be factorized on a device: `f64` or `f32`.
pub trait DeviceValue: Value + Real {}

impl DeviceValue for f64 {}
impl DeviceValue for f32 {}

/// The Cholesky factor `L` of `P A Pᵀ` on a device, with all that is needed to make it anew from other
/// values: a refactorization allocates nothing and is one launch of a recorded graph.
pub struct DeviceFactor<T> {
    pub(super) plan: Arc<DevicePlan>,
    pub(super) gpu: Gpu,
    pattern: Arc<Pattern>,
    options: FactorOptions,
    // The graph goes before what it uses.
    graph: Graph,
    stages: Vec<Stage<T>>,
    pub(super) lanes: Lanes,
    /// Panels, and behind them room of update matrices: see `contents`.
    pub(super) arena: DeviceBuffer<T>,
    entries: Entries<T>,
    /// The values of A in the order of the pattern, from the first time on that they come in this precision.
    values: Option<DeviceBuffer<T>>,
    /// Elimination position of the first bad pivot, or all ones.
    first_bad: DeviceBuffer<u64>,
    shift: Option<f64>,
    current: bool,
    /// See [`set_profiled`](Self::set_profiled).
    profiled: bool,
}

impl<T: DeviceValue> DeviceFactor<T> {
    /// Takes the memory and uploads the lists for matrices with a pattern; there is no factor yet.
    ///
    /// # Errors
    /// The pattern is not the one analyzed, or something fails on the device: it is out of memory, for one.
    pub fn new(
        plan: Arc<DevicePlan>,
        gpu: &Gpu,
        pattern: &Arc<Pattern>,
        options: &FactorOptions,
    ) -> Result<Self, FactorError> {
        if plan.precision() != T::PRECISION {
            let (planned, found) = (plan.precision(), T::PRECISION);
            return Err(FactorError::Precision { planned, found });
        }
        let symbolic = plan.symbolic();
        let most = u64::from(u32::MAX);
        let entries = pattern.nnz_lower();
        if entries > most {
            return Err(FactorError::DeviceEntries { entries, most });
        }
        let lanes = Lanes::new(gpu)?;
        let mut arena = gpu.alloc_shared(plan.staged().arena_len() as usize)?;
        let mut first_bad = gpu.alloc(1)?;
        let stage = |k| Stage::new(gpu, lanes.main(), &StageWork::new(&plan, k)?);
        let stages = || -> Result<Vec<Stage<T>>, GpuError> {
            let all = (0..plan.staged().stages()).into_par_iter();
            all.with_max_len(1).map(stage).collect()
        };
        let lists = || rayon::join(stages, || entries_of(&plan, gpu, pattern));
        let ((stages, entries), same) = rayon::join(lists, || same_pattern(symbolic, pattern));
        same?;
        let (mut stages, entries) = (stages?, entries?);
        let graph = lanes.main().capture(|| -> Result<(), GpuError> {
            lanes.main().fill_bytes(&mut first_bad, 0xFF)?;
            stages
                .iter_mut()
                .try_for_each(|stage| stage.launch(&lanes, &entries, &mut arena, &mut first_bad))
        })?;
        Ok(Self {
            graph,
            gpu: gpu.clone(),
            pattern: pattern.clone(),
            options: *options,
            stages,
            lanes,
            arena,
            entries,
            values: None,
            first_bad,
            shift: None,
            current: false,
            profiled: false,
            plan,
        })
    }

    /// Prepares factorizations of `a` and all matrices with its pattern, and factorizes it.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`refactorize`](Self::refactorize).
    pub fn factorize(
        plan: Arc<DevicePlan>,
        gpu: &Gpu,
        a: &SymmetricCsc<T>,
        options: &FactorOptions,
    ) -> Result<Self, FactorError> {
        let mut factor = Self::new(plan, gpu, a.pattern(), options)?;
        factor.refactorize(a)?;
        Ok(factor)
    }

    /// Factorizes other values of the same pattern in the same memory.
    ///
    /// # Errors
    /// As for [`factorize`](Self::factorize). After an error other than [`FactorError::Pattern`] the factor is stale.
    pub fn refactorize(&mut self, a: &SymmetricCsc<T>) -> Result<(), FactorError> {
        self.check_pattern(a.pattern())?;
        self.current = false;
        self.shift = None;
        let mut shifts = Shifts::default();
        loop {
            self.upload(a, shifts.sigma)?;
            let Some((position, pivot)) = self.run_own()? else {
                self.current = true;
                self.shift = shifts.needed();
                return Ok(());
            };
            let symbolic = self.plan.symbolic();
            let report = NotPositiveDefinite::diagnose(symbolic, a, position, pivot);
            shifts.rise(a, report, self.options.not_spd)?;
        }
    }

    /// Factorizes values that are on the device already, in the order of the analyzed pattern, and keeps a copy of them.
    ///
    /// # Errors
    /// [`FactorError::Device`] for a wrong number of values, which leaves the factor as it is, or a failing device; a matrix
    /// that is not positive definite gives [`FactorError::Pivot`], as its entries are not here to be looked at. Then the
    /// factor is stale. It is never shifted.
    pub fn refactorize_device(&mut self, values: DeviceView<'_, T>) -> Result<(), FactorError> {
        let (got, have) = (values.len(), self.entries.pattern().entries());
        if got != have {
            let (what, got, have) = ("values of a matrix", got as u64, have as u64);
            return Err(GpuError::Shape { what, got, have }.into());
        }
        self.outdate();
        let own = kept_values(&mut self.values, &self.gpu, self.entries.pattern())?;
        self.lanes.main().copy(values, own)?;
        let bad = self.run_own()?;
        self.settle(bad)
            .map_or(Ok(()), |bad| Err(self.refusal(bad)))
    }

    /// Factorizes `D A D`, rounded, of values in double precision that are on the device already: `values`, or what stands in
    /// [`spare`](Self::spare). `scale` is the diagonal of D, or the identity's. The first bad pivot, and what it was: with one, the
    /// factor is stale. Values in the spare room are written over.
    ///
    /// # Errors
    /// Fewer values than entries, a scaling of another length, or a failing device.
    pub fn refactorize_wide(
        &mut self,
        values: Option<DeviceView<'_, f64>>,
        scale: Option<DeviceView<'_, f64>>,
    ) -> Result<Option<(ElimIdx, f64)>, GpuError> {
        self.outdate();
        self.values = None; // those of another matrix
        let (panels, spare) = split(&mut self.arena, &self.plan)?;
        let values = match values {
            Some(values) => values,
            None => {
                let count = self.entries.pattern().entries();
                spare.view().cast::<f64>().slice(..count)?
            }
        };
        self.gpu.group_profile(Purpose::Enter.group());
        let stream = self.lanes.main();
        self.entries.launch_wide(stream, panels, values, scale)?;
        let bad = self.run()?;
        Ok(self.settle(bad))
    }

    /// The error for a pivot of values that are on the device alone.
    #[must_use]
    pub fn refusal(&self, (position, pivot): (ElimIdx, f64)) -> FactorError {
        FactorError::Pivot {
            column: self.plan.symbolic().permutation().user(position),
            pivot,
        }
    }

    /// There is no factor from now on.
    fn outdate(&mut self) {
        self.current = false;
        self.shift = None;
    }

    /// There is a factor, unless there was a bad pivot.
    fn settle(&mut self, bad: Option<(ElimIdx, f64)>) -> Option<(ElimIdx, f64)> {
        self.current = bad.is_none();
        bad
    }

    /// An error for another pattern than that of the plan.
    ///
    /// # Errors
    /// [`FactorError::Pattern`].
    pub fn check_pattern(&self, pattern: &Arc<Pattern>) -> Result<(), FactorError> {
        if Arc::ptr_eq(&self.pattern, pattern) || *self.pattern == **pattern {
            return Ok(());
        }
        Err(other_pattern(self.plan.symbolic(), pattern))
    }

    /// The pattern of its matrices.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// What it was made with.
    pub fn options(&self) -> &FactorOptions {
        &self.options
    }

    /// The pattern on the device.
    pub fn half_pattern(&self) -> &Arc<HalfPattern> {
        self.entries.pattern()
    }

    /// The values that were factorized last, in the order of the pattern, if they came in this precision.
    pub fn values(&self) -> Option<DeviceView<'_, T>> {
        self.values.as_ref().map(DeviceBuffer::view)
    }

    /// Uploads the values of `A + σI`.
    fn upload(&mut self, a: &SymmetricCsc<T>, sigma: f64) -> Result<(), GpuError> {
        self.lanes.main().synchronize()?; // nothing reads the values
        let diagonals = &a.pattern().col_ptr()[..a.n()];
        let values = kept_values(&mut self.values, &self.gpu, self.entries.pattern())?;
        self.gpu.upload_with(values, |start, part| {
            part.copy_from_slice(&a.values()[start..start + part.len()]);
            if sigma > 0.0 {
                let end = (start + part.len()) as u64;
                let first = diagonals.partition_point(|&d| d < start as u64);
                for &diagonal in diagonals[first..].iter().take_while(|&&d| d < end) {
                    let value = &mut part[diagonal as usize - start];
                    *value = Scalar::from_f64(Scalar::to_f64(*value) + sigma);
                }
            }
        })
    }

    /// Factorizes the values in this precision, which were brought before; the first bad pivot, and its value.
    fn run_own(&mut self) -> Result<Option<(ElimIdx, f64)>, GpuError> {
        let values = kept_values(&mut self.values, &self.gpu, self.entries.pattern())?;
        let (panels, _) = split(&mut self.arena, &self.plan)?;
        self.gpu.group_profile(Purpose::Enter.group());
        self.entries
            .launch(self.lanes.main(), panels, values.view())?;
        self.run()
    }

    /// Replays the recorded factorization of what stands in the panels and waits for it; the first bad pivot, and its value.
    fn run(&mut self) -> Result<Option<(ElimIdx, f64)>, GpuError> {
        if self.profiled {
            self.launch()?;
        } else {
            // SAFETY: lists and arena are those of the recording, and live as long as the graph.
            unsafe { self.graph.replay(self.lanes.main())? };
        }
        let stream = self.lanes.main();
        let first = stream.to_host(&self.first_bad)?.first().copied();
        let Some(position) = first.filter(|&p| p != u64::MAX) else {
            return Ok(None);
        };
        let mut pivot = f64::NAN;
        for stage in &self.stages {
            // positions are below n
            if let Some(value) = stage.bad_pivot(stream, position as u32)? {
                pivot = value;
            }
        }
        Ok(Some((ElimIdx(position as u32), pivot)))
    }

    /// Enqueues a factorization launch by launch, each stage under its [`Purpose`].
    fn launch(&mut self) -> Result<(), GpuError> {
        let (gpu, lanes) = (&self.gpu, &self.lanes);
        gpu.group_profile(Purpose::Begin.group());
        lanes.main().fill_bytes(&mut self.first_bad, 0xFF)?;
        for (k, stage) in (0..).zip(&mut self.stages) {
            gpu.group_profile(Purpose::Factorize(k).group());
            stage.launch(lanes, &self.entries, &mut self.arena, &mut self.first_bad)?;
        }
        gpu.group_profile(Purpose::Other.group());
        Ok(())
    }

    /// Whether factorizations are enqueued launch by launch, so that a profile of the device sees what each took,
    /// instead of as one recorded graph, which is faster.
    pub fn set_profiled(&mut self, profiled: bool) {
        self.profiled = profiled;
    }

    /// Whether a profile sees its launches.
    pub fn is_profiled(&self) -> bool {
        self.profiled
    }

    /// The plan it was made by.
    pub fn plan(&self) -> &Arc<DevicePlan> {
        &self.plan
    }

    /// The device it is on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The stream that its work is enqueued on.
    pub fn stream(&self) -> &Stream {
        self.lanes.main()
    }

    /// Kernels, fills and joins of a refactorization.
    pub fn launches(&self) -> usize {
        self.graph.nodes()
    }

    /// Whether the last factorization succeeded.
    pub fn is_current(&self) -> bool {
        self.current
    }

    /// The σ of `A + σI` that was factorized instead of A, where that was asked for and needed.
    pub fn shift(&self) -> Option<f64> {
        self.shift
    }
}

/// Memory for the values of a pattern, taken the first time.
fn kept_values<'a, T: DeviceValue>(
    values: &'a mut Option<DeviceBuffer<T>>,
    gpu: &Gpu,
    pattern: &HalfPattern,
) -> Result<&'a mut DeviceBuffer<T>, GpuError> {
    match values {
        Some(values) => Ok(values),
        None => Ok(values.insert(gpu.alloc(pattern.entries())?)),
    }
}

/// An error for another pattern than the one that was analyzed.
fn same_pattern(symbolic: &SymbolicFactor, pattern: &Arc<Pattern>) -> Result<(), FactorError> {
    if symbolic.is_of(pattern) {
        return Ok(());
    }
    Err(other_pattern(symbolic, pattern))
}

impl<T> std::fmt::Debug for DeviceFactor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceFactor")
            .field("gpu", &self.gpu)
            .field("n", &self.plan.symbolic().n())
            .field("shift", &self.shift)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}
