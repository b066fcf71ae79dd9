//! A factor on a device with all that a solve needs there.

use std::sync::Arc;

use tamarack_gpu::dense::{SolveOrder, SolveSpace};
use tamarack_gpu::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Graph, PinnedBuffer};
use tamarack_numeric::{
    Control, DeviceFactor, DeviceOptions, DevicePlan, DeviceValue, FactorError, FactorOptions,
};
use tamarack_sparse::SymmetricCsc;

use super::stages::Stage;
use crate::error::{SolveError, check_len};
use crate::inverse::Inverse;
use crate::solver::{Engine, Solver};

/// Most right-hand sides that are on the device at a time.
const MOST_RHS: usize = 16;

/// A device that factorizes matrices of one structure.
#[derive(Debug)]
pub struct Device {
    gpu: Gpu,
    plan: Arc<DevicePlan>,
}

impl Device {
    /// A device that works by a plan; one in the other precision is made where it is wanted.
    pub fn new(gpu: Gpu, plan: Arc<DevicePlan>) -> Self {
        Self { gpu, plan }
    }

    fn solver<T: DeviceValue>(
        &self,
        a: &SymmetricCsc<T>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<T>>, SolveError> {
        control.check()?;
        let plan = if self.plan.precision() == T::PRECISION {
            self.plan.clone()
        } else {
            let options = DeviceOptions {
                precision: T::PRECISION,
                ..*self.plan.options()
            };
            DevicePlan::new(self.plan.symbolic().clone(), &options)?.into()
        };
        let solver = DeviceSolver::factorize(plan, &self.gpu, a, options)?;
        control.all_done(self.plan.symbolic().stats().flops_stored);
        Ok(Box::new(solver))
    }
}

impl Engine for Device {
    fn single(
        &self,
        a: &SymmetricCsc<f32>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<f32>>, SolveError> {
        self.solver(a, options, control)
    }

    fn double(
        &self,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<f64>>, SolveError> {
        self.solver(a, options, control)
    }
}

/// A factor on a device, and what substitution with it takes there: lists for each stage, vectors, and a
/// recorded graph for each number of right-hand sides that was asked for.
pub struct DeviceSolver<T> {
    // The graphs go before what they use.
    graphs: Vec<(usize, Graph)>,
    stages: Vec<Stage<T>>,
    order: SolveOrder,
    vectors: Vectors,
    /// Places for what fronts leave for their parents.
    updates: u64,
    factor: DeviceFactor<T>,
}

/// Right-hand sides and answers on the device.
struct Vectors {
    /// Room for so many.
    most: usize,
    space: SolveSpace,
    /// `n × most`, user order.
    x: DeviceBuffer<f64>,
    /// The same on the host.
    staged: PinnedBuffer<f64>,
}

impl<T: DeviceValue> DeviceSolver<T> {
    /// Factorizes `a` on `gpu` and prepares solves with one right-hand side; room for more is taken when more come.
    ///
    /// # Errors
    /// As [`DeviceFactor::factorize`].
    pub fn factorize(
        plan: Arc<DevicePlan>,
        gpu: &Gpu,
        a: &SymmetricCsc<T>,
        options: &FactorOptions,
    ) -> Result<Self, FactorError> {
        let factor = DeviceFactor::factorize(plan.clone(), gpu, a, options)?;
        let stream = factor.stream();
        let (places, updates) = plan.staged().update_vectors();
        let stages: Result<Vec<_>, GpuError> = (0..plan.staged().stages())
            .map(|k| Stage::new(gpu, stream, &plan, k, &places))
            .collect();
        let stages = stages?;
        let order = plan.symbolic().permutation().user_of_elim();
        let order = SolveOrder::new(gpu, stream, order)?;
        let vectors = Vectors::new(&factor, &stages, updates, 1)?;
        Ok(Self {
            graphs: Vec::new(),
            stages,
            order,
            vectors,
            updates,
            factor,
        })
    }

    /// The factor.
    pub fn factor(&self) -> &DeviceFactor<T> {
        &self.factor
    }

    /// The same, for factorizations from values on the device.
    pub fn factor_mut(&mut self) -> &mut DeviceFactor<T> {
        &mut self.factor
    }

    /// `x ← A⁻¹ x` for `nrhs` columns on the device, `n × nrhs`, column-major, user order; waits for it.
    ///
    /// # Errors
    /// [`SolveError::Length`], [`SolveError::Stale`], or a failing device.
    pub fn apply_device(
        &mut self,
        mut x: DeviceViewMut<'_, f64>,
        nrhs: usize,
    ) -> Result<(), SolveError> {
        let n = self.n();
        check_len("x", x.len(), n, nrhs)?;
        for first in (0..nrhs).step_by(MOST_RHS) {
            let count = MOST_RHS.min(nrhs - first);
            self.make_room(count)?;
            let columns = first * n..(first + count) * n;
            let (mine, _) = self.vectors.x.view_mut().split_at(count * n)?;
            let from = x.view().slice(columns.clone())?;
            self.factor.stream().copy(from, mine)?;
            self.enqueue(count)?;
            let mine = self.vectors.x.view().slice(..count * n)?;
            self.factor.stream().copy(mine, x.slice_mut(columns)?)?;
        }
        Ok(self.factor.stream().synchronize()?)
    }

    /// Order of the matrix.
    fn n(&self) -> usize {
        self.factor.plan().symbolic().n()
    }

    /// Takes room for `nrhs` right-hand sides where there is less.
    fn make_room(&mut self, nrhs: usize) -> Result<(), SolveError> {
        if nrhs > self.vectors.most {
            self.graphs.clear();
            self.vectors = Vectors::new(&self.factor, &self.stages, self.updates, nrhs)?;
        }
        Ok(())
    }

    /// Enqueues a solve in place with the first `nrhs` of the vectors there is room for.
    fn enqueue(&mut self, nrhs: usize) -> Result<(), SolveError> {
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
        let at = match self.graphs.iter().position(|(of, _)| *of == nrhs) {
            Some(at) => at,
            None => {
                let graph = self.record(nrhs)?;
                self.graphs.push((nrhs, graph));
                self.graphs.len() - 1
            }
        };
        // SAFETY: lists, arena and vectors are those of the recording; graphs are dropped when vectors are replaced.
        unsafe { self.graphs[at].1.replay(self.factor.stream())? };
        Ok(())
    }

    fn record(&mut self, nrhs: usize) -> Result<Graph, GpuError> {
        let (stream, arena, n) = (self.factor.stream(), self.factor.arena(), self.n() as u64);
        let Vectors { space, x, .. } = &mut self.vectors;
        let (stages, order) = (&self.stages, &self.order);
        stream.capture(|| {
            space.take(stream, order, x.view(), n, nrhs as u32)?;
            for stage in stages {
                stage.forward(stream, arena, space)?;
            }
            for stage in stages.iter().rev() {
                stage.backward(stream, arena, space)?;
            }
            space.give(stream, order, x.view_mut(), n, false)
        })
    }

    /// Solves for at most [`MOST_RHS`] columns.
    fn apply_few(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        self.make_room(nrhs)?;
        let stream = self.factor.stream();
        let Vectors {
            staged, x: device, ..
        } = &mut self.vectors;
        staged.as_mut_slice()[..x.len()].copy_from_slice(x);
        let part = device.view_mut().split_at(x.len())?.0;
        // SAFETY: `staged` is not written before the wait below.
        unsafe { staged.upload_async(stream, ..x.len(), part)? };
        self.enqueue(nrhs)?;
        let stream = self.factor.stream();
        let Vectors {
            staged, x: device, ..
        } = &mut self.vectors;
        // SAFETY: waited for before it is read.
        unsafe { staged.download_async(stream, device.view().slice(..x.len())?, ..x.len())? };
        stream.synchronize()?;
        x.copy_from_slice(&staged.as_slice()[..x.len()]);
        Ok(())
    }
}

impl Vectors {
    fn new<T: DeviceValue>(
        factor: &DeviceFactor<T>,
        stages: &[Stage<T>],
        updates: u64,
        most: usize,
    ) -> Result<Self, GpuError> {
        let (gpu, stream, n) = (factor.gpu(), factor.stream(), factor.plan().symbolic().n());
        let mail = stages.iter().map(Stage::mail_rows).max().unwrap_or(0);
        Ok(Self {
            most,
            space: SolveSpace::new(gpu, stream, n as u32, updates, mail, most as u32)?,
            x: gpu.alloc(n * most)?,
            staged: gpu.pinned(n * most)?,
        })
    }
}

impl<T: DeviceValue> Inverse for DeviceSolver<T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let n = self.n();
        check_len("x", x.len(), n, nrhs)?;
        if n == 0 {
            return Ok(());
        }
        for columns in x.chunks_mut(n * MOST_RHS) {
            let count = columns.len() / n;
            self.apply_few(columns, count)?;
        }
        Ok(())
    }
}

impl<T: DeviceValue> Solver<T> for DeviceSolver<T> {
    fn refactorize(
        &mut self,
        a: &SymmetricCsc<T>,
        control: &Control<'_>,
    ) -> Result<(), FactorError> {
        control.check()?;
        self.factor.refactorize(a)?;
        control.all_done(self.factor.plan().symbolic().stats().flops_stored);
        Ok(())
    }

    fn log_determinant(&self) -> Result<f64, SolveError> {
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
        Ok(self.factor.log_determinant()?)
    }

    fn shift(&self) -> Option<f64> {
        self.factor.shift()
    }
}

impl<T> std::fmt::Debug for DeviceSolver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSolver")
            .field("factor", &self.factor)
            .finish_non_exhaustive()
    }
}
