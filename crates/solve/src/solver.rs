//! What a factor with all that a solve needs can do, and who makes one: the host (`host`), or a device (`device`).

use std::fmt::Debug;
use std::sync::Arc;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceView, Stream};
use tamarack_numeric::{Control, FactorError, FactorOptions};
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::conjugate::{Here, conjugate_gradients};
use crate::copy::copy_by;
use crate::diagonal::Diagonal;
use crate::error::{SolveError, check_len};
use crate::inverse::Inverse;
use crate::refine::{Measured, RefineOptions, RefineWorkspace, refine};
use crate::report::{ColumnReport, RefineReport};
use crate::substitution::Half;

/// What is factorized, and in which precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The matrix, in double precision.
    Double,
    /// The same, while a factor in single precision is kept: that has its part of the memory.
    Beside,
    /// The matrix rounded to single precision.
    Single,
    /// `D A D` rounded to single precision, where D holds powers of two that bring the diagonal near 1, so
    /// that single precision neither overflows nor underflows (van der Sluis 1969: near optimal for
    /// positive definite matrices).
    Scaled,
}

/// A factor that can be used and made anew. As an [`Inverse`] it is one of the matrix, whatever its form.
pub trait Solver: Inverse + Debug + Send + Sync {
    /// Factorizes other values of the same pattern in the same memory.
    ///
    /// # Errors
    /// As the first factorization. After an error other than [`FactorError::Pattern`] the factor is stale.
    fn refactorize(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), FactorError>;

    /// Solves `A x = b`, both `n × nrhs`, column-major, user order, and refines; `a` is the matrix that was
    /// factorized.
    ///
    /// # Errors
    /// [`SolveError::Length`], [`SolveError::Stale`].
    fn solve_refined(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
        workspace: &mut RefineWorkspace,
    ) -> Result<RefineReport, SolveError> {
        solve_refined_here(self, a, b, x, nrhs, options, workspace)
    }

    /// The same where `x` holds the right-hand sides and then the answers, for a factor that needs no copy of them; `None`, and nothing
    /// was done, for others. A device that fails may leave some answers.
    ///
    /// # Errors
    /// As [`solve_refined`](Self::solve_refined).
    fn solve_refined_in_place(
        &mut self,
        _a: &SymmetricCsc<f64>,
        _x: &mut [f64],
        _nrhs: usize,
        _options: &RefineOptions,
    ) -> Result<Option<RefineReport>, SolveError> {
        Ok(None)
    }

    /// Improves the answer to one right-hand side, user order, by conjugate gradients with the factor as preconditioner, where
    /// refinement does not suffice; the accuracy, and the steps it took.
    ///
    /// # Errors
    /// As [`solve_refined`](Self::solve_refined).
    fn conjugate_gradients(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
        workspace: &mut RefineWorkspace,
    ) -> Result<(ColumnReport, usize), SolveError> {
        conjugate_gradients_here(self, a, b, x, options, workspace)
    }

    /// Half of `x ← A⁻¹ x`, as [`solve_half`](crate::solve_half) has it.
    ///
    /// # Errors
    /// [`SolveError::NoHalves`] unless the factor is on the host in double precision; as [`Inverse::apply`].
    fn apply_half(&mut self, _half: Half, _x: &mut [f64], _nrhs: usize) -> Result<(), SolveError> {
        Err(SolveError::NoHalves)
    }

    /// The diagonal of what was factorized.
    ///
    /// # Errors
    /// [`SolveError::Stale`], or a failing device.
    fn diagonal(&self) -> Result<Diagonal, SolveError>;

    /// The σ of `A + σI` that was factorized instead of A, where that was asked for and needed.
    fn shift(&self) -> Option<f64>;

    /// The same inverse with memory of its own, for a thread that solves while others do; none where the factor is on a device.
    fn share(&self) -> Option<Box<dyn Inverse + Send + '_>> {
        None
    }

    /// The same factor for data that is on a device, if it is there itself.
    fn on_device(&mut self) -> Option<&mut dyn OnDevice> {
        None
    }
}

