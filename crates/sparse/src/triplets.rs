//! Assembly of a [`SymmetricCsc`] from entries in any order.

mod places;

use std::collections::TryReserveError;

use thiserror::Error;

pub use places::Places;

use crate::memory::in_large_pages;
use crate::pattern::check_len;
use crate::{IndexLike, Pattern, Scalar, StructureError, SymmetricCsc};

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
    /// An element matrix has another number of entries than its unknowns ask for.
    #[error("an element of {order} unknowns has {order} x {order} entries, not {entries}")]
    Element {
        /// Its unknowns.
        order: usize,
        /// Entries that were given.
        entries: usize,
    },
    /// The structure is not one that can be stored.
    #[error(transparent)]
    Structure(#[from] StructureError),
}

/// Entries of a symmetric matrix in any order; each pair `(i, j)`, `(j, i)` is one entry, and may
/// be given on either side of the diagonal.
///
/// The three arrays run in parallel, user order, `rows[e] >= columns[e]`.
#[derive(Clone, Debug)]
pub struct Triplets<T> {
    n: usize,
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Triplets<T> {
    /// No entries yet, of a matrix of order `n`.
    ///
    /// # Errors
    /// An order above [`Pattern::MAX_ORDER`].
    pub fn new(n: usize) -> Result<Self, TripletError> {
        if n as u64 > Pattern::MAX_ORDER {
            return Err(StructureError::OrderTooLarge { n: n as u64 }.into());
        }
        Ok(Self {
            n,
            rows: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
        })
    }

    /// Makes room for `additional` more entries.
    ///
    /// # Panics
    /// As [`Vec::reserve`]: if there cannot be so many. [`try_reserve`](Self::try_reserve) says so instead.
    pub fn reserve(&mut self, additional: usize) {
        self.rows.reserve(additional);
        self.columns.reserve(additional);
        self.values.reserve(additional);
        in_large_pages(&self.rows);
        in_large_pages(&self.columns);
        in_large_pages(&self.values);
    }

    /// The same where memory may be refused.
    ///
    /// # Errors
    /// The allocator's; what is there stays.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.rows.try_reserve(additional)?;
        self.columns.try_reserve(additional)?;
        self.values.try_reserve(additional)?;
        self.reserve(additional);
        Ok(())
    }

    /// Number of entries so far.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries so far.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds the entry `(row, column)` and, by symmetry, `(column, row)`; user order, from 0. So each pair of unknowns is to be given once: who
    /// goes through all of a symmetric element matrix has its off-diagonal entries twice. [`push_element`](Self::push_element) does it right.
    ///
    /// # Errors
    /// [`TripletError::OutOfRange`].
    #[inline]
    pub fn push(&mut self, row: u32, column: u32, value: T) -> Result<(), TripletError> {
        if row.max(column) as usize >= self.n {
            return Err(TripletError::OutOfRange {
                row,
                column,
                n: self.n,
            });
        }
        self.push_valid(row, column, value);
        Ok(())
    }

    /// Adds a symmetric element matrix of order `unknowns.len()`, column-major, of which the lower triangle is read; the unknowns, user order,
    /// from 0, are those of its rows and columns. An unknown that occurs twice gets all entries of both.
    ///
    /// # Errors
    /// [`TripletError::OutOfRange`] for the first unknown that there is not, [`TripletError::Element`] where the matrix has another
    /// number of entries: then nothing is added.
    pub fn push_element(&mut self, unknowns: &[u32], matrix: &[T]) -> Result<(), TripletError> {
        let (order, n) = (unknowns.len(), self.n);
        if matrix.len() != order * order {
            let entries = matrix.len();
            return Err(TripletError::Element { order, entries });
        }
        if let Some(&row) = unknowns.iter().find(|&&unknown| unknown as usize >= n) {
            return Err(TripletError::OutOfRange {
                row,
                column: row,
                n,
            });
        }
        for (j, &column) in unknowns.iter().enumerate() {
            for (i, &row) in unknowns.iter().enumerate().skip(j) {
                let value = matrix[i + j * order];
                self.push_valid(row, column, value);
                if i != j && row == column {
                    self.push_valid(row, column, value); // both mirror images are on the diagonal
                }
            }
        }
        Ok(())
    }

