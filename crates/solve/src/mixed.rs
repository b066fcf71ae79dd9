//! A factor in single precision that gives answers as accurate as one in double precision.
//!
//! Three means, each tried where the one before does not suffice: refinement in double precision,
//! conjugate gradients preconditioned by the factor, and a factor in double precision.

use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, OnNotSpd};
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::condition::InverseOf;
use crate::diagonal::Diagonal;
use crate::error::{SolveError, instead_of_single};
use crate::inverse::Inverse;
use crate::refine::{RefineOptions, RefineWorkspace};
use crate::report::{ColumnReport, RefineReport};
use crate::residual::ResidualPrecision;
use crate::share::SharedSolver;
use crate::solver::{Engine, Form, Solver};

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
pub(crate) const STRICT: FactorOptions = FactorOptions {
    not_spd: OnNotSpd::Fail,
};

/// A factor in single precision of the scaled matrix, or, where that was not enough, one in double
/// precision.
#[derive(Debug)]
pub struct MixedFactor {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) options: FactorOptions,
    pub(crate) single: Option<Box<dyn Solver>>,
    pub(crate) double: Option<Box<dyn Solver>>,
    pub(crate) refine: RefineWorkspace,
}

impl MixedFactor {
    /// Factorizes `a` by `engine`.
    ///
    /// # Errors
    /// Those of a factorization in double precision.
    pub fn factorize(
        engine: Box<dyn Engine>,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Self, SolveError> {
        let mut mixed = Self {
            engine,
            pattern: a.pattern().clone(),
            options: *options,
            single: None,
            double: None,
            refine: RefineWorkspace::default(),
        };
        match mixed.engine.factorize(Form::Scaled, a, &STRICT, control) {
            Ok(single) => mixed.single = Some(single),
            // What single precision cannot factorize, double precision may.
            Err(SolveError::Factor(FactorError::NotPositiveDefinite(_))) => {
                mixed.factorize_double(a, control)?;
            }
            Err(error) => return Err(error),
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
        // Out of reach until it is right again, whatever happens: the caller's callback may panic.
        let double = self.double.take();
        if let Some(single) = &mut self.single {
            match single.refactorize(a, control) {
                Ok(()) => return Ok(()),
                Err(FactorError::NotPositiveDefinite(_)) => {}
                Err(error) => {
                    if matches!(error, FactorError::Pattern { .. }) {
                        self.double = double;
                    }
                    return Err(error.into());
                }
            }
        }
        match double {
            Some(mut factor) => {
                let done = factor.refactorize(a, control);
                if matches!(done, Ok(()) | Err(FactorError::Pattern { .. })) {
                    self.double = Some(factor);
                }
                Ok(done?)
            }
            None => self.factorize_double(a, control),
        }
    }

    fn factorize_double(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), SolveError> {
        let form = match self.single {
            Some(_) => Form::Beside,
            None => Form::Double,
        };
        let double = self.engine.factorize(form, a, &self.options, control);
        self.double = Some(double.map_err(instead_of_single)?);
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
        if self.double.is_none() {
            let report = self.solve_single(a, b, x, nrhs, options)?;
            let n = a.n();
            let finite = |c| Ok(b[c * n..(c + 1) * n].iter().all(|b| b.is_finite()));
            if options.max_steps == 0 || all_helped(&report.refine, options, finite)? {
                return Ok(report);
            }
            self.factorize_double(a, control)?;
        }
        let Some(factor) = &mut self.double else {
            return Err(SolveError::Stale);
        };
        Ok(MixedReport {
            refine: factor.solve_refined(a, b, x, nrhs, options, &mut self.refine)?,
            outcome: Outcome::Double,
        })
    }

    fn solve_single(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
    ) -> Result<MixedReport, SolveError> {
        let (Some(single), workspace) = (&mut self.single, &mut self.refine) else {
            return Err(SolveError::Stale);
        };
        let (n, patient) = (a.n(), &patient(options));
        let report = single.solve_refined(a, b, x, nrhs, patient, workspace)?;
        improved_here(report, options, (n, b, x), |b, x| {
            single.conjugate_gradients(a, b, x, patient, workspace)
        })
    }

    /// The factor that is in use, for a thread that solves while others do.
    ///
    /// # Errors
    /// [`SolveError::NotShared`] where it is on a device, [`SolveError::Stale`].
    pub fn share(&self) -> Result<SharedSolver<'_>, SolveError> {
        match (&self.double, &self.single) {
            (Some(factor), _) => SharedSolver::new(&**factor, false),
            (None, Some(factor)) => SharedSolver::new(&**factor, true),
            (None, None) => Err(SolveError::Stale),
        }
    }

    /// Calls `work` with the factor that is in use, as an inverse.
    ///
    /// # Errors
    /// [`SolveError::Stale`], and those of `work`.
    pub fn with_inverse<R>(
        &mut self,
        work: impl FnOnce(&mut dyn Inverse) -> Result<R, SolveError>,
    ) -> Result<R, SolveError> {
        match (&mut self.double, &mut self.single) {
            (Some(factor), _) | (None, Some(factor)) => work(factor),
            (None, None) => Err(SolveError::Stale),
        }
    }

    /// The inverse of `a`, which was factorized, as accurate as refinement and conjugate gradients have it, if there is no factor in
    /// double precision: none is made.
    pub fn refined<'a>(&'a mut self, a: &'a SymmetricCsc<f64>) -> impl Inverse + 'a {
        Refined { factor: self, a }
    }

    /// What the factor in use is the inverse of.
    pub fn inverse_of(&self) -> InverseOf {
        match &self.double {
            Some(factor) if factor.shift().is_none() => InverseOf::Matrix,
            _ => InverseOf::Near,
        }
    }

    /// The diagonal of the factor in use.
    ///
    /// # Errors
    /// As [`Solver::diagonal`].
    pub fn diagonal(&self) -> Result<Diagonal, SolveError> {
        match (&self.double, &self.single) {
            (Some(factor), _) | (None, Some(factor)) => factor.diagonal(),
            (None, None) => Err(SolveError::Stale),
        }
    }

    /// The σ of `A + σI` that was factorized, in double precision, instead of A.
    pub fn shift(&self) -> Option<f64> {
        self.double.as_ref()?.shift()
    }
}

/// See [`MixedFactor::refined`].
struct Refined<'a> {
    factor: &'a mut MixedFactor,
    a: &'a SymmetricCsc<f64>,
}

