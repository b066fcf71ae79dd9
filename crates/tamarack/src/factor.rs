//! The factor of one matrix, in whatever precision, and answers from it.

use std::fmt;
use std::sync::Arc;

use tamarack_gpu::Gpu;
use tamarack_numeric::{Call, Control, FactorOptions, Team};
use tamarack_plan::FactorPlan;
use tamarack_solve::{
    Form, Inverse, MixedFactor, MixedReport, Outcome, RefineOptions, RefineReport, RefineWorkspace,
    SolveError, Solver, copy_by, copy_new_by,
};
use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::memory::in_large_pages;

use crate::options::Precision;
use crate::witness::Witness;
use crate::{Analysis, Error};

/// The Cholesky factor of a matrix, with the memory and the threads to solve with it and to make
/// it anew from other values.
///
/// One call works with it at a time, on all its threads: right-hand sides that are there together are best solved together, as
/// columns of one `x`. Threads of a program that have right-hand sides of their own [`share`](Self::share) it. The [`Analysis`] can
/// be shared as it is.
pub struct Factor {
    pub(crate) kind: Kind,
    pub(crate) plan: Arc<FactorPlan>,
    /// Where it is, if not on the host.
    pub(crate) gpu: Option<Gpu>,
    pub(crate) team: Arc<Team>,
    /// See [`Witness`].
    witness: Option<Arc<Witness>>,
    pub(crate) refine: RefineOptions,
    /// Right-hand sides while answers are refined in their place.
    right: Vec<f64>,
    refine_workspace: RefineWorkspace,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Plain(Box<dyn Solver>),
    Mixed(Box<MixedFactor>),
}

/// How accurate answers are, and what it took. Errors are those of `A x = b` also where `A + σI` was factorized ([`Factor::shift`]).
#[derive(Clone, Debug, PartialEq)]
pub struct SolveReport {
    /// Accuracy of each right-hand side's answer.
    pub refine: RefineReport,
    /// How it was reached, where the precision is [`Precision::Mixed`].
    pub outcome: Outcome,
}

impl From<MixedReport> for SolveReport {
    fn from(report: MixedReport) -> Self {
        Self {
            refine: report.refine,
            outcome: report.outcome,
        }
    }
}

impl SolveReport {
    /// Whether all answers have the [accuracy](tamarack_solve::RefineOptions::accept) that was asked for; by default, whether the
    /// componentwise backward error is at most 1e-13. It may be as small where the matrix is singular but for rounding: see
    /// [`Factor::smallest_pivot`].
    pub fn converged(&self) -> bool {
        self.refine.converged
    }

    /// Worst `‖b − A x‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)`.
    pub fn normwise_backward_error(&self) -> f64 {
        self.refine.normwise_backward_error()
    }

    /// Worst `max |b − A x|_i / (|A||x| + |b|)_i`.
    pub fn componentwise_backward_error(&self) -> f64 {
        self.refine.componentwise_backward_error()
    }

    /// Most refinement steps of any right-hand side.
    pub fn steps(&self) -> usize {
        self.refine.steps()
    }
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factor")
            .field("plan", &self.plan)
            .field("gpu", &self.gpu)
            .field("refine", &self.refine)
            .finish_non_exhaustive()
    }
}

