//! A factor on a device with all that a solve needs there.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use tamarack_gpu::dense::SolveOrder;
use tamarack_gpu::primitives::MatrixViewMut;
use tamarack_gpu::spmv::Scaling;
use tamarack_gpu::{Gpu, GpuError, Graph};
use tamarack_numeric::{
    DeviceFactor, DevicePlan, DeviceValue, FactorError, FactorOptions, Purpose, Room,
};
use tamarack_plan::Precision;
use tamarack_sparse::Pattern;

use super::beside::Beside;
use super::refine::Refiner;
use super::scaled::Rounding;
use super::stages::Stage;
use super::vectors::{Vectors, Way, pull, push};
use crate::error::{SolveError, check_len};
use crate::inverse::Inverse;

/// Most right-hand sides that are on the device at a time.
const MOST_RHS: usize = Scaling::MOST_COLUMNS;

/// Columns `0..columns`, `most` at a time, which are few.
pub(super) fn batches(columns: u32, most: usize) -> impl Iterator<Item = Range<u32>> {
    let first = (0..columns).step_by(most);
    first.map(move |first| first..columns.min(first.saturating_add(most as u32)))
}

/// A factor on a device, and what substitution with it takes there: lists for each stage, vectors, and a
/// recorded graph for each number of right-hand sides that was asked for.
pub struct DeviceSolver<T> {
    // The graphs go before what they use.
    graphs: Vec<(usize, Graph)>,
    stages: Vec<Stage<T>>,
    order: SolveOrder,
    pub(super) vectors: Vectors,
    /// From the host and back.
    pub(super) way: Way,
    /// Where vectors stand, and those of `vectors` end.
    pub(super) room: Room,
    pub(super) solved: usize,
    /// Places for what fronts leave for their parents.
    updates: u64,
    /// With the first refinement.
    pub(super) refiner: Option<Refiner>,
    pub(super) rounding: Rounding,
    pub(super) factor: DeviceFactor<T>,
}

