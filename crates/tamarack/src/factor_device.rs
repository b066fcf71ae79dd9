//! A factor on a GPU, for values, right-hand sides and solutions that are there as well.
//!
//! What the caller has is copied on the device and not touched otherwise, so that it may come from any library that shares
//! the device's primary context, as CUDA's runtime and everything on it does. All calls wait for their work: what they
//! return may be used at once on any stream. What they read must be done before, or be waited for: [`Factor::wait_for`].

use std::ffi::c_void;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceView, Gpu, Stream};
use tamarack_numeric::{Call, FactorOptions};
use tamarack_solve::{Form, MixedFactor, OnDevice, Outcome, SolveError};

use crate::factor::Kind;
use crate::options::Precision;
use crate::{Analysis, Error, Factor, SolveReport};

impl Factor {
    pub(crate) fn of_device(
        analysis: &Analysis,
        values: DeviceView<'_, f64>,
    ) -> Result<Self, Error> {
        let entries = analysis.pattern().row_idx().len();
        check_values(analysis.gpu(), values, entries)?;
        let options = FactorOptions {
            not_spd: analysis.options().on_not_spd,
        };
        let work = || -> Result<Kind, SolveError> {
            let (engine, pattern) = (analysis.engine(), analysis.pattern());
            let form = match analysis.options().precision {
                Precision::F64 => Form::Double,
                Precision::F32 => Form::Single,
                Precision::Mixed => {
                    let mixed = MixedFactor::factorize_device(engine, pattern, values, &options)?;
                    return Ok(Kind::Mixed(Box::new(mixed)));
                }
            };
            let factor = engine.factorize_device(form, pattern, values, &options)?;
            Ok(Kind::Plain(factor))
        };
        let kind = analysis.team().calling(Call::Factorize, work)?;
        Ok(Self::of_kind(kind, analysis))
    }

