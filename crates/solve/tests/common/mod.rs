//! What the tests of this folder share.

use std::sync::Arc;

use tamarack_numeric::Value;
use tamarack_ordering::{Method, Workspace, order};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::SymmetricCsc;
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
use tamarack_testkit::Rng;

/// A plan by the default ordering.
pub fn plan<T: Value>(a: &SymmetricCsc<f64>, threads: usize) -> Arc<FactorPlan> {
    let p = order(a.pattern(), &Method::default(), &mut Workspace::new()).unwrap();
    let s = SymbolicFactor::analyze(a.pattern(), &p, &SymbolicOptions::default()).unwrap();
    let options = PlanOptions {
        precision: T::PRECISION,
        ..PlanOptions::default()
    };
    Arc::new(FactorPlan::new(Arc::new(s), &machine(threads), &options).unwrap())
}

/// So slow that all threads are called for every matrix.
pub fn machine(threads: usize) -> Machine {
    Machine::slow(threads, 1e6)
}

/// Random numbers: `n × nrhs`, column-major.
pub fn right_side(n: usize, nrhs: usize) -> Vec<f64> {
    let mut rng = Rng::new(5);
    (0..n * nrhs).map(|_| rng.signed()).collect()
}
