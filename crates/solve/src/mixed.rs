//! A factor in single precision that gives answers as accurate as one in double precision.
//!
//! Three means, each tried where the one before does not suffice: refinement in double precision,
//! conjugate gradients preconditioned by the factor, and a factor in double precision. The matrix
//! is first scaled by powers of two to a diagonal near 1 (van der Sluis 1969: near optimal for
//! positive definite matrices), so that single precision neither overflows nor underflows.

use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, OnNotSpd, Team};
use tamarack_plan::{FactorPlan, Machine, PlanOptions, Precision};
use tamarack_sparse::SymmetricCsc;
use tamarack_symbolic::SymbolicFactor;

use crate::conjugate::conjugate_gradients;
use crate::error::{SolveError, check_len};
use crate::inverse::{FactorInverse, Inverse, power_of_two_near};
use crate::plan::Substitution;
use crate::refine::{Measured, RefineOptions, RefineReport, RefineWorkspace, refine_measured};
use crate::workspace::SolveWorkspace;

/// What it took to get accurate answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Refinement of what the single precision factor gave.
    #[default]
    Refined,
    /// Conjugate gradients preconditioned by it, for at least one column.
    ConjugateGradients {
        /// Steps of all columns.
        steps: usize,
    },
    /// A factor in double precision, kept until the next refactorization.
    Double,
}

/// Accuracy of answers, and how it was reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MixedReport {
    /// Accuracy.
    pub refine: RefineReport,
    /// How it was reached.
    pub outcome: Outcome,
}

/// Componentwise error above which more than refinement is tried: what a factor in double
/// precision reaches, with room for rows of many entries.
const GOOD: f64 = 8.0 * f64::EPSILON;

/// Single precision never shifts: what it cannot factorize goes to double precision.
const STRICT: FactorOptions = FactorOptions {
    not_spd: OnNotSpd::Fail,
};

/// A factor in single precision of the scaled matrix, or, where that was not enough, one in double
/// precision.
#[derive(Debug)]
pub struct MixedFactor {
    symbolic: Arc<SymbolicFactor>,
    machine: Machine,
    team: Arc<Team>,
    options: FactorOptions,
    plan: Substitution,
    /// Powers of two, user order.
    scale: Vec<f64>,
    scaled: SymmetricCsc<f32>,
    single: Option<(NumericFactor<f32>, SolveWorkspace<f32>)>,
    double: Option<(NumericFactor<f64>, SolveWorkspace<f64>)>,
    refine: RefineWorkspace,
}