    /// Adds all entries of three arrays that run in parallel, in the order in which they stand, each as by [`push`](Self::push).
    ///
    /// # Errors
    /// [`StructureError::Length`] for arrays of different lengths, [`TripletError::OutOfRange`] for the first entry that is outside (an index
    /// that is negative, or too large for the message, as `u32::MAX`): then nothing is added.
    pub fn push_all<I: IndexLike>(
        &mut self,
        rows: &[I],
        columns: &[I],
        values: &[T],
    ) -> Result<(), TripletError> {
        check_len("columns", columns.len(), rows.len() as u64)?;
        check_len("values", values.len(), rows.len() as u64)?;
        let (before, n) = (self.len(), self.n);
        self.reserve(rows.len());
        for ((&i, &j), &value) in rows.iter().zip(columns).zip(values) {
            let [row, column] = [i, j].map(|index| {
                let index = index.to_index().unwrap_or(u64::MAX);
                index.min(u64::from(u32::MAX)) as u32
            });
            if row.max(column) as usize >= n {
                self.rows.truncate(before);
                self.columns.truncate(before);
                self.values.truncate(before);
                return Err(TripletError::OutOfRange { row, column, n });
            }
            self.push_valid(row, column, value);
        }
        Ok(())
    }

    /// As [`push`](Self::push), for indices that the caller has checked.
    #[inline(always)]
    pub(crate) fn push_valid(&mut self, row: u32, column: u32, value: T) {
        debug_assert!((row.max(column) as usize) < self.n);
        self.rows.push(row.max(column));
        self.columns.push(row.min(column));
        self.values.push(value);
    }

    /// Appends entries that the caller has checked: `rows[e] >= columns[e]`, below `n`.
    pub(crate) fn append_valid(&mut self, rows: &[u32], columns: &[u32], values: &[T]) {
        debug_assert!(rows.iter().all(|&row| (row as usize) < self.n));
        self.rows.extend_from_slice(rows);
        self.columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
    }

    /// Whether any entry lies off the diagonal.
    pub(crate) fn has_off_diagonal(&self) -> bool {
        self.rows.iter().zip(&self.columns).any(|(i, j)| i != j)
    }

    /// Moves the entries of `other`, of the same order, to the end.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.rows.append(&mut other.rows);
        self.columns.append(&mut other.columns);
        self.values.append(&mut other.values);
    }

    /// The matrix: sorted, diagonal present (explicit zeros where no entry gave one).
    ///
    /// Entries that come sorted, as files mostly have them, are taken as they are. Others are
    /// scattered to their columns by a counting sort, and each column is sorted by row. Both are
    /// stable, so duplicates are added in the order they were pushed. Time: linear in `n + len`
    /// for columns of bounded length.
    ///
    /// # Errors
    /// [`TripletError::Duplicate`], if duplicates are to be refused.
    pub fn into_symmetric(self, duplicates: Duplicates) -> Result<SymmetricCsc<T>, TripletError> {
        let Self {
            n,
            rows,
            columns,
            values,
        } = self;
        if let Some(col_ptr) = offsets_if_sorted(n, &rows, &columns) {
            let pattern = Pattern::from_checked(n, col_ptr, rows);
            return Ok(SymmetricCsc::new(pattern.shared(), values)?);
        }
        let mut entries = by_column(n, &rows, &columns, values.iter().copied());
        drop((rows, columns, values));
        let mut out = Vec::with_capacity(entries.list.len());
        let put = |at: u64, value, again| {
            let at = at as usize;
            if again {
                out[at] += value;
            } else {
                out.resize(at, T::ZERO); // diagonals that nobody gave
                out.push(value);
            }
        };
        let pattern = merge(n, &mut entries, duplicates, put)?;
        out.resize(pattern.nnz_lower() as usize, T::ZERO);
        Ok(SymmetricCsc::new(pattern.shared(), out)?)
    }
}

/// Entries `(row, what)`, column after column, in the order they came.
struct ByColumn<V> {
    /// Offsets of the columns, length `n + 1`.
    start: Vec<u64>,
    list: Vec<(u32, V)>,
}

/// The pattern of entries, the diagonal present. `put` is told, increasing, where each entry's value stands, what the entry is, and whether
/// another one stands there already.
fn merge<V: Copy>(
    n: usize,
    entries: &mut ByColumn<V>,
    duplicates: Duplicates,
    mut put: impl FnMut(u64, V, bool),
) -> Result<Pattern, TripletError> {
    let ByColumn { start, list } = entries;
    let mut col_ptr = Vec::with_capacity(n + 1);
    let mut row_idx = Vec::with_capacity(list.len());
    for column in 0..n as u32 {
        col_ptr.push(row_idx.len() as u64);
        let j = column as usize;
        let entries = &mut list[start[j] as usize..start[j + 1] as usize];
        if !entries.is_sorted_by_key(|e| e.0) {
            entries.sort_by_key(|e| e.0);
        }
        row_idx.push(column);
        let mut last = None;
        for &mut (row, what) in entries {
            let again = last == Some(row);
            if again && duplicates == Duplicates::Refuse {
                return Err(TripletError::Duplicate { row, column });
            }
            if !again && row != column {
                row_idx.push(row);
            }
            put(row_idx.len() as u64 - 1, what, again);
            last = Some(row);
        }
    }
    col_ptr.push(row_idx.len() as u64);
    Ok(Pattern::from_checked(n, col_ptr, row_idx))
}

