//! `sprs`: compressed rows or columns, owned or borrowed.

use std::ops::Deref;

use sprs::{CsMat, CsMatBase, SpIndex};

use super::compressed::{full_arrays, lower_arrays, symmetric};
use super::{InteropError, Lower};
use crate::{IndexLike, Scalar, SymmetricCsc};

impl<T: Scalar> From<&SymmetricCsc<T>> for CsMat<T> {
    /// The full matrix, CSC.
    fn from(a: &SymmetricCsc<T>) -> Self {
        let (col_ptr, row_idx, values) = full_arrays(a);
        CsMat::new_csc((a.n(), a.n()), col_ptr, row_idx, values)
    }
}

impl<T: Scalar> From<Lower<'_, T>> for CsMat<T> {
    /// The lower triangle, CSC.
    fn from(Lower(a): Lower<'_, T>) -> Self {
        let (col_ptr, row_idx, values) = lower_arrays(a);
        CsMat::new_csc((a.n(), a.n()), col_ptr, row_idx, values)
    }
}

impl<T, I, P, PS, IS, VS> TryFrom<&CsMatBase<T, I, PS, IS, VS, P>> for SymmetricCsc<T>
where
    T: Scalar,
    I: SpIndex + IndexLike,
    P: SpIndex,
    PS: Deref<Target = [P]>,
    IS: Deref<Target = [I]>,
    VS: Deref<Target = [T]>,
{
    type Error = InteropError;

    /// From CSC or CSR; a lower CSR matrix is an upper CSC one, and either will do.
    fn try_from(theirs: &CsMatBase<T, I, PS, IS, VS, P>) -> Result<Self, InteropError> {
        // A view of some columns keeps the offsets of the whole matrix.
        let indptr = theirs.indptr();
        let offsets = indptr.raw_storage();
        let first = offsets.first().map_or(0, |p| p.index());
        symmetric(theirs.rows(), theirs.cols(), |j| {
            let range = offsets[j].index() - first..offsets[j + 1].index() - first;
            (&theirs.indices()[range.clone()], &theirs.data()[range])
        })
    }
}
