//! Refactorizations and solves with a factor that is there allocate nothing.

use tamarack::{Analysis, Options, Precision};
use tamarack_testkit::{CountingAllocator, model};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

#[test]
fn a_factor_that_is_there_allocates_nothing() {
    // One that is narrow, and one with fronts that all threads share.
    for (name, precision, threads) in ["p2d5_32", "p3d7_14"].into_iter().flat_map(|name| {
        [Precision::F64, Precision::F32, Precision::Mixed]
            .into_iter()
            .flat_map(move |precision| [1, 2].map(|threads| (name, precision, threads)))
    }) {
        let mut a = model(name);
        let mut options = Options::default();
        options.threads = Some(threads);
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        let mut x = vec![1.0; 3 * a.n()];
        let mut cycle = || {
            a.values_mut().iter_mut().for_each(|v| *v *= 1.25);
            factor.refactorize(&a).unwrap();
            x.fill(1.0);
            factor.solve(&mut x).unwrap();
            factor.solve(&mut x[..a.n()]).unwrap();
        };
        // The first solve makes room, and a thread allocates when it starts.
        (0..3).for_each(|_| cycle());
        // The count is the whole process's, the test harness's own thread included: what belongs to a cycle comes every time.
        let made = (0..3).map(|_| {
            let before = HEAP.counts().allocations;
            (0..10).for_each(|_| cycle());
            HEAP.counts().allocations - before
        });
        assert_eq!(
            made.min(),
            Some(0),
            "{name}, {precision}, {threads} threads"
        );
    }
}
