//! The residual `r = b − A x` and the size it is measured against, `|A||x| + |b|`.
//!
//! One pass over the lower triangle, each entry used on both sides of the diagonal: about 12 bytes
//! and 8 operations an entry. One thread does it, so the order of sums is fixed; it costs a few
//! percent of a triangular solve.

use tamarack_sparse::SymmetricCsc;

/// Precision in which residuals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualPrecision {
    /// Double precision: enough for a small backward error.
    #[default]
    Double,
    /// Twice that, by error-free transformations (Ogita, Rump, Oishi 2005): a small forward error
    /// as well, as long as the condition number is below the inverse of the rounding unit.
    Quad,
}

/// Vectors of a residual, of length n each, used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residual {
    /// `b − A x`.
    pub r: Vec<f64>,
    /// `|A||x| + |b|`.
    pub size: Vec<f64>,
    /// Rounding errors of `r`, for [`ResidualPrecision::Quad`].
    low: Vec<f64>,
}

impl Residual {
    /// Computes both for one right-hand side, user order.
    pub fn compute(
        &mut self,
        a: &SymmetricCsc<f64>,
        x: &[f64],
        b: &[f64],
        precision: ResidualPrecision,
    ) {
        self.r.clear();
        self.r.extend_from_slice(b);
        self.size.clear();
        self.size.extend(b.iter().map(|v| v.abs()));
        match precision {
            ResidualPrecision::Double => self.double(a, x),
            ResidualPrecision::Quad => self.quad(a, x),
        }
    }

    fn double(&mut self, a: &SymmetricCsc<f64>, x: &[f64]) {
        for j in 0..a.n() {
            let (rows, values) = a.column(j);
            let xj = x[j];
            let diagonal = values[0] * xj;
            let (mut rj, mut sj) = (diagonal, diagonal.abs());
            for (&i, &v) in rows.iter().zip(values).skip(1) {
                let i = i as usize;
                let (down, across) = (v * xj, v * x[i]);
                self.r[i] -= down;
                self.size[i] += down.abs();
                rj += across;
                sj += across.abs();
            }
            self.r[j] -= rj;
            self.size[j] += sj;
        }
    }

    fn quad(&mut self, a: &SymmetricCsc<f64>, x: &[f64]) {
        self.low.clear();
        self.low.resize(a.n(), 0.0);
        for j in 0..a.n() {
            let (rows, values) = a.column(j);
            for (&i, &v) in rows.iter().zip(values) {
                let i = i as usize;
                self.subtract(i, v, x[j]);
                if i != j {
                    self.subtract(j, v, x[i]);
                }
            }
        }
        for (r, low) in self.r.iter_mut().zip(&self.low) {
            *r += low;
        }
    }

    /// `r[i] −= v·x`, with the errors of product and sum kept apart.
    #[inline(always)]
    fn subtract(&mut self, i: usize, v: f64, x: f64) {
        let product = v * x;
        let product_error = v.mul_add(x, -product);
        let before = self.r[i];
        let sum = before - product;
        let part = sum - before;
        let sum_error = (before - (sum - part)) - (product + part);
        self.r[i] = sum;
        self.low[i] += sum_error - product_error;
        self.size[i] += product.abs();
    }

    /// Componentwise backward error `max |r_i| / (|A||x| + |b|)_i` (Oettli and Prager 1964), tiny
    /// denominators treated as in LAPACK's `porfs`. NaN where anything is.
    pub fn componentwise(&self, most_entries: usize) -> f64 {
        // Entries of a row, times the smallest normal number: below, rounding is not relative.
        let safe = (most_entries + 1) as f64 * f64::MIN_POSITIVE;
        let least = safe / f64::EPSILON;
        let error = |(r, s): (&f64, &f64)| {
            if *s > least {
                r.abs() / s
            } else {
                (r.abs() + safe) / (s + safe)
            }
        };
        let zero = self.size.iter().all(|&s| s == 0.0);
        if zero {
            0.0
        } else {
            largest(self.r.iter().zip(&self.size).map(error))
        }
    }

    /// Normwise backward error `‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` (Rigal and Gaches 1967).
    pub fn normwise(&self, norm_a: f64, x: &[f64], b: &[f64]) -> f64 {
        let r = norm(&self.r);
        let size = norm_a * norm(x) + norm(b);
        if r == 0.0 && size == 0.0 {
            0.0
        } else {
            r / size
        }
    }
}

/// `‖v‖∞`, NaN where an entry is.
pub(crate) fn norm(v: &[f64]) -> f64 {
    largest(v.iter().map(|v| v.abs()))
}

/// Largest of nonnegative numbers, NaN where one is.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most, v| if v <= most { most } else { v })
}

/// Most entries in a row of the full symmetric matrix.
pub(crate) fn most_entries(a: &SymmetricCsc<f64>) -> usize {
    let mut counts = vec![0usize; a.n()];
    for j in 0..a.n() {
        for &i in a.pattern().rows(j) {
            counts[i as usize] += 1;
            if i as usize != j {
                counts[j] += 1;
            }
        }
    }
    counts.into_iter().max().unwrap_or(0)
}
