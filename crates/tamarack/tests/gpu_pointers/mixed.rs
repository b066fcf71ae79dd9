//! Mixed precision, and its other means.

use super::*;

#[test]
fn mixed_takes_its_other_means_on_the_device() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    options.precision = Precision::Mixed;
    let mut taken = Vec::new();
    let matrices = [
        hilbert(11),
        chain(8000, 10.0),
        chain(16000, 10.0),
        chain(48000, 10.0),
        chain(200_000, 10.0),
    ];
    for a in matrices {
        let n = a.n();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let values = stream.to_device(gpu, a.values()).unwrap();
        let mut factor = analysis.factorize_device(values.view()).unwrap();
        let b = right_sides(n, 2);
        let right = Columns::new(gpu, &stream, &b, n, n);
        let mut x = Columns::new(gpu, &stream, &b, n, n);
        for round in 0..2 {
            let report = factor
                .solve_refined_device(right.view(), x.view_mut())
                .unwrap();
            let error = report.componentwise_backward_error();
            assert!(error < 1e-14, "{n}: {error:e}");
            taken.push((report.outcome, n));
            if round == 0 {
                factor.refactorize_device(values.view()).unwrap();
            }
        }
    }
    assert_eq!(taken[0], (Outcome::Double, 11));
    assert_eq!(taken[1], (Outcome::Double, 11));
    let stagnated = |(outcome, _): &(Outcome, usize)| matches!(outcome, Outcome::ConjugateGradients { steps } if *steps > 0);
    assert!(taken.iter().any(stagnated), "{taken:?}");
}

#[test]
fn mixed_takes_right_hand_sides_of_any_size_and_none_that_are_not_finite_to_heart() {
    let Some((mut options, gpu)) = options() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    options.precision = Precision::Mixed;
    let a = model("p2d5_40");
    let n = a.n();
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let values = stream.to_device(gpu, a.values()).unwrap();
    let mut factor = analysis.factorize_device(values.view()).unwrap();
    let units =
        [1.0, 1e-300, 1e-40, 1e-20, 1e20, 1e40, 1e250].map(|unit: f64| unit.log2().round().exp2());
    let one = right_sides(n, 1);
    let b: Vec<f64> = units
        .iter()
        .flat_map(|unit| one.iter().map(move |b| b * unit))
        .collect();
    let right = Columns::new(gpu, &stream, &b, n, n + 3);
    let mut x = Columns::new(gpu, &stream, &b, n, n + 1);
    let report = factor
        .solve_refined_device(right.view(), x.view_mut())
        .unwrap();
    assert_eq!(report.outcome, Outcome::Refined);
    assert!(report.componentwise_backward_error() < 1e-15);
    let x = x.get(&stream);
    for (unit, column) in units.iter().zip(x.chunks(n)) {
        let near = |(x, y): (&f64, &f64)| (x / unit - y).abs() <= 1e-12 * y.abs();
        assert!(column.iter().zip(&x[..n]).all(near), "{unit:e}");
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let mut b = right_sides(n, 2);
        b[n + 7] = bad;
        let right = Columns::new(gpu, &stream, &b, n, n + 2);
        let mut x = Columns::new(gpu, &stream, &b, n, n);
        let report = factor
            .solve_refined_device(right.view(), x.view_mut())
            .unwrap();
        assert_ne!(report.outcome, Outcome::Double);
        assert!(report.refine.columns[0].componentwise_backward_error < 1e-15);
        assert!(
            report.refine.columns[1]
                .componentwise_backward_error
                .is_nan()
        );
    }
}
