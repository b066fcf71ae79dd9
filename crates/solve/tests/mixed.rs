//! Every way of mixed precision: refinement, conjugate gradients, a factor in double precision.

mod common;

use std::sync::Arc;

use common::{machine, plan, right_side};
use tamarack_numeric::{Control, FactorError, FactorOptions, Team};
use tamarack_solve::{Host, MixedFactor, Outcome, RefineOptions, SolveError, Substitution};
use tamarack_sparse::SymmetricCsc;
use tamarack_testkit::{
    chain, componentwise_backward_error, hilbert, model, normwise_backward_error,
};

fn mixed(a: &SymmetricCsc<f64>) -> Result<MixedFactor, SolveError> {
    let (plan, team) = (plan::<f32>(a, 2), Arc::new(Team::new(2)));
    let options = FactorOptions::default();
    let substitution = Arc::new(Substitution::new(plan.symbolic()));
    let host = Box::new(Host::new(plan, substitution, &machine(2), team));
    MixedFactor::factorize(host, a, &options, &Control::default())
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
    assert_eq!(check_mixed(&model("p3d7_12"), 3), Outcome::Refined);
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
    let a = hilbert(11);
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
    for j in 0..a.n() {
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
    let a = model("p3d7_6");
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
    let a = model("p3d7_5");
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