impl Factor {
    pub(crate) fn new(
        analysis: &Analysis,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<Self, Error> {
        if analysis.options().memory_bytes.is_some() {
            analysis.check_memory()?; // of those as well that were made without a look
        }
        let team = analysis.team();
        let made = team.calling(Call::Factorize, || Self::made_by(analysis, a, control));
        made.map_err(|error| confirmed(analysis.witness(), a, control, error))
    }

    fn made_by(
        analysis: &Analysis,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<Self, Error> {
        let options = FactorOptions {
            not_spd: analysis.options().on_not_spd,
        };
        let engine = analysis.engine();
        let plain = |form| -> Result<Kind, SolveError> {
            let factor = engine.factorize(form, a, &options, control)?;
            Ok(Kind::Plain(factor))
        };
        let kind = match analysis.options().precision {
            Precision::F64 => plain(Form::Double)?,
            Precision::F32 => plain(Form::Single)?,
            Precision::Mixed => {
                let factor = MixedFactor::factorize(engine, a, &options, control)?;
                Kind::Mixed(Box::new(factor))
            }
        };
        Ok(Self::of_kind(kind, analysis))
    }

    pub(crate) fn of_kind(kind: Kind, analysis: &Analysis) -> Self {
        Self {
            kind,
            plan: analysis.plan().clone(),
            gpu: analysis.gpu().cloned(),
            team: analysis.team().clone(),
            witness: analysis.witness().cloned(),
            refine: analysis.options().refine,
            right: Vec::new(),
            refine_workspace: RefineWorkspace::default(),
        }
    }

    /// The plan it was made by.
    pub fn plan(&self) -> &Arc<FactorPlan> {
        &self.plan
    }

    /// Factorizes other values of the same pattern into the same memory; allocates nothing (except
    /// where mixed precision has to go over to double).
    ///
    /// # Errors
    /// As [`Analysis::factorize`]. After any but [`FactorError::Pattern`](crate::FactorError::Pattern) the factor is stale, and so it is
    /// where a [progress callback](Control::progress) panics: solving with it is an error of kind [`Stale`](crate::ErrorKind::Stale) until a
    /// refactorization succeeds.
    pub fn refactorize(&mut self, a: &SymmetricCsc<f64>) -> Result<(), Error> {
        self.refactorize_with(a, &Control::default())
    }

    /// The same, watched and stopped through `control`.
    ///
    /// # Errors
    /// As [`refactorize`](Self::refactorize).
    pub fn refactorize_with(
        &mut self,
        a: &SymmetricCsc<f64>,
        control: &Control<'_>,
    ) -> Result<(), Error> {
        let team = self.team.clone();
        team.calling(Call::Factorize, || self.renew(a, control))
            .map_err(|error| confirmed(self.witness.as_ref(), a, control, error))
    }

    fn renew(&mut self, a: &SymmetricCsc<f64>, control: &Control<'_>) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Plain(factor) => factor.refactorize(a, control)?,
            Kind::Mixed(factor) => factor.refactorize(a, control)?,
        }
        Ok(())
    }

    /// `x ← A⁻¹ x` in place, without refinement: `x` is `n × nrhs`, column-major, user order; nrhs
    /// follows from its length. With a factor in single precision, as there mostly is in [`Precision::Mixed`] as well, answers have
    /// six digits at best: [`solve_refined`](Self::solve_refined) has all.
    ///
    /// The same bits come out for the same columns together, on any number of threads; a column alone is summed up in another order than
    /// beside others.
    ///
    /// # Errors
    /// The length is no multiple of n, or the factor is stale: then `x` is as it was. A GPU that fails may leave some answers.
    pub fn solve(&mut self, x: &mut [f64]) -> Result<(), Error> {
        let nrhs = right_hand_sides(self.n(), x.len())?;
        let team = self.team.clone();
        let work = || self.with_inverse(|inverse| inverse.apply(x, nrhs));
        Ok(team.calling(Call::Solve, work)?)
    }

    /// Solves `A x = b` in place and refines: `x` holds b, then the answers; `n × nrhs`,
    /// column-major, user order. `a` is the matrix that was factorized; errors are those of `a`, so another matrix of the same order has
    /// answers that are refined as far as the factor helps, and mostly do not [converge](SolveReport::converged).
    ///
    /// However inaccurate the answers are, this is no error: the report says it.
    ///
    /// # Errors
    /// As [`solve`](Self::solve); in mixed precision also those of a factorization. Of kind [`Resources`](crate::ErrorKind::Resources)
    /// where there is no memory for a copy of `x`, which the solve takes beside 16 columns or so. Then `x` is as it was. A GPU that fails may
    /// leave some answers.
    pub fn solve_refined(
        &mut self,
        a: &SymmetricCsc<f64>,
        x: &mut [f64],
    ) -> Result<SolveReport, Error> {
        self.solve_refined_with(a, x, &Control::default())
    }

    /// The same, where `control` watches and stops the factorization in double precision that mixed precision may have to make.
    ///
    /// # Errors
    /// As [`solve_refined`](Self::solve_refined).
    pub fn solve_refined_with(
        &mut self,
        a: &SymmetricCsc<f64>,
        x: &mut [f64],
        control: &Control<'_>,
    ) -> Result<SolveReport, Error> {
        let team = self.team.clone();
        team.calling(Call::Solve, || self.answer(a, x, control))
            .map_err(|error| confirmed(self.witness.as_ref(), a, control, error))
    }

    /// The same beside the right-hand sides `b`, which stay: `x` holds the answers, or nothing of use after an error.
    ///
    /// # Errors
    /// As [`solve_refined`](Self::solve_refined), and where `x` has another length than `b`.
    pub fn solve_refined_into(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<SolveReport, Error> {
        let control = Control::default();
        let team = self.team.clone();
        team.calling(Call::Solve, || {
            let nrhs = right_hand_sides(self.n(), b.len())?;
            check_order(self.n(), a)?;
            self.answers_beside(a, b, x, nrhs, &control)
        })
        .map_err(|error| confirmed(self.witness.as_ref(), a, &control, error))
    }

    fn answer(
        &mut self,
        a: &SymmetricCsc<f64>,
        x: &mut [f64],
        control: &Control<'_>,
    ) -> Result<SolveReport, Error> {
        let nrhs = right_hand_sides(self.n(), x.len())?;
        check_order(self.n(), a)?;
        if let Kind::Plain(factor) = &mut self.kind
            && let Some(refine) = factor.solve_refined_in_place(a, x, nrhs, &self.refine)?
        {
            return Ok(SolveReport {
                refine,
                outcome: Outcome::Refined,
            });
        }
        let mut right = std::mem::take(&mut self.right);
        keep(&mut right, x, &self.team)?;
        let report = self.answers_beside(a, &right, x, nrhs, control);
        if report.is_err() {
            x.copy_from_slice(&right);
        }
        give_back(&mut right, self.n());
        self.right = right;
        report
    }

    fn answers_beside(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        control: &Control<'_>,
    ) -> Result<SolveReport, Error> {
        let options = &self.refine;
        Ok(match &mut self.kind {
            Kind::Plain(factor) => SolveReport {
                refine: factor.solve_refined(a, b, x, nrhs, options, &mut self.refine_workspace)?,
                outcome: Outcome::Refined,
            },
            Kind::Mixed(factor) => factor
                .solve_refined(a, b, x, nrhs, options, control)?
                .into(),
        })
    }

    pub(crate) fn n(&self) -> usize {
        self.plan.symbolic().n()
    }

    pub(crate) fn with_inverse<R>(
        &mut self,
        work: impl FnOnce(&mut dyn Inverse) -> Result<R, SolveError>,
    ) -> Result<R, SolveError> {
        match &mut self.kind {
            Kind::Plain(factor) => work(factor),
            Kind::Mixed(factor) => factor.with_inverse(work),
        }
    }
}

/// Right-hand sides whose room is kept from one solve to the next.
const KEPT_RHS: usize = 16;

/// `to ← x`, in memory that is there or can be had.
pub(crate) fn keep(to: &mut Vec<f64>, x: &[f64], team: &Team) -> Result<(), SolveError> {
    if to.len() == x.len() {
        copy_by(Some(team), x, to);
        return Ok(());
    }
    to.clear();
    if to.try_reserve_exact(x.len()).is_err() {
        let bytes = size_of_val(x);
        return Err(SolveError::Memory { bytes });
    }
    in_large_pages(to);
    copy_new_by(Some(team), x, to);
    Ok(())
}

/// Gives back room for more right-hand sides than are worth keeping it for.
pub(crate) fn give_back(kept: &mut Vec<f64>, n: usize) {
    if kept.capacity() > n.saturating_mul(KEPT_RHS) {
        *kept = Vec::new();
    }
}

/// Right-hand sides in a vector of this length, for a matrix of order `n`.
pub(crate) fn right_hand_sides(n: usize, len: usize) -> Result<usize, SolveError> {
    match len.checked_div(n) {
        None if len == 0 => Ok(0),
        Some(nrhs) if nrhs * n == len => Ok(nrhs),
        other => Err(SolveError::Length {
            vector: "x",
            found: len,
            expected: other.map_or(0, |nrhs| (nrhs + 1) * n),
        }),
    }
}

/// An error for a matrix of another order than `n`.
pub(crate) fn check_order(n: usize, a: &SymmetricCsc<f64>) -> Result<(), SolveError> {
    if a.n() == n {
        return Ok(());
    }
    Err(SolveError::Length {
        vector: "a",
        found: a.n(),
        expected: n,
    })
}

/// The error that is reported of `a`.
fn confirmed(
    witness: Option<&Arc<Witness>>,
    a: &SymmetricCsc<f64>,
    control: &Control<'_>,
    error: Error,
) -> Error {
    match witness {
        Some(witness) => witness.confirm(a, control, error),
        None => error,
    }
}
