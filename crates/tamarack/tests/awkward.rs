//! Systems that a careful caller may meet: fixed unknowns, numbers out of range, answers that cannot be measured.

mod common;

use common::{devices, diagonal, everywhere, factorized, options, tridiagonal};
use tamarack::{
    Analysis, Cause, Duplicates, ErrorKind, Factor, OnNotSpd, Options, Outcome, Precision,
    ResidualPrecision, SymmetricCsc, Triplets,
};
use tamarack_testkit::{hilbert, model};

/// The square of a second difference, whose condition number grows with the fourth power of its order.
fn pentadiagonal(n: u32) -> SymmetricCsc<f64> {
    let mut triplets = Triplets::new(n as usize).unwrap();
    for i in 0..n {
        triplets.push(i, i, 6.0).unwrap();
        (i >= 1).then(|| triplets.push(i, i - 1, -4.0).unwrap());
        (i >= 2).then(|| triplets.push(i, i - 2, 1.0).unwrap());
    }
    triplets.into_symmetric(Duplicates::Sum).unwrap()
}

/// Rows and columns `fixed(i)` as those of the identity, in the same pattern.
fn with_fixed(a: &SymmetricCsc<f64>, fixed: impl Fn(usize) -> bool) -> SymmetricCsc<f64> {
    let (pattern, mut a) = (a.pattern().clone(), a.clone());
    for j in 0..pattern.n() {
        for k in pattern.col_ptr()[j] as usize..pattern.col_ptr()[j + 1] as usize {
            let i = pattern.row_idx()[k] as usize;
            if fixed(i) || fixed(j) {
                a.values_mut()[k] = if i == j { 1.0 } else { 0.0 };
            }
        }
    }
    a
}

#[test]
fn fixed_unknowns_have_no_error() {
    let fixed = |i: usize| i % 50 < 3;
    let a = with_fixed(&model("el3d_6"), fixed);
    let b: Vec<f64> = (0..a.n())
        .map(|i| if fixed(i) { 0.0 } else { 1.0 + (i % 7) as f64 })
        .collect();
    for options in everywhere() {
        let precision = options.precision;
        let mut factor = factorized(&a, &options);
        let mut x = b.clone();
        let report = factor.solve_refined(&a, &mut x).unwrap();
        let error = report.componentwise_backward_error();
        assert!(
            error < 1e-15 && report.refine.converged,
            "{precision:?}: {error:e}"
        );
        assert_eq!(report.outcome, Outcome::Refined, "{precision:?}");
        assert!((0..a.n()).all(|i| !fixed(i) || x[i] == 0.0));
    }
}

#[test]
fn a_row_too_small_for_single_precision_does_not_end_refinement() {
    // The solution falls by a factor of 3.7 a row: from row 70 on it is below what single precision has.
    let n = 400;
    let a = tridiagonal(&vec![4.0; n], -1.0);
    for options in everywhere() {
        let precision = options.precision;
        let mut factor = factorized(&a, &options);
        let mut x = vec![0.0; n];
        x[0] = 1.0;
        let report = factor.solve_refined(&a, &mut x).unwrap();
        assert!(
            report.normwise_backward_error() < 1e-15,
            "{precision:?}: {report:?}"
        );
        if precision != Precision::F32 {
            assert!(
                report.componentwise_backward_error() < 1e-15,
                "{precision:?}: {report:?}"
            );
        }
    }
}

#[test]
fn a_right_hand_side_that_is_not_finite_is_not_factorized_for() {
    let a = model("p2d5_10");
    let mixed = |options: &Options| options.precision == Precision::Mixed;
    let all = everywhere().into_iter().filter(mixed);
    for (options, bad) in all.flat_map(|o| [(o.clone(), f64::NAN), (o, f64::INFINITY)]) {
        let mut factor = factorized(&a, &options);
        let mut x = vec![1.0; 2 * a.n()];
        x[3] = bad;
        let report = factor.solve_refined(&a, &mut x).unwrap();
        assert_ne!(report.outcome, Outcome::Double);
        assert!(
            report.refine.columns[0]
                .componentwise_backward_error
                .is_nan()
        );
        assert!(report.refine.columns[1].componentwise_backward_error < 1e-15);
    }
}

