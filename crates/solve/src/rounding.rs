//! A matrix on its way into a factor on the host.

use tamarack_numeric::{FactorError, Team, Value};
use tamarack_sparse::SymmetricCsc;

use crate::inverse::power_of_two_near;
use crate::parts::in_parts;
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
        team: &Team,
    ) -> &'a SymmetricCsc<Self>;
}

impl Rounded for f64 {
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        _: Option<&[f64]>,
        _: &'a mut Option<SymmetricCsc<f64>>,
        _: &Team,
    ) -> &'a SymmetricCsc<f64> {
        a
    }
}

impl Rounded for f32 {
    fn rounded<'a>(
        a: &'a SymmetricCsc<f64>,
        scale: Option<&[f64]>,
        room: &'a mut Option<SymmetricCsc<f32>>,
        team: &Team,
    ) -> &'a SymmetricCsc<f32> {
        let rounded = room.get_or_insert_with(|| a.cast());
        in_parts(Some(team), rounded.values_mut(), |first, to| match scale {
            None => {
                let from = &a.values()[first..];
                to.iter_mut()
                    .zip(from)
                    .for_each(|(to, from)| *to = *from as f32);
            }
            Some(scale) => round_scaled(a, scale, first, to),
        });
        rounded
    }
}

/// Entries of `D A D` from number `first` on, rounded; `scale` is the diagonal of D.
fn round_scaled(a: &SymmetricCsc<f64>, scale: &[f64], first: usize, to: &mut [f32]) {
    let (pattern, end) = (a.pattern(), first + to.len());
    let before = pattern.col_ptr().partition_point(|&p| p <= first as u64);
    let mut k = first;
    for j in before.saturating_sub(1)..a.n() {
        for k in k..pattern.range(j).end.min(end) {
            let i = pattern.row_idx()[k] as usize;
            to[k - first] = (a.values()[k] * scale[i] * scale[j]) as f32;
        }
        k = pattern.range(j).end;
        if k >= end {
            break;
        }
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

    /// The matrix as it is factorized, by a team.
    pub fn round<'a>(&'a mut self, a: &'a SymmetricCsc<f64>, team: &Team) -> &'a SymmetricCsc<T> {
        if self.form == Form::Scaled {
            let scale = self.scale.get_or_insert_default();
            scale.resize(a.n(), 1.0);
            let near_one = |diagonal: f64| 1.0 / power_of_two_near(diagonal.abs().sqrt());
            in_parts(Some(team), scale, |first, scale| {
                for (j, scale) in (first..).zip(scale) {
                    *scale = near_one(a.values()[a.pattern().range(j).start]);
                }
            });
        }
        T::rounded(a, self.scale.as_deref(), &mut self.rounded, team)
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

#[cfg(test)]
mod tests {
    use tamarack_testkit::model;

    use super::*;

    /// More entries than one part has.
    #[test]
    fn parts_are_rounded_as_the_whole_is() {
        let mut a = model("p2d5_150");
        let weights = [1e-9, 3.0, 1e7];
        for (k, v) in a.values_mut().iter_mut().enumerate() {
            *v *= weights[k % 3];
        }
        let mut rounding = Rounding::<f32>::new(Form::Scaled);
        let rounded = rounding.round(&a, &Team::new(3)).clone();
        let scale = rounding.scale.as_ref().unwrap();
        assert!(scale.iter().all(|d| d.log2().fract() == 0.0));
        for j in 0..a.n() {
            for k in a.pattern().range(j) {
                let i = a.pattern().row_idx()[k] as usize;
                let expected = (a.values()[k] * scale[i] * scale[j]) as f32;
                assert_eq!(rounded.values()[k], expected);
            }
        }
    }
}
