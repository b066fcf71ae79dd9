//! Which entries pass for mirror images of one another: matrices are often symmetric only up to rounding.

use crate::Scalar;

/// `|a_ij − a_ji|` that passes for rounding, relative to the largest of `|a_ij|`, `|a_ji|` and
/// `√|a_ii a_jj|`: element matrices and matrices written by assembly codes differ by up to 1e-13.
const ROUNDING: f64 = 1e-12;

/// How many times the lesser of two diagonal entries `√|a_ii a_jj|` counts for, at most. More than that is a penalty that was put on one
/// unknown, not the size of what was summed up: beside 1e30 all that couples the other one would pass for rounding.
const MOST_SCALE: f64 = 1e5;

/// Whether `a_ij` and `a_ji` differ by no more than rounding, given `a_ii` and `a_jj`. Two NaNs agree: they are refused elsewhere.
pub(crate) fn agree<T: Scalar>(a_ij: T, a_ji: T, diagonal: [T; 2]) -> bool {
    let (a_ij, a_ji) = (a_ij.to_f64(), a_ji.to_f64());
    let [d_i, d_j] = diagonal.map(|d| d.to_f64().abs());
    let of_diagonal = (d_i.sqrt() * d_j.sqrt()).min(MOST_SCALE * d_i.min(d_j));
    let size = a_ij.abs().max(a_ji.abs()).max(of_diagonal);
    let rounding = ROUNDING.max(8.0 * T::EPSILON.to_f64());
    let same = a_ij == a_ji || (a_ij.is_nan() && a_ji.is_nan());
    same || (a_ij - a_ji).abs() <= rounding * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_relative_to_the_entries_and_to_the_diagonal() {
        assert!(agree(1.0, 1.0 + 9e-13, [0.0, 0.0]));
        assert!(!agree(1.0, 1.0 + 2e-12, [1.0, 1.0]));
        // Differences of what cancels in sums of the size of the diagonal.
        assert!(agree(0.0, 9e-10, [1e3, -1e3]));
        assert!(!agree(0.0, 9e-10, [1e3, 1e-3]));
        // Translations beside rotations, and a penalty beside anything.
        assert!(agree(0.0, 9e-10, [1e6, 1.0]));
        assert!(!agree(0.0, -1.0, [4.0, 1e30]));
        assert!(agree(1.0f32, 1.0 + 4.0 * f32::EPSILON, [0.0, 0.0]));
        assert!(agree(f64::INFINITY, f64::INFINITY, [0.0, 0.0]));
        assert!(!agree(f64::NAN, 1.0, [0.0, 0.0]));
    }
}
