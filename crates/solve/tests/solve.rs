//! Answers against dense ones, bits for any number of threads, and every way of mixed precision.

use std::sync::Arc;

use tamarack_numeric::{Control, FactorError, FactorOptions, NumericFactor, Team, Value};
use tamarack_ordering::{Method, Workspace, order};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_solve::{
    Host, HostSolver, Inverse, InverseOf, MixedFactor, Outcome, RefineOptions, RefineWorkspace,
    ResidualPrecision, SolveError, SolveWorkspace, Substitution, condition_estimate,
    forward_error_bound, log_determinant, refine, solve,
};
use tamarack_sparse::{Duplicates, SymmetricCsc, Triplets};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
use tamarack_testkit::{
    Family, Rng, componentwise_backward_error, dense_cholesky, dense_full, dense_solve,
    normwise_backward_error, random_spd,
};

fn plan<T: Value>(a: &SymmetricCsc<f64>, threads: usize) -> Arc<FactorPlan> {
    let p = order(a.pattern(), &Method::default(), &mut Workspace::new()).unwrap();
    let s = SymbolicFactor::analyze(a.pattern(), &p, &SymbolicOptions::default()).unwrap();
    let options = PlanOptions {
        precision: T::PRECISION,
        ..PlanOptions::default()
    };
    Arc::new(FactorPlan::new(Arc::new(s), &machine(threads), &options).unwrap())
}

fn machine(threads: usize) -> Machine {
    Machine::slow(threads, 1e6)
}

fn factorize(a: &SymmetricCsc<f64>, threads: usize) -> NumericFactor<f64> {
    let (plan, team) = (plan::<f64>(a, threads), Arc::new(Team::new(threads)));
    NumericFactor::factorize(
        plan,
        team,
        a,
        &FactorOptions::default(),
        &Control::default(),
    )
    .unwrap()
}

fn mixed(a: &SymmetricCsc<f64>) -> Result<MixedFactor, SolveError> {
    let (plan, team) = (plan::<f32>(a, 2), Arc::new(Team::new(2)));
    let options = FactorOptions::default();
    let substitution = Arc::new(Substitution::new(plan.symbolic()));
    let host = Box::new(Host::new(plan, substitution, &machine(2), team));
    MixedFactor::factorize(host, a, &options, &Control::default())
}

/// 7-point Laplacian on a cube.
fn cube(m: u32) -> SymmetricCsc<f64> {
    let mut t = Triplets::new((m * m * m) as usize).unwrap();
    for i in 0..m * m * m {
        t.push(i, i, 6.0).unwrap();
        for (step, inside) in [
            (1, i % m + 1 < m),
            (m, i / m % m + 1 < m),
            (m * m, i / (m * m) + 1 < m),
        ] {
            if inside {
                t.push(i + step, i, -1.0).unwrap();
            }
        }
    }
    t.into_symmetric(Duplicates::Sum).unwrap()
}

/// Stiff springs in a row, held at one end: condition about `stiff·n²`.
fn chain(n: u32, stiff: f64) -> SymmetricCsc<f64> {
    let mut t = Triplets::new(n as usize).unwrap();
    for i in 0..n {
        let spring = if i % 3 == 0 { stiff } else { 1.0 };
        t.push(i, i, spring).unwrap();
        if i > 0 {
            t.push(i - 1, i - 1, spring).unwrap();
            t.push(i, i - 1, -spring).unwrap();
        }
    }
    t.into_symmetric(Duplicates::Sum).unwrap()
}

fn right_side(n: usize, nrhs: usize) -> Vec<f64> {
    let mut rng = Rng::new(5);
    (0..n * nrhs).map(|_| rng.signed()).collect()
}

