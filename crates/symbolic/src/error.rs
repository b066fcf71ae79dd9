//! What can go wrong in an analysis or when a saved one is read.

use thiserror::Error;

/// Why there is no symbolic factor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SymbolicError {
    /// The ordering is for another matrix.
    #[error("the ordering has {ordering} items, the matrix has order {n}")]
    OrderingLength {
        /// Items in the ordering.
        ordering: usize,
        /// Order of the matrix.
        n: usize,
    },
    /// Saved bytes are damaged, truncated or were never a symbolic factor of this version.
    #[error("the saved analysis is not usable: {what}; analyze the pattern again")]
    Corrupt {
        /// The first thing found wrong.
        what: String,
    },
}