impl<T: DeviceValue> DeviceSolver<T> {
    /// Takes the memory and uploads the lists for matrices with a pattern, and solves with one right-hand side; room
    /// for more is taken when more come. There is no factor yet.
    ///
    /// # Errors
    /// As [`DeviceFactor::new`].
    pub fn new(
        plan: Arc<DevicePlan>,
        gpu: &Gpu,
        pattern: &Arc<Pattern>,
        options: &FactorOptions,
    ) -> Result<Self, FactorError> {
        let (places, updates) = plan.staged().update_vectors();
        let stream = gpu.stream()?;
        let stages = || -> Result<Vec<Stage<T>>, GpuError> {
            let all = (0..plan.staged().stages()).into_par_iter();
            let stage = |k| Stage::new(gpu, &stream, &plan, k, &places);
            all.with_max_len(1).map(stage).collect()
        };
        let order = || SolveOrder::new(gpu, &stream, plan.symbolic().permutation().user_of_elim());
        let factor = || DeviceFactor::new(plan.clone(), gpu, pattern, options);
        let (factor, (stages, order)) = rayon::join(factor, || rayon::join(stages, order));
        let (factor, stages, order) = (factor?, stages?, order?);
        let mut room = room_of(&factor);
        Ok(Self {
            graphs: Vec::new(),
            order,
            vectors: vectors(&factor, &mut room, &stages, updates, 1)?,
            way: Way::new(gpu, pattern.n() * MOST_RHS)?,
            solved: room.mark(),
            room,
            stages,
            updates,
            refiner: None,
            rounding: Rounding::default(),
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

    /// `x ← A⁻¹ x` on the device, `n × nrhs`, user order; waits for it.
    ///
    /// # Errors
    /// [`SolveError::Length`] for other rows than n, [`SolveError::Stale`], or a failing device.
    pub fn apply_device(&mut self, x: MatrixViewMut<'_, f64>) -> Result<(), SolveError> {
        let n = self.n();
        check_len("x", x.view().rows() as usize, n, 1)?;
        if !self.factor.is_current() {
            return Err(SolveError::Stale); // before anything is read of x
        }
        if n == 0 {
            return Ok(());
        }
        self.waited(|solver| solver.apply_batches(x))
    }

    fn apply_batches(&mut self, mut x: MatrixViewMut<'_, f64>) -> Result<(), SolveError> {
        let (n, columns) = (self.n(), x.view().columns());
        let most = self.make_room(columns as usize)?;
        for columns in batches(columns, most) {
            let count = columns.len();
            let (mine, _) = self.vectors.x.view_mut().split_at(count * n)?;
            pull(self.factor.stream(), x.view(), columns.clone(), mine)?;
            self.enqueue(count)?;
            let mine = self.vectors.x.view().slice(..count * n)?;
            push(self.factor.stream(), mine, &mut x, columns)?;
        }
        Ok(self.factor.stream().synchronize()?)
    }

    /// Order of the matrix.
    pub(super) fn n(&self) -> usize {
        self.factor.plan().symbolic().n()
    }

    /// Takes room for as many of `nrhs` right-hand sides as are solved for at a time and there is memory for, one at least; how many.
    pub(super) fn make_room(&mut self, nrhs: usize) -> Result<usize, SolveError> {
        let mut most = nrhs.clamp(1, MOST_RHS);
        while most > self.vectors.most {
            let mut room = room_of(&self.factor);
            match vectors(&self.factor, &mut room, &self.stages, self.updates, most) {
                Ok(vectors) => {
                    self.graphs.clear();
                    self.refiner = None;
                    self.vectors = vectors;
                    (self.solved, self.room) = (room.mark(), room);
                }
                Err(error) if error.is_out_of_memory() => most /= 2,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(most)
    }

    /// Enqueues a solve in place with the first `nrhs` of the vectors there is room for.
    pub(super) fn enqueue(&mut self, nrhs: usize) -> Result<(), SolveError> {
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
        let n = self.n();
        let (factor, vectors, graphs) = (&self.factor, &mut self.vectors, &mut self.graphs);
        let (stages, order, rounding) = (&self.stages, &self.order, &mut self.rounding);
        let mut pass = Pass {
            n,
            nrhs,
            stages,
            order,
            rounding,
        };
        if factor.is_profiled() {
            // Launch by launch: to a profile a graph is one piece.
            return Ok(pass.enqueue(factor, vectors)?);
        }
        let at = match graphs.iter().position(|(of, _)| *of == nrhs) {
            Some(at) => at,
            None => {
                let graph = factor.stream().capture(|| pass.enqueue(factor, vectors))?;
                graphs.push((nrhs, graph));
                graphs.len() - 1
            }
        };
        // SAFETY: lists, arena and vectors are those of the recording; graphs are dropped when vectors are replaced.
        unsafe { graphs[at].1.replay(factor.stream())? };
        Ok(())
    }

    /// Where batches of `most` of `nrhs` right-hand sides come and go while others are solved for; `None` where that is not worth it,
    /// or there is no memory for it.
    pub(super) fn beside(
        &mut self,
        nrhs: usize,
        most: usize,
    ) -> Result<Option<Beside>, SolveError> {
        let len = self.n() * most;
        if nrhs <= most || len <= Way::FEW {
            return Ok(None);
        }
        // For this time only: what else is taken needs to know nothing of it.
        let mark = self.room.mark();
        let beside = Beside::new(self.factor.gpu(), &mut self.room, len);
        self.room.rewind(mark);
        match beside {
            Ok(beside) => Ok(Some(beside)),
            Err(error) if error.is_out_of_memory() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Solves for no more columns than there is room for.
    fn apply_few(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let (to, _) = self.vectors.x.view_mut().split_at(x.len())?;
        self.way.up(self.factor.stream(), x, to)?;
        self.enqueue(nrhs)?;
        let from = self.vectors.x.view().slice(..x.len())?;
        self.way.down(self.factor.stream(), from, x)?;
        Ok(())
    }
}

/// A solve in place with some of the vectors there is room for.
struct Pass<'a, T> {
    n: usize,
    nrhs: usize,
    stages: &'a [Stage<T>],
    order: &'a SolveOrder,
    rounding: &'a mut Rounding,
}

impl<T: DeviceValue> Pass<'_, T> {
    fn enqueue(&mut self, factor: &DeviceFactor<T>, vectors: &mut Vectors) -> Result<(), GpuError> {
        let (gpu, stream, arena) = (factor.gpu(), factor.stream(), factor.arena());
        let Vectors { space, x, .. } = vectors;
        // n is below 2^32, and there are few right-hand sides
        let (height, columns) = (self.n as u64, self.nrhs as u32);
        let len = self.n * self.nrhs;
        self.rounding.bring_in(stream, x, len)?;
        space.take(stream, self.order, x.view(), height, columns)?;
        for (k, stage) in (0..).zip(self.stages) {
            gpu.group_profile(Purpose::Forward(k).group());
            stage.forward(stream, arena, space)?;
        }
        for (k, stage) in self.stages.iter().enumerate().rev() {
            gpu.group_profile(Purpose::Backward(k as u32).group());
            stage.backward(stream, arena, space)?;
        }
        gpu.group_profile(Purpose::Other.group());
        space.give(stream, self.order, x.view_mut(), height, false)?;
        self.rounding.bring_back(stream, x, len)
    }
}

/// The room of a factor's update matrices, behind the values if [`Rounding`] keeps them there.
fn room_of<T: DeviceValue>(factor: &DeviceFactor<T>) -> Room {
    factor.room(match T::PRECISION {
        Precision::F32 if !factor.plan().values_apart() => {
            size_of::<f64>() * factor.pattern().row_idx().len()
        }
        _ => 0,
    })
}

/// Vectors for `most` right-hand sides.
fn vectors<T: DeviceValue>(
    factor: &DeviceFactor<T>,
    room: &mut Room,
    stages: &[Stage<T>],
    updates: u64,
    most: usize,
) -> Result<Vectors, GpuError> {
    let mail = stages.iter().map(Stage::mail_rows).max().unwrap_or(0);
    let n = factor.plan().symbolic().n() as u64;
    Vectors::new(
        factor.gpu(),
        factor.stream(),
        room,
        [n, updates, mail],
        most,
    )
}

impl<T: DeviceValue> Inverse for DeviceSolver<T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let n = self.n();
        check_len("x", x.len(), n, nrhs)?;
        if n == 0 {
            return Ok(());
        }
        let most = self.make_room(nrhs)?;
        let mut batches = x.chunks_mut(n * most);
        if let Some(beside) = self.beside(nrhs, most)? {
            return beside.solve(self, batches);
        }
        batches.try_for_each(|columns| self.apply_few(columns, columns.len() / n))
    }
}

impl<T> std::fmt::Debug for DeviceSolver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSolver")
            .field("factor", &self.factor)
            .finish_non_exhaustive()
    }
}