#[test]
fn answers_are_those_of_a_dense_solver() {
    for (round, family) in Family::ALL.into_iter().enumerate() {
        for (n, nrhs) in [(1, 1), (2, 3), (37, 17), (80, 33), (120, 0), (60, 70)] {
            let a = random_spd(family, n, round as u64);
            let n = a.n();
            let factor = factorize(&a, 1 + round % 3);
            let plan = Substitution::new(factor.symbolic());
            let mut workspace = SolveWorkspace::new(&factor, &plan, nrhs);
            let b = right_side(n, nrhs);
            let mut x = b.clone();
            solve(&factor, &plan, &mut x, nrhs, &mut workspace).unwrap();
            let mut l = dense_full(&a);
            dense_cholesky(n, &mut l).unwrap();
            for (b, x) in b.chunks(n.max(1)).zip(x.chunks(n.max(1))) {
                assert!(normwise_backward_error(&a, x, b) < 1e-14, "{family:?} {n}");
                for (x, d) in x.iter().zip(dense_solve(n, &l, b)) {
                    assert!(
                        (x - d).abs() <= 1e-8 * d.abs().max(1.0),
                        "{family:?} {n}: {x} {d}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_empty_system_has_an_empty_answer() {
    let a = SymmetricCsc::lower(0, &[0u64], &[] as &[u32], &[]).unwrap();
    let factor = factorize(&a, 2);
    let plan = Substitution::new(factor.symbolic());
    let mut workspace = SolveWorkspace::new(&factor, &plan, 1);
    solve::<f64, f64>(&factor, &plan, &mut [], 3, &mut workspace).unwrap();
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let a = cube(26);
    for nrhs in [1, 5] {
        let b = right_side(a.n(), nrhs);
        let answers: Vec<Vec<u64>> = [1, 2, 3, 8]
            .map(|threads| {
                let factor = factorize(&a, threads);
                let plan = Substitution::new(factor.symbolic());
                let mut workspace = SolveWorkspace::new(&factor, &plan, nrhs);
                let mut x = b.clone();
                solve(&factor, &plan, &mut x, nrhs, &mut workspace).unwrap();
                assert!(normwise_backward_error(&a, &x[..a.n()], &b[..a.n()]) < 1e-14);
                x.iter().map(|v| v.to_bits()).collect()
            })
            .into();
        assert!(answers.iter().all(|x| x == &answers[0]));
    }
}

#[test]
fn wrong_lengths_stale_factors_and_foreign_workspaces_are_refused() {
    let (a, other) = (cube(4), cube(5));
    let mut factor = factorize(&a, 1);
    let plan = Substitution::new(factor.symbolic());
    let mut workspace = SolveWorkspace::new(&factor, &plan, 1);
    let mut x = vec![0.0; 63];
    let found = solve(&factor, &plan, &mut x, 1, &mut workspace);
    assert!(matches!(
        found,
        Err(SolveError::Length {
            found: 63,
            expected: 64,
            ..
        })
    ));
    x.push(0.0);
    let foreign = factorize(&other, 1);
    let foreign_plan = Substitution::new(foreign.symbolic());
    let mut foreign = SolveWorkspace::new(&foreign, &foreign_plan, 1);
    let found = solve(&factor, &plan, &mut x, 1, &mut foreign);
    assert!(matches!(found, Err(SolveError::Workspace)));
    let bad = a
        .with_values(a.values().iter().map(|v| -v).collect())
        .unwrap();
    assert!(factor.refactorize(&bad, &Control::default()).is_err());
    let found = solve(&factor, &plan, &mut x, 1, &mut workspace);
    assert!(matches!(found, Err(SolveError::Stale)));
    assert!(matches!(log_determinant(&factor), Err(SolveError::Stale)));
}

#[test]
fn memory_for_another_factor_of_the_same_order_is_refused() {
    let n = 400;
    let small = factorize(&chain(n, 1e7), 1);
    let large = {
        let mut all = Triplets::new(n as usize).unwrap();
        for i in 0..n {
            (0..i).for_each(|j| all.push(i, j, -1.0).unwrap());
            all.push(i, i, f64::from(n)).unwrap();
        }
        factorize(&all.into_symmetric(Duplicates::Sum).unwrap(), 1)
    };
    let plans = [&small, &large].map(|f| Substitution::new(f.symbolic()));
    let mut x = right_side(n as usize, 1);
    let before = x.clone();
    // The front of the one has 8 rows and that of the other 400.
    let mut workspace = SolveWorkspace::new(&small, &plans[0], 1);
    for plan in &plans {
        let found = solve(&large, plan, &mut x, 1, &mut workspace);
        assert!(matches!(found, Err(SolveError::Workspace)));
    }
    let mut workspace = SolveWorkspace::new(&large, &plans[0], 1);
    let found = solve(&large, &plans[0], &mut x, 1, &mut workspace);
    assert!(matches!(found, Err(SolveError::Workspace)));
    assert_eq!(x, before);
}

#[test]
fn refinement_reaches_the_rounding_unit_and_keeps_the_best() {
    let a = chain(400, 1e7);
    let factor = factorize(&a, 1);
    let plan = Substitution::new(factor.symbolic());
    let b = right_side(400, 4);
    // A poor start: refinement has something to do.
    let mut x = vec![0.0; 1600];
    let mut inverse = HostSolver::new(factor, plan.into());
    let options = RefineOptions::default();
    let report = refine(
        &a,
        &mut inverse,
        &b,
        &mut x,
        4,
        &options,
        &mut RefineWorkspace::default(),
    )
    .unwrap();
    assert!(report.converged && report.steps() >= 1);
    for (c, (b, x)) in b.chunks(400).zip(x.chunks(400)).enumerate() {
        let (normwise, componentwise) = (
            normwise_backward_error(&a, x, b),
            componentwise_backward_error(&a, x, b),
        );
        assert!(
            normwise < 1e-15 && componentwise < 1e-14,
            "{normwise:e} {componentwise:e}"
        );
        let column = &report.columns[c];
        assert!((column.normwise_backward_error - normwise).abs() <= 1e-16);
    }
    let zero = vec![0.0; 400];
    let mut x = zero.clone();
    let report = refine(
        &a,
        &mut inverse,
        &zero,
        &mut x,
        1,
        &options,
        &mut RefineWorkspace::default(),
    );
    assert_eq!(report.unwrap().componentwise_backward_error(), 0.0);
    assert_eq!(x, zero);
}

#[test]
fn residuals_in_twice_the_precision_make_the_answer_itself_accurate() {
    let a = chain(300, 2f64.powi(26));
    let exact: Vec<f64> = (0..300).map(|i| f64::from(i % 7) - 3.0).collect();
    let mut b = vec![0.0; 300];
    a.matvec(&exact, &mut b); // exact: small integers times powers of two
    let factor = factorize(&a, 1);
    let plan = Substitution::new(factor.symbolic());
    let mut inverse = HostSolver::new(factor, plan.into());
    let options = RefineOptions {
        residual: ResidualPrecision::Quad,
        stop_at: Some(0.0),
        ..RefineOptions::default()
    };
    let mut x = vec![0.0; 300];
    refine(
        &a,
        &mut inverse,
        &b,
        &mut x,
        1,
        &options,
        &mut RefineWorkspace::default(),
    )
    .unwrap();
    let error = x
        .iter()
        .zip(&exact)
        .map(|(x, e)| (x - e).abs())
        .fold(0.0, f64::max);
    assert!(error < 1e-14, "{error:e}");
}

#[test]
fn the_condition_estimate_is_near_the_truth() {
    for (n, stiff) in [(1, 1.0), (2, 10.0), (40, 1.0), (60, 1e6)] {
        let a = chain(n, stiff);
        let n = n as usize;
        let factor = factorize(&a, 1);
        let plan = Substitution::new(factor.symbolic());
        let mut inverse = HostSolver::new(factor, plan.into());
        let found = condition_estimate(&a, &mut inverse).unwrap();
        let mut l = dense_full(&a);
        dense_cholesky(n, &mut l).unwrap();
        let unit = |j: usize| {
            (0..n)
                .map(|i| f64::from(u8::from(i == j)))
                .collect::<Vec<_>>()
        };
        let column = |j| {
            dense_solve(n, &l, &unit(j))
                .iter()
                .map(|v| v.abs())
                .sum::<f64>()
        };
        let truth = a.norm_inf() * (0..n).map(column).fold(0.0, f64::max);
        assert!(
            found <= truth * 1.0001 && found >= truth / 3.0,
            "{found:e} {truth:e}"
        );
        let log_det: f64 = (0..n).map(|i| 2.0 * l[i + i * n].ln()).sum();
        assert!(
            (log_determinant(inverse.factor()).unwrap() - log_det).abs()
                < 1e-9 * log_det.abs().max(1.0)
        );
        let b = right_side(n, 1);
        let mut x = b.clone();
        inverse.apply(&mut x, 1).unwrap();
        let bound = forward_error_bound(&a, &mut inverse, InverseOf::Matrix, &b, &x).unwrap();
        let exact = dense_solve(n, &l, &b);
        let size = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let error = x
            .iter()
            .zip(&exact)
            .map(|(x, e)| (x - e).abs())
            .fold(0.0, f64::max)
            / size;
        assert!(error <= bound * 2.0 && bound < 1.0, "{error:e} {bound:e}");
    }
}

fn check_mixed(a: &SymmetricCsc<f64>, nrhs: usize) -> Outcome {
    let mut factor = mixed(a).unwrap();
    let b = right_side(a.n(), nrhs);
    let mut x = vec![f64::NAN; b.len()];
    let options = RefineOptions::default();
    let report = factor
        .solve_refined(a, &b, &mut x, nrhs, &options, &Control::default())
        .unwrap();
    assert!(report.refine.converged, "{report:?}");
    for (b, x) in b.chunks(a.n()).zip(x.chunks(a.n())) {
        let (normwise, componentwise) = (
            normwise_backward_error(a, x, b),
            componentwise_backward_error(a, x, b),
        );
        assert!(
            normwise < 2e-15 && componentwise < 1e-14,
            "{normwise:e} {componentwise:e}"
        );
    }
    report.outcome
}

#[test]
fn mixed_refines_where_the_condition_allows() {
    assert_eq!(check_mixed(&cube(12), 3), Outcome::Refined);
}

#[test]
fn mixed_takes_conjugate_gradients_where_refinement_stagnates() {
    // Which of these is between the reach of refinement and the loss of positive pivots depends on
    // the rounding of the kernels; all must converge.
    let outcomes = [8000, 12000, 16000, 24000, 48000].map(|n| check_mixed(&chain(n, 10.0), 2));
    let gradients = |o: &Outcome| matches!(o, Outcome::ConjugateGradients { steps } if *steps > 0);
    assert!(outcomes.iter().any(gradients), "{outcomes:?}");
}

#[test]
fn mixed_falls_back_to_double_where_single_precision_sees_no_positive_pivot() {
    // Hilbert's matrix: singular in single precision from order 8 or so.
    let n = 11u32;
    let mut t = Triplets::new(n as usize).unwrap();
    for j in 0..n {
        for i in j..n {
            t.push(i, j, 1.0 / f64::from(i + j + 1)).unwrap();
        }
    }
    let a = t.into_symmetric(Duplicates::Sum).unwrap();
    let mut factor = mixed(&a).unwrap();
    assert_eq!(check_mixed(&a, 1), Outcome::Double);
    // Other values: single precision again.
    let easy = a.with_values(
        a.values()
            .iter()
            .map(|v| if *v == 1.0 { 9.0 } else { *v })
            .collect(),
    );
    let mut values = easy.unwrap().values().to_vec();
    for j in 0..n as usize {
        values[a.pattern().range(j).start] = 9.0;
    }
    let easy = a.with_values(values).unwrap();
    factor.refactorize(&easy, &Control::default()).unwrap();
    let (b, mut x) = (right_side(11, 1), vec![0.0; 11]);
    let options = RefineOptions::default();
    factor
        .solve_refined(&easy, &b, &mut x, 1, &options, &Control::default())
        .unwrap();
    assert!(normwise_backward_error(&easy, &x, &b) < 1e-15);
}

#[test]
fn mixed_scales_what_single_precision_cannot_hold() {
    let a = cube(6);
    let scale = |i: usize| 10f64.powi(((i * 37) % 61) as i32 - 30);
    let mut values = a.values().to_vec();
    for j in 0..a.n() {
        for k in a.pattern().range(j) {
            values[k] *= scale(j) * scale(a.pattern().row_idx()[k] as usize);
        }
    }
    let a = a.with_values(values).unwrap();
    let mut factor = mixed(&a).unwrap();
    let (b, mut x) = (right_side(a.n(), 1), vec![0.0; a.n()]);
    let options = RefineOptions::default();
    let report = factor
        .solve_refined(&a, &b, &mut x, 1, &options, &Control::default())
        .unwrap();
    assert!(
        componentwise_backward_error(&a, &x, &b) < 1e-13,
        "{report:?}"
    );
    assert_ne!(report.outcome, Outcome::Double);
}

#[test]
fn mixed_reports_what_is_not_positive_definite() {
    let a = cube(5);
    let mut values = a.values().to_vec();
    values[a.pattern().range(31).start] = -2.0;
    let bad = a.with_values(values).unwrap();
    match mixed(&bad) {
        Err(SolveError::Factor(FactorError::NotPositiveDefinite(report))) => {
            assert_eq!(report.column.get(), 31);
        }
        other => panic!("{other:?}"),
    }
}
