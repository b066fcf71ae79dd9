//! `nalgebra-sparse`: `CscMatrix`.

use nalgebra_sparse::CscMatrix;

use super::compressed::{Arrays, full_arrays, lower_arrays, symmetric};
use super::{InteropError, Lower};
use crate::{Scalar, SymmetricCsc};

fn matrix<T: Scalar>(n: usize, (col_ptr, row_idx, values): Arrays<T>) -> CscMatrix<T> {
    match CscMatrix::try_from_csc_data(n, n, col_ptr, row_idx, values) {
        Ok(matrix) => matrix,
        Err(e) => unreachable!("a pattern's columns are sorted and in range: {e}"),
    }
}

impl<T: Scalar> From<&SymmetricCsc<T>> for CscMatrix<T> {
    /// The full matrix.
    fn from(a: &SymmetricCsc<T>) -> Self {
        matrix(a.n(), full_arrays(a))
    }
}

impl<T: Scalar> From<Lower<'_, T>> for CscMatrix<T> {
    /// The lower triangle.
    fn from(Lower(a): Lower<'_, T>) -> Self {
        matrix(a.n(), lower_arrays(a))
    }
}

impl<T: Scalar> TryFrom<&CscMatrix<T>> for SymmetricCsc<T> {
    type Error = InteropError;

    fn try_from(theirs: &CscMatrix<T>) -> Result<Self, InteropError> {
        let (offsets, rows, values) = theirs.csc_data();
        symmetric(theirs.nrows(), theirs.ncols(), |j| {
            let range = offsets[j]..offsets[j + 1];
            (&rows[range.clone()], &values[range])
        })
    }
}
