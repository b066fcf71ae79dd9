//! Factors with all that a solve needs, and who makes them: the host, or a device.

use std::fmt::Debug;
use std::sync::Arc;

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceView, Stream};
use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, Team, Value};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::condition::log_determinant;
use crate::conjugate::{Here, conjugate_gradients};
use crate::error::{SolveError, check_len};
use crate::inverse::{Inverse, Scaled, power_of_two_near};
use crate::plan::Substitution;
use crate::refine::{ColumnReport, Measured, RefineOptions, RefineReport, RefineWorkspace, refine};
use crate::substitution::solve;
use crate::workspace::SolveWorkspace;

/// What is factorized, and in which precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The matrix, in double precision.
    Double,
    /// The matrix rounded to single precision.
    Single,
    /// `D A D` rounded to single precision, where D holds powers of two that bring the diagonal near 1, so
    /// that single precision neither overflows nor underflows (van der Sluis 1969: near optimal for
    /// positive definite matrices).
    Scaled,
}

/// A factor that can be used and made anew. As an [`Inverse`] it is one of the matrix, whatever its form.
pub trait Solver: Inverse + Debug + Send {
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

    /// Natural logarithm of the determinant of what was factorized, the scaling undone.
    ///
    /// # Errors
    /// [`SolveError::Stale`].
    fn log_determinant(&self) -> Result<f64, SolveError>;

    /// The σ of `A + σI` that was factorized instead of A, where that was asked for and needed.
    fn shift(&self) -> Option<f64>;

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
    x.copy_from_slice(b);
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
    conjugate_gradients(&mut vectors, options)
}

/// Who factorizes matrices of one pattern.
pub trait Engine: Debug + Send {
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

/// The threads of a team on the host.
#[derive(Debug)]
pub struct Host {
    plan: Arc<FactorPlan>,
    /// For plans in the other precision.
    machine: Machine,
    team: Arc<Team>,
    substitution: Arc<Substitution>,
}

impl Host {
    /// A team that works by plans of factorizations and solves, of the same structure; a plan in the other precision is
    /// made for `machine` where it is wanted.
    pub fn new(
        plan: Arc<FactorPlan>,
        substitution: Arc<Substitution>,
        machine: &Machine,
        team: Arc<Team>,
    ) -> Self {
        Self {
            plan,
            machine: *machine,
            team,
            substitution,
        }
    }

    fn solver<T: Rounded>(
        &self,
        form: Form,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver>, SolveError> {
        let plan = if self.plan.precision() == T::PRECISION {
            self.plan.clone()
        } else {
            let options = PlanOptions {
                precision: T::PRECISION,
                ..PlanOptions::default()
            };
            FactorPlan::new(self.plan.symbolic().clone(), &self.machine, &options)?.into()
        };
        let mut matrix = Rounding::<T>::new(form);
        let rounded = matrix.round(a);
        let factor = NumericFactor::factorize(plan, self.team.clone(), rounded, options, control)?;
        let mut solver = HostSolver::new(factor, self.substitution.clone());
        solver.matrix = matrix;
        Ok(Box::new(solver))
    }
}

impl Engine for Host {
    fn factorize(
        &self,
        form: Form,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver>, SolveError> {
        match form {
            Form::Double => self.solver::<f64>(form, a, options, control),
            Form::Single | Form::Scaled => self.solver::<f32>(form, a, options, control),
        }
    }
}

/// A factor on the host with its plan of solves and memory for them.
#[derive(Debug)]
pub struct HostSolver<T: Value> {
    factor: NumericFactor<T>,
    matrix: Rounding<T>,
    plan: Arc<Substitution>,
    workspace: SolveWorkspace<T>,
}

impl<T: Rounded> HostSolver<T> {
    /// Prepares solves with one right-hand side, of a factor that was not scaled; room for more is taken when more
    /// come.
    pub fn new(factor: NumericFactor<T>, plan: Arc<Substitution>) -> Self {
        Self {
            workspace: SolveWorkspace::new(&factor, &plan, 1),
            matrix: Rounding::new(Form::Single),
            factor,
            plan,
        }
    }

