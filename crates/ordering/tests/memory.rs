//! How much memory nested dissection takes at a time, however many threads there are.

use tamarack_ordering::{Method, NdOptions, Workspace, order};
use tamarack_sparse::Pattern;
use tamarack_sparse::models::Model;
use tamarack_testkit::CountingAllocator;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

/// Words of 8 bytes for each edge, beside the pattern.
const MOST_WORDS: f64 = 12.0;

/// The same with an unknown before all others that has no neighbors.
fn behind_a_lone_one(pattern: &Pattern) -> Pattern {
    let (mut ptr, mut rows) = (vec![0, 1], vec![0]);
    for j in 0..pattern.n() {
        rows.extend(pattern.rows(j).iter().map(|i| i + 1));
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(pattern.n() + 1, &ptr, &rows).unwrap()
}

#[test]
fn nested_dissection_takes_twelve_words_for_each_edge() {
    // Graphs with few neighbors, and small: what every thread needs for its own pieces counts most there.
    for model in ["p2d5_300", "p3d7_40"] {
        let matrix = model.parse::<Model>().unwrap();
        let matrix = matrix.generate::<f64>().unwrap();
        for pattern in [matrix.pattern(), &behind_a_lone_one(matrix.pattern())] {
            check(model, pattern);
        }
    }
}

fn check(model: &str, pattern: &Pattern) {
    let edges = pattern.nnz_lower() - pattern.n() as u64;
    let method = Method::NestedDissection(NdOptions::default());
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.broadcast(|_| ());
        let before = HEAP.counts().live_bytes;
        HEAP.reset_peak();
        let found = pool.install(|| order(pattern, &method, &mut Workspace::new()));
        let held = HEAP.counts().peak_bytes - before;
        assert_eq!(found.unwrap().len(), pattern.n());
        let words = held as f64 / 8.0 / edges as f64;
        assert!(
            words <= MOST_WORDS,
            "{model}, {threads} threads: {words:.1}"
        );
    }
}
