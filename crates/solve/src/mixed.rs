//! A factor in single precision that gives answers as accurate as one in double precision.
//!
//! Three means, each tried where the one before does not suffice: refinement in double precision,
//! conjugate gradients preconditioned by the factor, and a factor in double precision. The matrix
//! is first scaled by powers of two to a diagonal near 1 (van der Sluis 1969: near optimal for
//! positive definite matrices), so that single precision neither overflows nor underflows.

use tamarack_numeric::{Control, FactorError, FactorOptions, OnNotSpd};
use tamarack_sparse::SymmetricCsc;

use crate::conjugate::conjugate_gradients;
use crate::error::{SolveError, check_len};
use crate::inverse::{Inverse, Scaled, power_of_two_near};
use crate::refine::{Measured, RefineOptions, RefineReport, RefineWorkspace, refine_measured};
use crate::solver::{Engine, Solver};

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
    engine: Box<dyn Engine>,
    options: FactorOptions,
    /// Powers of two, user order.
    scale: Vec<f64>,
    scaled: SymmetricCsc<f32>,
    single: Option<Box<dyn Solver<f32>>>,
    double: Option<Box<dyn Solver<f64>>>,
    refine: RefineWorkspace,
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
            options: *options,
            scale: vec![1.0; a.n()],
            scaled: a.cast(),
            single: None,
            double: None,
            refine: RefineWorkspace::default(),
        };
        mixed.rescale(a);
        match mixed.engine.single(&mixed.scaled, &STRICT, control) {
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
        if a.n() != self.scale.len() || a.pattern() != self.scaled.pattern() {
            return Err(FactorError::Pattern {
                n: a.n(),
                nnz: a.pattern().nnz_lower(),
                analyzed_n: self.scaled.n(),
                analyzed_nnz: self.scaled.pattern().nnz_lower(),
            }
            .into());
        }
        self.rescale(a);
        // Out of reach until it is right again, whatever happens.
        let double = self.double.take();
        if let Some(single) = &mut self.single {
            match single.refactorize(&self.scaled, control) {
                Ok(()) => return Ok(()),
                Err(FactorError::NotPositiveDefinite(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match double {
            Some(mut factor) => {
                factor.refactorize(a, control)?;
                self.double = Some(factor);
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
        self.double = Some(self.engine.double(a, &self.options, control)?);
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
        let Some(factor) = &mut self.double else {
            return Err(SolveError::Stale);
        };
        x.copy_from_slice(b);
        factor.apply(x, nrhs)?;
        let refined = refine_measured(&matrix, factor, b, x, nrhs, options, &mut self.refine)?;
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
            single: Some(single),
            scale,
            refine,
            ..
        } = self
        else {
            return Err(SolveError::Stale);
        };
        let mut inverse = Scaled {
            inverse: &mut **single,
            scale,
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
        match (&mut self.double, &mut self.single) {
            (Some(double), _) => work(double),
            (None, Some(single)) => work(&mut Scaled {
                inverse: &mut **single,
                scale: &self.scale,
            }),
            (None, None) => Err(SolveError::Stale),
        }
    }

    /// Natural logarithm of the determinant of A.
    ///
    /// # Errors
    /// [`SolveError::Stale`].
    pub fn log_determinant(&self) -> Result<f64, SolveError> {
        match (&self.double, &self.single) {
            (Some(double), _) => double.log_determinant(),
            // det(D A D) = det(A) det(D)².
            (None, Some(single)) => {
                let scale: f64 = self.scale.iter().map(|d| d.ln()).sum();
                Ok(single.log_determinant()? - 2.0 * scale)
            }
            (None, None) => Err(SolveError::Stale),
        }
    }

    /// The σ of `A + σI` that was factorized, in double precision, instead of A.
    pub fn shift(&self) -> Option<f64> {
        self.double.as_ref()?.shift()
    }
}

fn good(report: &RefineReport) -> bool {
    report
        .columns
        .iter()
        .all(|c| c.componentwise_backward_error <= GOOD)
}
