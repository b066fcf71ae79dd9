//! The structure of a symmetric matrix: which entries of the lower triangle are stored.

use std::fmt;
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::IndexLike;
use crate::fingerprint::fingerprint;

/// Lower triangle of a symmetric pattern in compressed sparse columns, in user order.
///
/// Invariants: `col_ptr` has length `n + 1`, starts at 0, does not decrease and ends at
/// `row_idx.len()`; the rows of column `j` are strictly increasing, start with `j` itself (the
/// diagonal is always present) and stay below `n`; `n <= 2^32 - 2`.
#[derive(Clone)]
pub struct Pattern {
    n: usize,
    col_ptr: Vec<u64>,
    row_idx: Vec<u32>,
    /// Of the three above, once it was asked for.
    fingerprint: OnceLock<u64>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.n == other.n && self.col_ptr == other.col_ptr && self.row_idx == other.row_idx
    }
}

impl Eq for Pattern {}

/// Entries that are written out for a person to read, at most.
pub(crate) const FEW: usize = 64;

/// Its size, and the arrays if they are small: whoever prints what holds a pattern wants to read the rest.
impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Pattern");
        out.field("n", &self.n)
            .field("nnz_lower", &self.nnz_lower());
        if self.row_idx.len() > FEW {
            return out.finish_non_exhaustive();
        }
        out.field("col_ptr", &self.col_ptr)
            .field("row_idx", &self.row_idx)
            .finish()
    }
}

/// Why arrays do not describe the lower triangle of a symmetric pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StructureError {
    /// The order does not fit the index type.
    #[error(
        "order {n} is too large: at most {} unknowns are supported",
        Pattern::MAX_ORDER
    )]
    OrderTooLarge {
        /// The order asked for.
        n: u64,
    },
    /// An array has the wrong length.
    #[error("`{array}` has length {found}, expected {expected}")]
    Length {
        /// Name of the array.
        array: &'static str,
        /// Its length.
        found: u64,
        /// The length it must have.
        expected: u64,
    },
    /// Offsets that begin with something else than 0: with 1 where all indices count from 1.
    #[error("`col_ptr` begins with {first}, not with 0: offsets and indices count from 0")]
    FirstOffset {
        /// The first offset.
        first: u64,
    },
    /// Offsets decrease or are negative.
    #[error("`col_ptr` is not an increasing sequence from 0: see column {column}")]
    Offsets {
        /// First column whose offsets are wrong.
        column: usize,
    },
    /// An index is negative or too large.
    #[error("column {column} has row index {row}, outside 0..{n}")]
    RowOutOfRange {
        /// Column of the entry.
        column: usize,
        /// The row index as given (-1 where it was negative).
        row: i64,
        /// Order of the matrix.
        n: usize,
    },
    /// An entry lies above the diagonal.
    #[error(
        "column {column} has row {row}, above the diagonal: only the lower triangle by columns, which is the upper one by rows, is \
         taken; `Triplets` takes entries of both in any order"
    )]
    AboveDiagonal {
        /// Column of the entry.
        column: usize,
        /// Row of the entry.
        row: usize,
    },
    /// Rows within a column are not strictly increasing.
    #[error(
        "the rows of column {column} are not strictly increasing at row {row}; `Triplets` takes entries in any order"
    )]
    NotSorted {
        /// The column.
        column: usize,
        /// First row that is not larger than the one before it.
        row: usize,
    },
    /// A diagonal entry is not stored.
    #[error("column {column} has no diagonal entry; store an explicit zero if it is one")]
    NoDiagonal {
        /// The column.
        column: usize,
    },
}

impl Pattern {
    /// Largest order supported: indices are `u32`, and the largest two values are reserved.
    pub const MAX_ORDER: u64 = u32::MAX as u64 - 1;

