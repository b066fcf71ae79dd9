//! Assembly of a [`SymmetricCsc`] from entries in any order.

use thiserror::Error;

use crate::{Pattern, Scalar, StructureError, SymmetricCsc};

/// What to do with entries that occur more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Add them up, in the order they came: what finite element assembly means by them.
    #[default]
    Sum,
    /// Refuse them.
    Refuse,
}

/// Why entries do not make a symmetric matrix.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TripletError {
    /// An index is not below the order.
    #[error("entry ({row}, {column}) is outside the matrix of order {n}")]
    OutOfRange {
        /// Row of the entry, from 0.
        row: u32,
        /// Column of the entry, from 0.
        column: u32,
        /// Order of the matrix.
        n: usize,
    },
    /// An entry occurs twice and [`Duplicates::Refuse`] was asked for.
    #[error("entry ({row}, {column}) occurs more than once")]
    Duplicate {
        /// Row of the entry, from 0.
        row: u32,
        /// Column of the entry, from 0.
        column: u32,
    },
    /// The structure is not one that can be stored.
    #[error(transparent)]
    Structure(#[from] StructureError),
}

/// Entries of a symmetric matrix in any order; each pair `(i, j)`, `(j, i)` is one entry, and may
/// be given on either side of the diagonal.
#[derive(Clone, Debug)]
pub struct Triplets<T> {
    n: usize,
    /// `(row, column)`, user order, `row >= column`.
    index: Vec<(u32, u32)>,
    values: Vec<T>,
}

impl<T: Scalar> Triplets<T> {
    /// No entries yet, of a matrix of order `n`.
    pub fn new(n: usize) -> Result<Self, TripletError> {
        if n as u64 > Pattern::MAX_ORDER {
            return Err(StructureError::OrderTooLarge { n: n as u64 }.into());
        }
        Ok(Self {
            n,
            index: Vec::new(),
            values: Vec::new(),
        })
    }

    /// Makes room for `additional` more entries.
    pub fn reserve(&mut self, additional: usize) {
        self.index.reserve(additional);
        self.values.reserve(additional);
    }

    /// Number of entries so far.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries so far.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds the entry `(row, column)` and, by symmetry, `(column, row)`; user order, from 0.
    #[inline]
    pub fn push(&mut self, row: u32, column: u32, value: T) -> Result<(), TripletError> {
        if row.max(column) as usize >= self.n {
            return Err(TripletError::OutOfRange {
                row,
                column,
                n: self.n,
            });
        }
        self.index.push((row.max(column), row.min(column)));
        self.values.push(value);
        Ok(())
    }

    /// The matrix: sorted, diagonal present (explicit zeros where no entry gave one).
    ///
    /// Two stable counting sorts, by row and by column: time and memory linear in `n + len`;
    /// duplicates are added in the order they were pushed.
    pub fn into_symmetric(self, duplicates: Duplicates) -> Result<SymmetricCsc<T>, TripletError> {
        let Self { n, index, values } = self;
        let by_row = counting_sort(n, index.len(), |e| index[e].0, |e| e);
        let by_col = counting_sort(n, index.len(), |k| index[by_row[k]].1, |k| by_row[k]);
        drop(by_row);
        let mut col_ptr = Vec::with_capacity(n + 1);
        let mut row_idx = Vec::with_capacity(index.len() + n);
        let mut out = Vec::with_capacity(index.len() + n);
        let mut entries = by_col.into_iter().peekable();
        for column in 0..n as u32 {
            col_ptr.push(row_idx.len() as u64);
            row_idx.push(column);
            out.push(T::ZERO);
            let mut last = None;
            while let Some(e) = entries.next_if(|&e| index[e].1 == column) {
                let row = index[e].0;
                if last == Some(row) && duplicates == Duplicates::Refuse {
                    return Err(TripletError::Duplicate { row, column });
                }
                if row == column || last == Some(row) {
                    let k = out.len() - 1;
                    out[k] += values[e];
                } else {
                    row_idx.push(row);
                    out.push(values[e]);
                }
                last = Some(row);
            }
        }
        col_ptr.push(row_idx.len() as u64);
        let pattern = Pattern::from_checked(n, col_ptr, row_idx);
        Ok(SymmetricCsc::new(pattern.shared(), out)?)
    }
}

/// `item(k)` for all `k < len`, ordered by `key(k) < n`, stable.
fn counting_sort(
    n: usize,
    len: usize,
    key: impl Fn(usize) -> u32,
    item: impl Fn(usize) -> usize,
) -> Vec<usize> {
    let mut next = vec![0usize; n + 1];
    for k in 0..len {
        next[key(k) as usize + 1] += 1;
    }
    for i in 0..n {
        next[i + 1] += next[i];
    }
    let mut sorted = vec![0usize; len];
    for k in 0..len {
        let slot = &mut next[key(k) as usize];
        sorted[*slot] = item(k);
        *slot += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_duplicates_and_fills_the_diagonal() {
        let mut t = Triplets::new(3).unwrap();
        for (i, j, v) in [(0, 2, 1.0), (2, 0, 2.0), (1, 1, 5.0), (2, 1, -1.0)] {
            t.push(i, j, v).unwrap();
        }
        let a = t.clone().into_symmetric(Duplicates::Sum).unwrap();
        assert_eq!(a.pattern().col_ptr(), &[0, 2, 4, 5]);
        assert_eq!(a.pattern().row_idx(), &[0, 2, 1, 2, 2]);
        assert_eq!(a.values(), &[0.0, 3.0, 5.0, -1.0, 0.0]);
        let refused = t.into_symmetric(Duplicates::Refuse).unwrap_err();
        assert_eq!(refused, TripletError::Duplicate { row: 2, column: 0 });
    }

    #[test]
    fn refuses_what_is_outside() {
        let mut t = Triplets::new(2).unwrap();
        assert!(t.push(2, 0, 1.0).is_err());
        assert!(Triplets::<f64>::new(usize::MAX).is_err());
    }
}
