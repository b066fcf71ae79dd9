//! Why there is no factor.

use tamarack_plan::Precision;
use tamarack_store::StoreError;
use thiserror::Error;

use crate::not_spd::NotPositiveDefinite;

/// Why there is no factor.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FactorError {
    /// The matrix is not positive definite.
    #[error(transparent)]
    NotPositiveDefinite(#[from] NotPositiveDefinite),
    /// The caller's flag stopped the work.
    #[error("the factorization was cancelled")]
    Cancelled,
    /// The matrix has another pattern than the one that was analyzed.
    #[error(
        "the matrix (order {n}, {nnz} entries) has another pattern than the one analyzed (order \
         {analyzed_n}, {analyzed_nnz} entries); analyze it anew"
    )]
    Pattern {
        /// Order of the matrix.
        n: usize,
        /// Entries of its lower triangle.
        nnz: u64,
        /// Order of the analyzed pattern.
        analyzed_n: usize,
        /// Entries of the analyzed lower triangle.
        analyzed_nnz: u64,
    },
    /// The plan was made for another precision than the matrix has.
    #[error("the plan is for {planned:?} and the matrix holds {found:?}")]
    Precision {
        /// Precision of the plan.
        planned: Precision,
        /// Precision of the matrix.
        found: Precision,
    },
    /// The last refactorization failed, so there is no factor to use.
    #[error(
        "the factor is stale: its last refactorization failed; refactorize it with success first"
    )]
    Stale,
    /// The operating system refused memory.
    #[error(transparent)]
    Memory(#[from] StoreError),
}