    /// Checks and copies arrays that describe the lower triangle, user order, indices from 0.
    ///
    /// `col_ptr` has length `n + 1`; `row_idx` has length `col_ptr[n]`, sorted within each column,
    /// diagonal first.
    ///
    /// # Errors
    /// [`StructureError`], which names the first place where that is not so.
    pub fn lower<P: IndexLike, I: IndexLike>(
        n: usize,
        col_ptr: &[P],
        row_idx: &[I],
    ) -> Result<Self, StructureError> {
        if n as u64 > Self::MAX_ORDER {
            return Err(StructureError::OrderTooLarge { n: n as u64 });
        }
        check_len("col_ptr", col_ptr.len(), n as u64 + 1)?;
        let mut offsets = Vec::with_capacity(n + 1);
        let mut last = 0;
        for (j, p) in col_ptr.iter().enumerate() {
            let column = j.saturating_sub(1);
            let p = p.to_index().ok_or(StructureError::Offsets { column })?;
            if j == 0 && p != 0 {
                return Err(StructureError::FirstOffset { first: p });
            }
            if p < last {
                return Err(StructureError::Offsets { column });
            }
            last = p;
            offsets.push(p);
        }
        check_len("row_idx", row_idx.len(), last)?;
        let mut rows = Vec::with_capacity(row_idx.len());
        for (column, w) in offsets.windows(2).enumerate() {
            let mut next = column as u64; // smallest row that may come
            for r in &row_idx[w[0] as usize..w[1] as usize] {
                let row = match r.to_index() {
                    Some(r) if r < n as u64 => r,
                    other => {
                        let row = other.map_or(-1, |r| r.min(i64::MAX as u64) as i64);
                        return Err(StructureError::RowOutOfRange { column, row, n });
                    }
                };
                if row < next {
                    let row = row as usize;
                    return Err(if row < column {
                        StructureError::AboveDiagonal { column, row }
                    } else {
                        StructureError::NotSorted { column, row }
                    });
                }
                if next == column as u64 && row != next {
                    let rows = &row_idx[w[0] as usize..w[1] as usize];
                    let is_later = rows.iter().any(|r| r.to_index() == Some(next));
                    let row = column;
                    return Err(match is_later {
                        true => StructureError::NotSorted { column, row },
                        false => StructureError::NoDiagonal { column },
                    });
                }
                next = row + 1;
                rows.push(row as u32);
            }
            if w[0] == w[1] {
                return Err(StructureError::NoDiagonal { column });
            }
        }
        Ok(Self {
            n,
            col_ptr: offsets,
            row_idx: rows,
            fingerprint: OnceLock::new(),
        })
    }

    /// Takes arrays that already satisfy the invariants; checked only in debug builds.
    pub(crate) fn from_checked(n: usize, col_ptr: Vec<u64>, row_idx: Vec<u32>) -> Self {
        debug_assert!(Self::lower(n, &col_ptr, &row_idx).is_ok());
        Self {
            n,
            col_ptr,
            row_idx,
            fingerprint: OnceLock::new(),
        }
    }

    /// Hash of the order, the column offsets and the row indices; computed once, at the speed of memory.
    ///
    /// The same on every machine. Two patterns with equal fingerprints are, for all but
    /// malicious purposes, equal.
    pub fn fingerprint(&self) -> u64 {
        let of_arrays = || fingerprint(self.n, &self.col_ptr, &self.row_idx);
        *self.fingerprint.get_or_init(of_arrays)
    }

    /// Order of the matrix.
    #[inline]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of stored entries: the lower triangle with the diagonal.
    pub fn nnz_lower(&self) -> u64 {
        self.row_idx.len() as u64
    }

    /// Number of entries of the full symmetric matrix.
    pub fn nnz_full(&self) -> u64 {
        2 * self.nnz_lower() - self.n as u64
    }

    /// Offsets of the columns into [`row_idx`](Self::row_idx), length `n + 1`.
    #[inline]
    pub fn col_ptr(&self) -> &[u64] {
        &self.col_ptr
    }

    /// Row indices of all columns one after another, user order, length `nnz_lower`.
    #[inline]
    pub fn row_idx(&self) -> &[u32] {
        &self.row_idx
    }

    /// Range of column `j` in [`row_idx`](Self::row_idx) and in a matrix's values.
    #[inline]
    pub fn range(&self, j: usize) -> std::ops::Range<usize> {
        self.col_ptr[j] as usize..self.col_ptr[j + 1] as usize
    }

    /// Rows of column `j`, increasing, the first being `j`.
    #[inline]
    pub fn rows(&self, j: usize) -> &[u32] {
        &self.row_idx[self.range(j)]
    }

