//! Iterative refinement to a small componentwise backward error.
//!
//! Arioli, Demmel, Duff 1989, with the stopping rule of LAPACK's `porfs` but for its first part: go on while the error is
//! above that of the residual's own rounding ([`RefineOptions::goal`]) and a step at least halves it. The best answer is kept. Where
//! the worst row cannot be helped, the normwise error decides.
//!
//! With residuals in twice the precision the forward error falls further than any backward error can tell: then steps go on while each
//! changes the answer by half as much as the one before, until that is its rounding (Demmel et al. 2006).

use tamarack_dense::MAX_RHS;
use tamarack_numeric::Team;
use tamarack_sparse::memory::make_room;
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::backward::Errors;
use crate::blocks::Blocks;
use crate::error::{SolveError, check_len};
use crate::inverse::Inverse;
use crate::report::{ColumnReport, RefineReport, Verdict};
use crate::residual::{LANES, Norms, Residual, ResidualPrecision};

/// How answers are refined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineOptions {
    /// Steps at most; 0 only measures the errors. In mixed precision twice as many: each gains half of the digits, or fewer.
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

/// Column `c` of columns of n numbers.
fn column(of: &[f64], n: usize, c: usize) -> &[f64] {
    &of[c * n..(c + 1) * n]
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
    pub blocks: Blocks<'a>,
    pub norms: Norms,
}

impl<'a> Measured<'a> {
    /// Measures a matrix with the help of `team`; overwrites the residual.
    pub fn new(a: &'a SymmetricCsc<f64>, team: Option<&'a Team>, residual: &mut Residual) -> Self {
        let blocks = Blocks::new(a, team);
        let norms = residual.measure(&blocks);
        Self { blocks, norms }
    }

    /// The same, with the errors of one column's answer where they are found on the way.
    fn with_errors(
        a: &'a SymmetricCsc<f64>,
        team: Option<&'a Team>,
        residual: &mut Residual,
        (x, b): (&[f64], &[f64]),
        options: &RefineOptions,
    ) -> (Self, Option<Errors>) {
        let blocks = Blocks::new(a, team);
        let alone = b.len() == a.n() && options.residual == ResidualPrecision::Double;
        if !alone || !blocks.is_heavy() {
            return (Self::new(a, team, residual), None);
        }
        let (norms, errors) = residual.measure_alone(&blocks, x, b);
        (Self { blocks, norms }, Some(errors))
    }

    /// Residual and errors of one column.
    pub fn errors(
        &self,
        residual: &mut Residual,
        x: &[f64],
        b: &[f64],
        precision: ResidualPrecision,
    ) -> Errors {
        residual.alone(&self.blocks, &self.norms, x, b, precision)
    }

    /// The same of some columns, one or up to [`LANES`] together.
    fn group_errors(
        &self,
        residual: &mut Residual,
        x: &[f64],
        b: &[f64],
        columns: &[usize],
        options: &RefineOptions,
    ) -> [Errors; LANES] {
        let of = |v, c| column(v, self.blocks.a.n(), c);
        if let &[c] = columns {
            let precision = options.residual;
            return [self.errors(residual, of(x, c), of(b, c), precision); LANES];
        }
        // The last one stands in for those that are not there.
        let lanes: [usize; LANES] =
            std::array::from_fn(|lane| columns[lane.min(columns.len() - 1)]);
        let (x, b) = (lanes.map(|c| of(x, c)), lanes.map(|c| of(b, c)));
        residual.together(&self.blocks, &self.norms, x, b)
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
    let (matrix, mut known) =
        Measured::with_errors(a, team.as_deref(), &mut workspace.residual, (x, b), options);
    let mut columns = vec![ColumnReport::default(); nrhs];
    // As many as are solved together, so that vectors of corrections are few.
    let chunk = a.n().max(1) * MAX_RHS;
    let vectors = x.chunks_mut(chunk).zip(b.chunks(chunk));
    for ((x, b), columns) in vectors.zip(columns.chunks_mut(MAX_RHS)) {
        let matrix = (&matrix, known.take());
        refine_few(matrix, inverse, b, x, columns, options, workspace)?;
    }
    let converged = columns
        .iter()
        .all(|c| c.componentwise_backward_error <= options.accept);
    Ok(RefineReport { columns, converged })
}

/// Improves answers to a few right-hand sides; errors of a single one may be known, whose residual is there.
fn refine_few(
    (matrix, mut known): (&Measured<'_>, Option<Errors>),
    inverse: &mut impl Inverse,
    b: &[f64],
    x: &mut [f64],
    columns: &mut [ColumnReport],
    options: &RefineOptions,
    workspace: &mut RefineWorkspace,
) -> Result<(), SolveError> {
    let n = matrix.blocks.a.n();
    let goal = options.goal(matrix.blocks.a.pattern());
    let RefineWorkspace {
        residual,
        correction,
        active,
    } = workspace;
    active.clear();
    active.extend(0..columns.len());
    let mut changes = [f64::INFINITY; MAX_RHS];
    let together = match options.residual {
        ResidualPrecision::Double => LANES,
        ResidualPrecision::Quad => 1,
    };
    for step in 0..=options.max_steps {
        let mut kept = 0;
        make_room(correction, n * active.len());
        correction.resize(n * active.len(), 0.0);
        for first in (0..active.len()).step_by(together) {
            let group = first..active.len().min(first + together);
            let errors = match known.take() {
                Some(errors) => [errors; LANES],
                None => matrix.group_errors(residual, x, b, &active[group.clone()], options),
            };
            for (lane, k) in group.clone().enumerate() {
                let c = active[k];
                let xc = &mut x[c * n..(c + 1) * n];
                let old = column(correction, n, k);
                let answers = (&*xc, old, &mut changes[c]);
                let verdict = columns[c].verdict(step, errors[lane], answers, goal, options);
                match verdict {
                    Verdict::Worse => xc.copy_from_slice(old),
                    Verdict::GoOn => {
                        let to = &mut correction[kept * n..(kept + 1) * n];
                        match group.len() {
                            1 => residual.copy_to(&matrix.blocks, to),
                            _ => residual.copy_lane_to(lane, &matrix.blocks, to),
                        }
                        active[kept] = c;
                        kept += 1;
                    }
                    Verdict::Done => {}
                }
            }
        }
        active.truncate(kept);
        if kept == 0 {
            break;
        }
        inverse.apply(&mut correction[..kept * n], kept)?;
        for (k, &c) in active.iter().enumerate() {
            let xc = &mut x[c * n..(c + 1) * n];
            let step = &mut correction[k * n..(k + 1) * n];
            matrix.blocks.split([xc, step], |_, [x, step]| {
                for (x, d) in x.iter_mut().zip(step) {
                    // The old x stays behind, to be taken back if the step was for the worse.
                    let old = std::mem::replace(x, *x + *d);
                    *d = old;
                }
            });
        }
    }
    Ok(())
}
