//! Generators, oracles and tolerances for Tamarack's own tests.
//!
//! Everything here is slow, simple and obviously right: it is what the fast code is compared with.
//! Every generator is a pure function of its arguments and a seed. Functions panic where a test
//! misuses them, which is what a test wants.

mod alloc;
mod backward;
mod dense;
mod fault;
mod matrices;
mod random;
mod rng;
mod shared;
pub mod strategies;
mod symbolic;

pub use alloc::{CountingAllocator, Counts};
pub use backward::{componentwise_backward_error, normwise_backward_error};
pub use dense::{dense_cholesky, dense_full, dense_solve};
pub use fault::{FailingReader, FailingWriter, ShortReader};
pub use matrices::{chain, hilbert, model};
pub use random::{
    Family, bundle_adjustment, pattern_of_edges, random_pattern, random_permutation, random_spd,
    spd_with_pattern,
};
pub use rng::Rng;
pub use shared::{shared_dir, shared_matrices, shared_not_spd};
pub use symbolic::{naive_counts, naive_fill, naive_parents};
