//! Refactorization allocates nothing, on one thread and on several.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::{Duplicates, Permutation, SymmetricCsc, Triplets};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 5-point Laplacian on a square, columns numbered row by row.
fn grid(m: u32) -> SymmetricCsc<f64> {
    let mut t = Triplets::new((m * m) as usize).unwrap();
    for i in 0..m * m {
        t.push(i, i, 4.0).unwrap();
        if i % m + 1 < m {
            t.push(i + 1, i, -1.0).unwrap();
        }
        if i + m < m * m {
            t.push(i + m, i, -1.0).unwrap();
        }
    }
    t.into_symmetric(Duplicates::Sum).unwrap()
}

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
    let a = grid(32);
    let order = odd_even(1024);
    let symbolic = SymbolicFactor::analyze(a.pattern(), &order, &SymbolicOptions::default());
    let symbolic = Arc::new(symbolic.unwrap());
    for threads in [1, 2, 4] {
        let machine = Machine::slow(threads, 1e6);
        let plan = FactorPlan::new(symbolic.clone(), &machine, &PlanOptions::default()).unwrap();
        let plan = Arc::new(plan);
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
                NumericFactor::factorize(plan.clone(), team, &a, &options, &control).unwrap();
            // The count is the whole process's, the test harness's own thread included: what belongs to a
            // refactorization comes every time.
            let made = (0..3).map(|_| {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                for _ in 0..100 {
                    f.refactorize(&a, &control).unwrap();
                }
                ALLOCATIONS.load(Ordering::Relaxed) - before
            });
            assert_eq!(made.min(), Some(0), "{threads} threads");
        }
    }
    assert!(
        ALLOCATIONS.load(Ordering::Relaxed) > 0,
        "the counter counts"
    );
}