/// A factor on a device, for data that is there as well: no number of it passes through the host.
pub trait OnDevice {
    /// Factorizes other values of the same pattern, in its order, in the same memory; waits for it.
    ///
    /// # Errors
    /// [`SolveError::Values`], which leaves the factor as it is. A matrix that is not positive definite gives
    /// [`FactorError::Pivot`]: its entries are not on the host to be looked at, and it is not shifted. After that, as after
    /// a failure of the device, the factor is stale.
    fn refactorize(&mut self, values: DeviceView<'_, f64>) -> Result<(), SolveError>;

    /// `x ← A⁻¹ x`, user order; waits for it.
    ///
    /// # Errors
    /// [`SolveError::Length`] for other rows than n, [`SolveError::Stale`], or a failing device.
    fn solve(&mut self, x: MatrixViewMut<'_, f64>) -> Result<(), SolveError>;

    /// Solves `A x = b` for the matrix that was factorized, and refines; waits for it.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and for another shape than that of `b`; [`SolveError::OnHost`] for residuals in
    /// more than double precision, and for a factor of a shifted matrix.
    fn solve_refined(
        &mut self,
        b: MatrixView<'_, f64>,
        x: MatrixViewMut<'_, f64>,
        options: &RefineOptions,
    ) -> Result<RefineReport, SolveError>;

    /// Improves column `column` of `x` as [`Solver::conjugate_gradients`] does; waits for it.
    ///
    /// # Errors
    /// As [`solve_refined`](Self::solve_refined).
    fn conjugate_gradients(
        &mut self,
        b: MatrixView<'_, f64>,
        x: MatrixViewMut<'_, f64>,
        column: u32,
        options: &RefineOptions,
    ) -> Result<(ColumnReport, usize), SolveError>;

    /// The values in double precision that were factorized last, if they are on the device.
    fn values(&self) -> Option<DeviceView<'_, f64>>;

    /// The stream that its work is enqueued on.
    fn stream(&self) -> &Stream;
}

/// A refined solve whose residuals are computed on the host.
pub(crate) fn solve_refined_here<I: Inverse + ?Sized>(
    mut inverse: &mut I,
    a: &SymmetricCsc<f64>,
    b: &[f64],
    x: &mut [f64],
    nrhs: usize,
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<RefineReport, SolveError> {
    check_len("b", b.len(), a.n(), nrhs)?;
    check_len("x", x.len(), a.n(), nrhs)?;
    copy_by(inverse.team().as_deref(), b, x);
    inverse.apply(x, nrhs)?;
    refine(a, &mut inverse, b, x, nrhs, options, workspace)
}

/// Conjugate gradients on the host, with a factor that may be anywhere.
pub(crate) fn conjugate_gradients_here<I: Inverse + ?Sized>(
    inverse: &mut I,
    a: &SymmetricCsc<f64>,
    b: &[f64],
    x: &mut [f64],
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<(ColumnReport, usize), SolveError> {
    check_len("b", b.len(), a.n(), 1)?;
    check_len("x", x.len(), a.n(), 1)?;
    let (team, residual) = (inverse.team(), &mut workspace.residual);
    let matrix = Measured::new(a, team.as_deref(), residual);
    let mut vectors = Here::new(&matrix, inverse, b, x, options, residual);
    conjugate_gradients(&mut vectors, options, options.goal(a.pattern()))
}

/// Who factorizes matrices of one pattern.
pub trait Engine: Debug + Send + Sync {
    /// A factor of a matrix in a form.
    ///
    /// # Errors
    /// There is no memory, or the matrix is not positive definite, or another than the one analyzed.
    fn factorize(
        &self,
        form: Form,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver>, SolveError>;

    /// The same of values that are on the engine's device, in the order of `pattern`.
    ///
    /// # Errors
    /// [`SolveError::OnHost`] where there is no device; as [`OnDevice::refactorize`].
    fn factorize_device(
        &self,
        _form: Form,
        _pattern: &Arc<Pattern>,
        _values: DeviceView<'_, f64>,
        _options: &FactorOptions,
    ) -> Result<Box<dyn Solver>, SolveError> {
        Err(SolveError::HOST_FACTOR)
    }
}
