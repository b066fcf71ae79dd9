//! What can go wrong with an ordering.

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
        })
}
