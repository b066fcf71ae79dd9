//! A matrix on its way into a factor on the host.

use tamarack_numeric::{FactorError, Value};
use tamarack_sparse::SymmetricCsc;

use crate::inverse::power_of_two_near;
use crate::solver::Form;

/// A matrix on its way into a factor: scaled where that is wanted, and rounded to the factor's precision.
#[derive(Debug)]
pub struct Rounding<T> {
    form: Form,
    /// Powers of two, user order; none where the matrix is not scaled.
    pub(crate) scale: Option<Vec<f64>>,
    /// The last one; none in double precision.
    rounded: Option<SymmetricCsc<T>>,
}

/// A precision that matrices are rounded to.
pub trait Rounded: Value {
    /// The matrix in this precision, kept in `room` where it is not the same.
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        scale: Option<&[f64]>,
        room: &'a mut Option<SymmetricCsc<Self>>,
    ) -> &'a SymmetricCsc<Self>;
}

impl Rounded for f64 {
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        _: Option<&[f64]>,
        _: &'a mut Option<SymmetricCsc<f64>>,
    ) -> &'a SymmetricCsc<f64> {
        a
    }
}

impl Rounded for f32 {
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        scale: Option<&[f64]>,
        room: &'a mut Option<SymmetricCsc<f32>>,
    ) -> &'a SymmetricCsc<f32> {
        let rounded = room.get_or_insert_with(|| a.cast());
        let pattern = a.pattern();
        let values = rounded.values_mut();
        let Some(scale) = scale else {
            for (to, from) in values.iter_mut().zip(a.values()) {
                *to = *from as f32;
            }
            return rounded;
        };
        for j in 0..a.n() {
            for k in pattern.range(j) {
                let i = pattern.row_idx()[k] as usize;
                values[k] = (a.values()[k] * scale[i] * scale[j]) as f32;
            }
        }
        rounded
    }
}

impl<T: Rounded> Rounding<T> {
    pub fn new(form: Form) -> Self {
        Self {
            form,
            scale: None,
            rounded: None,
        }
    }

    /// The matrix as it is factorized.
    pub fn round<'a>(&'a mut self, a: &'a SymmetricCsc<f64>) -> &'a SymmetricCsc<T> {
        if self.form == Form::Scaled {
            let scale = self.scale.get_or_insert_default();
            scale.clear();
            let near_one = |diagonal: f64| 1.0 / power_of_two_near(diagonal.abs().sqrt());
            scale.extend(a.diagonal().map(near_one));
        }
        T::rounded(a, self.scale.as_deref(), &mut self.rounded)
    }

    /// An error that the rounded matrix gave, said of the matrix.
    pub fn explain(&self, a: &SymmetricCsc<f64>, error: FactorError) -> FactorError {
        match error {
            FactorError::NotPositiveDefinite(report) if self.form == Form::Single => {
                report.of_rounded(a).into()
            }
            other => other,
        }
    }
}