    /// The GPU that it is on, if it is on one.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref()
    }

    /// Lets what is asked of the factor next begin when a stream of another library has done all that is enqueued on it so
    /// far: a `CUstream` or `cudaStream_t`, null for the device's default stream. The host does not wait.
    ///
    /// # Errors
    /// The factor is on the host, or stale; a failing driver call.
    ///
    /// # Safety
    /// The stream exists.
    pub unsafe fn wait_for(&mut self, stream: *mut c_void) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        let wait = |own: &Stream| unsafe { own.wait_for_raw(stream) };
        match &mut self.kind {
            Kind::Mixed(factor) => factor.for_each_stream(wait)?,
            Kind::Plain(_) => wait(self.here()?.stream())?,
        }
        Ok(())
    }

    /// Factorizes other values of the same pattern that are on the GPU already: one for each entry of the lower triangle, by
    /// columns, as `SymmetricCsc::values`. Only the status comes to the host. The bits are those of
    /// [`refactorize`](Self::refactorize).
    ///
    /// In mixed precision, values that single precision cannot factorize are factorized in double precision, on the device as
    /// well.
    ///
    /// ```no_run
    /// use tamarack::{Analysis, DeviceMatrixMut, DeviceView, DeviceViewMut, Error};
    ///
    /// /// What a library on CUDA's runtime has: addresses, and the stream on which it writes there.
    /// struct Theirs {
    ///     values: u64,
    ///     x: u64,
    ///     stream: *mut std::ffi::c_void,
    /// }
    ///
    /// # fn main() {}
    /// fn step(analysis: &Analysis, factor: &mut tamarack::Factor, theirs: &Theirs) -> Result<(), Error> {
    ///     let (n, entries) = (analysis.pattern().n(), analysis.pattern().row_idx().len());
    ///     let Some(gpu) = analysis.gpu() else {
    ///         return Ok(()); // or go by way of the host
    ///     };
    ///     // SAFETY: the stream exists, both places are allocated and as long as said, and nobody else uses them until
    ///     // this is done.
    ///     unsafe {
    ///         factor.wait_for(theirs.stream)?;
    ///         factor.refactorize_device(DeviceView::from_raw(gpu, theirs.values, entries)?)?;
    ///         let x = DeviceViewMut::from_raw(gpu, theirs.x, n)?;
    ///         factor.solve_device(DeviceMatrixMut::new(x, n as u32, 1, n)?)?; // b, and then x
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Of kind [`Usage`](crate::ErrorKind::Usage) for another number of values, for values in other memory than that of the
    /// factor's GPU, or for a factor on the host; the factor stays as it was. Of kind
    /// [`NotPositiveDefinite`](crate::ErrorKind::NotPositiveDefinite) with a column of the user's, without the likely cause,
    /// as the entries are not on the host to be looked at; nothing is shifted. After that, as after a failure of the device,
    /// the factor is stale.
    pub fn refactorize_device(&mut self, values: DeviceView<'_, f64>) -> Result<(), Error> {
        let entries = self.plan.symbolic().nnz_a() as usize;
        check_values(self.gpu(), values, entries)?;
        let (team, kind) = (self.team.clone(), &mut self.kind);
        let work = || match kind {
            Kind::Plain(factor) => factor
                .on_device()
                .ok_or(SolveError::HOST_FACTOR)?
                .refactorize(values),
            Kind::Mixed(factor) => factor.refactorize_device(values),
        };
        Ok(team.calling(Call::Factorize, work)?)
    }

    /// `x ← A⁻¹ x` in place on the GPU, without refinement: `n × nrhs`, columns a leading dimension apart, user order. The
    /// bits are those of [`solve`](Self::solve).
    ///
    /// # Errors
    /// Of kind [`Usage`](crate::ErrorKind::Usage) for other rows than n, for other memory than that of the factor's GPU, for a
    /// factor on the host, or a stale one; a failing device.
    pub fn solve_device(&mut self, x: MatrixViewMut<'_, f64>) -> Result<(), Error> {
        self.check_matrix(x.view(), "x")?;
        let team = self.team.clone();
        Ok(team.calling(Call::Solve, || self.here()?.solve(x))?)
    }

    /// Solves `A x = b` on the GPU for the matrix that was factorized last, and refines: as
    /// [`solve_refined`](Self::solve_refined), with its bits.
    ///
    /// `b` stays as it is; both are `n × nrhs`, columns a leading dimension apart, user order.
    ///
    /// # Errors
    /// As [`solve_device`](Self::solve_device), and for different numbers of columns. Also of kind
    /// [`Usage`](crate::ErrorKind::Usage) where the matrix or its residuals are on the host alone: a matrix that was shifted,
    /// residuals in more than double precision.
    pub fn solve_refined_device(
        &mut self,
        b: MatrixView<'_, f64>,
        x: MatrixViewMut<'_, f64>,
    ) -> Result<SolveReport, Error> {
        self.check_matrix(b, "b")?;
        self.check_matrix(x.view(), "x")?;
        let (team, options) = (self.team.clone(), self.refine);
        let work = || -> Result<SolveReport, SolveError> {
            match &mut self.kind {
                Kind::Plain(factor) => {
                    let here = factor.on_device().ok_or(SolveError::HOST_FACTOR)?;
                    Ok(SolveReport {
                        refine: here.solve_refined(b, x, &options)?,
                        outcome: Outcome::Refined,
                    })
                }
                Kind::Mixed(factor) => Ok(factor.solve_refined_device(b, x, &options)?.into()),
            }
        };
        Ok(team.calling(Call::Solve, work)?)
    }

    /// The factor that is in use.
    fn here(&mut self) -> Result<&mut dyn OnDevice, SolveError> {
        match &mut self.kind {
            Kind::Plain(factor) => factor.on_device().ok_or(SolveError::HOST_FACTOR),
            Kind::Mixed(factor) => factor.on_device(),
        }
    }

    /// An error for other rows than n, or another place than the factor's device.
    fn check_matrix(
        &self,
        matrix: MatrixView<'_, f64>,
        vector: &'static str,
    ) -> Result<(), SolveError> {
        let gpu = self.gpu().ok_or(SolveError::HOST_FACTOR)?;
        let (found, expected) = (matrix.rows() as usize, self.plan.symbolic().n());
        if found != expected {
            return Err(SolveError::Length {
                vector,
                found,
                expected,
            });
        }
        let all = matrix.part(0..matrix.columns())?;
        Ok(all.check_on(gpu, vector)?)
    }
}

/// An error for another number of values than `entries`, or another place than `gpu`.
fn check_values(
    gpu: Option<&Gpu>,
    values: DeviceView<'_, f64>,
    entries: usize,
) -> Result<(), SolveError> {
    let gpu = gpu.ok_or(SolveError::HOST_FACTOR)?;
    let (found, expected) = (values.len(), entries);
    if found != expected {
        return Err(SolveError::Values { found, expected });
    }
    Ok(values.check_on(gpu, "values")?)
}
