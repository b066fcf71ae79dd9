//! Long lists worked through in parts, side by side, by the threads of a factor.

use std::sync::{Mutex, PoisonError};

use tamarack_numeric::{Activity, Span, Team};

use crate::residual::largest;

/// Numbers of a part. Lists that are no longer take less time than another thread takes to come.
const PART: usize = 1 << 15;

/// Calls `body(first, part)` for parts of `of`, `first` being where each begins, by the members of `team`.
pub(crate) fn in_parts<T: Send>(
    team: Option<&Team>,
    of: &mut [T],
    body: impl Fn(usize, &mut [T]) + Sync,
) {
    let count = of.len().div_ceil(PART);
    let Some(team) = team.filter(|_| count > 1) else {
        return body(0, of);
    };
    let parts = Mutex::new((0..).step_by(PART).zip(of.chunks_mut(PART)));
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    team.for_each_as(Span::new(Activity::Share), count, |_, _| {
        if let Some((first, part)) = next() {
            body(first, part);
        }
    });
}

/// `x_i ← x_i · d_i`.
pub(crate) fn multiply_each(team: Option<&Team>, x: &mut [f64], d: &[f64]) {
    in_parts(team, x, |first, x| {
        x.iter_mut().zip(&d[first..]).for_each(|(x, d)| *x *= d);
    });
}

/// `x ← x · factor`.
pub(crate) fn multiply(team: Option<&Team>, x: &mut [f64], factor: f64) {
    if factor != 1.0 {
        in_parts(team, x, |_, x| x.iter_mut().for_each(|x| *x *= factor));
    }
}

/// `‖x‖∞`, NaN where a number is.
pub(crate) fn norm_of(team: Option<&Team>, x: &mut [f64]) -> f64 {
    let most = Mutex::new(0.0);
    in_parts(team, x, |_, x| {
        let of_part = largest(x.iter().copied());
        let mut most = most.lock().unwrap_or_else(PoisonError::into_inner);
        *most = largest([*most, of_part].into_iter());
    });
    most.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_met_once() {
        let team = Team::new(3);
        for team in [None, Some(&team)] {
            for len in [0, 1, PART, PART + 1, 5 * PART + 7] {
                let mut x: Vec<f64> = (0..len).map(|i| i as f64).collect();
                let d: Vec<f64> = (0..len).map(|i| (i % 7) as f64).collect();
                multiply_each(team, &mut x, &d);
                multiply(team, &mut x, -0.5);
                let expected = |i: usize| -0.5 * (i * (i % 7)) as f64;
                assert!(x.iter().enumerate().all(|(i, x)| *x == expected(i)));
                let norm = (0..len).map(|i| expected(i).abs()).fold(0.0, f64::max);
                assert_eq!(norm_of(team, &mut x), norm);
                if let Some(last) = x.last_mut() {
                    *last = f64::NAN;
                    assert!(norm_of(team, &mut x).is_nan());
                }
            }
        }
    }
}
