//! Solves with one factor on several threads at the same time.

use std::sync::Arc;

use tamarack_numeric::{Call, Team};
use tamarack_solve::{RefineOptions, SharedSolver};
use tamarack_sparse::SymmetricCsc;

use crate::factor::{Kind, check_order, give_back, keep, right_hand_sides};
use crate::{Error, Factor, SolveReport};

/// A [`Factor`] as one of the threads sees it that solve with it at the same time.
///
/// Numbers of the factor are everybody's, vectors are a thread's own. Threads of the factor's team help whoever comes first, the
/// others work alone; the bits are the same. As long as there is one of these, the factor cannot be made anew.
#[derive(Debug)]
pub struct SharedFactor<'a> {
    solver: SharedSolver<'a>,
    n: usize,
    team: Arc<Team>,
    refine: RefineOptions,
    /// Right-hand sides while answers are refined in their place.
    right: Vec<f64>,
}

impl Factor {
    /// Itself for a thread that solves while others do; takes memory for vectors, not for another factor.
    ///
    /// ```
    /// use tamarack::{Analysis, Options, SymmetricCsc, models::Model};
    ///
    /// # fn main() -> Result<(), tamarack::Error> {
    /// let a: SymmetricCsc<f64> = "p2d5_50".parse::<Model>()?.generate()?;
    /// let factor = Analysis::new(a.pattern(), &Options::default())?.factorize(&a)?;
    /// std::thread::scope(|scope| {
    ///     let solve = |load: f64| {
    ///         let mut x = vec![load; a.n()];
    ///         factor.share()?.solve_refined(&a, &mut x)?;
    ///         Ok::<_, tamarack::Error>(x)
    ///     };
    ///     let other = scope.spawn(move || solve(2.0));
    ///     let (one, other) = (solve(1.0)?, other.join().expect("it does not panic")?);
    ///     assert!(one.iter().zip(&other).all(|(one, other)| (other - 2.0 * one).abs() <= 1e-12 * other));
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// Of kind [`Usage`](crate::ErrorKind::Usage) for a factor on a GPU, which does one solve at a time.
    pub fn share(&self) -> Result<SharedFactor<'_>, Error> {
        Ok(SharedFactor {
            solver: match &self.kind {
                Kind::Plain(factor) => SharedSolver::of(&**factor)?,
                Kind::Mixed(factor) => factor.share()?,
            },
            n: self.plan.symbolic().n(),
            team: self.team.clone(),
            refine: self.refine,
            right: Vec::new(),
        })
    }
}

impl SharedFactor<'_> {
    /// As [`Factor::solve`].
    ///
    /// # Errors
    /// As there.
    pub fn solve(&mut self, x: &mut [f64]) -> Result<(), Error> {
        let nrhs = right_hand_sides(self.n, x.len())?;
        let solver = &mut self.solver;
        Ok(self.team.calling(Call::Solve, || solver.solve(x, nrhs))?)
    }

    /// As [`Factor::solve_refined`], but that it never makes a factor in double precision: where a matrix is too ill-conditioned
    /// for [`Precision::Mixed`](crate::Precision::Mixed), the report's [`converged`](crate::RefineReport::converged) is false.
    ///
    /// # Errors
    /// As [`solve`](Self::solve); then `x` is as it was.
    pub fn solve_refined(
        &mut self,
        a: &SymmetricCsc<f64>,
        x: &mut [f64],
    ) -> Result<SolveReport, Error> {
        let nrhs = right_hand_sides(self.n, x.len())?;
        check_order(self.n, a)?;
        keep(&mut self.right, x, &self.team)?;
        let (solver, right, options) = (&mut self.solver, &self.right, &self.refine);
        let work = || solver.solve_refined(a, right, x, nrhs, options);
        let report = self.team.calling(Call::Solve, work);
        if report.is_err() {
            x.copy_from_slice(&self.right);
        }
        give_back(&mut self.right, self.n);
        Ok(report?.into())
    }
}
