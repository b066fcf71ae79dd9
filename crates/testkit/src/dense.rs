//! Dense Cholesky: the oracle for small orders.

use tamarack_sparse::{Scalar, SymmetricCsc};

/// The full matrix, column-major, `n × n`, leading dimension n, user order.
pub fn dense_full<T: Scalar>(a: &SymmetricCsc<T>) -> Vec<f64> {
    let n = a.n();
    let mut full = vec![0.0; n * n];
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (&i, &v) in rows.iter().zip(values) {
            full[i as usize + j * n] = v.to_f64();
            full[j + i as usize * n] = v.to_f64();
        }
    }
    full
}

/// Overwrites the lower triangle of a column-major `n × n` matrix by its Cholesky factor L and the
/// strict upper triangle by zeros. `Err(k)`: pivot `k` is not a positive finite number.
///
/// # Errors
/// The first pivot that is not a positive finite number.
pub fn dense_cholesky(n: usize, a: &mut [f64]) -> Result<(), usize> {
    assert_eq!(a.len(), n * n);
    for k in 0..n {
        let pivot = a[k + k * n];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(k);
        }
        let root = pivot.sqrt();
        a[k + k * n] = root;
        for i in k + 1..n {
            a[i + k * n] /= root;
            a[k + i * n] = 0.0;
        }
        for j in k + 1..n {
            for i in j..n {
                a[i + j * n] -= a[i + k * n] * a[j + k * n];
            }
        }
    }
    Ok(())
}

/// Solves `L Lᵀ x = b` with the factor of [`dense_cholesky`]; `b` of length n.
pub fn dense_solve(n: usize, l: &[f64], b: &[f64]) -> Vec<f64> {
    assert_eq!((l.len(), b.len()), (n * n, n));
    let mut x = b.to_vec();
    for j in 0..n {
        x[j] /= l[j + j * n];
        for i in j + 1..n {
            x[i] -= l[i + j * n] * x[j];
        }
    }
    for j in (0..n).rev() {
        for i in j + 1..n {
            x[j] -= l[i + j * n] * x[i];
        }
        x[j] /= l[j + j * n];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, componentwise_backward_error, random_spd};

    #[test]
    fn solves_what_it_factorizes() {
        for family in Family::ALL {
            for n in [0, 1, 2, 30] {
                let a = random_spd(family, n, 11);
                let b: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
                let mut l = dense_full(&a);
                dense_cholesky(n, &mut l).unwrap();
                let x = dense_solve(n, &l, &b);
                assert!(componentwise_backward_error(&a, &x, &b) < 1e-14);
            }
        }
    }

    #[test]
    fn names_the_pivot_that_is_not_positive() {
        assert_eq!(dense_cholesky(2, &mut [1.0, 2.0, 2.0, 4.0]), Err(1));
        assert_eq!(dense_cholesky(1, &mut [f64::NAN]), Err(0));
        assert_eq!(dense_cholesky(1, &mut [f64::INFINITY]), Err(0));
    }
}