#[test]
fn the_error_of_zeros_is_known() {
    let a = diagonal(&[100.0, 100.0]);
    let mut factor = factorized(&a, &Options::default());
    let zeros = [0.0; 2];
    let bound = factor.forward_error_bound(&a, &[100.0, 100.0], &zeros);
    assert_eq!(bound.unwrap(), f64::INFINITY);
    assert_eq!(factor.forward_error_bound(&a, &zeros, &zeros).unwrap(), 0.0);
}

#[test]
fn residuals_in_twice_the_precision_give_small_forward_errors() {
    // Its condition number is 4e10. The solution has no digits to lose.
    let n = 1000;
    let a = pentadiagonal(n);
    let truth: Vec<f64> = (0..n).map(|i| f64::from(i % 11) - 5.0).collect();
    let mut b = vec![0.0; n as usize];
    a.matvec(&truth, &mut b);
    for precision in [Precision::F64, Precision::Mixed] {
        let mut options = options(precision);
        let mut error = |residual| {
            options.refine.residual = residual;
            let analysis = Analysis::new(a.pattern(), &options).unwrap();
            let mut x = b.clone();
            let mut factor = analysis.factorize(&a).unwrap();
            let report = factor.solve_refined(&a, &mut x).unwrap();
            assert!(report.refine.converged, "{precision:?}");
            let off = x.iter().zip(&truth).map(|(x, t)| (x - t).abs());
            off.fold(0.0, f64::max)
        };
        assert!(error(ResidualPrecision::Double) > 1e-10, "{precision:?}");
        assert!(error(ResidualPrecision::Quad) < 1e-14, "{precision:?}");
    }
}

#[test]
fn less_accuracy_does_not_take_a_factor_in_double_precision() {
    let a = model("p3d7_8");
    for stop_at in [None, Some(1e-14), Some(1e-10), Some(1e-6)] {
        let mut options = options(Precision::Mixed);
        options.refine.stop_at = stop_at;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut x = vec![1.0; a.n()];
        let report = analysis
            .factorize(&a)
            .unwrap()
            .solve_refined(&a, &mut x)
            .unwrap();
        assert_eq!(report.outcome, Outcome::Refined, "{stop_at:?}");
    }
}

#[test]
fn an_error_that_cannot_be_measured_is_not_zero() {
    let a = tridiagonal(&[1e300, 1e300], -0.9e300);
    for options in everywhere() {
        if options.precision == Precision::F32 {
            continue; // out of its range
        }
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut x = [1e307, 0.93e307];
        let report = analysis
            .factorize(&a)
            .unwrap()
            .solve_refined(&a, &mut x)
            .unwrap();
        assert!(!(report.normwise_backward_error() == 0.0 && report.refine.converged));
    }
}

