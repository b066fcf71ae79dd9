//! The factor against a dense one, its bits for any number of threads, and every way it can fail.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{cube, entries, factorize, plan, product_error};
use tamarack_numeric::{
    Cause, Control, FactorError, FactorOptions, NumericFactor, OnNotSpd, Team, Value,
};
use tamarack_sparse::{Duplicates, Permutation, Scalar, SymmetricCsc, Triplets, UserIdx};
use tamarack_testkit::{Rng, pattern_of_edges, random_permutation, spd_with_pattern};

/// Diagonally dominant with about `degree` entries a column.
fn random_spd(n: usize, degree: usize, seed: u64) -> SymmetricCsc<f64> {
    let mut random = Rng::new(seed);
    let edges: Vec<_> = (0..n * degree / 2)
        .map(|_| (random.below(n), random.below(n)))
        .collect();
    spd_with_pattern(pattern_of_edges(n, &edges).shared(), seed)
}

/// L as a dense matrix in elimination order, column-major.
fn dense_factor<T: Value>(f: &NumericFactor<T>) -> Vec<f64> {
    let n = f.symbolic().n();
    let mut l = vec![0.0; n * n];
    for (i, j, entry) in entries(f) {
        l[i + j * n] = entry;
    }
    l
}

/// Largest entry of `P A Pᵀ − L Lᵀ` over the largest of A.
fn defect<T: Value>(a: &SymmetricCsc<T>, f: &NumericFactor<T>) -> f64 {
    let (n, p, l) = (a.n(), f.symbolic().permutation(), dense_factor(f));
    let mut product = vec![0.0; n * n];
    for k in 0..n {
        for j in k..n {
            for i in j..n {
                product[i + j * n] += l[i + k * n] * l[j + k * n];
            }
        }
    }
    let mut largest = 0.0f64;
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (&i, &v) in rows.iter().zip(values) {
            let (pi, pj) = (p.elim(UserIdx(i)).get(), p.elim(UserIdx(j as u32)).get());
            product[pi.max(pj) + pi.min(pj) * n] -= Scalar::to_f64(v);
            largest = largest.max(Scalar::to_f64(v).abs());
        }
    }
    product
        .iter()
        .fold(0.0, |m: f64, &d| if d.abs() <= m { m } else { d.abs() })
        / largest.max(1e-300)
}

#[test]
fn l_times_its_transpose_is_the_matrix() {
    for round in 0..60 {
        let n = [1, 2, 3, 5, 17, 40, 97, 150][round % 8];
        let degree = [1, 3, 6, 20][round % 4];
        let a = random_spd(n, degree, round as u64);
        let order = random_permutation(n, round as u64);
        let (threads, block) = ([1, 2, 3][round % 3], [4, 16, 64][round / 3 % 3]);
        let error = defect(&a, &factorize(&a, &order, threads, block).unwrap());
        assert!(error < 1e-14, "n {n}, degree {degree}: {error:e}");
        let single = a.cast::<f32>();
        let error = defect(
            &single,
            &factorize(&single, &order, threads, block).unwrap(),
        );
        assert!(error < 1e-5, "f32, n {n}, degree {degree}: {error:e}");
    }
}

#[test]
fn the_empty_matrix_has_an_empty_factor() {
    let a = SymmetricCsc::<f64>::lower(0, &[0u64], &[] as &[u32], &[]).unwrap();
    assert!(
        factorize(&a, &Permutation::identity(0), 2, 64)
            .unwrap()
            .is_current()
    );
}

/// Fronts up to order 700: shared by the team, in several tiles and block columns.
#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let (a, order) = cube(24);
    let reference = factorize(&a, &order, 1, 64).unwrap();
    assert!(
        reference.plan().largest_front() > 700,
        "{}",
        reference.plan().largest_front()
    );
    assert!(product_error(&a, &reference) < 1e-14);
    for threads in [2, 3, 8, 16] {
        let mut f = factorize(&a, &order, threads, 64).unwrap();
        assert!(!f.plan().top().is_empty());
        // Several fronts at a time.
        assert_eq!(f.plan().top_window() > 0, threads > 2);
        for _ in 0..3 {
            for s in 0..f.symbolic().supernodes() {
                let (layout, mine, theirs) =
                    (f.plan().panel_layout(s), f.panel(s), reference.panel(s));
                for j in 0..layout.cols() {
                    for i in j..layout.rows() {
                        let k = layout.index(i, j);
                        assert_eq!(mine[k].to_bits(), theirs[k].to_bits(), "{threads} threads");
                    }
                }
            }
            f.refactorize(&a, &Control::default()).unwrap();
        }
    }
}

#[test]
fn every_column_can_fail_and_is_named() {
    let good = random_spd(60, 5, 3);
    let order =
        Permutation::from_elimination_order(&(0..60u32).map(|i| (i * 7) % 60).collect::<Vec<_>>())
            .unwrap();
    for column in 0..60 {
        let mut values = good.values().to_vec();
        values[good.pattern().range(column).start] = -1.0;
        let bad = good.with_values(values).unwrap();
        let reports: Vec<_> = [1, 2, 4]
            .map(|threads| match factorize(&bad, &order, threads, 16) {
                Err(FactorError::NotPositiveDefinite(report)) => report,
                other => panic!("column {column}: {other:?}"),
            })
            .into();
        assert!(
            reports.iter().all(|r| r == &reports[0]),
            "differs by threads: {reports:?}"
        );
        assert_eq!(reports[0].column, UserIdx(column as u32));
        assert_eq!(reports[0].cause, Cause::NegativeDiagonal { value: -1.0 });
    }
}

