//! Either half of a solve, for samples and norms.

use tamarack_numeric::Call;
use tamarack_solve::{Half, SolveError};

use crate::factor::{Kind, right_hand_sides};
use crate::{Error, Factor};

impl Factor {
    /// The first half of a solve, `x ← C⁻¹ x` in place, without refinement, for `A = C Cᵀ`: C is L in the user's order, lower triangular in the order of
    /// elimination. `x` is `n × nrhs`, column-major, user order. It makes `‖x‖² = bᵀ A⁻¹ b` of b. Where `A + σI` was
    /// factorized ([`shift`](Self::shift)), it stands for A.
    ///
    /// # Errors
    /// As [`solve`](Self::solve); of kind [`Usage`](crate::ErrorKind::Usage) unless the factor is in [`Precision::F64`](crate::Precision::F64) and on the CPU.
    pub fn solve_lower(&mut self, x: &mut [f64]) -> Result<(), Error> {
        self.solve_half(Half::Lower, x)
    }

    /// The second half of a solve, `x ← C⁻ᵀ x`, as [`solve_lower`](Self::solve_lower) is the first. Of independent normal numbers it makes a sample of the
    /// Gaussian distribution with the covariance `A⁻¹`.
    ///
    /// ```
    /// use tamarack::{Analysis, Options, SymmetricCsc, models::Model};
    ///
    /// # fn main() -> Result<(), tamarack::Error> {
    /// let a: SymmetricCsc<f64> = "p2d5_20".parse::<Model>()?.generate()?;
    /// let mut factor = Analysis::new(a.pattern(), &Options::default())?.factorize(&a)?;
    /// let mut x = vec![1.0; a.n()];
    /// factor.solve_lower(&mut x)?;
    /// let energy: f64 = x.iter().map(|y| y * y).sum(); // bᵀ A⁻¹ b
    /// factor.solve_lower_transposed(&mut x)?;
    /// let again: f64 = x.iter().sum(); // bᵀ x, and b is all ones
    /// assert!((energy - again).abs() < 1e-12 * again);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn solve_lower_transposed(&mut self, x: &mut [f64]) -> Result<(), Error> {
        self.solve_half(Half::Transposed, x)
    }

    fn solve_half(&mut self, half: Half, x: &mut [f64]) -> Result<(), Error> {
        let nrhs = right_hand_sides(self.n(), x.len())?;
        let team = self.team.clone();
        let kind = &mut self.kind;
        let work = || match kind {
            Kind::Plain(factor) => factor.apply_half(half, x, nrhs),
            Kind::Mixed(_) => Err(SolveError::NoHalves),
        };
        Ok(team.calling(Call::Solve, work)?)
    }
}
