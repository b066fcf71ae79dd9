//! Answers against dense ones, bits for any number of threads, refinement and estimates.

mod common;

use std::sync::Arc;

use common::{plan, right_side};
use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team};
use tamarack_solve::{
    Diagonal, Half, HostSolver, Inverse, InverseOf, RefineOptions, RefineWorkspace,
    ResidualPrecision, SolveError, SolveWorkspace, Substitution, condition_estimate,
    forward_error_bound, refine, solve, solve_half,
};
use tamarack_sparse::{Duplicates, SymmetricCsc, Triplets};
use tamarack_testkit::{
    Family, chain, componentwise_backward_error, dense_cholesky, dense_full, dense_solve, model,
    normwise_backward_error, random_spd,
};

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
    let a = model("p3d7_26");
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
fn bits_of_halves_do_not_depend_on_the_number_of_threads() {
    let a = model("p3d7_26");
    let b = right_side(a.n(), 3);
    for half in [Half::Lower, Half::Transposed] {
        let [one, two, many] = [1, 2, 8].map(|threads| {
            let factor = factorize(&a, threads);
            let plan = Substitution::new(factor.symbolic());
            let mut workspace = SolveWorkspace::new(&factor, &plan, 3);
            let mut x = b.clone();
            solve_half(half, &factor, &plan, &mut x, 3, &mut workspace).unwrap();
            x.iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
        });
        assert!(one == two && one == many, "{half:?}");
    }
}

#[test]
fn wrong_lengths_stale_factors_and_foreign_workspaces_are_refused() {
    let (a, other) = (model("p3d7_4"), model("p3d7_5"));
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
    assert!(matches!(Diagonal::of(&factor), Err(SolveError::Stale)));
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
            (Diagonal::of(inverse.factor()).unwrap().log_determinant() - log_det).abs()
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
