//! Conjugate gradients on the device: the vectors and step sizes of [`conjugate_gradients`] are there, and the preconditioner
//! is the recorded solve. What comes to the host are the errors of each answer, and how far the steps came, every few of them.

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::spmv::{Conjugate, Progress};

use super::here::Wide;
use super::refine::{Refiner, of};
use super::solver::DeviceSolver;
use super::vectors::{column, column_mut, pull, push};
use crate::backward::Errors;
use crate::conjugate::{Vectors, conjugate_gradients};
use crate::error::SolveError;
use crate::refine::RefineOptions;
use crate::report::ColumnReport;

/// The vectors of one right-hand side: the first of a refiner, and of the solver where `z` is.
struct There<'a, T> {
    refiner: &'a mut Refiner,
    steps: Conjugate,
    solver: &'a mut DeviceSolver<T>,
    /// Largest magnitude in the residual that was measured last.
    residual: f64,
}

impl Refiner {
    /// Improves the answer to one right-hand side.
    pub fn improve<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
    ) -> Result<(ColumnReport, usize), SolveError> {
        let (n, stream, way) = (self.n, solver.factor.stream(), &mut solver.way);
        way.up(stream, b, column_mut(&mut self.b, n, 0)?)?;
        way.up(stream, x, column_mut(&mut self.x, n, 0)?)?;
        let improved = self.conjugate(solver, options)?;
        let (stream, way) = (solver.factor.stream(), &mut solver.way);
        way.down(stream, column(&self.x, n, 0)?, x)?;
        Ok(improved)
    }

    /// The same for a column of matrices on the device; waits for it.
    pub fn improve_device<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        b: MatrixView<'_, f64>,
        x: &mut MatrixViewMut<'_, f64>,
        c: u32,
        options: &RefineOptions,
    ) -> Result<(ColumnReport, usize), SolveError> {
        let (n, stream) = (self.n, solver.factor.stream());
        pull(stream, b, c..c + 1, column_mut(&mut self.b, n, 0)?)?;
        pull(stream, x.view(), c..c + 1, column_mut(&mut self.x, n, 0)?)?;
        let improved = self.conjugate(solver, options)?;
        let stream = solver.factor.stream();
        push(stream, column(&self.x, n, 0)?, x, c..c + 1)?;
        stream.synchronize()?;
        Ok(improved)
    }

    fn conjugate<T: Wide>(
        &mut self,
        solver: &mut DeviceSolver<T>,
        options: &RefineOptions,
    ) -> Result<(ColumnReport, usize), SolveError> {
        let (gpu, stream) = (solver.factor.gpu(), solver.factor.stream());
        let goal = options.goal(solver.factor.pattern());
        let mut vectors = There {
            steps: Conjugate::new(gpu, stream, &self.residuals)?,
            refiner: self,
            solver,
            residual: 0.0,
        };
        conjugate_gradients(&mut vectors, options, goal)
    }
}

impl<T: Wide> Vectors for There<'_, T> {
    // A look waits for the device, about 20 µs; the step behind the last costs a solve.
    const STEPS_A_LOOK: usize = 2;

    fn measure(&mut self) -> Result<Errors, SolveError> {
        let errors = self.refiner.measure(self.solver, 1)?;
        let Some(own) = errors.first() else {
            return Err(SolveError::Stale);
        };
        self.residual = own.residual;
        Ok(of(own))
    }

    fn clear(&mut self) -> Result<(), SolveError> {
        let x = column_mut(&mut self.refiner.x, self.refiner.n, 0)?;
        Ok(self.solver.factor.stream().fill_bytes(x, 0)?)
    }

    fn add(&mut self) -> Result<(), SolveError> {
        let Refiner {
            n,
            x,
            before,
            steps,
            ..
        } = &mut *self.refiner;
        let (x, before) = (column_mut(x, *n, 0)?, column_mut(before, *n, 0)?);
        let stream = self.solver.factor.stream();
        Ok(steps.step(stream, x, before, self.steps.found())?)
    }

    fn take_back(&mut self) -> Result<(), SolveError> {
        let n = self.refiner.n;
        let before = column(&self.refiner.before, n, 0)?;
        let x = column_mut(&mut self.refiner.x, n, 0)?;
        Ok(self.solver.factor.stream().copy(before, x)?)
    }

    fn begin(&mut self, reduction: f64, most: usize) -> Result<(), SolveError> {
        let (n, stream) = (self.refiner.n, self.solver.factor.stream());
        let r = column(&self.refiner.r, n, 0)?;
        let z = column_mut(&mut self.solver.vectors.x, n, 0)?;
        Ok(self
            .steps
            .begin(stream, r, z, self.residual, reduction, most)?)
    }

    fn precondition(&mut self) -> Result<(), SolveError> {
        self.solver.enqueue(1)
    }

    fn turn(&mut self) -> Result<(), SolveError> {
        let (n, stream) = (self.refiner.n, self.solver.factor.stream());
        let r = column(&self.refiner.r, n, 0)?;
        let z = column(&self.solver.vectors.x, n, 0)?;
        Ok(self.steps.turn(stream, r, z)?)
    }

    fn step(&mut self) -> Result<(), SolveError> {
        let (n, solver) = (self.refiner.n, &mut *self.solver);
        let a = T::wide(&solver.factor, &solver.rounding).ok_or(SolveError::Stale)?;
        let r = column_mut(&mut self.refiner.r, n, 0)?;
        let z = column_mut(&mut solver.vectors.x, n, 0)?;
        let (stream, residuals) = (solver.factor.stream(), &self.refiner.residuals);
        Ok(self.steps.step(stream, residuals, a, r, z)?)
    }

    fn progress(&mut self) -> Result<Progress, SolveError> {
        Ok(self.steps.progress(self.solver.factor.stream())?)
    }
}
