//! Refinement on the device: residuals and backward errors there, decisions on the host.
//!
//! As [`refine`](crate::refine()): a right-hand side is refined while its componentwise backward error is above the
//! rounding unit and a step at least halves it, and the best answer is kept. What comes to the host are five
//! numbers a step and right-hand side, and the answers.

use std::ops::Range;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::spmv::{BackwardError, Residuals, Steps};
use tamarack_gpu::{DeviceBuffer, DeviceView, Gpu, GpuError, Stream};
use tamarack_numeric::DeviceValue;
use tamarack_sparse::Pattern;

use super::solver::DeviceSolver;
use super::vectors::{column, column_mut, matrix, matrix_mut, pull, push};
use crate::error::SolveError;
use crate::refine::{ColumnReport, RefineOptions};

/// A matrix on the device, and the vectors of a refinement.
pub(super) struct Refiner {
    n: usize,
    /// There is room for so many right-hand sides.
    pub most: usize,
    residuals: Residuals,
    steps: Steps,
    errors: DeviceBuffer<BackwardError>,
    b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
    r: DeviceBuffer<f64>,
    /// Answers before the last step.
    before: DeviceBuffer<f64>,
}

impl Refiner {
    /// Uploads a pattern; its values come by [`refresh`](Self::refresh).
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &Pattern,
        most: usize,
    ) -> Result<Self, GpuError> {
        let n = pattern.n();
        let (starts, rows) = (pattern.col_ptr(), pattern.row_idx());
        Ok(Self {
            n,
            most,
            residuals: Residuals::new(gpu, stream, starts, rows, most as u32)?,
            steps: Steps::new(gpu)?,
            errors: gpu.alloc(most)?,
            b: gpu.alloc(n * most)?,
            x: gpu.alloc(n * most)?,
            r: gpu.alloc(n * most)?,
            before: gpu.alloc(n * most)?,
        })
    }

    /// Enqueues: the matrix gets these values.
    pub fn refresh(
        &mut self,
        stream: &Stream,
        values: DeviceView<'_, f64>,
    ) -> Result<(), GpuError> {
        self.residuals.refresh(stream, values)
    }

    /// Solves for the right-hand sides in `b` and refines; there are at most [`most`](Self::most).
    pub fn run<T: DeviceValue>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
    ) -> Result<Vec<ColumnReport>, SolveError> {
        let (stream, way) = (solver.factor.stream(), &mut solver.vectors.way);
        let (to, _) = self.b.view_mut().split_at(b.len())?;
        way.up(stream, b, to)?;
        let columns = self.refine(solver, b.len() / self.n, options)?;
        let (stream, way) = (solver.factor.stream(), &mut solver.vectors.way);
        way.down(stream, self.x.view().slice(..x.len())?, x)?;
        Ok(columns)
    }

    /// The same for some columns of matrices on the device; waits for it.
    pub fn run_device<T: DeviceValue>(
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
    fn refine<T: DeviceValue>(
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
        let mut columns = vec![ColumnReport::default(); nrhs];
        let mut active: Vec<usize> = (0..nrhs).collect();
        for step in 0..=options.max_steps {
            let errors = self.measure(solver.factor.stream(), nrhs)?;
            let mut kept = Vec::with_capacity(active.len());
            for c in active {
                let (report, error) = (&mut columns[c], &errors[c]);
                let before = report.componentwise_backward_error;
                // NaN counts as worse, except at first, when there is nothing better.
                if step > 0 && !(error.componentwise < before) {
                    let best = column(&self.before, n, c)?;
                    let to = column_mut(&mut self.x, n, c)?;
                    solver.factor.stream().copy(best, to)?;
                    continue;
                }
                *report = ColumnReport {
                    steps: step,
                    normwise_backward_error: error.normwise(),
                    componentwise_backward_error: error.componentwise,
                };
                let slow = step > 0 && error.componentwise > before / 2.0;
                if error.componentwise > options.stop_at && !slow && step < options.max_steps {
                    kept.push(c);
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
    fn measure(&mut self, stream: &Stream, nrhs: usize) -> Result<Vec<BackwardError>, GpuError> {
        let (n, errors) = (self.n, self.errors.view_mut().split_at(nrhs)?.0);
        let (b, x) = (matrix(&self.b, n, nrhs)?, matrix(&self.x, n, nrhs)?);
        let r = matrix_mut(&mut self.r, n, nrhs)?;
        self.residuals.launch(stream, b, x, r, errors)?;
        stream.to_host(self.errors.view().slice(..nrhs)?)
    }

    /// Corrects the answers of `active` right-hand sides.
    fn step<T: DeviceValue>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        active: &[usize],
    ) -> Result<(), SolveError> {
        let n = self.n;
        for (place, &c) in active.iter().enumerate() {
            let to = column_mut(&mut solver.vectors.x, n, place)?;
            solver.factor.stream().copy(column(&self.r, n, c)?, to)?;
        }
        solver.enqueue(active.len())?;
        let stream = solver.factor.stream();
        for (place, &c) in active.iter().enumerate() {
            let before = column_mut(&mut self.before, n, c)?;
            let correction = column(&solver.vectors.x, n, place)?;
            let x = column_mut(&mut self.x, n, c)?;
            self.steps.step(stream, x, before, correction)?;
        }
        Ok(())
    }
}
