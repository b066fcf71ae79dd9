//! Backward errors of a solution (Rigal, Gaches 1967; Oettli, Prager 1964), residual in twice f64.

use tamarack_sparse::{Scalar, SymmetricCsc};

/// A sum kept as an unevaluated pair of f64: the error of one residual entry is far below what the
/// tests look for.
#[derive(Clone, Copy, Default)]
struct Twice {
    high: f64,
    low: f64,
}

impl Twice {
    fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        let error = a.mul_add(b, -product);
        let sum = self.high + product;
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (product - part) + error;
        self.high = sum;
    }
}

/// `(|b − A x|, |A| |x| + |b|)` for every row.
fn residual<T: Scalar>(a: &SymmetricCsc<T>, x: &[T], b: &[T]) -> Vec<(f64, f64)> {
    let n = a.n();
    assert_eq!((x.len(), b.len()), (n, n));
    let mut sums: Vec<(Twice, f64)> = b
        .iter()
        .map(|v| {
            let high = v.to_f64();
            (Twice { high, low: 0.0 }, high.abs())
        })
        .collect();
    let mut add = |i: usize, v: f64, x: f64| {
        sums[i].0.add_product(-v, x);
        sums[i].1 += (v * x).abs();
    };
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (&i, &v) in rows.iter().zip(values) {
            add(i as usize, v.to_f64(), x[j].to_f64());
            if i as usize != j {
                add(j, v.to_f64(), x[i as usize].to_f64());
            }
        }
    }
    sums.iter()
        .map(|(r, s)| ((r.high + r.low).abs(), *s))
        .collect()
}

/// `numerator / denominator` where 0/0 is no error and everything undefined is an infinite one.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    if numerator == 0.0 && denominator.is_finite() {
        return 0.0;
    }
    let ratio = numerator / denominator;
    if ratio.is_nan() || denominator.is_infinite() {
        f64::INFINITY
    } else {
        ratio
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    // `f64::max` would forget a NaN.
    values.fold(0.0, |m, v| if v <= m { m } else { v })
}

/// `‖b − A x‖∞ / (‖A‖∞ ‖x‖∞ + ‖b‖∞)`; infinite if anything is NaN or overflows. `x`, `b`: length n.
pub fn normwise_backward_error<T: Scalar>(a: &SymmetricCsc<T>, x: &[T], b: &[T]) -> f64 {
    let size = |v: &[T]| largest(v.iter().map(|v| v.to_f64().abs()));
    let r = largest(residual(a, x, b).into_iter().map(|(r, _)| r));
    ratio(r, a.norm_inf() * size(x) + size(b))
}

/// `max_i |b − A x|_i / (|A| |x| + |b|)_i`; infinite if anything is NaN or overflows.
/// `x`, `b`: length n.
pub fn componentwise_backward_error<T: Scalar>(a: &SymmetricCsc<T>, x: &[T], b: &[T]) -> f64 {
    largest(residual(a, x, b).into_iter().map(|(r, s)| ratio(r, s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(off: f64) -> SymmetricCsc<f64> {
        SymmetricCsc::lower(2, &[0, 2, 3], &[0, 1, 1], &[2.0, off, 2.0]).unwrap()
    }

    #[test]
    fn exact_and_perturbed_solutions() {
        let a = pair(1.0);
        let (x, b) = ([1.0, -1.0], [1.0, -1.0]);
        assert_eq!(normwise_backward_error(&a, &x, &b), 0.0);
        assert_eq!(componentwise_backward_error(&a, &x, &b), 0.0);
        let b = [1.5, -1.0];
        assert_eq!(normwise_backward_error(&a, &x, &b), 0.5 / 4.5);
        assert_eq!(componentwise_backward_error(&a, &x, &b), 0.5 / 4.5);
    }

    #[test]
    fn what_is_not_a_number_is_a_failure() {
        let a = pair(0.0);
        for (x, b) in [
            ([f64::NAN, 1.0], [1.0, 1.0]),
            ([1.0, f64::INFINITY], [1.0, 1.0]),
            ([1.0, 1.0], [1.0, f64::NAN]),
        ] {
            assert_eq!(normwise_backward_error(&a, &x, &b), f64::INFINITY);
            assert_eq!(componentwise_backward_error(&a, &x, &b), f64::INFINITY);
        }
        let x = [0.5; 2];
        let nan = pair(f64::NAN);
        assert_eq!(normwise_backward_error(&nan, &x, &x), f64::INFINITY);
        assert_eq!(componentwise_backward_error(&nan, &x, &x), f64::INFINITY);
    }

    #[test]
    fn a_residual_below_rounding_is_seen() {
        // 1e16 + 1 − 1e16 is 0 in f64.
        let a = SymmetricCsc::lower(2, &[0, 2, 3], &[0, 1, 1], &[1.0, 1.0, 1.0]).unwrap();
        let e = componentwise_backward_error(&a, &[1e16, 1.0], &[1e16, 1e16 + 2.0]);
        assert_eq!(e, 1.0 / 2e16);
    }
}
