//! What a factor says of its matrix: condition, errors of answers, determinant, smallest pivot, shift.

use tamarack_plan::Precision;
use tamarack_solve::{
    Diagonal, InverseOf, SmallestPivot, SolveError, condition_estimate, forward_error_bound,
};
use tamarack_sparse::SymmetricCsc;

use crate::factor::{Kind, check_order};
use crate::{Error, Factor};

impl Factor {
    /// Estimates the condition number `‖A‖₁‖A⁻¹‖₁` (Higham 1988): a lower bound, rarely off by
    /// more than a factor of 3. Where `A + σI` was factorized ([`shift`](Self::shift)), the inverse is that of it, and with
    /// [`Precision::F32`](crate::Precision::F32) that of a matrix near A, which is hardly ever as ill-conditioned as 1e9. In mixed precision it is
    /// that of A, as far as refined solves converge: each product is one.
    ///
    /// # Errors
    /// The factor is stale, or `a` has another order.
    pub fn condition_estimate(&mut self, a: &SymmetricCsc<f64>) -> Result<f64, Error> {
        check_order(self.n(), a)?;
        Ok(match &mut self.kind {
            Kind::Mixed(factor) => condition_estimate(a, &mut factor.refined(a))?,
            Kind::Plain(_) => self.with_inverse(|mut of| condition_estimate(a, &mut of))?,
        })
    }

    /// Bounds the relative error `‖x − x*‖∞ / ‖x‖∞` of one answer to `A x = b`. With a factor in single precision, or of a shifted
    /// matrix, it takes about three times as many solves, and is infinite where that factor is too far from A to tell; so it does in double
    /// precision where the bound would be 0 or above a tenth, as A may be singular.
    ///
    /// # Errors
    /// Lengths other than n, or a stale factor.
    pub fn forward_error_bound(
        &mut self,
        a: &SymmetricCsc<f64>,
        b: &[f64],
        x: &[f64],
    ) -> Result<f64, Error> {
        let of = self.inverse_of();
        Ok(self.with_inverse(|mut inverse| forward_error_bound(a, &mut inverse, of, b, x))?)
    }

    fn inverse_of(&self) -> InverseOf {
        match &self.kind {
            Kind::Plain(factor) => match (self.plan.precision(), factor.shift()) {
                (Precision::F64, None) => InverseOf::Matrix,
                _ => InverseOf::Near,
            },
            Kind::Mixed(factor) => factor.inverse_of(),
        }
    }

    /// Natural logarithm of the determinant of A, or of `A + σI` where that was factorized; with a factor in single precision
    /// ([`Precision::F32`](crate::Precision::F32) and mostly [`Mixed`](crate::Precision::Mixed)) of A rounded to it.
    ///
    /// # Errors
    /// The factor is stale.
    pub fn log_determinant(&self) -> Result<f64, Error> {
        Ok(self.diagonal()?.log_determinant())
    }

    /// The smallest of the pivots of `a`, which was factorized, each over its diagonal entry; none without unknowns.
    ///
    /// A structure that can move as a rigid body has no factor in exact arithmetic. By rounding it often has one: its last pivot is some
    /// rounding unit of the diagonal entry, positive by chance, its answers are huge, and their backward error is as small as ever.
    /// That is what [`SmallestPivot::has_vanished`] tells, for a look at each unknown; on a GPU it reads the whole factor.
    ///
    /// ```
    /// use tamarack::{Analysis, Options, SymmetricCsc};
    ///
    /// # fn main() -> Result<(), tamarack::Error> {
    /// // Three springs of 0.1, 0.2 and 0.7 in a ring that nothing holds.
    /// let values = [0.8, -0.1, -0.7, 0.1 + 0.2, -0.2, 0.9];
    /// let a = SymmetricCsc::lower(3, &[0, 3, 5, 6], &[0, 1, 2, 1, 2, 2], &values)?;
    /// match Analysis::new(a.pattern(), &Options::default())?.factorize(&a) {
    ///     Ok(factor) => assert!(factor.smallest_pivot(&a)?.is_some_and(|p| p.has_vanished())),
    ///     Err(error) => assert!(error.not_positive_definite().is_some()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The factor is stale, or `a` has another order.
    pub fn smallest_pivot(&self, a: &SymmetricCsc<f64>) -> Result<Option<SmallestPivot>, Error> {
        check_order(self.n(), a)?;
        let permutation = self.plan.symbolic().permutation();
        Ok(self.diagonal()?.smallest_pivot(a, permutation))
    }

    fn diagonal(&self) -> Result<Diagonal, SolveError> {
        match &self.kind {
            Kind::Plain(factor) => factor.diagonal(),
            Kind::Mixed(factor) => factor.diagonal(),
        }
    }

    /// The σ of `A + σI` that was factorized, where [`OnNotSpd::Shift`](crate::OnNotSpd::Shift) was
    /// asked for and a shift was needed.
    pub fn shift(&self) -> Option<f64> {
        match &self.kind {
            Kind::Plain(factor) => factor.shift(),
            Kind::Mixed(factor) => factor.shift(),
        }
    }
}
