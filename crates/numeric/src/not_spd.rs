//! What is known about a matrix that turned out not to be positive definite.

use std::fmt;

use tamarack_sparse::{ElimIdx, Scalar, SymmetricCsc, UserIdx};
use tamarack_symbolic::SymbolicFactor;

/// The first pivot, in elimination order, that is not positive: the same for every thread count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotPositiveDefinite {
    /// The user's own column (equal to the row), counted from 0.
    pub column: UserIdx,
    /// Its position in the elimination, counted from 0.
    pub position: ElimIdx,
    /// The pivot: what was left of the diagonal entry; NaN or infinite where NaN or infinity came in, or numbers overflowed. Positive if it is subnormal.
    pub pivot: f64,
    /// What the matrix suggests as the cause.
    pub cause: Cause,
}

/// A likely cause of a pivot that is not positive.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// The matrix has an entry that is NaN or infinite.
    NotFinite {
        /// Row of the first such entry, user order, from 0.
        row: UserIdx,
        /// Its column, user order, from 0.
        column: UserIdx,
        /// The entry.
        value: f64,
    },
    /// An entry has no value in single precision, to which the matrix was rounded: infinity or, on the diagonal, zero took its place.
    OutOfRange {
        /// Its row, user order, from 0.
        row: UserIdx,
        /// Its column, user order, from 0.
        column: UserIdx,
        /// The entry.
        value: f64,
    },
    /// Intermediate results overflowed although every entry is finite.
    Overflow,
    /// The pivot is positive, but below the smallest normal number: its reciprocal would overflow.
    Underflow,
    /// The diagonal entry of the column is zero.
    ZeroDiagonal,
    /// The diagonal entry of the column is negative.
    NegativeDiagonal {
        /// The entry.
        value: f64,
    },
    /// The pivot vanished against its diagonal entry: the matrix is singular to working precision,
    /// as a structure is that can move as a rigid body.
    MissingConstraint,
    /// The pivot vanished in single precision, to which the matrix was rounded: in double precision it may not.
    SinglePrecision,
    /// The matrix has a clearly negative eigenvalue.
    Indefinite,
}

/// Pivots below this share of their diagonal entry, times √n and the rounding unit, have vanished.
const VANISHED: f64 = 64.0;

/// The share of its diagonal entry up to which a pivot may be rounding alone, in a matrix of order `n` whose numbers have this relative
/// `epsilon`: `64 ε √n`.
pub fn vanishing_share(n: usize, epsilon: f64) -> f64 {
    VANISHED * epsilon * (n as f64).sqrt()
}

impl NotPositiveDefinite {
    /// Looks up the user's column and the likely cause.
    pub fn diagnose<T: Scalar>(
        symbolic: &SymbolicFactor,
        a: &SymmetricCsc<T>,
        position: ElimIdx,
        pivot: f64,
    ) -> Self {
        let column = symbolic.permutation().user(position);
        let diagonal = a.column(column.get()).1[0].to_f64();
        let rounding = vanishing_share(a.n(), T::EPSILON.to_f64());
        let cause = if !pivot.is_finite() {
            first_not_finite(a).unwrap_or(Cause::Overflow)
        } else if pivot > 0.0 && pivot > rounding * diagonal {
            // A positive one is refused where it is subnormal.
            Cause::Underflow
        } else if diagonal == 0.0 {
            Cause::ZeroDiagonal
        } else if diagonal < 0.0 {
            Cause::NegativeDiagonal { value: diagonal }
        } else if pivot.abs() <= rounding * diagonal {
            Cause::MissingConstraint
        } else {
            Cause::Indefinite
        };
        Self {
            column,
            position,
            pivot,
            cause,
        }
    }

    /// The same of a matrix that was rounded to single precision: what is missing in that may be there in `a`.
    #[must_use]
    pub fn of_rounded(mut self, a: &SymmetricCsc<f64>) -> Self {
        let diagonal = a.column(self.column.get()).1[0];
        let lost = match self.cause {
            _ if diagonal != 0.0 && diagonal as f32 == 0.0 => {
                Some((self.column, self.column, diagonal))
            }
            Cause::NotFinite { .. } | Cause::Overflow if first_not_finite(a).is_none() => {
                let rounds_to_infinity = |v: f64| !(v as f32).is_finite();
                first_entry(a, rounds_to_infinity)
            }
            _ => None,
        };
        self.cause = match (lost, self.cause) {
            (Some((row, column, value)), _) => Cause::OutOfRange { row, column, value },
            (None, Cause::MissingConstraint) => Cause::SinglePrecision,
            (None, cause) => cause,
        };
        self
    }
}

fn first_not_finite<T: Scalar>(a: &SymmetricCsc<T>) -> Option<Cause> {
    let (row, column, value) = first_entry(a, |v: T| !v.is_finite())?;
    let value = value.to_f64();
    Some(Cause::NotFinite { row, column, value })
}

/// Row, column and value of the first entry of the lower triangle, column by column, that `is` such a one.
fn first_entry<T: Scalar>(
    a: &SymmetricCsc<T>,
    is: impl Fn(T) -> bool,
) -> Option<(UserIdx, UserIdx, T)> {
    (0..a.n()).find_map(|j| {
        let (rows, values) = a.column(j);
        let k = values.iter().position(|v| is(*v))?;
        Some((UserIdx(rows[k]), UserIdx(j as u32), values[k]))
    })
}

impl fmt::Display for NotPositiveDefinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            column,
            position,
            pivot,
            cause,
        } = self;
        write!(
            f,
            "matrix is not positive definite: pivot {pivot:.3e} at column {} (counted from 0; \
             elimination position {}); {cause}",
            column.0, position.0
        )
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { row, column, value } => {
                write!(f, "entry ({}, {}) is {value}", row.0, column.0)
            }
            Self::OutOfRange { row, column, value } => write!(
                f,
                "entry ({}, {}) is {value:e}, out of the range of single precision: scale the matrix, or use mixed precision",
                row.0, column.0
            ),
            Self::Overflow => f.write_str("intermediate results overflowed: scale the matrix"),
            Self::Underflow => f.write_str(
                "its numbers are too small to be divided by: scale the matrix, or use mixed precision, which does",
            ),
            Self::ZeroDiagonal => f.write_str("its diagonal entry is zero or missing"),
            Self::NegativeDiagonal { value } => write!(f, "its diagonal entry is {value:e}"),
            Self::MissingConstraint => f.write_str(
                "it is singular to working precision: a missing constraint (rigid-body mode) is \
                 the usual cause",
            ),
            Self::SinglePrecision => f.write_str(
                "it is singular to the accuracy of single precision: use mixed or double precision, which may \
                 do, unless a constraint is missing (rigid-body mode)",
            ),
            Self::Indefinite => f.write_str(
                "it has a negative eigenvalue: a missing constraint, a wrong sign, or a saddle-point \
                 (mixed, contact) formulation is the usual cause",
            ),
        }
    }
}

impl std::error::Error for NotPositiveDefinite {}
