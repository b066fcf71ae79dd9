//! A device as one of those who factorize.

use std::sync::Arc;

use tamarack_gpu::{DeviceView, Gpu};
use tamarack_numeric::{
    Control, DevicePlan, FactorError, FactorOptions, NotPositiveDefinite, OnNotSpd,
};
use tamarack_plan::Precision;
use tamarack_sparse::{Pattern, Scalar, SymmetricCsc};

use super::here::Wide;
use super::scaled::{Rounding, Values};
use super::solver::DeviceSolver;
use crate::diagonal::Diagonal;
use crate::error::{SolveError, check_len};
use crate::refine::{RefineOptions, RefineWorkspace};
use crate::report::{ColumnReport, RefineReport};
use crate::residual::ResidualPrecision;
use crate::solver::{Engine, Form, OnDevice, Solver, conjugate_gradients_here, solve_refined_here};

/// A device that factorizes matrices of one structure.
#[derive(Debug)]
pub struct Device {
    gpu: Gpu,
    plan: Arc<DevicePlan>,
    profiled: bool,
}

impl Device {
    /// A device that works by a plan; one in the other precision is made where it is wanted.
    pub fn new(gpu: Gpu, plan: Arc<DevicePlan>) -> Self {
        Self {
            gpu,
            plan,
            profiled: false,
        }
    }

    /// Its factors enqueue launch by launch ([`DeviceFactor::set_profiled`](tamarack_numeric::DeviceFactor::set_profiled)).
    #[must_use]
    pub fn profiled(self, profiled: bool) -> Self {
        Self { profiled, ..self }
    }

    fn plan(&self, precision: Precision) -> Result<Arc<DevicePlan>, FactorError> {
        if self.plan.precision() == precision {
            return Ok(self.plan.clone());
        }
        let options = self.plan.options().with_precision(precision);
        Ok(DevicePlan::new(self.plan.symbolic().clone(), &options)?.into())
    }

    /// Takes the memory for factors of matrices with a pattern; there is no factor yet.
    fn solver(
        &self,
        form: Form,
        pattern: &Arc<Pattern>,
        options: &FactorOptions,
    ) -> Result<Box<dyn Solver>, SolveError> {
        let gpu = &self.gpu;
        if matches!(form, Form::Double | Form::Beside) {
            let plan = self.plan(Precision::F64)?;
            let mut solver = DeviceSolver::<f64>::new(plan, gpu, pattern, options)?;
            solver.factor.set_profiled(self.profiled);
            return Ok(Box::new(solver));
        }
        let plan = self.plan(Precision::F32)?;
        let mut solver = DeviceSolver::<f32>::new(plan, gpu, pattern, options)?;
        solver.factor.set_profiled(self.profiled);
        // A shift is found on the host.
        if options.not_spd == OnNotSpd::Fail {
            solver.rounding = Rounding::new(&solver.factor, form == Form::Scaled)?;
        }
        Ok(Box::new(solver))
    }
}

impl Engine for Device {
    fn factorize(
        &self,
        form: Form,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver>, SolveError> {
        let mut solver = self.solver(form, a.pattern(), options)?;
        solver.refactorize(a, control)?;
        Ok(solver)
    }

    fn factorize_device(
        &self,
        form: Form,
        pattern: &Arc<Pattern>,
        values: DeviceView<'_, f64>,
        options: &FactorOptions,
    ) -> Result<Box<dyn Solver>, SolveError> {
        let mut solver = self.solver(form, pattern, options)?;
        match solver.on_device() {
            Some(here) => here.refactorize(values)?,
            None => return Err(SolveError::HOST_FACTOR),
        }
        Ok(solver)
    }
}

impl<T: Wide> Solver for DeviceSolver<T> {
    fn refactorize(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), FactorError> {
        control.check()?;
        T::refactorize(self, a)?;
        control.all_done(self.factor.plan().symbolic().stats().flops_stored);
        Ok(())
    }

    fn solve_refined(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
        workspace: &mut RefineWorkspace,
    ) -> Result<RefineReport, SolveError> {
        refined(self, a, b, x, nrhs, options, workspace)
    }

