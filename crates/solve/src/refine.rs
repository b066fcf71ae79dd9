//! Iterative refinement to a small componentwise backward error.
//!
//! Arioli, Demmel, Duff 1989, with the stopping rule of LAPACK's `porfs` but for its first part: go on while the error is
//! above that of the residual's own rounding ([`RefineOptions::goal`]) and a step at least halves it. The best answer is kept. Where
//! the worst row cannot be helped, the normwise error decides.
//!
//! With residuals in twice the precision the forward error falls further than any backward error can tell: then steps go on while each
//! changes the answer by half as much as the one before, until that is its rounding (Demmel et al. 2006).

use tamarack_numeric::Team;
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::error::{SolveError, check_len};
use crate::inverse::Inverse;
use crate::residual::{Errors, Norms, Residual, ResidualPrecision, largest, norm};
use crate::tiles::Tiles;

/// How answers are refined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineOptions {
    /// Steps at most; 0 only measures the errors.
    pub max_steps: usize,
    /// Componentwise backward error that ends the refinement, instead of the [`goal`](Self::goal) of the pattern.
    pub stop_at: Option<f64>,
    /// Componentwise backward error up to which an answer counts as converged.
    pub accept: f64,
    /// Precision of the residuals.
    pub residual: ResidualPrecision,
}

impl Default for RefineOptions {
    fn default() -> Self {
        Self {
            max_steps: 10,
            stop_at: None,
            accept: 1e-13,
            residual: ResidualPrecision::Double,
        }
    }
}

impl RefineOptions {
    /// Componentwise backward error that ends the refinement for a matrix with this pattern: [`stop_at`](Self::stop_at), or what the
    /// rounding of residuals comes to, `√m u` with `m` the mean entries of a row of the full matrix and `u = 2⁻⁵³` (Higham and Mary
    /// 2019), and at least `2u`. Below it one residual is as good as another: a step more costs a solve and gains nothing to speak of.
    #[must_use]
    pub fn goal(&self, pattern: &Pattern) -> f64 {
        let mean = pattern.nnz_full() as f64 / pattern.n().max(1) as f64;
        let rounding = match self.residual {
            ResidualPrecision::Double => mean.sqrt() * f64::EPSILON / 2.0,
            ResidualPrecision::Quad => 0.0,
        };
        self.stop_at.unwrap_or(rounding.max(f64::EPSILON))
    }
}

/// Accuracy of one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnReport {
    /// Steps that were kept.
    pub steps: usize,
    /// `‖b − A x‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)`.
    pub normwise_backward_error: f64,
    /// `max |b − A x|_i / (|A||x| + |b|)_i`; a row of zeros has no error.
    pub componentwise_backward_error: f64,
}

impl ColumnReport {
    pub(crate) fn new(steps: usize, errors: Errors) -> Self {
        Self {
            steps,
            normwise_backward_error: errors.normwise,
            componentwise_backward_error: errors.componentwise,
        }
    }

    /// What comes of an answer with these errors after so many steps, the best one so far being that of this report; it is now, if
    /// it is better.
    pub(crate) fn judge(
        &mut self,
        step: usize,
        now: Errors,
        goal: f64,
        options: &RefineOptions,
    ) -> Verdict {
        let before = Errors {
            normwise: self.normwise_backward_error,
            componentwise: self.componentwise_backward_error,
        };
        if step > 0 && !now.improve(&before) {
            return Verdict::Worse;
        }
        *self = Self::new(step, now);
        let is_slow = step > 0 && !now.halve(&before);
        if now.componentwise > goal && !is_slow && step < options.max_steps {
            Verdict::GoOn
        } else {
            Verdict::Done
        }
    }

    /// The same where residuals are in twice the precision, by how much the last step changed the answer and how much the one before
    /// did, relatively.
    fn judge_by_change(
        &mut self,
        step: usize,
        now: Errors,
        (change, before): (f64, f64),
        options: &RefineOptions,
    ) -> Verdict {
        /// Componentwise errors up to this one are of rounding: which of two is larger says nothing.
        const ROUNDING: f64 = 8.0 * f64::EPSILON;
        let is_settled = change <= f64::EPSILON;
        let is_slow = step > 1 && !(change <= before / 2.0) && !is_settled;
        let most = self.componentwise_backward_error.max(ROUNDING);
        if step > 0 && (is_slow || !(now.componentwise <= most)) {
            return Verdict::Worse;
        }
        *self = Self::new(step, now);
        // An error of 0 is that of the answer itself.
        let is_enough = now.componentwise <= options.stop_at.unwrap_or(0.0);
        let is_known = now.componentwise.is_finite();
        if is_known && !is_settled && !is_enough && step < options.max_steps {
            Verdict::GoOn
        } else {
            Verdict::Done
        }
    }
}

/// `‖x − old‖∞ / ‖x‖∞`.
fn relative_change(x: &[f64], old: &[f64]) -> f64 {
    largest(x.iter().zip(old).map(|(x, old)| x - old)) / norm(x)
}

