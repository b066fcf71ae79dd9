//! Factors that are made and used by the threads of a team on the host.

use std::fmt::Debug;
use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, Team, Value};
use tamarack_plan::{FactorPlan, Machine, PlanOptions, Precision};
use tamarack_sparse::SymmetricCsc;

use crate::condition::log_determinant;
use crate::error::{SolveError, check_len};
use crate::inverse::{Inverse, Scaled, power_of_two_near};
use crate::plan::Substitution;
use crate::solver::{Engine, Form, Solver};
use crate::substitution::solve;
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
                let held = self.plan.memory();
                let held = held.peak_bytes() - held.analysis_bytes;
                machine.memory_bytes = machine.memory_bytes.map(|all| all.saturating_sub(held));
            }
            FactorPlan::new(self.plan.symbolic().clone(), &machine, &options)?.into()
        };
        let mut matrix = Rounding::<T>::new(form);
        let rounded = matrix.round(a);
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
        // Before anything is written to x.
        check_len("x", x.len(), self.factor.symbolic().n(), nrhs)?;
        if !self.factor.is_current() {
            return Err(SolveError::Stale);
        }
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
        let done = self.factor.refactorize(self.matrix.round(a), control);
        done.map_err(|error| self.matrix.explain(a, error))
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

    /// An error that the rounded matrix gave, said of the matrix.
    fn explain(&self, a: &SymmetricCsc<f64>, error: FactorError) -> FactorError {
        match error {
            FactorError::NotPositiveDefinite(report) if self.form == Form::Single => {
                report.of_rounded(a).into()
            }
            other => other,
        }
    }
}