#[test]
fn pivots_without_a_reciprocal_are_refused() {
    for (precision, tiny) in [
        (Precision::F64, 1e-309),
        (Precision::Mixed, 1e-309),
        (Precision::F32, 2e-39),
    ] {
        for a in [
            diagonal(&[tiny]),
            diagonal(&[1.0, 1.0, tiny, 1.0]),
            tridiagonal(&[tiny; 40], 0.0),
        ] {
            let analysis = Analysis::new(a.pattern(), &options(precision)).unwrap();
            match analysis.factorize(&a) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotPositiveDefinite);
                    let details = error.not_positive_definite().unwrap();
                    assert_eq!(details.cause, Cause::Underflow, "{details}");
                }
                // Mixed precision scales.
                Ok(mut factor) => {
                    let mut x: Vec<f64> = a.diagonal().collect();
                    factor.solve_refined(&a, &mut x).unwrap();
                    assert!(
                        x.iter().all(|x| (x - 1.0).abs() < 1e-6),
                        "{precision:?}: {x:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn bounds_hold_for_factors_of_a_matrix_nearby() {
    // Answers as they come from the factor, without refinement; the truth is all ones.
    for (a, is_bounded) in [
        (model("p3d7_6"), true),
        (model("circuit_2000"), false),
        (hilbert(4), true),
        (hilbert(10), false),
    ] {
        let n = a.n();
        let mut b = vec![0.0; n];
        a.matvec(&vec![1.0; n], &mut b);
        for mut options in everywhere() {
            let precision = options.precision;
            options.on_not_spd = OnNotSpd::Shift;
            let mut factor = factorized(&a, &options);
            let mut x = b.clone();
            factor.solve(&mut x).unwrap();
            let largest = |v: &mut dyn Iterator<Item = f64>| v.fold(0.0, f64::max);
            let off = largest(&mut x.iter().map(|x| (x - 1.0).abs()));
            let error = off / largest(&mut x.iter().map(|x| x.abs()));
            let bound = factor.forward_error_bound(&a, &b, &x).unwrap();
            assert!(
                error <= bound,
                "{precision:?}, order {n}: {error:e} above {bound:e}"
            );
            assert!(
                !is_bounded || bound.is_finite(),
                "{precision:?}, order {n}: {bound}"
            );
        }
    }
}

#[test]
fn of_a_singular_matrix_no_answer_is_the_only_one() {
    // A path whose ends are free: constants are solutions of the system of zeros, too.
    let values = [1.0, -1.0, 2.0, -1.0, 2.0, -1.0, 1.0];
    let a = SymmetricCsc::lower(4, &[0, 2, 4, 6, 7], &[0, 1, 1, 2, 2, 3, 3], &values).unwrap();
    for mut options in everywhere() {
        options.on_not_spd = OnNotSpd::Shift;
        let mut factor = factorized(&a, &options);
        let bound = factor
            .forward_error_bound(&a, &[0.0; 4], &[0.0; 4])
            .unwrap();
        assert_eq!(bound, f64::INFINITY, "{:?}", options.precision);
    }
}

#[test]
fn a_singular_matrix_that_rounding_lets_pass_has_no_bound() {
    // Paths whose ends are free, with links of all strengths: the last pivot is what rounding leaves of zero.
    let n = 40;
    let mut passed = 0;
    for seed in 1..60u32 {
        let mut triplets = Triplets::new(n).unwrap();
        for i in 1..n as u32 {
            let strength = f64::from(1 + (i * i * seed) % 97);
            for (row, column, v) in [(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0)] {
                triplets.push(row, column, v * strength).unwrap();
            }
        }
        let a = triplets.into_symmetric(Duplicates::Sum).unwrap();
        let analysis = Analysis::new(a.pattern(), &options(Precision::F64)).unwrap();
        let Ok(mut factor) = analysis.factorize(&a) else {
            continue;
        };
        passed += 1;
        let mut b = vec![0.0; n];
        let bound = factor.forward_error_bound(&a, &b, &b).unwrap();
        assert_eq!(bound, f64::INFINITY);
        // Constants may be added to any answer.
        (b[0], b[n - 1]) = (1.0, -1.0);
        let mut x = b.clone();
        factor.solve_refined(&a, &mut x).unwrap();
        let bound = factor.forward_error_bound(&a, &b, &x).unwrap();
        assert_eq!(bound, f64::INFINITY, "seed {seed}");
    }
    assert!(passed > 5, "{passed}");
}

/// A well-conditioned unknown beside two that are nearly the same.
fn nearly_the_same() -> SymmetricCsc<f64> {
    let values = [1.0, 1.0, 0.999999969, 0.999999938010001];
    SymmetricCsc::lower(3, &[0, 1, 3, 4], &[0, 1, 2, 2], &values).unwrap()
}

#[test]
fn rows_that_vanish_beside_others_are_no_reason_to_go_on_for_ever() {
    let a = nearly_the_same();
    for options in everywhere() {
        let mut factor = factorized(&a, &options);
        for b in [[2f64.powi(200), 1e-290, 0.0], [2f64.powi(30), 1e-320, 0.0]] {
            let mut x = b;
            factor.solve_refined(&a, &mut x).unwrap();
            assert_eq!(x[0], b[0], "{:?}", options.precision);
        }
    }
}

#[test]
fn the_condition_number_in_mixed_precision_is_that_of_the_matrix() {
    let a = nearly_the_same();
    for options in everywhere() {
        let mut factor = factorized(&a, &options);
        let estimate = factor.condition_estimate(&a).unwrap();
        let of_single = options.precision == Precision::F32;
        let is_near = (estimate / 4.04e11 - 1.0).abs() < 0.02;
        assert!(
            of_single || is_near,
            "{:?}: {estimate:e}",
            options.precision
        );
    }
}

#[test]
fn numbers_out_of_the_range_of_single_precision_are_named() {
    let cases = devices()
        .into_iter()
        .flat_map(|device| [(device, 1e-50), (device, 1e45)]);
    for (device, scale) in cases {
        let mut a = model("p2d5_10");
        a.values_mut().iter_mut().for_each(|v| *v *= scale);
        let mut single = options(Precision::F32);
        single.device = device;
        let analysis = Analysis::new(a.pattern(), &single).unwrap();
        let error = analysis.factorize(&a).unwrap_err();
        let cause = error.not_positive_definite().unwrap().cause;
        assert!(
            matches!(cause, Cause::OutOfRange { value, .. } if value.abs() >= scale),
            "{error}"
        );
        // Mixed precision scales.
        let analysis = Analysis::new(a.pattern(), &options(Precision::Mixed)).unwrap();
        let mut x = vec![1.0; a.n()];
        let report = analysis
            .factorize(&a)
            .unwrap()
            .solve_refined(&a, &mut x)
            .unwrap();
        assert!(report.componentwise_backward_error() < 1e-15);
    }
}

#[test]
fn what_vanishes_in_single_precision_alone_is_not_called_singular() {
    // Rounded, the second diagonal entry is 1.
    let a = SymmetricCsc::lower(2, &[0, 2, 3], &[0, 1, 1], &[1.0, 1.0, 1.0 + 1e-10]).unwrap();
    for device in devices() {
        let mut single = options(Precision::F32);
        single.device = device;
        let analysis = Analysis::new(a.pattern(), &single).unwrap();
        let error = analysis.factorize(&a).unwrap_err();
        let cause = error.not_positive_definite().unwrap().cause;
        assert_eq!(cause, Cause::SinglePrecision, "{error}");
    }
    factorized(&a, &options(Precision::F64));
}

/// Right-hand sides of all sizes between 0 and 1, of both signs.
fn right_sides(n: usize, nrhs: usize) -> Vec<f64> {
    let at = |k: usize| ((k * 37 + 101) % 1009) as f64 / 1009.0 - 0.3;
    (0..n * nrhs).map(at).collect()
}

#[test]
fn single_precision_takes_right_hand_sides_of_any_size() {
    let a = model("p2d5_30");
    let single = |options: &Options| options.precision != Precision::F64;
    for options in everywhere().into_iter().filter(single) {
        let mut factor = factorized(&a, &options);
        let answer = |factor: &mut Factor, unit: f64| {
            let mut x = right_sides(a.n(), 3);
            // One of the columns is of another size than the others.
            x[a.n()..2 * a.n()].iter_mut().for_each(|x| *x *= unit);
            let report = factor.solve_refined(&a, &mut x).unwrap();
            x[a.n()..2 * a.n()].iter_mut().for_each(|x| *x /= unit);
            (x, report)
        };
        let (expected, of_one) = answer(&mut factor, 1.0);
        for power in [-900, -140, -100, 100, 140, 900] {
            let (x, report) = answer(&mut factor, 2f64.powi(power));
            let outcome = (report.outcome, report.refine.converged);
            assert_eq!(outcome, (of_one.outcome, of_one.refine.converged));
            for (x, y) in x.iter().zip(&expected) {
                let near = (x - y).abs() <= 1e-12 * y.abs();
                assert!(near, "{options:?} 2^{power}: {x:e} {y:e}");
            }
        }
    }
}
