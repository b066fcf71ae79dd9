//! Columns of a lower triangle, written in order.

use super::ModelError;
use crate::{Pattern, Scalar, SymmetricCsc};

/// Asks the system for all the memory of `entries` entries at once and gives it back: a problem
/// that is far too large is refused before a part of it fills the memory.
pub(super) fn probe(entries: u128, bytes_each: usize) -> Result<(), ModelError> {
    let bytes = entries.saturating_mul(bytes_each as u128);
    let refused = || ModelError::Memory { entries };
    let bytes = usize::try_from(bytes).map_err(|_| refused())?;
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|_| refused())
}

/// A matrix under construction: every column starts with its diagonal, rows increase.
pub(super) struct Columns<T> {
    col_ptr: Vec<u64>,
    row_idx: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Columns<T> {
    /// Room for `n` columns and at most `entries` entries.
    pub(super) fn new(n: usize, entries: u128) -> Result<Self, ModelError> {
        probe(entries, 4 + size_of::<T>())?;
        let refused = |_| ModelError::Memory { entries };
        let room = usize::try_from(entries).map_err(|_| ModelError::Memory { entries })?;
        let mut columns = Self {
            col_ptr: Vec::new(),
            row_idx: Vec::new(),
            values: Vec::new(),
        };
        columns.values.try_reserve_exact(room).map_err(refused)?;
        columns.row_idx.try_reserve_exact(room).map_err(refused)?;
        columns.col_ptr.try_reserve_exact(n + 1).map_err(refused)?;
        columns.col_ptr.push(0);
        Ok(columns)
    }

    /// Adds an entry to the column that is being written.
    #[inline]
    pub(super) fn push(&mut self, row: usize, value: f64) {
        self.row_idx.push(row as u32);
        self.values.push(T::from_f64(value));
    }

    /// The column is complete.
    #[inline]
    pub(super) fn end(&mut self) {
        self.col_ptr.push(self.row_idx.len() as u64);
    }

    /// The matrix of the columns written.
    pub(super) fn finish(self) -> Result<SymmetricCsc<T>, ModelError> {
        let n = self.col_ptr.len() - 1;
        let pattern = Pattern::from_checked(n, self.col_ptr, self.row_idx);
        SymmetricCsc::new(pattern.shared(), self.values).map_err(|e| ModelError::Assembly(e.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_machine_has_is_refused() {
        for entries in [1 << 62, u128::MAX] {
            assert_eq!(probe(entries, 12), Err(ModelError::Memory { entries }));
            assert!(Columns::<f32>::new(3, entries).is_err());
        }
        assert_eq!(probe(1000, 12), Ok(()));
    }
}
