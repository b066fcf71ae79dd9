//! Estimates from a factor: 1-norm condition number, forward error bound.

use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::memory::{filled, with_room, zeroed};

use crate::error::{SolveError, check_len};
use crate::inverse::{Inverse, power_of_two_near};
use crate::refine::Measured;
use crate::residual::{Residual, ResidualPrecision, Row, norm};

/// Products with the operator, at most.
const MAX_PRODUCTS: usize = 5;

/// Relative bounds up to this are those of a matrix that is far from singular.
const MOST_CERTAIN: f64 = 0.1;

/// Estimates `‖A‖₁‖A⁻¹‖₁` from below, rarely by more than a factor of 3; NaN where the inverse gives no finite answer, and 0 without
/// unknowns.
///
/// # Errors
/// Those of `inverse`.
pub fn condition_estimate(
    a: &SymmetricCsc<f64>,
    inverse: &mut impl Inverse,
) -> Result<f64, SolveError> {
    let norm = a.norm_inf();
    // Vectors are as large as A, so that answers are near 1 where the inverse itself is beyond the range of numbers.
    let unit = power_of_two_near(norm);
    let once = |x: &mut [f64], _: Transposed| {
        x.iter_mut().for_each(|x| *x *= unit);
        inverse.apply(x, 1)
    };
    let estimate = norm / unit * norm1_estimate(a.n(), once)?;
    // Less than 1 is no condition number: an inverse that is not finite was taken for zero.
    Ok(match a.n() {
        0 => 0.0,
        _ if estimate > 0.5 => estimate.max(1.0),
        _ => f64::NAN,
    })
}

/// Whether an inverse `M` is that of the matrix itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InverseOf {
    /// Up to rounding in double precision.
    Matrix,
    /// Of a matrix near it, rounded to single precision or shifted.
    Near,
}

/// Bound of the forward error `‖x − x*‖∞ / ‖x‖∞` of an answer to `A x = b` (LAPACK's `porfs`):
/// `‖|M|(|r| + (m + 1) ε (|A||x| + |b|))‖∞ / ‖x‖∞`, M the inverse, m the most entries of a row, the norm
/// estimated; infinite for an x of zeros that is not the answer. One column, user order.
///
/// Of a matrix near A, with `G = M A − I`, the inverse of A is `(I + G)⁻¹ M`: the bound is larger by `1 / (1 − ‖G‖∞)`, estimated with
/// about ten solves more, and infinite where `‖G‖∞` is not below 1. So it is with the inverse of A itself where the bound would be 0 or
/// above a tenth: A may be singular, and rounding have hidden it.
///
/// # Errors
/// [`SolveError::Length`], and those of `inverse`.
pub fn forward_error_bound(
    a: &SymmetricCsc<f64>,
    inverse: &mut impl Inverse,
    of: InverseOf,
    b: &[f64],
    x: &[f64],
) -> Result<f64, SolveError> {
    check_len("b", b.len(), a.n(), 1)?;
    check_len("x", x.len(), a.n(), 1)?;
    let team = inverse.team();
    let mut residual = Residual::default();
    let matrix = Measured::new(a, team.as_deref(), &mut residual);
    matrix.errors(&mut residual, x, b, ResidualPrecision::Double);
    let norm_x = norm(x);
    let weight = |row: &Row<1>| weight(row, matrix.norms.most_entries, norm_x);
    let mut weights: Vec<f64> = with_room(a.n());
    weights.extend(residual.rows.iter().map(weight));
    // Near 1, so that products with the inverse do not vanish.
    let unit = power_of_two_near(norm(&weights));
    weights.iter_mut().for_each(|w| *w /= unit);
    let (error, norm_x) = (
        norm1_estimate(a.n(), weighted(inverse, &weights))?,
        norm_x / unit,
    );
    // Of a singular matrix no answer is the only one, not even one without a residual: this comes first.
    let is_doubtful = error == 0.0 || !(error < MOST_CERTAIN * norm_x);
    let distance = match of {
        InverseOf::Matrix if !is_doubtful => 0.0,
        _ => distance(&matrix, &mut residual, inverse)?,
    };
    if !(distance < 1.0) {
        return Ok(f64::INFINITY); // also where it is NaN
    }
    if error == 0.0 {
        return Ok(0.0);
    }
    Ok(error / (1.0 - distance) / norm_x)
}

