//! Refinement on the device: residuals and backward errors there, decisions on the host.
//!
//! By the rules of [`refine`](crate::refine()). What comes to the host are five
//! numbers a step and right-hand side, and the answers.

use std::ops::Range;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::spmv::{BackwardError, Residuals, Steps};
use tamarack_gpu::{DeviceBuffer, DeviceView, GpuError};
use tamarack_numeric::{DeviceFactor, DeviceValue, Room};

use super::beside::Batch;
use super::here::Wide;
use super::solver::DeviceSolver;
use super::vectors::{column, column_mut, columns, columns_mut, matrix, matrix_mut, pull, push};
use crate::backward::Errors;
use crate::error::SolveError;
use crate::refine::RefineOptions;
use crate::report::{ColumnReport, Verdict};

/// A matrix on the device, and the vectors of a refinement.
pub(super) struct Refiner {
    pub n: usize,
    /// There is room for so many right-hand sides.
    pub most: usize,
    pub residuals: Residuals,
    pub steps: Steps,
    errors: DeviceBuffer<BackwardError>,
    pub b: DeviceBuffer<f64>,
    pub x: DeviceBuffer<f64>,
    pub r: DeviceBuffer<f64>,
    /// Answers before the last step.
    pub before: DeviceBuffer<f64>,
}

impl Refiner {
    /// For matrices with the pattern of a factor, with vectors in `room`.
    pub fn new<T: DeviceValue>(
        factor: &DeviceFactor<T>,
        room: &mut Room,
        most: usize,
    ) -> Result<Self, GpuError> {
        let (gpu, stream, half) = (factor.gpu(), factor.stream(), factor.half_pattern());
        let n = factor.pattern().n();
        let mark = room.mark();
        let residuals = Residuals::new(gpu, stream, half, most as u32, &mut |len| room.take(len))?;
        room.rewind(mark);
        Ok(Self {
            n,
            most,
            residuals,
            steps: Steps::new(gpu)?,
            errors: gpu.alloc(most)?,
            b: room.take(n * most)?,
            x: room.take(n * most)?,
            r: room.take(n * most)?,
            before: room.take(n * most)?,
        })
    }

    /// Solves for right-hand sides and refines; there are at most [`most`](Self::most).
    pub fn run<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        mut batch: impl Batch,
        options: &RefineOptions,
    ) -> Result<Vec<ColumnReport>, SolveError> {
        let (stream, way) = (solver.factor.stream(), &mut solver.way);
        let b = batch.given();
        let (to, _) = self.b.view_mut().split_at(b.len())?;
        way.up(stream, b, to)?;
        let columns = self.refine(solver, b.len() / self.n, options)?;
        let (stream, way) = (solver.factor.stream(), &mut solver.way);
        let x = batch.answers();
        way.down(stream, self.x.view().slice(..x.len())?, x)?;
        Ok(columns)
    }

    /// The same for some columns of matrices on the device; waits for it.
    pub fn run_device<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        b: MatrixView<'_, f64>,
        x: &mut MatrixViewMut<'_, f64>,
        of: Range<u32>,
        options: &RefineOptions,
    ) -> Result<Vec<ColumnReport>, SolveError> {
        let len = of.len() * self.n;
        let (to, _) = self.b.view_mut().split_at(len)?;
        pull(solver.factor.stream(), b, of.clone(), to)?;
        let columns = self.refine(solver, of.len(), options)?;
        let stream = solver.factor.stream();
        push(stream, self.x.view().slice(..len)?, x, of)?;
        stream.synchronize()?;
        Ok(columns)
    }

    /// Solves for the first `nrhs` right-hand sides, and refines.
    pub fn refine<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        nrhs: usize,
        options: &RefineOptions,
    ) -> Result<Vec<ColumnReport>, SolveError> {
        let (n, all) = (self.n, ..self.n * nrhs);
        let (to, _) = solver.vectors.x.view_mut().split_at(all.end)?;
        let stream = solver.factor.stream();
        stream.copy(self.b.view().slice(all)?, to)?;
        solver.enqueue(nrhs)?;
        let (to, _) = self.x.view_mut().split_at(all.end)?;
        let stream = solver.factor.stream();
        stream.copy(solver.vectors.x.view().slice(all)?, to)?;
        let goal = options.goal(solver.factor.pattern());
        let mut columns = vec![ColumnReport::default(); nrhs];
        let mut active: Vec<usize> = (0..nrhs).collect();
        for step in 0..=options.max_steps {
            let errors = self.measure(solver, nrhs)?;
            let mut kept = Vec::with_capacity(active.len());
            for c in active {
                match columns[c].judge(step, of(&errors[c]), goal, options) {
                    Verdict::Worse => {
                        let best = column(&self.before, n, c)?;
                        let to = column_mut(&mut self.x, n, c)?;
                        solver.factor.stream().copy(best, to)?;
                    }
                    Verdict::GoOn => kept.push(c),
                    Verdict::Done => {}
                }
            }
            if kept.is_empty() {
                break;
            }
            self.step(solver, &kept)?;
            active = kept;
        }
        Ok(columns)
    }

    /// Residuals of all right-hand sides, and their backward errors.
    pub fn measure<T: Wide>(
        &mut self,
        solver: &DeviceSolver<T>,
        nrhs: usize,
    ) -> Result<Vec<BackwardError>, SolveError> {
        let (n, errors) = (self.n, self.errors.view_mut().split_at(nrhs)?.0);
        let (stream, values) = (solver.factor.stream(), values(solver)?);
        let (b, x) = (matrix(&self.b, n, nrhs)?, matrix(&self.x, n, nrhs)?);
        let r = matrix_mut(&mut self.r, n, nrhs)?;
        self.residuals.launch(stream, values, b, x, r, errors)?;
        Ok(stream.to_host(self.errors.view().slice(..nrhs)?)?)
    }

    /// Corrects the answers of `active` right-hand sides.
    fn step<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        active: &[usize],
    ) -> Result<(), SolveError> {
        let n = self.n;
        // A kernel numbers below 2^32.
        let most = (u32::MAX as usize / n).max(1);
        for (place, c) in runs(active, most) {
            let to = columns_mut(&mut solver.vectors.x, n, place..place + c.len())?;
            solver.factor.stream().copy(columns(&self.r, n, c)?, to)?;
        }
        solver.enqueue(active.len())?;
        let stream = solver.factor.stream();
        for (place, c) in runs(active, most) {
            let correction = columns(&solver.vectors.x, n, place..place + c.len())?;
            let before = columns_mut(&mut self.before, n, c.clone())?;
            let x = columns_mut(&mut self.x, n, c)?;
            self.steps.step(stream, x, before, correction)?;
        }
        Ok(())
    }
}

/// Runs of columns that stand one behind the other, `most` at most, each with its place among all.
fn runs(columns: &[usize], most: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut place = 0;
    let runs = columns.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.flat_map(move |run| run.chunks(most));
    runs.map(move |run| {
        let at = place;
        place += run.len();
        (at, run[0]..run[0] + run.len())
    })
}

/// What of a measurement decides.
pub(super) fn of(measured: &BackwardError) -> Errors {
    Errors {
        normwise: measured.normwise(),
        componentwise: measured.componentwise,
    }
}

/// The values of the matrix that was factorized.
fn values<T: Wide>(solver: &DeviceSolver<T>) -> Result<DeviceView<'_, f64>, SolveError> {
    T::wide(&solver.factor, &solver.rounding).ok_or(SolveError::Stale)
}
