//! Factors with all that a solve needs, and who makes them: the host, or a device.

use std::fmt::Debug;
use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, Team, Value};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::SymmetricCsc;

use crate::condition::log_determinant;
use crate::error::SolveError;
use crate::inverse::Inverse;
use crate::plan::Substitution;
use crate::substitution::solve;
use crate::workspace::SolveWorkspace;

/// A factor that can be used and made anew.
pub trait Solver<T>: Inverse + Debug + Send {
    /// Factorizes other values of the same pattern in the same memory.
    ///
    /// # Errors
    /// As the first factorization. After an error other than [`FactorError::Pattern`] the factor is stale.
    fn refactorize(
        &mut self,
        a: &SymmetricCsc<T>,
        control: &Control<'_>,
    ) -> Result<(), FactorError>;

    /// Natural logarithm of the determinant of what was factorized.
    ///
    /// # Errors
    /// [`SolveError::Stale`].
    fn log_determinant(&self) -> Result<f64, SolveError>;

    /// The σ of `A + σI` that was factorized instead of A, where that was asked for and needed.
    fn shift(&self) -> Option<f64>;
}

/// Who factorizes matrices of one pattern.
pub trait Engine: Debug + Send {
    /// A factor in single precision.
    ///
    /// # Errors
    /// There is no memory, or the matrix is not positive definite, or another than the one analyzed.
    fn single(
        &self,
        a: &SymmetricCsc<f32>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<f32>>, SolveError>;

    /// A factor in double precision.
    ///
    /// # Errors
    /// As [`single`](Self::single).
    fn double(
        &self,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<f64>>, SolveError>;
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
    /// A team that works by a plan; one in the other precision is made for `machine` where it is wanted.
    pub fn new(plan: Arc<FactorPlan>, machine: &Machine, team: Arc<Team>) -> Self {
        Self {
            machine: *machine,
            team,
            substitution: Arc::new(Substitution::new(plan.symbolic())),
            plan,
        }
    }

    fn solver<T: Value>(
        &self,
        a: &SymmetricCsc<T>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<T>>, SolveError>
    where
        HostSolver<T>: Solver<T>,
    {
        let plan = if self.plan.precision() == T::PRECISION {
            self.plan.clone()
        } else {
            let options = PlanOptions {
                precision: T::PRECISION,
                ..PlanOptions::default()
            };
            FactorPlan::new(self.plan.symbolic().clone(), &self.machine, &options)?.into()
        };
        let factor = NumericFactor::factorize(plan, self.team.clone(), a, options, control)?;
        let substitution = self.substitution.clone();
        Ok(Box::new(HostSolver::new(factor, substitution)))
    }
}

impl Engine for Host {
    fn single(
        &self,
        a: &SymmetricCsc<f32>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<f32>>, SolveError> {
        self.solver(a, options, control)
    }

    fn double(
        &self,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver<f64>>, SolveError> {
        self.solver(a, options, control)
    }
}

/// A factor on the host with its plan of solves and memory for them.
#[derive(Debug)]
pub struct HostSolver<T: Value> {
    factor: NumericFactor<T>,
    plan: Arc<Substitution>,
    workspace: SolveWorkspace<T>,
}

impl<T: Value> HostSolver<T> {
    /// Prepares solves with one right-hand side; room for more is taken when more come.
    pub fn new(factor: NumericFactor<T>, plan: Arc<Substitution>) -> Self {
        Self {
            workspace: SolveWorkspace::new(&factor, &plan, 1),
            factor,
            plan,
        }
    }

    /// The factor.
    pub fn factor(&self) -> &NumericFactor<T> {
        &self.factor
    }
}

impl<T: Value> Inverse for HostSolver<T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        if !self.workspace.holds(nrhs) {
            self.workspace = SolveWorkspace::new(&self.factor, &self.plan, nrhs);
        }
        solve(&self.factor, &self.plan, x, nrhs, &mut self.workspace)
    }
}

impl<T: Value> Solver<T> for HostSolver<T> {
    fn refactorize(
        &mut self,
        a: &SymmetricCsc<T>,
        control: &Control<'_>,
    ) -> Result<(), FactorError> {
        self.factor.refactorize(a, control)
    }

    fn log_determinant(&self) -> Result<f64, SolveError> {
        log_determinant(&self.factor)
    }

    fn shift(&self) -> Option<f64> {
        self.factor.shift()
    }
}
