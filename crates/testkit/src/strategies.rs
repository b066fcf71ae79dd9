//! proptest strategies: patterns, permutations and matrices that shrink.
//!
//! Half of the patterns are lists of edges, which shrink to a smallest failing graph; the others
//! come from a [`Family`], which shrinks in order and seed.

use proptest::prelude::*;
use tamarack_sparse::{Pattern, Permutation, SymmetricCsc};

use crate::random::pattern_of_edges;
use crate::{Family, random_pattern, spd_with_pattern};

/// Any family.
pub fn family() -> impl Strategy<Value = Family> + Clone {
    proptest::sample::select(&Family::ALL[..])
}

/// Patterns of order `0..=max_n`.
pub fn pattern(max_n: usize) -> impl Strategy<Value = Pattern> + Clone {
    let edges = (0..=max_n).prop_flat_map(|n| {
        let vertex = 0..n.max(1);
        let most = if n == 0 { 0 } else { 4 * n };
        proptest::collection::vec((vertex.clone(), vertex), 0..=most)
            .prop_map(move |edges| pattern_of_edges(n, &edges))
    });
    let families = (family(), 0..=max_n, any::<u64>())
        .prop_map(|(family, n, seed)| random_pattern(family, n, seed));
    prop_oneof![edges, families]
}

/// Permutations of length `n`; they shrink towards the identity.
pub fn permutation(n: usize) -> impl Strategy<Value = Permutation> + Clone {
    Just((0..n as u32).collect::<Vec<u32>>())
        .prop_shuffle()
        .prop_map(|order| Permutation::from_elimination_order(&order).expect("a shuffle"))
}

/// A pattern of order `0..=max_n` with a permutation of its unknowns.
pub fn permuted_pattern(max_n: usize) -> impl Strategy<Value = (Pattern, Permutation)> + Clone {
    pattern(max_n).prop_flat_map(|p| {
        let n = p.n();
        (Just(p), permutation(n))
    })
}

/// Symmetric positive definite matrices of order `0..=max_n`, diagonally dominant.
pub fn spd(max_n: usize) -> impl Strategy<Value = SymmetricCsc<f64>> + Clone {
    (pattern(max_n), any::<u64>()).prop_map(|(p, seed)| spd_with_pattern(p.shared(), seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dense_cholesky, dense_full};

    proptest! {
        #[test]
        fn matrices_are_positive_definite(a in spd(20)) {
            prop_assert!(dense_cholesky(a.n(), &mut dense_full(&a)).is_ok());
        }

        #[test]
        fn permutations_fit_their_patterns((p, order) in permuted_pattern(20)) {
            prop_assert_eq!(p.n(), order.len());
        }
    }
}