    /// The factor.
    pub fn factor(&self) -> &NumericFactor<T> {
        &self.factor
    }
}

/// The factor alone, without the scaling.
struct Bare<'a, T: Value> {
    factor: &'a NumericFactor<T>,
    plan: &'a Substitution,
    workspace: &'a mut SolveWorkspace<T>,
}

impl<T: Value> Inverse for Bare<'_, T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        if !self.workspace.holds(nrhs) {
            *self.workspace = SolveWorkspace::new(self.factor, self.plan, nrhs);
        }
        solve(self.factor, self.plan, x, nrhs, self.workspace)
    }
}

impl<T: Rounded> Inverse for HostSolver<T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let mut inverse = Bare {
            factor: &self.factor,
            plan: &self.plan,
            workspace: &mut self.workspace,
        };
        match &self.matrix.scale {
            None => inverse.apply(x, nrhs),
            Some(scale) => Scaled {
                inverse: &mut inverse,
                scale,
            }
            .apply(x, nrhs),
        }
    }

    fn team(&self) -> Option<Arc<Team>> {
        Some(self.factor.team().clone())
    }
}

impl<T: Rounded> Solver for HostSolver<T> {
    fn refactorize(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), FactorError> {
        let pattern = a.pattern();
        self.factor.check_pattern(pattern)?;
        self.factor.refactorize(self.matrix.round(a), control)
    }

    fn log_determinant(&self) -> Result<f64, SolveError> {
        let of_factor = log_determinant(&self.factor)?;
        // det(D A D) = det(A) det(D)².
        let scale = self.matrix.scale.iter().flatten();
        Ok(of_factor - 2.0 * scale.map(|d| d.ln()).sum::<f64>())
    }

    fn shift(&self) -> Option<f64> {
        self.factor.shift()
    }
}

/// A matrix on its way into a factor: scaled where that is wanted, and rounded to the factor's precision.
#[derive(Debug)]
pub struct Rounding<T> {
    form: Form,
    /// Powers of two, user order; none where the matrix is not scaled.
    scale: Option<Vec<f64>>,
    /// The last one; none in double precision.
    rounded: Option<SymmetricCsc<T>>,
}

/// A precision that matrices are rounded to.
pub trait Rounded: Value {
    /// The matrix in this precision, kept in `room` where it is not the same.
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        scale: Option<&[f64]>,
        room: &'a mut Option<SymmetricCsc<Self>>,
    ) -> &'a SymmetricCsc<Self>;
}

impl Rounded for f64 {
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        _: Option<&[f64]>,
        _: &'a mut Option<SymmetricCsc<f64>>,
    ) -> &'a SymmetricCsc<f64> {
        a
    }
}

impl Rounded for f32 {
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        scale: Option<&[f64]>,
        room: &'a mut Option<SymmetricCsc<f32>>,
    ) -> &'a SymmetricCsc<f32> {
        let rounded = room.get_or_insert_with(|| a.cast());
        let pattern = a.pattern();
        let values = rounded.values_mut();
        let Some(scale) = scale else {
            for (to, from) in values.iter_mut().zip(a.values()) {
                *to = *from as f32;
            }
            return rounded;
        };
        for j in 0..a.n() {
            for k in pattern.range(j) {
                let i = pattern.row_idx()[k] as usize;
                values[k] = (a.values()[k] * scale[i] * scale[j]) as f32;
            }
        }
        rounded
    }
}

impl<T: Rounded> Rounding<T> {
    fn new(form: Form) -> Self {
        Self {
            form,
            scale: None,
            rounded: None,
        }
    }

    /// The matrix as it is factorized.
    fn round<'a>(&'a mut self, a: &'a SymmetricCsc<f64>) -> &'a SymmetricCsc<T> {
        if self.form == Form::Scaled {
            let scale = self.scale.get_or_insert_default();
            scale.clear();
            let near_one = |diagonal: f64| 1.0 / power_of_two_near(diagonal.abs().sqrt());
            scale.extend(a.diagonal().map(near_one));
        }
        T::rounded(a, self.scale.as_deref(), &mut self.rounded)
    }
}