impl Inverse for Refined<'_> {
    fn apply(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        let (factor, options) = (&mut *self.factor, RefineOptions::default());
        match &mut factor.double {
            Some(double) => double.apply(x, nrhs),
            None => {
                let b = x.to_vec();
                factor.solve_single(self.a, &b, x, nrhs, &options).map(drop)
            }
        }
    }
}

/// What refinement in single precision has reported, once columns that are not good are improved by conjugate gradients.
pub(crate) fn improved(
    mut refine: RefineReport,
    options: &RefineOptions,
    gradients: impl FnMut(usize) -> Result<(ColumnReport, usize), SolveError>,
) -> Result<MixedReport, SolveError> {
    let outcome = if options.max_steps == 0 || good(&refine, options) {
        Outcome::Refined
    } else {
        improve(&mut refine, options, gradients)?
    };
    Ok(MixedReport { refine, outcome })
}

/// The same where columns of n numbers, of right-hand sides and of answers, are on the host.
pub(crate) fn improved_here(
    refine: RefineReport,
    options: &RefineOptions,
    (n, b, x): (usize, &[f64], &mut [f64]),
    mut gradients: impl FnMut(&[f64], &mut [f64]) -> Result<(ColumnReport, usize), SolveError>,
) -> Result<MixedReport, SolveError> {
    improved(refine, options, |c| {
        let of = c * n..(c + 1) * n;
        gradients(&b[of.clone()], &mut x[of])
    })
}

/// Improves the columns of a report that are not good by conjugate gradients.
fn improve(
    report: &mut RefineReport,
    options: &RefineOptions,
    mut gradients: impl FnMut(usize) -> Result<(ColumnReport, usize), SolveError>,
) -> Result<Outcome, SolveError> {
    let mut steps = 0;
    for (c, column) in report.columns.iter_mut().enumerate() {
        if !is_good(column, options) {
            let (improved, taken) = gradients(c)?;
            let before = column.steps;
            *column = improved;
            column.steps += before;
            steps += taken;
        }
    }
    let accepted = |c: &ColumnReport| c.componentwise_backward_error <= options.accept;
    report.converged = report.columns.iter().all(accepted);
    Ok(Outcome::ConjugateGradients { steps })
}

/// Each step gains at most 7 digits, often fewer: allow more of them. And what a step leaves may be of its own size, not of rounding
/// alone, as with a factor in double precision: so go on to the rounding unit.
pub(crate) fn patient(options: &RefineOptions) -> RefineOptions {
    RefineOptions {
        max_steps: options.max_steps.saturating_mul(2),
        stop_at: options.stop_at.or(match options.residual {
            ResidualPrecision::Double => Some(f64::EPSILON),
            ResidualPrecision::Quad => None, // goes by what steps change
        }),
        ..*options
    }
}

fn good(report: &RefineReport, options: &RefineOptions) -> bool {
    report.columns.iter().all(|column| is_good(column, options))
}

/// Whether a column is as accurate as a factor in double precision would make it, or as was asked for.
fn is_good(column: &ColumnReport, options: &RefineOptions) -> bool {
    column.componentwise_backward_error <= options.stop_at.unwrap_or(0.0).max(GOOD)
}

/// Whether double precision would not help any further: a right-hand side that is not `finite` has no answer in any precision.
pub(crate) fn all_helped(
    report: &RefineReport,
    options: &RefineOptions,
    mut finite: impl FnMut(usize) -> Result<bool, SolveError>,
) -> Result<bool, SolveError> {
    for (c, column) in report.columns.iter().enumerate() {
        if !is_good(column, options) && finite(c)? {
            return Ok(false);
        }
    }
    Ok(true)
}
