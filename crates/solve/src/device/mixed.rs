//! Mixed precision for a matrix and vectors that are on the device already.
//!
//! By the three means of [`MixedFactor`], all of them there: refinement, conjugate gradients, and a factor in double precision of the
//! values on the device.

use std::sync::Arc;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceView, GpuError, Stream};
use tamarack_numeric::{FactorError, FactorOptions};
use tamarack_sparse::Pattern;

use crate::error::{SolveError, instead_of_single};
use crate::mixed::{MixedFactor, MixedReport, Outcome, STRICT, all_helped, improved, patient};
use crate::refine::{RefineOptions, RefineWorkspace};
use crate::solver::{Engine, Form, OnDevice, Solver};

impl MixedFactor {
    /// Factorizes values that are on the engine's device, in the order of `pattern`.
    ///
    /// # Errors
    /// As [`Engine::factorize_device`] in double precision.
    pub fn factorize_device(
        engine: Box<dyn Engine>,
        pattern: &Arc<Pattern>,
        values: DeviceView<'_, f64>,
        options: &FactorOptions,
    ) -> Result<Self, SolveError> {
        let mut mixed = Self {
            engine,
            pattern: pattern.clone(),
            options: *options,
            single: None,
            double: None,
            refine: RefineWorkspace::default(),
        };
        match mixed
            .engine
            .factorize_device(Form::Scaled, pattern, values, &STRICT)
        {
            Ok(single) => mixed.single = Some(single),
            // What single precision cannot factorize, double precision may.
            Err(SolveError::Factor(FactorError::Pivot { .. })) => mixed.double_of(values)?,
            Err(error) => return Err(error),
        }
        Ok(mixed)
    }

    /// Factorizes other values of the same pattern that are on the device.
    ///
    /// # Errors
    /// As [`OnDevice::refactorize`] in double precision.
    pub fn refactorize_device(&mut self, values: DeviceView<'_, f64>) -> Result<(), SolveError> {
        // Out of reach until it is right again, whatever happens.
        let double = self.double.take();
        if let Some(single) = &mut self.single {
            match here(single)?.refactorize(values) {
                Ok(()) => return Ok(()),
                Err(SolveError::Factor(FactorError::Pivot { .. })) => {}
                Err(error) => {
                    if matches!(error, SolveError::Values { .. }) {
                        self.double = double;
                    }
                    return Err(error);
                }
            }
        }
        let Some(mut factor) = double else {
            return self.double_of(values);
        };
        let done = here(&mut factor)?.refactorize(values);
        if matches!(done, Ok(()) | Err(SolveError::Values { .. })) {
            self.double = Some(factor);
        }
        done
    }

    fn double_of(&mut self, values: DeviceView<'_, f64>) -> Result<(), SolveError> {
        let (pattern, options) = (&self.pattern, &self.options);
        let engine = &self.engine;
        let made = engine.factorize_device(Form::Double, pattern, values, options);
        self.double = Some(made.map_err(instead_of_single)?);
        Ok(())
    }

    /// Solves `A x = b` on the device, both `n × nrhs`, user order, for the matrix that was factorized, to the accuracy of a
    /// factor in double precision. May factorize in double precision.
    ///
    /// # Errors
    /// As [`OnDevice::solve_refined`], and those of a factorization.
    pub fn solve_refined_device(
        &mut self,
        b: MatrixView<'_, f64>,
        mut x: MatrixViewMut<'_, f64>,
        options: &RefineOptions,
    ) -> Result<MixedReport, SolveError> {
        if self.double.is_none() {
            let Some(single) = &mut self.single else {
                return Err(SolveError::Stale);
            };
            let (single, patient) = (here(single)?, &patient(options));
            let refined = single.solve_refined(b, x.reborrow(), patient)?;
            let report = improved(refined, options, |c| {
                // there are fewer than 2^32 columns
                single.conjugate_gradients(b, x.reborrow(), c as u32, patient)
            })?;
            let finite = |c: usize| -> Result<bool, SolveError> {
                let column = b.part(c as u32..c as u32 + 1)?;
                let column = single.stream().to_host(column)?;
                Ok(column.iter().all(|b| b.is_finite()))
            };
            if options.max_steps == 0 || all_helped(&report.refine, options, finite)? {
                return Ok(report);
            }
            let Some(values) = single.values() else {
                return Err(SolveError::Stale);
            };
            let (pattern, engine) = (&self.pattern, &self.engine);
            let made = engine.factorize_device(Form::Double, pattern, values, &self.options);
            self.double = Some(made.map_err(instead_of_single)?);
        }
        let Some(factor) = &mut self.double else {
            return Err(SolveError::Stale);
        };
        Ok(MixedReport {
            refine: here(factor)?.solve_refined(b, x, options)?,
            outcome: Outcome::Double,
        })
    }

    /// Calls `work` with the streams of all factors that there are: which one is used next depends on what is asked.
    ///
    /// # Errors
    /// [`SolveError::Stale`], [`SolveError::OnHost`], and those of `work`.
    pub fn for_each_stream(
        &mut self,
        mut work: impl FnMut(&Stream) -> Result<(), GpuError>,
    ) -> Result<(), SolveError> {
        if self.double.is_none() && self.single.is_none() {
            return Err(SolveError::Stale);
        }
        for factor in self.double.iter_mut().chain(&mut self.single) {
            work(here(factor)?.stream())?;
        }
        Ok(())
    }

    /// The factor that is in use, for data on the device; `None` where it is on the host.
    ///
    /// # Errors
    /// [`SolveError::Stale`], [`SolveError::OnHost`].
    pub fn on_device(&mut self) -> Result<&mut dyn OnDevice, SolveError> {
        match (&mut self.double, &mut self.single) {
            (Some(factor), _) | (None, Some(factor)) => here(factor),
            (None, None) => Err(SolveError::Stale),
        }
    }
}

fn here(factor: &mut Box<dyn Solver>) -> Result<&mut dyn OnDevice, SolveError> {
    factor.on_device().ok_or(SolveError::HOST_FACTOR)
}
