//! Matrices and vectors that are on the device already.

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceView, Stream};
use tamarack_numeric::{DeviceFactor, DeviceValue, FactorError};

use super::engine::report;
use super::scaled::{Rounding, Values};
use super::solver::DeviceSolver;
use crate::error::{SolveError, check_len};
use crate::refine::{RefineOptions, RefineReport};
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
}

impl Wide for f64 {
    fn wide<'a>(factor: &'a DeviceFactor<f64>, _: &'a Rounding) -> Option<DeviceView<'a, f64>> {
        factor.shift().is_none().then(|| factor.values())
    }

    fn renew(
        solver: &mut DeviceSolver<f64>,
        values: DeviceView<'_, f64>,
    ) -> Result<(), FactorError> {
        solver.factor.refactorize_device(values)
    }
}

impl Wide for f32 {
    fn wide<'a>(_: &'a DeviceFactor<f32>, rounding: &'a Rounding) -> Option<DeviceView<'a, f64>> {
        rounding.values()
    }

    fn renew(
        solver: &mut DeviceSolver<f32>,
        values: DeviceView<'_, f64>,
    ) -> Result<(), FactorError> {
        let factor = &mut solver.factor;
        if !solver.rounding.is_some() {
            // Matrices from the host may be shifted, and are rounded there.
            solver.rounding =
                Rounding::new(factor.gpu(), factor.stream(), factor.pattern(), false)?;
        }
        let rounding = &mut solver.rounding;
        rounding.round(Values::Device(values), factor)?;
        match factor.refactorize_in_place()? {
            None => Ok(()),
            Some(bad) => Err(factor.refusal(bad)),
        }
    }
}

impl<T: Wide> OnDevice for DeviceSolver<T> {
    fn refactorize(&mut self, values: DeviceView<'_, f64>) -> Result<(), SolveError> {
        let (found, expected) = (values.len(), self.factor.pattern().row_idx().len());
        if found != expected {
            return Err(SolveError::Values { found, expected });
        }
        self.renewed();
        Ok(T::renew(self, values)?)
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
        if n == 0 || b.columns() == 0 {
            return Ok(report(Vec::new(), options));
        }
        match self.refine_device(b, x, options)? {
            Some(columns) => Ok(report(columns, options)),
            None => Err(SolveError::OnHost {
                what: "the matrix in double precision, without its shift,",
                instead: "refine there, by `solve_refined`",
            }),
        }
    }

    fn values(&self) -> Option<DeviceView<'_, f64>> {
        T::wide(&self.factor, &self.rounding)
    }

    fn stream(&self) -> &Stream {
        self.factor.stream()
    }
}
