//! Structures of random patterns.

use std::sync::Arc;

use tamarack_sparse::Permutation;
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};
use tamarack_testkit::{Rng, pattern_of_edges};

pub fn random_symbolic(seed: u64) -> Arc<SymbolicFactor> {
    let mut random = Rng::new(seed);
    let n = 1 + random.below(300);
    let edges = n * random.below(4);
    let edges: Vec<_> = (0..edges)
        .map(|_| (random.below(n), random.below(n)))
        .collect();
    let pattern = pattern_of_edges(n, &edges).shared();
    let order = Permutation::identity(n);
    Arc::new(SymbolicFactor::analyze(&pattern, &order, &SymbolicOptions::default()).unwrap())
}
