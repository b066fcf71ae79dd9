//! Conjugate gradients preconditioned by a factor (Hestenes and Stiefel 1952), inside refinement.
//!
//! Where the factor is too inaccurate for plain refinement, `M⁻¹A` still has most of its
//! eigenvalues near 1, and a few steps of conjugate gradients deal with the rest. The outer loop
//! computes true residuals, so the backward error does not depend on the recurrence.

use crate::error::SolveError;
use crate::inverse::Inverse;
use crate::refine::{ColumnReport, Measured, RefineOptions};
use crate::residual::{Residual, norm};

/// Steps of conjugate gradients for one column, at most.
const MAX_STEPS: usize = 300;

/// Reduction of the residual that one inner solve is asked for.
const INNER: f64 = 1e-6;

/// Improves one column until its componentwise error is `options.stop_at`, or no longer halved.
/// Returns the report and the steps of conjugate gradients.
pub(crate) fn conjugate_gradients(
    matrix: &Measured<'_>,
    inverse: &mut impl Inverse,
    b: &[f64],
    x: &mut [f64],
    options: &RefineOptions,
    residual: &mut Residual,
) -> Result<(ColumnReport, usize), SolveError> {
    let mut measure = |x: &[f64]| matrix.errors(residual, x, b, options.residual);
    let (mut normwise, mut componentwise) = measure(x);
    if !componentwise.is_finite() {
        // The start was no use: begin at zero.
        x.fill(0.0);
        (normwise, componentwise) = measure(x);
    }
    let (mut taken, mut rounds) = (0, 0);
    let mut best = x.to_vec();
    while componentwise > options.stop_at && taken < MAX_STEPS {
        let d = inner_solve(matrix, inverse, &residual.r, &mut taken)?;
        x.iter_mut().zip(&d).for_each(|(x, d)| *x += d);
        let now = matrix.errors(residual, x, b, options.residual);
        rounds += 1;
        if !(now.1 < componentwise) {
            break;
        }
        let slow = now.1 > componentwise / 2.0 && now.1 < options.accept;
        (normwise, componentwise) = now;
        best.copy_from_slice(x);
        if slow {
            break;
        }
    }
    x.copy_from_slice(&best);
    let report = ColumnReport {
        steps: rounds,
        normwise_backward_error: normwise,
        componentwise_backward_error: componentwise,
    };
    Ok((report, taken))
}

/// `A d ≈ r`, by preconditioned conjugate gradients from zero.
fn inner_solve(
    matrix: &Measured<'_>,
    inverse: &mut impl Inverse,
    right: &[f64],
    taken: &mut usize,
) -> Result<Vec<f64>, SolveError> {
    let n = right.len();
    let mut d = vec![0.0; n];
    let mut r = right.to_vec();
    let mut z = r.clone();
    inverse.apply(&mut z, 1)?;
    let mut p = z.clone();
    let mut ap = vec![0.0; n];
    let mut rz = dot(&r, &z);
    let target = INNER * norm(right);
    while *taken < MAX_STEPS && norm(&r) > target && rz > 0.0 {
        *taken += 1;
        matrix.tiles.a.matvec(&p, &mut ap);
        let curvature = dot(&p, &ap);
        if !(curvature > 0.0) {
            break;
        }
        let alpha = rz / curvature;
        for i in 0..n {
            d[i] += alpha * p[i];
        }
        let old = r.clone();
        for i in 0..n {
            r[i] -= alpha * ap[i];
        }
        z.copy_from_slice(&r);
        inverse.apply(&mut z, 1)?;
        // Polak and Ribière's β: the preconditioner is itself inexact (Golub and Ye 1999).
        let change: f64 = z
            .iter()
            .zip(r.iter().zip(&old))
            .map(|(z, (r, o))| z * (r - o))
            .sum();
        let beta = change / rz;
        rz = dot(&r, &z);
        for i in 0..n {
            p[i] = z[i] + beta * p[i];
        }
    }
    Ok(d)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
