//! What can go wrong with an ordering.

use tamarack_sparse::memory::in_large_pages;
use thiserror::Error;

/// Why an ordering could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OrderingError {
    /// The graph has more vertices than the marks and weights of the algorithms can count.
    #[error(
        "the matrix has order {n}; orderings other than `natural` are limited to {limit} unknowns"
    )]
    TooLarge {
        /// Order of the matrix.
        n: u64,
        /// Largest order supported.
        limit: u64,
    },
    /// The workspace could not be allocated.
    #[error("the ordering needs {bytes} bytes of workspace and they could not be allocated")]
    OutOfMemory {
        /// Size of the array that failed.
        bytes: u64,
    },
    /// No ordering has this name.
    #[error("unknown ordering `{name}`: expected one of {expected}")]
    UnknownMethod {
        /// The name as given.
        name: String,
        /// The names there are.
        expected: &'static str,
    },
    /// Coordinates or a partition tree for another number of unknowns.
    #[error("the {what} are {found}, and {expected} are needed: one for each unknown")]
    Guide {
        /// What was given.
        what: &'static str,
        /// How many.
        found: u64,
        /// How many there should be.
        expected: u64,
    },
    /// A coordinate that is not finite.
    #[error("coordinate {axis} of unknown {unknown} is not a finite number (both counted from 0)")]
    NotFinite {
        /// The unknown, from 0.
        unknown: u64,
        /// Which of its coordinates, from 0.
        axis: u32,
    },
    /// A node of a partition tree that cannot be.
    #[error("node {node} of the partition tree does not exist, or stands above itself")]
    Node {
        /// Its number.
        node: u32,
    },
    /// An entry of the matrix across a partition tree.
    #[error(
        "unknowns {row} and {column} (counted from 0) are joined by an entry of the matrix, but the partition tree has \
         them in nodes of which neither is above the other"
    )]
    NotSeparated {
        /// Row of the entry, from 0.
        row: u32,
        /// Its column, from 0.
        column: u32,
    },
    /// Somebody else wanted it no more: [`order_until`](crate::order_until).
    #[error("the ordering was stopped before its end")]
    Stopped,
    /// The result is not a permutation: a defect of this crate, never of the input.
    #[error("the ordering did not end in a permutation; please report this with the matrix")]
    Internal,
}

/// Makes `v` hold exactly `len` copies of `value`; reuses its memory where it is large enough.
pub(crate) fn refill<T: Copy>(v: &mut Vec<T>, len: usize, value: T) -> Result<(), OrderingError> {
    v.clear();
    reserve(v, len)?;
    v.resize(len, value);
    Ok(())
}

/// Makes room for `additional` more items, or says how much could not be had.
pub(crate) fn reserve<T>(v: &mut Vec<T>, additional: usize) -> Result<(), OrderingError> {
    v.try_reserve_exact(additional)
        .map_err(|_| OrderingError::OutOfMemory {
            bytes: additional as u64 * size_of::<T>() as u64,
        })?;
    in_large_pages(v);
    Ok(())
}
