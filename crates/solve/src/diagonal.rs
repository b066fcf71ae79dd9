//! The diagonal of a factor, and what it says of the matrix: determinant, and what elimination left of the diagonal entries.

use tamarack_numeric::{NumericFactor, Value, vanishing_share};
use tamarack_sparse::{ElimIdx, Permutation, Scalar, SymmetricCsc, UserIdx};

use crate::error::SolveError;

/// Logarithms that are summed up before others are added: fewer roundings in a row.
const TOGETHER: usize = 128;

/// The diagonal of L where `D (A + σI) D = L Lᵀ`, all that is not there being 1 or 0.
#[derive(Clone, Debug)]
pub struct Diagonal {
    /// Of L, elimination order, length n.
    pub l: Vec<f64>,
    /// Of D, user order, where the matrix was scaled.
    pub scale: Option<Vec<f64>>,
    /// σ, where one was needed.
    pub shift: Option<f64>,
    /// Relative spacing of the numbers that L is made of.
    pub epsilon: f64,
}

/// The smallest of a factor's pivots, each over the diagonal entry that it is the rest of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SmallestPivot {
    /// The user's column, counted from 0.
    pub column: UserIdx,
    /// The pivot: what elimination left of the diagonal entry, `l²` of the diagonal of L.
    pub pivot: f64,
    /// The same over the diagonal entry: 1 where nothing was subtracted, near the rounding unit where the matrix is singular.
    pub share: f64,
    /// Share up to which a pivot may be rounding alone: `64 ε √n`, as for refused ones.
    pub rounding: f64,
}

impl SmallestPivot {
    /// Whether the pivot may be rounding alone: then the matrix is singular to the precision of the factor, or nearly so, as that of a
    /// structure is that can move as a rigid body. In single precision many matrices are.
    #[must_use]
    pub fn has_vanished(&self) -> bool {
        self.share <= self.rounding
    }
}

impl Diagonal {
    /// That of a factor on the host of a matrix that was not scaled.
    ///
    /// # Errors
    /// [`SolveError::Stale`].
    pub fn of<T: Value>(factor: &NumericFactor<T>) -> Result<Self, SolveError> {
        if !factor.is_current() {
            return Err(SolveError::Stale);
        }
        let symbolic = factor.symbolic();
        let mut l = Vec::with_capacity(symbolic.n());
        for s in 0..symbolic.supernodes() {
            let (layout, panel) = (factor.plan().panel_layout(s), factor.panel(s));
            l.extend((0..layout.cols()).map(|j| Scalar::to_f64(layout.entry(panel, j, j))));
        }
        Ok(Self {
            l,
            scale: None,
            shift: factor.shift(),
            epsilon: Scalar::to_f64(T::EPSILON),
        })
    }

    /// `log det (A + σI) = 2 Σ log l_ii − 2 Σ log d_i`, natural logarithm.
    #[must_use]
    pub fn log_determinant(&self) -> f64 {
        2.0 * (log_sum(&self.l) - self.scale.as_deref().map_or(0.0, log_sum))
    }

    /// The smallest pivot of `a`, which was factorized in this elimination order; of equals the first one. None without unknowns.
    #[must_use]
    pub fn smallest_pivot(
        &self,
        a: &SymmetricCsc<f64>,
        permutation: &Permutation,
    ) -> Option<SmallestPivot> {
        let rounding = vanishing_share(a.n(), self.epsilon);
        let shift = self.shift.unwrap_or(0.0);
        let found = self.l.iter().zip(0..).map(|(&l, position)| {
            let column = permutation.user(ElimIdx(position));
            let j = column.get();
            let l = l / self.scale.as_ref().map_or(1.0, |scale| scale[j]);
            let diagonal = a.values()[a.pattern().range(j).start] + shift;
            SmallestPivot {
                column,
                pivot: l * l,
                // in two steps: squares may be beyond the range of numbers
                share: l / diagonal * l,
                rounding,
            }
        });
        found.min_by(|a, b| a.share.total_cmp(&b.share))
    }
}

/// Σ of natural logarithms.
fn log_sum(numbers: &[f64]) -> f64 {
    let parts = numbers.chunks(TOGETHER);
    parts
        .map(|part| part.iter().map(|number| number.ln()).sum::<f64>())
        .sum()
}