    /// Where the entry `(row, column)` of either triangle stands in a matrix's values, in user order from 0: what assembly into
    /// [`values_mut`](crate::SymmetricCsc::values_mut) looks up once for each element. None where it is not stored. Takes a search of the column.
    pub fn position(&self, row: u32, column: u32) -> Option<usize> {
        let (row, column) = (row.max(column), row.min(column) as usize);
        let rows = (column < self.n()).then(|| self.rows(column))?;
        let place = rows.binary_search(&row).ok()?;
        Some(self.range(column).start + place)
    }

    /// Whether column `j < n` has the same rows as the one before it, from `j` on: unless other columns tell them apart, the two
    /// unknowns are twins. Columns count from 0, the first has none before it.
    pub fn continues(&self, j: usize) -> bool {
        let Some(before) = j.checked_sub(1) else {
            return false;
        };
        let (rows, next) = (self.range(j), self.range(before).start + 1);
        self.may_continue(j) && self.row_idx[next..rows.start] == self.row_idx[rows]
    }

    /// Whether its length and first row allow that column `j`, not the first one, [continues](Self::continues) the one before it: this
    /// mostly says it, in one branch.
    #[inline]
    pub(crate) fn may_continue(&self, j: usize) -> bool {
        let bounds = &self.col_ptr[j - 1..j + 2];
        // The column before ends where this one begins, so there is an entry to look at.
        let next = bounds[0] + 1;
        (next + bounds[2] == 2 * bounds[1]) & (self.row_idx[next as usize] as usize == j)
    }

    /// Wraps the pattern for sharing.
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}

pub(crate) fn check_len(
    array: &'static str,
    found: usize,
    expected: u64,
) -> Result<(), StructureError> {
    if found as u64 == expected {
        Ok(())
    } else {
        Err(StructureError::Length {
            array,
            found: found as u64,
            expected,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_a_lower_triangle() {
        let p = Pattern::lower(3, &[0usize, 2, 3, 4], &[0i32, 2, 1, 2]).unwrap();
        assert_eq!((p.n(), p.nnz_lower(), p.nnz_full()), (3, 4, 5));
        assert_eq!(p.rows(0), &[0, 2]);
    }

    #[test]
    fn names_what_is_wrong() {
        use StructureError as E;
        let low = |n, p: &[i64], r: &[i64]| Pattern::lower(n, p, r).unwrap_err();
        assert_eq!(
            low(2, &[0, 1], &[0]),
            E::Length {
                array: "col_ptr",
                found: 2,
                expected: 3
            }
        );
        assert_eq!(
            low(1, &[0, 2], &[0]),
            E::Length {
                array: "row_idx",
                found: 1,
                expected: 2
            }
        );
        assert_eq!(low(2, &[0, 2, 1], &[0, 1]), E::Offsets { column: 1 });
        // The diagonal is there, in another place.
        let unsorted = E::NotSorted { column: 0, row: 0 };
        assert_eq!(low(2, &[0, 2, 3], &[1, 0, 1]), unsorted);
        assert_eq!(low(1, &[1, 2], &[1]), E::FirstOffset { first: 1 });
        assert_eq!(low(1, &[0, -1], &[0]), E::Offsets { column: 0 });
        assert_eq!(
            low(2, &[0, 2, 3], &[0, 2, 1]),
            E::RowOutOfRange {
                column: 0,
                row: 2,
                n: 2
            }
        );
        assert_eq!(
            low(2, &[0, 2, 3], &[0, -7, 1]),
            E::RowOutOfRange {
                column: 0,
                row: -1,
                n: 2
            }
        );
        assert_eq!(
            low(2, &[0, 1, 3], &[0, 0, 1]),
            E::AboveDiagonal { column: 1, row: 0 }
        );
        assert_eq!(
            low(2, &[0, 3, 4], &[0, 1, 1, 1]),
            E::NotSorted { column: 0, row: 1 }
        );
        assert_eq!(low(2, &[0, 1, 2], &[1, 1]), E::NoDiagonal { column: 0 });
        assert_eq!(low(2, &[0, 0, 1], &[1]), E::NoDiagonal { column: 0 });
    }

    #[test]
    fn the_empty_matrix_is_a_matrix() {
        assert_eq!(Pattern::lower(0, &[0u64], &[] as &[u32]).unwrap().n(), 0);
    }
}