/// `|r| + (m + 1) ε (|A||x| + |b|)` of a row, m the most entries of one. Where that is so small that products were rounded to multiples of
/// the least positive number, what they lost comes on top, unless nothing was rounded: the answer is zero, and so is b there.
fn weight(row: &Row<1>, most_entries: usize, norm_x: f64) -> f64 {
    let sums = (most_entries + 1) as f64;
    let (r, size) = (row.r[0].abs(), row.size[0]);
    let least = sums * f64::MIN_POSITIVE;
    let lost = match size <= least / f64::EPSILON && (norm_x > 0.0 || size > 0.0) {
        true => least,
        false => 0.0,
    };
    r + sums * f64::EPSILON * size + lost
}

/// `W M`, W the diagonal matrix of weights: as M is symmetric, `‖W M‖₁ = ‖M W‖∞ = ‖|M| w‖∞`.
fn weighted<'a>(
    inverse: &'a mut impl Inverse,
    weights: &'a [f64],
) -> impl FnMut(&mut [f64], Transposed) -> Result<(), SolveError> + 'a {
    move |x, transposed| {
        let weigh = |x: &mut [f64]| x.iter_mut().zip(weights).for_each(|(x, w)| *x *= w);
        if transposed == Transposed(true) {
            weigh(x);
            return inverse.apply(x, 1);
        }
        inverse.apply(x, 1)?;
        weigh(x);
        Ok(())
    }
}

/// Estimates `‖M A − I‖∞`, that is `‖A M − I‖₁`, for an approximate inverse M.
fn distance(
    matrix: &Measured<'_>,
    residual: &mut Residual,
    inverse: &mut impl Inverse,
) -> Result<f64, SolveError> {
    let n = matrix.blocks.a.n();
    let (mut y, mut z) = (zeroed(n), zeroed(n));
    norm1_estimate(n, |x: &mut [f64], transposed| {
        if transposed == Transposed(true) {
            residual.product(&matrix.blocks, x, &mut z);
            inverse.apply(&mut z, 1)?;
        } else {
            y.copy_from_slice(x);
            inverse.apply(&mut y, 1)?;
            residual.product(&matrix.blocks, &y, &mut z);
        }
        x.iter_mut().zip(&z).for_each(|(x, z)| *x = z - *x);
        Ok(())
    })
}

/// Whether the product is one with the transposed operator.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Transposed(bool);

