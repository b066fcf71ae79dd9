//! Factors that are made and used by the threads of a team on the host.

use std::fmt::Debug;
use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, Team, Value};
use tamarack_plan::{FactorPlan, Machine, PlanOptions, Precision};
use tamarack_sparse::SymmetricCsc;

use crate::diagonal::Diagonal;
use crate::error::{SolveError, check_len};
use crate::inverse::{Inverse, Ranged, Scaled};
use crate::plan::Substitution;
use crate::rounding::{Rounded, Rounding};
use crate::solver::{Engine, Form, Solver};
use crate::substitution::{Half, solve, solve_half};
use crate::workspace::SolveWorkspace;

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
            let mut machine = self.machine;
            if form == Form::Beside {
                let held = self.plan.memory().own_bytes();
                machine.memory_bytes = machine.memory_bytes.map(|all| all.saturating_sub(held));
            }
            FactorPlan::new(self.plan.symbolic().clone(), &machine, &options)?.into()
        };
        let mut matrix = Rounding::<T>::new(form);
        let rounded = matrix.round(a, &self.team);
        let factor = NumericFactor::factorize(plan, self.team.clone(), rounded, options, control)
            .map_err(|error| matrix.explain(a, error))?;
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
            Form::Double | Form::Beside => self.solver::<f64>(form, a, options, control),
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
            matrix: Rounding::new(match T::PRECISION {
                Precision::F64 => Form::Double,
                Precision::F32 => Form::Single,
            }),
            factor,
            plan,
        }
    }

    /// The factor.
    pub fn factor(&self) -> &NumericFactor<T> {
        &self.factor
    }
}

/// A factor with somebody's memory for solves.
struct Using<'a, T: Value> {
    factor: &'a NumericFactor<T>,
    matrix: &'a Rounding<T>,
    plan: &'a Substitution,
    workspace: &'a mut SolveWorkspace<T>,
}

impl<T: Rounded> Using<'_, T> {
    fn apply(self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        // Before anything is written to x.
        check_len("x", x.len(), self.factor.symbolic().n(), nrhs)?;
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
        let scale = self.matrix.scale.as_deref();
        let mut bare = Bare(self);
        let inverse: &mut dyn Inverse = match T::PRECISION {
            Precision::F64 => &mut bare,
            Precision::F32 => &mut Ranged { inverse: &mut bare },
        };
        match scale {
            None => inverse.apply(x, nrhs),
            Some(scale) => Scaled { inverse, scale }.apply(x, nrhs),
        }
    }
}

/// The factor alone, without the scaling.
struct Bare<'a, T: Value>(Using<'a, T>);

impl<T: Value> Inverse for Bare<'_, T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let Using { factor, plan, .. } = self.0;
        self.0.workspace.hold(nrhs, factor, plan);
        solve(factor, plan, x, nrhs, self.0.workspace)
    }
}

impl<T: Rounded> Inverse for HostSolver<T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let using = Using {
            factor: &self.factor,
            matrix: &self.matrix,
            plan: &self.plan,
            workspace: &mut self.workspace,
        };
        using.apply(x, nrhs)
    }

    fn team(&self) -> Option<Arc<Team>> {
        Some(self.factor.team().clone())
    }
}

/// A solver's factor with memory of one's own.
struct Shared<'a, T: Value> {
    solver: &'a HostSolver<T>,
    workspace: SolveWorkspace<T>,
}

impl<T: Rounded> Inverse for Shared<'_, T> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let using = Using {
            factor: &self.solver.factor,
            matrix: &self.solver.matrix,
            plan: &self.solver.plan,
            workspace: &mut self.workspace,
        };
        using.apply(x, nrhs)
    }

    fn team(&self) -> Option<Arc<Team>> {
        self.solver.team()
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
        let team = self.factor.team().clone();
        let done = self
            .factor
            .refactorize(self.matrix.round(a, &team), control);
        done.map_err(|error| self.matrix.explain(a, error))
    }

    fn apply_half(&mut self, half: Half, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        if T::PRECISION != Precision::F64 {
            return Err(SolveError::NoHalves);
        }
        let (factor, plan) = (&self.factor, &*self.plan);
        self.workspace.hold(nrhs, factor, plan);
        solve_half(half, factor, plan, x, nrhs, &mut self.workspace)
    }

    fn diagonal(&self) -> Result<Diagonal, SolveError> {
        Ok(Diagonal {
            scale: self.matrix.scale.clone(),
            ..Diagonal::of(&self.factor)?
        })
    }

    fn shift(&self) -> Option<f64> {
        self.factor.shift()
    }

    fn share(&self) -> Option<Box<dyn Inverse + Send + '_>> {
        Some(Box::new(Shared {
            workspace: SolveWorkspace::new(&self.factor, &self.plan, 1),
            solver: self,
        }))
    }
}