#[test]
fn the_first_of_several_failures_is_reported() {
    let (a, order) = cube(12);
    for seed in 0..10 {
        let mut random = Rng::new(seed);
        let mut values = a.values().to_vec();
        let bad: Vec<usize> = (0..6).map(|_| random.below(a.n())).collect();
        for &j in &bad {
            values[a.pattern().range(j).start] = -1.0;
        }
        let bad_matrix = a.with_values(values).unwrap();
        let mut reports = Vec::new();
        for threads in [1, 2, 8] {
            match factorize(&bad_matrix, &order, threads, 64) {
                Err(FactorError::NotPositiveDefinite(report)) => reports.push(report),
                other => panic!("{other:?}"),
            }
        }
        assert!(reports.iter().all(|r| r == &reports[0]), "{reports:?}");
        assert!(bad.contains(&reports[0].column.get()));
    }
}

#[test]
fn causes_are_told_apart() {
    let (a, order) = cube(6);
    let cause = |column: usize, entry: usize, value: f64| {
        let mut values = a.values().to_vec();
        values[a.pattern().range(column).start + entry] = value;
        match factorize(&a.with_values(values).unwrap(), &order, 2, 64) {
            Err(FactorError::NotPositiveDefinite(report)) => report,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cause(5, 0, 0.0).cause, Cause::ZeroDiagonal);
    let nan = cause(100, 1, f64::NAN);
    let row = UserIdx(a.column(100).0[1]);
    assert!(matches!(nan.cause, Cause::NotFinite { row: r, column: UserIdx(100), .. } if r == row));
    assert!(nan.pivot.is_nan());
    assert!(matches!(
        cause(7, 0, f64::INFINITY).cause,
        Cause::NotFinite { .. }
    ));
    assert_eq!(cause(7, 1, 100.0).cause, Cause::Indefinite);
    // The Laplacian of a closed graph: constant vectors are in its null space.
    let n = 50u32;
    let mut t = Triplets::new(n as usize).unwrap();
    for i in 0..n {
        t.push(i, i, 2.0).unwrap();
        t.push((i + 1) % n, i, -1.0).unwrap();
    }
    let ring = t.into_symmetric(Duplicates::Sum).unwrap();
    let identity = Permutation::identity(n as usize);
    match factorize(&ring, &identity, 1, 64) {
        Err(FactorError::NotPositiveDefinite(r)) => assert_eq!(r.cause, Cause::MissingConstraint),
        // Rounding may leave a tiny positive pivot instead; then L's last pivot shows it.
        other => {
            let factor = other.unwrap();
            assert!(dense_factor(&factor).last().is_some_and(|&l| l < 1e-6));
        }
    }
}

#[test]
fn a_shift_makes_it_definite_and_is_told() {
    let (a, order) = cube(6);
    let mut values = a.values().to_vec();
    values[a.pattern().range(17).start] = -0.5;
    let bad = a.with_values(values).unwrap();
    let (plan, team) = (plan(&bad, &order, 2, 64), Arc::new(Team::new(2)));
    let options = FactorOptions {
        not_spd: OnNotSpd::Shift,
    };
    let mut f = NumericFactor::factorize(plan, team, &bad, &options, &Control::default()).unwrap();
    let sigma = f.shift().unwrap();
    assert!(sigma > 0.5 && sigma < 100.0, "{sigma}");
    f.refactorize(&a, &Control::default()).unwrap();
    assert_eq!(f.shift(), None);
}

#[test]
fn a_failed_refactorization_leaves_the_factor_stale_until_the_next() {
    let (a, order) = cube(8);
    let mut f = factorize(&a, &order, 2, 64).unwrap();
    let first = f.panel(0).to_vec();
    let bad = a
        .with_values(a.values().iter().map(|v| -v).collect())
        .unwrap();
    assert!(f.refactorize(&bad, &Control::default()).is_err());
    assert!(!f.is_current());
    f.refactorize(&a, &Control::default()).unwrap();
    assert!(f.is_current());
    assert_eq!(f.panel(0), first);
    let (other, _) = cube(7);
    assert!(matches!(
        f.refactorize(&other, &Control::default()),
        Err(FactorError::Pattern { .. })
    ));
    assert!(f.is_current());
}

#[test]
fn progress_rises_to_the_total_and_cancel_is_obeyed() {
    let (a, order) = cube(24);
    let (plan, team) = (plan(&a, &order, 2, 64), Arc::new(Team::new(2)));
    let options = FactorOptions::default();
    let (calls, cancel) = (AtomicUsize::new(0), AtomicBool::new(false));
    let watch = |p: tamarack_numeric::Progress| {
        assert!(p.done_flops <= p.total_flops);
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let control = Control {
        progress: Some(&watch),
        cancel: Some(&cancel),
    };
    let f = NumericFactor::factorize(plan.clone(), team.clone(), &a, &options, &control);
    assert!(f.is_ok());
    assert!(
        (20..400).contains(&calls.load(Ordering::Relaxed)),
        "{calls:?}"
    );
    let stop = |_: tamarack_numeric::Progress| cancel.store(true, Ordering::Relaxed);
    let control = Control {
        progress: Some(&stop),
        cancel: Some(&cancel),
    };
    let started = Instant::now();
    let f = NumericFactor::factorize(plan, team, &a, &options, &control);
    assert!(matches!(f, Err(FactorError::Cancelled)), "{f:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
}
