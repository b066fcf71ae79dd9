//! Conversions to and from the matrix types of other crates.
//!
//! | crate | type | feature |
//! |---|---|---|
//! | `sprs` 0.11 | `CsMatBase` (owned, views; CSC, CSR) | always |
//! | `faer` 0.24 | `sparse::SparseColMat`, `SparseColMatRef` | `faer` |
//! | `nalgebra-sparse` 0.12 | `CscMatrix` | `nalgebra` |
//!
//! *To us*, `SymmetricCsc::try_from(&theirs)`: a matrix with entries on both sides of the diagonal
//! must be symmetric (but for differences of 1e-12 of an entry or of the diagonal; the lower triangle is kept); one with entries on a single
//! side is taken for that triangle of a symmetric matrix. Missing diagonal entries become explicit
//! zeros. *From us*, `From<&SymmetricCsc>` gives the full matrix and `From<Lower>` the lower
//! triangle, sorted. Time and memory are linear in the entries.
//!
//! Plain arrays need none of this: [`SymmetricCsc::lower`] takes them, and
//! [`Pattern`](crate::Pattern) hands them out.

mod compressed;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
mod sprs;

use thiserror::Error;

use crate::{StructureError, SymmetricCsc};

/// Asks a conversion for the lower triangle alone: `CsMat::from(Lower(&a))`.
#[derive(Clone, Copy, Debug)]
pub struct Lower<'a, T>(pub &'a SymmetricCsc<T>);

/// Why another crate's matrix is not a symmetric one.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InteropError {
    /// Rows and columns differ in number.
    #[error("the matrix has {rows} rows and {columns} columns: it is not square")]
    NotSquare {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// The two triangles disagree.
    #[error(
        "the matrix is not symmetric: entry ({row}, {column}) is {below:e} and entry \
         ({column}, {row}) is {above:e}; pass one triangle if only that is meant"
    )]
    NotSymmetric {
        /// Larger index, from 0.
        row: usize,
        /// Smaller index, from 0.
        column: usize,
        /// The entry below the diagonal, 0 where none is stored.
        below: f64,
        /// The entry above the diagonal, 0 where none is stored.
        above: f64,
    },
    /// Indices are out of range, unsorted or repeated, or the order is too large.
    #[error(transparent)]
    Structure(#[from] StructureError),
}