/// What comes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The one before is to be taken back.
    Worse,
    /// Another step may pay.
    GoOn,
    Done,
}

/// Accuracy of the answers to all right-hand sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RefineReport {
    /// Each right-hand side.
    pub columns: Vec<ColumnReport>,
    /// Whether every componentwise backward error is acceptable.
    pub converged: bool,
}

impl RefineReport {
    /// Most steps of any column.
    pub fn steps(&self) -> usize {
        self.columns.iter().map(|c| c.steps).max().unwrap_or(0)
    }

    /// Worst normwise backward error; NaN where one is.
    pub fn normwise_backward_error(&self) -> f64 {
        largest(self.columns.iter().map(|c| c.normwise_backward_error))
    }

    /// Worst componentwise backward error; NaN where one is.
    pub fn componentwise_backward_error(&self) -> f64 {
        largest(self.columns.iter().map(|c| c.componentwise_backward_error))
    }
}

/// Vectors of a refinement, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub struct RefineWorkspace {
    pub(crate) residual: Residual,
    /// Corrections of the columns still refined, `n × active`.
    correction: Vec<f64>,
    /// Columns still refined.
    active: Vec<usize>,
}

/// A matrix with what measuring errors needs to know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub tiles: Tiles<'a>,
    pub norms: Norms,
}

impl<'a> Measured<'a> {
    /// Measures a matrix with the help of `team`; overwrites the residual.
    pub fn new(a: &'a SymmetricCsc<f64>, team: Option<&'a Team>, residual: &mut Residual) -> Self {
        let tiles = Tiles::new(a, team);
        let norms = residual.measure(&tiles);
        Self { tiles, norms }
    }

    /// Residual and errors of one column.
    pub fn errors(
        &self,
        residual: &mut Residual,
        x: &[f64],
        b: &[f64],
        precision: ResidualPrecision,
    ) -> Errors {
        residual.compute(&self.tiles, x, b, precision);
        residual.errors(&self.tiles, &self.norms, x, b)
    }
}

/// Improves `x`, answers to `A x = b` that `inverse` gave; both `n × nrhs`, column-major, user
/// order.
///
/// # Errors
/// [`SolveError::Length`], and what `inverse` says.
pub fn refine(
    a: &SymmetricCsc<f64>,
    inverse: &mut impl Inverse,
    b: &[f64],
    x: &mut [f64],
    nrhs: usize,
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<RefineReport, SolveError> {
    check_len("b", b.len(), a.n(), nrhs)?;
    check_len("x", x.len(), a.n(), nrhs)?;
    let team = inverse.team();
    let matrix = Measured::new(a, team.as_deref(), &mut workspace.residual);
    refine_measured(&matrix, inverse, b, x, nrhs, options, workspace)
}

fn refine_measured(
    matrix: &Measured<'_>,
    inverse: &mut impl Inverse,
    b: &[f64],
    x: &mut [f64],
    nrhs: usize,
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<RefineReport, SolveError> {
    let n = matrix.tiles.a.n();
    let RefineWorkspace {
        residual,
        correction,
        active,
    } = workspace;
    let goal = options.goal(matrix.tiles.a.pattern());
    let mut columns = vec![ColumnReport::default(); nrhs];
    active.clear();
    active.extend(0..nrhs);
    let mut changes = vec![f64::INFINITY; nrhs];
    for step in 0..=options.max_steps {
        let mut kept = 0;
        correction.resize(n * active.len(), 0.0);
        for k in 0..active.len() {
            let c = active[k];
            let range = c * n..(c + 1) * n;
            let (xc, bc) = (&mut x[range.clone()], &b[range]);
            let errors = matrix.errors(residual, xc, bc, options.residual);
            let old = &correction[k * n..(k + 1) * n];
            let verdict = match options.residual {
                ResidualPrecision::Double => columns[c].judge(step, errors, goal, options),
                ResidualPrecision::Quad => {
                    let change = match step {
                        0 => f64::INFINITY, // there is no old one
                        _ => relative_change(xc, old),
                    };
                    let before = std::mem::replace(&mut changes[c], change);
                    columns[c].judge_by_change(step, errors, (change, before), options)
                }
            };
            match verdict {
                Verdict::Worse => xc.copy_from_slice(old),
                Verdict::GoOn => {
                    residual.copy_to(&mut correction[kept * n..(kept + 1) * n]);
                    active[kept] = c;
                    kept += 1;
                }
                Verdict::Done => {}
            }
        }
        active.truncate(kept);
        if kept == 0 {
            break;
        }
        inverse.apply(&mut correction[..kept * n], kept)?;
        for (k, &c) in active.iter().enumerate() {
            let xc = &mut x[c * n..(c + 1) * n];
            for (x, d) in xc.iter_mut().zip(&mut correction[k * n..(k + 1) * n]) {
                // The old x stays behind, to be taken back if the step was for the worse.
                let old = std::mem::replace(x, *x + *d);
                *d = old;
            }
        }
    }
    let converged = columns
        .iter()
        .all(|c| c.componentwise_backward_error <= options.accept);
    Ok(RefineReport { columns, converged })
}
