//! `faer`: `SparseColMat` and `SparseColMatRef`, compressed or not, any index type it has.

use faer::Index;
use faer::sparse::{SparseColMat, SparseColMatRef, SymbolicSparseColMat};

use super::compressed::{Arrays, full_arrays, lower_arrays, symmetric};
use super::{InteropError, Lower};
use crate::{IndexLike, Scalar, SymmetricCsc};

fn matrix<T: Scalar>(n: usize, (col_ptr, row_idx, values): Arrays<T>) -> SparseColMat<usize, T> {
    let symbolic = SymbolicSparseColMat::new_checked(n, n, col_ptr, None, row_idx);
    SparseColMat::new(symbolic, values)
}

impl<T: Scalar> From<&SymmetricCsc<T>> for SparseColMat<usize, T> {
    /// The full matrix.
    fn from(a: &SymmetricCsc<T>) -> Self {
        matrix(a.n(), full_arrays(a))
    }
}

impl<T: Scalar> From<Lower<'_, T>> for SparseColMat<usize, T> {
    /// The lower triangle.
    fn from(Lower(a): Lower<'_, T>) -> Self {
        matrix(a.n(), lower_arrays(a))
    }
}

impl<I: Index + IndexLike, T: Scalar> TryFrom<SparseColMatRef<'_, I, T>> for SymmetricCsc<T> {
    type Error = InteropError;

    fn try_from(theirs: SparseColMatRef<'_, I, T>) -> Result<Self, InteropError> {
        let symbolic = theirs.symbolic();
        symmetric(theirs.nrows(), theirs.ncols(), |j| {
            (symbolic.row_idx_of_col_raw(j), theirs.val_of_col(j))
        })
    }
}

impl<I: Index + IndexLike, T: Scalar> TryFrom<&SparseColMat<I, T>> for SymmetricCsc<T> {
    type Error = InteropError;

    fn try_from(theirs: &SparseColMat<I, T>) -> Result<Self, InteropError> {
        Self::try_from(theirs.as_ref())
    }
}
