//! Thousands of fronts below one: sum fronts and groves, factorized and solved with, end to end.

use std::sync::Arc;

use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team};
use tamarack_ordering::{Method, Workspace, order};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_solve::{SolveWorkspace, Substitution, solve};
use tamarack_sparse::models::Model;
use tamarack_sparse::{Duplicates, Permutation, SymmetricCsc, Triplets};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
use tamarack_testkit::{Rng, componentwise_backward_error};

/// A bundle adjustment: every point is seen by a few neighboring cameras, blocks of 3 and 6.
fn bundle(points: u32, cameras: u32) -> SymmetricCsc<f64> {
    let mut rng = Rng::new(7);
    let n = 3 * points + 6 * cameras;
    let mut t = Triplets::new(n as usize).unwrap();
    for i in 0..n {
        t.push(i, i, 90.0).unwrap();
    }
    for point in 0..points {
        let first = rng.below(cameras as usize) as u32;
        for camera in (first..cameras).take(5) {
            for row in 3 * points + 6 * camera..3 * points + 6 * camera + 6 {
                for column in 3 * point..3 * point + 3 {
                    t.push(row, column, rng.unit() - 0.5).unwrap();
                }
            }
        }
    }
    // The cameras' own diagonal outweighs all points.
    for i in 3 * points..n {
        t.push(i, i, f64::from(points)).unwrap();
    }
    t.into_symmetric(Duplicates::Sum).unwrap()
}

fn analyze(a: &SymmetricCsc<f64>, order: &Permutation) -> Arc<SymbolicFactor> {
    let s = SymbolicFactor::analyze(a.pattern(), order, &SymbolicOptions::default()).unwrap();
    Arc::new(s)
}

fn answer(
    a: &SymmetricCsc<f64>,
    symbolic: &Arc<SymbolicFactor>,
    threads: usize,
    b: &[f64],
    nrhs: usize,
) -> Vec<f64> {
    let machine = Machine::slow(threads, 1e6);
    let plan = FactorPlan::new(symbolic.clone(), &machine, &PlanOptions::default()).unwrap();
    let (options, control) = (FactorOptions::default(), Control::default());
    let team = Arc::new(Team::new(threads));
    let factor = NumericFactor::factorize(Arc::new(plan), team, a, &options, &control).unwrap();
    let plan = Substitution::new(factor.symbolic());
    let mut workspace = SolveWorkspace::new(&factor, &plan, nrhs);
    let mut x = b.to_vec();
    solve(&factor, &plan, &mut x, nrhs, &mut workspace).unwrap();
    x
}

/// Solves, one and several right-hand sides, and compares threads bit for bit.
fn check(a: &SymmetricCsc<f64>, symbolic: &Arc<SymbolicFactor>) {
    let n = a.n();
    for nrhs in [1, 3] {
        let b: Vec<f64> = (0..n * nrhs).map(|i| (i % 17) as f64 - 8.0).collect();
        let x = answer(a, symbolic, 1, &b, nrhs);
        for r in 0..nrhs {
            let rows = r * n..(r + 1) * n;
            let error = componentwise_backward_error(a, &x[rows.clone()], &b[rows]);
            assert!(error < 1e-14, "backward error {error:e}");
        }
        for threads in [2, 5] {
            let other = answer(a, symbolic, threads, &b, nrhs);
            let same = x
                .iter()
                .zip(&other)
                .all(|(x, y)| x.to_bits() == y.to_bits());
            assert!(same, "{threads} threads, {nrhs} right-hand sides");
        }
    }
}

#[test]
fn points_below_cameras() {
    let a = bundle(4000, 20);
    let symbolic = analyze(&a, &Permutation::identity(a.n()));
    let sums = (0..symbolic.supernodes()).filter(|&s| symbolic.npiv(s) == 0);
    let sums = sums.count();
    assert!(sums > 10, "{sums} sum fronts");
    let saved = SymbolicFactor::from_bytes(&symbolic.to_bytes());
    assert_eq!(saved.as_ref(), Ok(&*symbolic));
    check(&a, &symbolic);
}

#[test]
fn small_subtrees_below_hubs() {
    let model: Model = "circuit_40000".parse().unwrap();
    let a = model.generate::<f64>().unwrap();
    let order = order(a.pattern(), &Method::default(), &mut Workspace::new()).unwrap();
    check(&a, &analyze(&a, &order));
}