    fn solve_refined_in_place(
        &mut self,
        a: &SymmetricCsc<f64>,
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
    ) -> Result<Option<RefineReport>, SolveError> {
        refined_in_place(self, a, x, nrhs, options)
    }

    fn conjugate_gradients(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
        workspace: &mut RefineWorkspace,
    ) -> Result<(ColumnReport, usize), SolveError> {
        improved(self, a, b, x, options, workspace)
    }

    fn diagonal(&self) -> Result<Diagonal, SolveError> {
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
        Ok(Diagonal {
            l: self.factor.diagonal()?,
            scale: self.rounding.scale(self.factor.stream())?,
            shift: self.factor.shift(),
            epsilon: Scalar::to_f64(T::EPSILON),
        })
    }

    fn shift(&self) -> Option<f64> {
        self.factor.shift()
    }

    fn on_device(&mut self) -> Option<&mut dyn OnDevice> {
        Some(self)
    }
}

impl DeviceSolver<f32> {
    /// Factorizes what the device makes of the values of `a`.
    pub(super) fn refactorize_rounded(&mut self, a: &SymmetricCsc<f64>) -> Result<(), FactorError> {
        let values = Values::Host(a.values());
        match self.rounding.factorize(values, &mut self.factor)? {
            None => Ok(()),
            Some((position, pivot)) => {
                let symbolic = self.factor.plan().symbolic();
                let report = NotPositiveDefinite::diagnose(symbolic, a, position, pivot);
                Err(match self.rounding.is_scaled() {
                    true => report,
                    false => report.of_rounded(a),
                }
                .into())
            }
        }
    }
}

/// On the device where that can be, with residuals from the host otherwise.
fn refined<T: Wide>(
    solver: &mut DeviceSolver<T>,
    a: &SymmetricCsc<f64>,
    b: &[f64],
    x: &mut [f64],
    nrhs: usize,
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<RefineReport, SolveError> {
    check_len("b", b.len(), a.n(), nrhs)?;
    check_len("x", x.len(), a.n(), nrhs)?;
    if options.residual == ResidualPrecision::Double {
        let x = &mut *x;
        let columns = solver.refine_here(
            nrhs,
            move |size| b.chunks(size).zip(x.chunks_mut(size)),
            options,
        )?;
        if let Some(columns) = columns {
            return Ok(report(columns, options));
        }
    }
    solve_refined_here(solver, a, b, x, nrhs, options, workspace)
}

/// The same without a copy of the right-hand sides; `None` where residuals are not on the device.
fn refined_in_place<T: Wide>(
    solver: &mut DeviceSolver<T>,
    a: &SymmetricCsc<f64>,
    x: &mut [f64],
    nrhs: usize,
    options: &RefineOptions,
) -> Result<Option<RefineReport>, SolveError> {
    check_len("x", x.len(), a.n(), nrhs)?;
    if options.residual != ResidualPrecision::Double {
        return Ok(None);
    }
    let columns = solver.refine_here(nrhs, |size| x.chunks_mut(size), options)?;
    Ok(columns.map(|columns| report(columns, options)))
}

/// Likewise, by conjugate gradients.
fn improved<T: Wide>(
    solver: &mut DeviceSolver<T>,
    a: &SymmetricCsc<f64>,
    b: &[f64],
    x: &mut [f64],
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<(ColumnReport, usize), SolveError> {
    check_len("b", b.len(), a.n(), 1)?;
    check_len("x", x.len(), a.n(), 1)?;
    if options.residual == ResidualPrecision::Double
        && let Some(improved) = solver.improve_here(b, x, options)?
    {
        return Ok(improved);
    }
    conjugate_gradients_here(solver, a, b, x, options, workspace)
}

/// What became of all columns.
pub(super) fn report(columns: Vec<ColumnReport>, options: &RefineOptions) -> RefineReport {
    let good = |c: &ColumnReport| c.componentwise_backward_error <= options.accept;
    let converged = columns.iter().all(good);
    RefineReport { columns, converged }
}
