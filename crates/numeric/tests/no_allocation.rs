//! Refactorization allocates nothing, on one thread and on several.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::{Permutation, SymmetricCsc};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
use tamarack_testkit::{CountingAllocator, bundle_adjustment, model};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

/// Odd-even order: a tree with many leaves, whatever that costs in fill.
fn odd_even(n: u32) -> Permutation {
    let order: Vec<u32> = (0..n)
        .filter(|i| i % 2 == 1)
        .chain((0..n).step_by(2))
        .collect();
    Permutation::from_elimination_order(&order).unwrap()
}

#[test]
fn refactorize_allocates_nothing() {
    // A plane, and leaves without update matrices below a large front.
    let (plane, leafy) = (model("p2d5_32"), bundle_adjustment(60, 500, 1));
    check(&plane, &odd_even(1024), false);
    check(&leafy.0, &leafy.1, true);
    assert!(HEAP.counts().allocations > 0, "the counter counts");
}

fn check(a: &SymmetricCsc<f64>, order: &Permutation, has_leaves: bool) {
    let symbolic = SymbolicFactor::analyze(a.pattern(), order, &SymbolicOptions::default());
    let symbolic = Arc::new(symbolic.unwrap());
    for threads in [1, 2, 4] {
        let machine = Machine::slow(threads, 1e6);
        let plan = FactorPlan::new(symbolic.clone(), &machine, &PlanOptions::default()).unwrap();
        let plan = Arc::new(plan);
        assert_eq!(plan.largest_above_leaves() > 256, has_leaves);
        for team in [Team::new(threads), Team::profiled(threads)] {
            // A thread allocates when it starts: let all of them be there.
            let here = AtomicUsize::new(0);
            team.run(&|_| {
                here.fetch_add(1, Ordering::Relaxed);
                while here.load(Ordering::Relaxed) < team.size() {
                    std::thread::yield_now();
                }
            });
            let team = Arc::new(team);
            let control = Control::default();
            let options = FactorOptions::default();
            let mut f =
                NumericFactor::factorize(plan.clone(), team, a, &options, &control).unwrap();
            // The count is the whole process's, the test harness's own thread included: what belongs to a
            // refactorization comes every time.
            let made = (0..3).map(|_| {
                let before = HEAP.counts().allocations;
                for _ in 0..100 {
                    f.refactorize(a, &control).unwrap();
                }
                HEAP.counts().allocations - before
            });
            assert_eq!(made.min(), Some(0), "{threads} threads");
        }
    }
}