impl MixedFactor {
    /// Factorizes `a` as planned; `plan` is for single precision, and `machine` is for the plan of
    /// a factor in double precision, should it come to that.
    ///
    /// # Errors
    /// Those of a factorization in double precision.
    pub fn factorize(
        plan: Arc<FactorPlan>,
        machine: &Machine,
        team: Arc<Team>,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Self, SolveError> {
        let mut mixed = Self {
            symbolic: plan.symbolic().clone(),
            machine: *machine,
            options: *options,
            plan: Substitution::new(plan.symbolic()),
            scale: vec![1.0; a.n()],
            scaled: a.cast(),
            single: None,
            double: None,
            refine: RefineWorkspace::default(),
            team: team.clone(),
        };
        mixed.rescale(a);
        match NumericFactor::factorize(plan, team, &mixed.scaled, &STRICT, control) {
            Ok(factor) => {
                let workspace = SolveWorkspace::new(&factor, &mixed.plan, 1);
                mixed.single = Some((factor, workspace));
            }
            // What single precision cannot factorize, double precision may.
            Err(FactorError::NotPositiveDefinite(_)) => mixed.factorize_double(a, control)?,
            Err(error) => return Err(error.into()),
        }
        Ok(mixed)
    }

    /// Factorizes other values of the same pattern.
    ///
    /// # Errors
    /// As [`factorize`](Self::factorize).
    pub fn refactorize(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), SolveError> {
        if a.n() != self.scale.len() || a.pattern() != self.scaled.pattern() {
            return Err(FactorError::Pattern {
                n: a.n(),
                nnz: a.pattern().nnz_lower(),
                analyzed_n: self.symbolic.n(),
                analyzed_nnz: self.symbolic.nnz_a(),
            }
            .into());
        }
        self.rescale(a);
        // Out of reach until it is right again, whatever happens.
        let double = self.double.take();
        if let Some((single, _)) = &mut self.single {
            match single.refactorize(&self.scaled, control) {
                Ok(()) => return Ok(()),
                Err(FactorError::NotPositiveDefinite(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match double {
            Some((mut factor, workspace)) => {
                factor.refactorize(a, control)?;
                self.double = Some((factor, workspace));
                Ok(())
            }
            None => self.factorize_double(a, control),
        }
    }

    /// Scales the matrix to a diagonal between 1/2 and 2 and rounds it to single precision.
    fn rescale(&mut self, a: &SymmetricCsc<f64>) {
        for (d, diagonal) in self.scale.iter_mut().zip(a.diagonal()) {
            *d = 1.0 / power_of_two_near(diagonal.abs().sqrt());
        }
        let pattern = a.pattern();
        let values = self.scaled.values_mut();
        for j in 0..a.n() {
            for k in pattern.range(j) {
                let i = pattern.row_idx()[k] as usize;
                values[k] = (a.values()[k] * self.scale[i] * self.scale[j]) as f32;
            }
        }
    }

    fn factorize_double(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), SolveError> {
        let options = PlanOptions {
            precision: Precision::F64,
            ..PlanOptions::default()
        };
        let plan = Arc::new(FactorPlan::new(
            self.symbolic.clone(),
            &self.machine,
            &options,
        )?);
        let team = self.team.clone();
        let factor = NumericFactor::factorize(plan, team, a, &self.options, control)?;
        let workspace = SolveWorkspace::new(&factor, &self.plan, 1);
        self.double = Some((factor, workspace));
        Ok(())
    }

    /// Solves `A x = b`, both `n × nrhs`, column-major, user order, to the accuracy of a factor in
    /// double precision. May factorize in double precision.
    ///
    /// # Errors
    /// [`SolveError::Length`], [`SolveError::Stale`], and those of a factorization.
    pub fn solve_refined(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
        control: &Control<'_>,
    ) -> Result<MixedReport, SolveError> {
        let n = a.n();
        check_len("b", b.len(), n, nrhs)?;
        check_len("x", x.len(), n, nrhs)?;
        let matrix = Measured::new(a);
        if self.double.is_none() {
            let report = self.solve_single(&matrix, b, x, nrhs, options)?;
            if options.max_steps == 0 || good(&report.refine) {
                return Ok(report);
            }
            self.factorize_double(a, control)?;
        }
        let Self {
            double: Some((factor, workspace)),
            plan,
            refine,
            ..
        } = self
        else {
            return Err(SolveError::Stale);
        };
        fit(workspace, factor, plan, nrhs);
        let mut inverse = FactorInverse {
            factor,
            plan,
            workspace,
            scale: None,
        };
        x.copy_from_slice(b);
        inverse.apply(x, nrhs)?;
        let refined = refine_measured(&matrix, &mut inverse, b, x, nrhs, options, refine)?;
        Ok(MixedReport {
            refine: refined,
            outcome: Outcome::Double,
        })
    }

    fn solve_single(
        &mut self,
        matrix: &Measured<'_>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
    ) -> Result<MixedReport, SolveError> {
        let Self {
            single: Some((factor, workspace)),
            plan,
            scale,
            refine,
            ..
        } = self
        else {
            return Err(SolveError::Stale);
        };
        fit(workspace, factor, plan, nrhs);
        let mut inverse = FactorInverse {
            factor,
            plan,
            workspace,
            scale: Some(scale),
        };
        x.copy_from_slice(b);
        inverse.apply(x, nrhs)?;
        // Each step gains at most 7 digits, often fewer: allow more of them.
        let patient = RefineOptions {
            max_steps: options.max_steps * 2,
            ..*options
        };
        let mut report = refine_measured(matrix, &mut inverse, b, x, nrhs, &patient, refine)?;
        if options.max_steps == 0 || good(&report) {
            return Ok(MixedReport {
                refine: report,
                outcome: Outcome::Refined,
            });
        }
        let n = matrix.a.n();
        let mut steps = 0;
        for (c, column) in report.columns.iter_mut().enumerate() {
            if !(column.componentwise_backward_error <= GOOD) {
                let range = c * n..(c + 1) * n;
                let (b, x) = (&b[range.clone()], &mut x[range]);
                let residual = &mut refine.residual;
                let (improved, taken) =
                    conjugate_gradients(matrix, &mut inverse, b, x, options, residual)?;
                let before = column.steps;
                *column = improved;
                column.steps += before;
                steps += taken;
            }
        }
        report.converged = report
            .columns
            .iter()
            .all(|c| c.componentwise_backward_error <= options.accept);
        Ok(MixedReport {
            refine: report,
            outcome: Outcome::ConjugateGradients { steps },
        })
    }

    /// Calls `work` with the factor that is in use, as an inverse.
    ///
    /// # Errors
    /// [`SolveError::Stale`], and those of `work`.
    pub fn with_inverse<R>(
        &mut self,
        work: impl FnOnce(&mut dyn Inverse) -> Result<R, SolveError>,
    ) -> Result<R, SolveError> {
        let Self {
            single,
            double,
            plan,
            scale,
            ..
        } = self;
        if let Some((factor, workspace)) = double {
            return work(&mut FactorInverse {
                factor,
                plan,
                workspace,
                scale: None,
            });
        }
        match single {
            Some((factor, workspace)) => work(&mut FactorInverse {
                factor,
                plan,
                workspace,
                scale: Some(scale),
            }),
            None => Err(SolveError::Stale),
        }
    }

    /// The factor in single precision, of the scaled matrix.
    pub fn single(&self) -> Option<&NumericFactor<f32>> {
        self.single.as_ref().map(|(factor, _)| factor)
    }

    /// The factor in double precision, where it came to that.
    pub fn double(&self) -> Option<&NumericFactor<f64>> {
        self.double.as_ref().map(|(factor, _)| factor)
    }

    /// The scaling: the factor in single precision is that of `D A D`. User order.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }
}

impl<I: Inverse + ?Sized> Inverse for &mut I {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        (**self).apply(x, nrhs)
    }
}

fn good(report: &RefineReport) -> bool {
    report
        .columns
        .iter()
        .all(|c| c.componentwise_backward_error <= GOOD)
}

/// Makes a workspace larger where more right-hand sides come than before.
fn fit<T: tamarack_numeric::Value>(
    workspace: &mut SolveWorkspace<T>,
    factor: &NumericFactor<T>,
    plan: &Substitution,
    nrhs: usize,
) {
    if !workspace.holds(nrhs) {
        *workspace = SolveWorkspace::new(factor, plan, nrhs);
    }
}
