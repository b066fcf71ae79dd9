//! The matrix as it comes: compressed sparse rows on the host, checked once.

use crate::GpuError;
use crate::primitives::too_long;

/// Most entries and rows together, so that offsets take 32 bits on the device: half the traffic of 64,
/// and a matrix of 2^32 entries would fill a card of 48 GiB by itself.
const LIMIT: u64 = (1 << 32) - (1 << 16);

/// A sparse matrix by rows, on the host: row i has the columns `columns[starts[i]..starts[i + 1]]`,
/// ascending and distinct, and their values.
#[derive(Debug, Clone, Copy)]
pub struct Csr<'a, T> {
    column_count: u32,
    starts: &'a [u64],
    columns: &'a [u32],
    values: &'a [T],
}

impl<'a, T: Copy> Csr<'a, T> {
    /// A matrix of `starts.len() - 1` rows and `column_count` columns.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where starts do not ascend from 0 to the number of entries, columns of a row
    /// do not ascend strictly below `column_count`, or entries and rows together pass 2^32 - 2^16.
    pub fn new(
        column_count: u32,
        starts: &'a [u64],
        columns: &'a [u32],
        values: &'a [T],
    ) -> Result<Self, GpuError> {
        let entries = columns.len() as u64;
        let size = starts.len() as u64 + entries;
        if size > LIMIT {
            return Err(too_long("rows and entries of a sparse matrix", size, LIMIT));
        }
        if values.len() != columns.len() {
            return Err(too_long(
                "values of a sparse matrix",
                values.len() as u64,
                entries,
            ));
        }
        if starts.first() != Some(&0) || starts.last() != Some(&entries) {
            let last = starts.last().copied().unwrap_or(0);
            return Err(too_long("row starts of a sparse matrix", last, entries));
        }
        if let Some(pair) = starts.windows(2).find(|p| p[0] > p[1]) {
            return Err(too_long("row starts of a sparse matrix", pair[0], pair[1]));
        }
        let matrix = Self {
            column_count,
            starts,
            columns,
            values,
        };
        for row in 0..matrix.rows() {
            let mut least = 0;
            for &column in matrix.row(row) {
                if column < least || column >= column_count {
                    return Err(GpuError::Shape {
                        what: "column of a sparse matrix, which must ascend within its row",
                        got: column.into(),
                        have: column_count.into(),
                    });
                }
                least = column.saturating_add(1);
            }
        }
        Ok(matrix)
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        // Below LIMIT.
        self.starts.len() as u32 - 1
    }

    /// Columns.
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.column_count
    }

    /// Entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn range(&self, row: u32) -> std::ops::Range<usize> {
        self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize
    }

    pub(super) fn row(&self, row: u32) -> &'a [u32] {
        &self.columns[self.range(row)]
    }

    pub(super) fn starts(&self) -> &'a [u64] {
        self.starts
    }

    pub(super) fn all_columns(&self) -> &'a [u32] {
        self.columns
    }

    pub(super) fn values(&self) -> &'a [T] {
        self.values
    }

    /// The starts in 32 bits.
    pub(super) fn short_starts(&self) -> Vec<u32> {
        self.starts.iter().map(|&s| s as u32).collect()
    }

    /// An error if an entry stands above the diagonal, or the matrix is not square.
    pub(super) fn require_lower(&self) -> Result<(), GpuError> {
        if self.rows() != self.column_count {
            let (got, have) = (self.rows().into(), self.column_count.into());
            return Err(too_long("rows of a symmetric matrix", got, have));
        }
        // Columns ascend, so the last tells.
        match (0..self.rows()).find(|&i| self.row(i).last().is_some_and(|&j| j > i)) {
            Some(row) => Err(GpuError::Shape {
                what: "an entry above the diagonal of a lower half, in this row",
                got: row.into(),
                have: row.into(),
            }),
            None => Ok(()),
        }
    }

    /// Both halves of the symmetric matrix whose lower half this is.
    pub(super) fn mirrored(&self) -> (Vec<u64>, Vec<u32>, Vec<T>) {
        let n = self.rows();
        let mut starts = vec![0_u64; n as usize + 1];
        for i in 0..n {
            starts[i as usize + 1] += self.row(i).len() as u64;
            for &j in self.row(i).iter().filter(|&&j| j != i) {
                starts[j as usize + 1] += 1;
            }
        }
        for i in 0..n as usize {
            starts[i + 1] += starts[i];
        }
        let total = starts[n as usize] as usize;
        let mut next: Vec<u64> = starts[..n as usize].to_vec();
        let (mut columns, mut values) = (vec![0; total], Vec::with_capacity(total));
        let mut sources = vec![0_usize; total];
        // Row after row: each row first gets its own columns, then, from later rows, larger ones.
        for i in 0..n {
            for at in self.range(i) {
                let j = self.columns[at];
                let own = next[i as usize] as usize;
                (columns[own], sources[own]) = (j, at);
                next[i as usize] += 1;
                if j != i {
                    let other = next[j as usize] as usize;
                    (columns[other], sources[other]) = (i, at);
                    next[j as usize] += 1;
                }
            }
        }
        values.extend(sources.iter().map(|&at| self.values[at]));
        (starts, columns, values)
    }
}
