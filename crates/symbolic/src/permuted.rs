//! The strict lower triangle of `P A Pᵀ` by rows, and its transpose.
//!
//! Invariant: row `i` lists columns below `i` only, each once, in no particular order. Built by
//! counting sorts in time and memory linear in `n + nnz(A)`; the diagonal is left out because it is
//! always present and its source is known.

use tamarack_sparse::{Pattern, Permutation};

/// Strict lower triangle of a permuted pattern, by rows.
pub(crate) struct LowerRows {
    /// Offsets of the rows, length `n + 1`.
    pub ptr: Vec<usize>,
    /// Columns and their sources.
    pub entries: Vec<RowEntry>,
}

/// One entry of a row.
#[derive(Clone, Copy, Default)]
pub(crate) struct RowEntry {
    /// Column, elimination order.
    pub column: u32,
    /// Low half of the position in the user's values.
    src_low: u32,
    /// High half.
    src_high: u32,
}

impl RowEntry {
    /// Position of the entry in the user's values.
    pub fn src(self) -> u64 {
        u64::from(self.src_low) | u64::from(self.src_high) << 32
    }
}

impl LowerRows {
    /// Sorts the entries of `pattern` into rows of the permuted matrix.
    pub fn new(pattern: &Pattern, ordering: &Permutation) -> Self {
        let n = pattern.n();
        let elim = ordering.elim_of_user();
        let mut ptr = vec![0usize; n + 1];
        for j in 0..n {
            let b = elim[j];
            for &i in &pattern.rows(j)[1..] {
                ptr[elim[i as usize].max(b) as usize] += 1;
            }
        }
        // Exclusive ends first; filling from the back turns them into starts.
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut entries = vec![RowEntry::default(); sum];
        for j in 0..n {
            let b = elim[j];
            let range = pattern.range(j);
            for (k, &i) in (range.start..range.end).zip(pattern.rows(j)).skip(1) {
                let a = elim[i as usize];
                let slot = &mut ptr[a.max(b) as usize];
                *slot -= 1;
                entries[*slot] = RowEntry {
                    column: a.min(b),
                    src_low: k as u32,
                    src_high: (k as u64 >> 32) as u32,
                };
            }
        }
        Self { ptr, entries }
    }

    /// Order of the matrix.
    pub fn n(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Entries of row `i` left of the diagonal.
    pub fn row(&self, i: usize) -> &[RowEntry] {
        &self.entries[self.ptr[i]..self.ptr[i + 1]]
    }

    /// The columns of the relabeled matrix: what was `k` becomes `label[k]`, which must keep the
    /// triangle lower (any topological order of the elimination tree does).
    pub fn columns(&self, label: &[u32]) -> LowerColumns {
        let n = self.n();
        let mut ptr = vec![0usize; n + 1];
        for e in &self.entries {
            ptr[label[e.column as usize] as usize] += 1;
        }
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut rows = vec![0u32; sum];
        for i in 0..n {
            for e in self.row(i) {
                let slot = &mut ptr[label[e.column as usize] as usize];
                *slot -= 1;
                rows[*slot] = label[i];
            }
        }
        LowerColumns { ptr, rows }
    }
}

/// Strict lower triangle of a relabeled pattern, by columns, rows in no particular order.
pub(crate) struct LowerColumns {
    /// Offsets of the columns, length `n + 1`.
    pub ptr: Vec<usize>,
    /// Rows.
    pub rows: Vec<u32>,
}

impl LowerColumns {
    /// Rows of column `j` below the diagonal.
    pub fn column(&self, j: usize) -> &[u32] {
        &self.rows[self.ptr[j]..self.ptr[j + 1]]
    }
}
