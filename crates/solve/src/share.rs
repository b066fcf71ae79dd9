//! Solves with one factor on several threads at the same time.

use tamarack_sparse::SymmetricCsc;

use crate::error::SolveError;
use crate::inverse::Inverse;
use crate::mixed::{MixedReport, Outcome, improved_here, patient};
use crate::refine::{RefineOptions, RefineWorkspace};
use crate::solver::{Solver, conjugate_gradients_here, solve_refined_here};

/// A factor on the host as one of the threads sees it that solve with it: the factor is everybody's, vectors are its own.
///
/// Threads of the factor's team help whoever comes first; the others work alone. The bits are the same.
pub struct SharedSolver<'a> {
    inverse: Box<dyn Inverse + Send + 'a>,
    /// Whether the factor is one in single precision that shall give answers as accurate as one in double precision.
    mixed: bool,
    refine: RefineWorkspace,
}

impl<'a> SharedSolver<'a> {
    /// With a factor alone, or as the single precision of a mixed one; takes the memory for one right-hand side, and more when
    /// more come.
    ///
    /// # Errors
    /// [`SolveError::NotShared`] where it is on a device.
    pub(crate) fn new(factor: &'a dyn Solver, mixed: bool) -> Result<Self, SolveError> {
        Ok(Self {
            inverse: factor.share().ok_or(SolveError::NotShared)?,
            mixed,
            refine: RefineWorkspace::default(),
        })
    }

    /// With a factor that is not part of a mixed one.
    ///
    /// # Errors
    /// [`SolveError::NotShared`] where it is on a device.
    pub fn of(factor: &'a dyn Solver) -> Result<Self, SolveError> {
        Self::new(factor, false)
    }

    /// `x ← A⁻¹ x`, `n × nrhs`, column-major, user order.
    ///
    /// # Errors
    /// [`SolveError::Length`], [`SolveError::Stale`].
    pub fn solve(&mut self, x: &mut [f64], nrhs: usize) -> Result<(), SolveError> {
        self.inverse.apply(x, nrhs)
    }

    /// Solves `A x = b`, both `n × nrhs`, column-major, user order, and refines. A factor in single precision is not
    /// replaced where it does not suffice: then [`converged`](crate::RefineReport::converged) says so.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_refined(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &mut [f64],
        nrhs: usize,
        options: &RefineOptions,
    ) -> Result<MixedReport, SolveError> {
        let (mut inverse, workspace) = (&mut *self.inverse, &mut self.refine);
        if !self.mixed {
            return Ok(MixedReport {
                refine: solve_refined_here(&mut inverse, a, b, x, nrhs, options, workspace)?,
                outcome: Outcome::Refined,
            });
        }
        let (n, patient) = (a.n(), &patient(options));
        let report = solve_refined_here(&mut inverse, a, b, x, nrhs, patient, workspace)?;
        improved_here(report, options, (n, b, x), |b, x| {
            conjugate_gradients_here(&mut inverse, a, b, x, patient, workspace)
        })
    }
}

impl std::fmt::Debug for SharedSolver<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedSolver")
            .field("mixed", &self.mixed)
            .finish_non_exhaustive()
    }
}
