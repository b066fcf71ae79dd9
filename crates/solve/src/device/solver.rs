//! A factor on a device with all that a solve needs there.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use tamarack_gpu::dense::SolveOrder;
use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::spmv::{HalfPattern, Scaling};
use tamarack_gpu::{Gpu, GpuError, Graph};
use tamarack_numeric::{
    DeviceFactor, DevicePlan, DeviceValue, FactorError, FactorOptions, Purpose, Room,
};
use tamarack_plan::Precision;
use tamarack_sparse::Pattern;

use super::here::Wide;
use super::refine::Refiner;
use super::scaled::Rounding;
use super::stages::Stage;
use super::vectors::{Vectors, Way, pull, push};
use crate::error::{SolveError, check_len};
use crate::inverse::Inverse;
use crate::refine::RefineOptions;
use crate::report::ColumnReport;

/// Most right-hand sides that are on the device at a time.
const MOST_RHS: usize = Scaling::MOST_COLUMNS;

/// Columns `0..columns`, so many at a time.
fn batches(columns: u32) -> impl Iterator<Item = Range<u32>> {
    let first = (0..columns).step_by(MOST_RHS);
    first.map(move |first| first..columns.min(first.saturating_add(MOST_RHS as u32)))
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
    room: Room,
    solved: usize,
    /// Places for what fronts leave for their parents.
    updates: u64,
    /// With the first refinement.
    refiner: Option<Refiner>,
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
    pub fn apply_device(&mut self, mut x: MatrixViewMut<'_, f64>) -> Result<(), SolveError> {
        let n = self.n();
        check_len("x", x.view().rows() as usize, n, 1)?;
        if !self.factor.is_current() {
            return Err(SolveError::Stale); // before anything is read of x
        }
        if n == 0 {
            return Ok(());
        }
        for columns in batches(x.view().columns()) {
            let count = columns.len();
            self.make_room(count)?;
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

    /// Takes room for `nrhs` right-hand sides where there is less.
    fn make_room(&mut self, nrhs: usize) -> Result<(), SolveError> {
        if nrhs > self.vectors.most {
            self.graphs.clear();
            self.refiner = None;
            let mut room = room_of(&self.factor);
            self.vectors = vectors(&self.factor, &mut room, &self.stages, self.updates, nrhs)?;
            (self.solved, self.room) = (room.mark(), room);
        }
        Ok(())
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

    /// Solves and refines, all on the device; `None` where the matrix in double precision is not there.
    pub(super) fn refine_here(
        &mut self,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
    ) -> Result<Option<Vec<ColumnReport>>, SolveError>
    where
        T: Wide,
    {
        let (n, nrhs) = (self.n(), b.len() / self.n().max(1));
        let chunk = (n * MOST_RHS).max(1);
        let chunks = b.chunks(chunk).zip(x.chunks_mut(chunk));
        self.refine_batches(nrhs, chunks, |refiner, solver, (b, x)| {
            refiner.run(solver, b, x, options)
        })
    }

    /// The same of vectors that are on the device, of equal shapes.
    pub(super) fn refine_device(
        &mut self,
        b: MatrixView<'_, f64>,
        mut x: MatrixViewMut<'_, f64>,
        options: &RefineOptions,
    ) -> Result<Option<Vec<ColumnReport>>, SolveError>
    where
        T: Wide,
    {
        self.refine_batches(
            b.columns() as usize,
            batches(b.columns()),
            |refiner, solver, of| refiner.run_device(solver, b, &mut x, of, options),
        )
    }

    /// Improves the answer to one right-hand side by conjugate gradients on the device; `None` as above.
    pub(super) fn improve_here(
        &mut self,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
    ) -> Result<Option<(ColumnReport, usize)>, SolveError>
    where
        T: Wide,
    {
        self.with_refiner(1, |refiner, solver| refiner.improve(solver, b, x, options))
    }

    /// The same of a column of matrices that are on the device, of equal shapes.
    pub(super) fn improve_device(
        &mut self,
        b: MatrixView<'_, f64>,
        mut x: MatrixViewMut<'_, f64>,
        column: u32,
        options: &RefineOptions,
    ) -> Result<Option<(ColumnReport, usize)>, SolveError>
    where
        T: Wide,
    {
        self.with_refiner(1, |refiner, solver| {
            refiner.improve_device(solver, b, &mut x, column, options)
        })
    }

    /// Refines batch after batch of `nrhs` right-hand sides by `run`; `None` where there is no refiner.
    fn refine_batches<B>(
        &mut self,
        nrhs: usize,
        batches: impl Iterator<Item = B>,
        mut run: impl FnMut(&mut Refiner, &mut Self, B) -> Result<Vec<ColumnReport>, SolveError>,
    ) -> Result<Option<Vec<ColumnReport>>, SolveError>
    where
        T: Wide,
    {
        self.with_refiner(nrhs, |refiner, solver| {
            let mut columns = Vec::with_capacity(nrhs);
            for batch in batches {
                columns.extend(run(refiner, solver, batch)?);
            }
            Ok(columns)
        })
    }

    /// Calls `work` with a refiner that has room for as many of `nrhs` right-hand sides as are refined at a time; `None` where the
    /// matrix in double precision is not on the device or has too many entries to be read by rows, or there are none.
    fn with_refiner<R>(
        &mut self,
        nrhs: usize,
        work: impl FnOnce(&mut Refiner, &mut Self) -> Result<R, SolveError>,
    ) -> Result<Option<R>, SolveError>
    where
        T: Wide,
    {
        let most = nrhs.min(MOST_RHS);
        let few = (self.factor.half_pattern().entries() as u64) < HalfPattern::MOST_BY_ROWS;
        let there = few && T::wide(&self.factor, &self.rounding).is_some();
        if !there || most == 0 || self.n() == 0 {
            return Ok(None);
        }
        self.make_room(most)?;
        let mut refiner = match self.refiner.take() {
            Some(refiner) if refiner.most >= most => refiner,
            other => {
                drop(other); // its memory may be needed
                self.room.rewind(self.solved);
                Refiner::new(&self.factor, &mut self.room, most)?
            }
        };
        let done = work(&mut refiner, self);
        self.refiner = Some(refiner);
        done.map(Some)
    }

    /// Solves for at most [`MOST_RHS`] columns.
    fn apply_few(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        self.make_room(nrhs)?;
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

/// The room of a factor's update matrices, behind the values that [`Rounding`] keeps there.
fn room_of<T: DeviceValue>(factor: &DeviceFactor<T>) -> Room {
    let values = factor.pattern().row_idx().len() * size_of::<f64>();
    factor.room(match T::PRECISION {
        Precision::F64 => 0,
        Precision::F32 => values,
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
        for columns in x.chunks_mut(n * MOST_RHS) {
            let count = columns.len() / n;
            self.apply_few(columns, count)?;
        }
        Ok(())
    }
}

impl<T> std::fmt::Debug for DeviceSolver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSolver")
            .field("factor", &self.factor)
            .finish_non_exhaustive()
    }
}
