//! Matrices and vectors that are on the device already.

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceView, Stream};
use tamarack_numeric::{DeviceFactor, DeviceValue, FactorError, OnNotSpd};
use tamarack_sparse::SymmetricCsc;

use super::engine::report;
use super::scaled::{Rounding, Values};
use super::solver::DeviceSolver;
use crate::error::{SolveError, check_len};
use crate::refine::RefineOptions;
use crate::report::{ColumnReport, RefineReport};
use crate::residual::ResidualPrecision;
use crate::solver::OnDevice;

/// A precision of factors on a device.
pub(super) trait Wide: DeviceValue {
    /// The values of the matrix in double precision, where they are on the device.
    fn wide<'a>(
        factor: &'a DeviceFactor<Self>,
        rounding: &'a Rounding,
    ) -> Option<DeviceView<'a, f64>>;

    /// Factorizes values that are on the device.
    fn renew(
        solver: &mut DeviceSolver<Self>,
        values: DeviceView<'_, f64>,
    ) -> Result<(), FactorError>;

    /// Factorizes a matrix that is on the host.
    fn refactorize(
        solver: &mut DeviceSolver<Self>,
        a: &SymmetricCsc<f64>,
    ) -> Result<(), FactorError>;
}

impl Wide for f64 {
    fn wide<'a>(factor: &'a DeviceFactor<f64>, _: &'a Rounding) -> Option<DeviceView<'a, f64>> {
        factor.values().filter(|_| factor.shift().is_none())
    }

    fn renew(
        solver: &mut DeviceSolver<f64>,
        values: DeviceView<'_, f64>,
    ) -> Result<(), FactorError> {
        solver.factor.refactorize_device(values)
    }

    fn refactorize(
        solver: &mut DeviceSolver<f64>,
        a: &SymmetricCsc<f64>,
    ) -> Result<(), FactorError> {
        solver.factor.refactorize(a)
    }
}

impl Wide for f32 {
    fn wide<'a>(
        factor: &'a DeviceFactor<f32>,
        rounding: &'a Rounding,
    ) -> Option<DeviceView<'a, f64>> {
        rounding.values(factor)
    }

    fn renew(
        solver: &mut DeviceSolver<f32>,
        values: DeviceView<'_, f64>,
    ) -> Result<(), FactorError> {
        let factor = &mut solver.factor;
        match solver.rounding.factorize(Values::Device(values), factor)? {
            None => Ok(()),
            Some(bad) => Err(factor.refusal(bad)),
        }
    }

    fn refactorize(
        solver: &mut DeviceSolver<f32>,
        a: &SymmetricCsc<f64>,
    ) -> Result<(), FactorError> {
        solver.factor.check_pattern(a.pattern())?;
        if solver.factor.options().not_spd == OnNotSpd::Fail {
            return solver.refactorize_rounded(a);
        }
        solver.rounding.outdate();
        solver.factor.refactorize(&a.cast())
    }
}

/// Where residuals cannot be computed on the device.
const NOT_THERE: SolveError = SolveError::OnHost {
    what: "the matrix in double precision, without its shift,",
    instead: "refine there, by `solve_refined`",
};

impl<T: DeviceValue> DeviceSolver<T> {
    /// An error for vectors of other shapes, and where answers cannot be refined on the device.
    fn check_refined(
        &self,
        b: &MatrixView<'_, f64>,
        x: &MatrixViewMut<'_, f64>,
        options: &RefineOptions,
    ) -> Result<(), SolveError> {
        let n = self.n();
        check_len("b", b.rows() as usize, n, 1)?;
        check_len("x", x.view().rows() as usize, n, 1)?;
        let found = x.view().columns() as usize;
        check_len("x", found.saturating_mul(n), n, b.columns() as usize)?;
        if options.residual != ResidualPrecision::Double {
            return Err(SolveError::OnHost {
                what: "a residual in more than double precision",
                instead: "refine there, by `solve_refined`",
            });
        }
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
        Ok(())
    }
}

impl<T: DeviceValue> DeviceSolver<T> {
    /// What `work` returns, which waits for the device unless it fails: then as well nothing reads or writes the caller's memory any more.
    pub(super) fn waited<R>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<R, SolveError>,
    ) -> Result<R, SolveError> {
        let done = work(self);
        if done.is_err() {
            // A device that fails here failed before, and that is what is said.
            let _ = self.factor.stream().synchronize();
        }
        done
    }
}

impl<T: Wide> OnDevice for DeviceSolver<T> {
    fn refactorize(&mut self, values: DeviceView<'_, f64>) -> Result<(), SolveError> {
        let (found, expected) = (values.len(), self.factor.pattern().row_idx().len());
        if found != expected {
            return Err(SolveError::Values { found, expected });
        }
        self.waited(|solver| Ok(T::renew(solver, values)?))
    }

    fn solve(&mut self, x: MatrixViewMut<'_, f64>) -> Result<(), SolveError> {
        self.apply_device(x)
    }

    fn solve_refined(
        &mut self,
        b: MatrixView<'_, f64>,
        x: MatrixViewMut<'_, f64>,
        options: &RefineOptions,
    ) -> Result<RefineReport, SolveError> {
        self.check_refined(&b, &x, options)?;
        if self.n() == 0 || b.columns() == 0 {
            return Ok(report(Vec::new(), options));
        }
        match self.waited(|solver| solver.refine_device(b, x, options))? {
            Some(columns) => Ok(report(columns, options)),
            None => Err(NOT_THERE),
        }
    }

    fn conjugate_gradients(
        &mut self,
        b: MatrixView<'_, f64>,
        x: MatrixViewMut<'_, f64>,
        column: u32,
        options: &RefineOptions,
    ) -> Result<(ColumnReport, usize), SolveError> {
        self.check_refined(&b, &x, options)?;
        let columns = b.columns() as usize;
        check_len(
            "columns",
            columns.min(column as usize + 1),
            column as usize + 1,
            1,
        )?;
        let improved = self.waited(|solver| solver.improve_device(b, x, column, options))?;
        improved.ok_or(NOT_THERE)
    }

    fn values(&self) -> Option<DeviceView<'_, f64>> {
        T::wide(&self.factor, &self.rounding)
    }

    fn stream(&self) -> &Stream {
        self.factor.stream()
    }
}