/// Offsets of the columns, length `n + 1`, if the entries are those of a [`Pattern`] in its order:
/// column after column, each with its diagonal first and rows strictly increasing.
fn offsets_if_sorted(n: usize, rows: &[u32], columns: &[u32]) -> Option<Vec<u64>> {
    if rows.len() < n {
        return None;
    }
    let mut col_ptr = Vec::with_capacity(n + 1);
    let mut last = 0;
    for (k, (&row, &column)) in rows.iter().zip(columns).enumerate() {
        if column as usize + 1 == col_ptr.len() {
            if row <= last {
                return None;
            }
        } else if column as usize == col_ptr.len() && row == column {
            col_ptr.push(k as u64);
        } else {
            return None;
        }
        last = row;
    }
    col_ptr.push(rows.len() as u64);
    (col_ptr.len() == n + 1).then_some(col_ptr)
}

/// Stable counting sort of entries, `what` being anything that comes with them.
fn by_column<V: Copy + Default>(
    n: usize,
    rows: &[u32],
    columns: &[u32],
    what: impl Iterator<Item = V>,
) -> ByColumn<V> {
    // start[j + 1] is first the length of column j, then its offset, then its end.
    let mut start = vec![0u64; n + 1];
    for &j in columns {
        start[j as usize + 1] += 1;
    }
    let mut offset = 0;
    for s in start.iter_mut().skip(1) {
        offset += std::mem::replace(s, offset);
    }
    let mut list = vec![(0, V::default()); rows.len()];
    for ((&i, &j), what) in rows.iter().zip(columns).zip(what) {
        let slot = &mut start[j as usize + 1];
        list[*slot as usize] = (i, what);
        *slot += 1;
    }
    ByColumn { start, list }
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
    fn arrays_of_any_index_type_are_pushed_or_nothing_is() {
        let mut one_by_one = Triplets::new(3).unwrap();
        for (row, column, value) in [(2, 0, 1.0), (1, 1, 2.0), (0, 2, 3.0)] {
            one_by_one.push(row, column, value).unwrap();
        }
        let mut t = Triplets::new(3).unwrap();
        t.push_all(&[2i64, 1], &[0, 1], &[1.0, 2.0]).unwrap();
        let outside = t.push_all(&[0usize, 1], &[2, 3], &[3.0, 4.0]);
        assert!(matches!(
            outside,
            Err(TripletError::OutOfRange {
                row: 1,
                column: 3,
                n: 3
            })
        ));
        let negative = t.push_all(&[-1i32], &[0], &[3.0]).unwrap_err();
        assert!(matches!(negative, TripletError::OutOfRange { .. }));
        assert!(t.push_all(&[0u32], &[0, 1], &[3.0]).is_err());
        assert!(t.push_all(&[0u32], &[0], &[]).is_err());
        t.push_all(&[0usize], &[2], &[3.0]).unwrap();
        let [a, b] = [t, one_by_one].map(|t| t.into_symmetric(Duplicates::Sum).unwrap());
        assert_eq!(a, b);
    }

    #[test]
    fn elements_are_summed_up_and_their_entries_are_found() {
        // Two bars in a row, and one whose ends are the same unknown.
        let bar = [2.0, -1.0, f64::NAN, 3.0];
        let mut t = Triplets::new(3).unwrap();
        for ends in [[0, 1], [2, 1], [2, 2]] {
            t.push_element(&ends, &bar).unwrap();
        }
        let outside = t.push_element(&[0, 3], &bar).unwrap_err();
        assert!(matches!(outside, TripletError::OutOfRange { row: 3, .. }));
        assert!(t.push_element(&[0, 1], &bar[1..]).is_err());
        let a = t.into_symmetric(Duplicates::Sum).unwrap();
        let entry = |i, j| a.pattern().position(i, j).map(|k| a.values()[k]);
        assert_eq!(entry(0, 0), Some(2.0));
        assert_eq!(entry(1, 1), Some(6.0));
        assert_eq!(entry(2, 2), Some(2.0 + 2.0 + 3.0 - 2.0));
        assert_eq!((entry(0, 1), entry(1, 0)), (Some(-1.0), Some(-1.0)));
        assert_eq!((entry(2, 0), entry(0, 3), entry(3, 3)), (None, None, None));
    }

    #[test]
    fn refuses_what_is_outside() {
        let mut t = Triplets::new(2).unwrap();
        assert!(t.push(2, 0, 1.0).is_err());
        assert!(Triplets::<f64>::new(usize::MAX).is_err());
    }
}