/// Estimates the 1-norm of an operator, `apply(x)` being `x ← B x` or `x ← Bᵀ x`: Hager 1984, Higham
/// 1988, algorithm 4.1.
fn norm1_estimate(
    n: usize,
    mut apply: impl FnMut(&mut [f64], Transposed) -> Result<(), SolveError>,
) -> Result<f64, SolveError> {
    if n == 0 {
        return Ok(0.0);
    }
    let norm1 = |x: &[f64]| x.iter().map(|v| v.abs()).sum::<f64>();
    let mut v = filled(n, 1.0 / n as f64);
    apply(&mut v, Transposed(false))?;
    let mut estimate = norm1(&v);
    if n == 1 {
        return Ok(estimate);
    }
    let mut signs: Vec<f64> = with_room(n);
    signs.extend(v.iter().map(|v| 1f64.copysign(*v)));
    let mut x = zeroed(n);
    let mut last = usize::MAX;
    for _ in 0..MAX_PRODUCTS {
        x.copy_from_slice(&signs);
        apply(&mut x, Transposed(true))?;
        let j = (0..n).fold(0, |m, i| if x[i].abs() > x[m].abs() { i } else { m });
        if last != usize::MAX && x[j].abs() <= x[last].abs() {
            break;
        }
        last = j;
        v.fill(0.0);
        v[j] = 1.0;
        apply(&mut v, Transposed(false))?;
        let now = norm1(&v);
        let same = v.iter().zip(&signs).all(|(v, s)| 1f64.copysign(*v) == *s);
        if same || !(now > estimate) {
            estimate = if now > estimate { now } else { estimate };
            break;
        }
        estimate = now;
        signs
            .iter_mut()
            .zip(&v)
            .for_each(|(s, v)| *s = 1f64.copysign(*v));
    }
    // A vector that defeats accidental cancellation.
    for (i, x) in x.iter_mut().enumerate() {
        *x = (1.0 + i as f64 / (n - 1) as f64) * if i % 2 == 0 { 1.0 } else { -1.0 };
    }
    apply(&mut x, Transposed(false))?;
    let other = 2.0 * norm1(&x) / (3.0 * n as f64);
    Ok(if other > estimate { other } else { estimate })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tamarack_sparse::Pattern;

    use super::*;

    /// Division by a diagonal, or nothing but zeros.
    struct Diagonal(Option<Vec<f64>>);

    impl Inverse for Diagonal {
        fn apply(&mut self, x: &mut [f64], _: usize) -> Result<(), SolveError> {
            match &self.0 {
                Some(diagonal) => x.iter_mut().zip(diagonal).for_each(|(x, d)| *x /= d),
                None => x.fill(0.0),
            }
            Ok(())
        }
    }

    fn matrix(diagonal: &[f64]) -> SymmetricCsc<f64> {
        let n = diagonal.len();
        let count: Vec<u32> = (0..=n as u32).collect();
        let pattern = Pattern::lower(n, &count, &count[..n]).unwrap();
        SymmetricCsc::new(Arc::new(pattern), diagonal.to_vec()).unwrap()
    }

    #[test]
    fn where_numbers_are_subnormal_bounds_hold() {
        let diagonal = [3.0, 4.0, 5.0, 6.0];
        let a = matrix(&diagonal);
        let mut inverse = Diagonal(Some(diagonal.to_vec()));
        for k in [1u64, 7, 1000, 123_457] {
            let b: Vec<f64> = (0..4).map(|i| f64::from_bits(17 * k + i)).collect();
            let mut x = b.clone();
            inverse.apply(&mut x, 1).unwrap();
            // In multiples of the least positive number.
            let error = |i: usize| x[i].to_bits() as f64 - b[i].to_bits() as f64 / diagonal[i];
            let largest = x.iter().map(|x| x.to_bits()).max().unwrap() as f64;
            let relative = (0..4).map(|i| error(i).abs()).fold(0.0, f64::max) / largest;
            assert!(relative > 0.0);
            let of = InverseOf::Matrix;
            let bound = forward_error_bound(&a, &mut inverse, of, &b, &x).unwrap();
            assert!(bound >= relative, "{k}: {bound:e} < {relative:e}");
        }
        let of = InverseOf::Matrix;
        let bound = forward_error_bound(&a, &mut inverse, of, &[0.0; 4], &[0.0; 4]);
        assert_eq!(bound.unwrap(), 0.0);
    }

    #[test]
    fn condition_numbers_of_tiny_and_huge_matrices() {
        for size in [1e-310, 1e-300, 1.0, 1e300, 1e307] {
            let diagonal = [4.0 * size, 2.0 * size, size];
            let mut inverse = Diagonal(Some(diagonal.to_vec()));
            let found = condition_estimate(&matrix(&diagonal), &mut inverse).unwrap();
            assert!((found / 4.0 - 1.0).abs() < 1e-6, "{size:e}: {found:e}");
        }
        let none = condition_estimate(&matrix(&[1.0, 2.0]), &mut Diagonal(None));
        assert!(none.unwrap().is_nan());
    }
}
