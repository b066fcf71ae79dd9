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
    /// Column (elimination order) in the high half, low half of the source in the low half: eight
    /// bytes an entry, as this is the largest array of the analysis.
    entries: Vec<u64>,
    /// High halves of the sources, empty unless A has 2^32 entries or more.
    src_high: Vec<u32>,
}

impl LowerRows {
    /// Sorts the entries of `pattern` into rows of the permuted matrix.
    pub fn new(pattern: &Pattern, ordering: &Permutation) -> Self {
        let wide = pattern.nnz_lower() > u64::from(u32::MAX);
        Self::with_width(pattern, ordering, wide)
    }

    /// As `new`, with 64-bit sources if `wide`.
    fn with_width(pattern: &Pattern, ordering: &Permutation, wide: bool) -> Self {
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
        let mut entries = vec![0u64; sum];
        let mut src_high = vec![0u32; if wide { sum } else { 0 }];
        for j in 0..n {
            let b = elim[j];
            let range = pattern.range(j);
            for (k, &i) in (range.start..range.end).zip(pattern.rows(j)).skip(1) {
                let a = elim[i as usize];
                let slot = &mut ptr[a.max(b) as usize];
                *slot -= 1;
                entries[*slot] = u64::from(a.min(b)) << 32 | u64::from(k as u32);
                if wide {
                    src_high[*slot] = (k as u64 >> 32) as u32;
                }
            }
        }
        Self {
            ptr,
            entries,
            src_high,
        }
    }

    /// Order of the matrix.
    pub fn n(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Columns of row `i` left of the diagonal.
    pub fn row(&self, i: usize) -> impl Iterator<Item = u32> + '_ {
        let range = self.ptr[i]..self.ptr[i + 1];
        self.entries[range].iter().map(|&e| column(e))
    }

    /// Columns of row `i` left of the diagonal, and the positions of its entries in the user's values.
    pub fn row_with_src(&self, i: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.ptr[i]..self.ptr[i + 1];
        let start = range.start;
        let entries = self.entries[range].iter().enumerate();
        entries.map(move |(k, &e)| {
            let high = self.src_high.get(start + k).copied().unwrap_or(0);
            (column(e), u64::from(high) << 32 | u64::from(e as u32))
        })
    }

    /// Columns of all entries, row after row.
    pub fn all_columns(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().map(|&e| column(e))
    }

    /// The columns of the relabeled matrix: what was `k` becomes `label[k]`, which must keep the
    /// triangle lower (any topological order of the elimination tree does).
    pub fn columns(&self, label: &[u32]) -> LowerColumns {
        let n = self.n();
        let mut ptr = vec![0usize; n + 1];
        for c in self.all_columns() {
            ptr[label[c as usize] as usize] += 1;
        }
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        // Room for the diagonal too: the buffer becomes the rows of the entry map.
        let mut rows = vec![0u32; sum + n];
        for i in 0..n {
            for c in self.row(i) {
                let slot = &mut ptr[label[c as usize] as usize];
                *slot -= 1;
                rows[*slot] = label[i];
            }
        }
        LowerColumns { ptr, rows }
    }
}

/// The column of a packed entry.
fn column(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// Strict lower triangle of a relabeled pattern, by columns, rows in no particular order.
pub(crate) struct LowerColumns {
    /// Offsets of the columns, length `n + 1`.
    pub ptr: Vec<usize>,
    /// Rows, and room for n more.
    pub rows: Vec<u32>,
}

impl LowerColumns {
    /// Rows of column `j` below the diagonal.
    pub fn column(&self, j: usize) -> &[u32] {
        &self.rows[self.ptr[j]..self.ptr[j + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::Random;

    #[test]
    fn wide_and_narrow_sources_agree_and_name_their_entries() {
        for seed in 0..200 {
            let mut random = Random(seed);
            let a = random.pattern(20);
            let order = random.order(a.n());
            let narrow = LowerRows::with_width(&a, &order, false);
            let wide = LowerRows::with_width(&a, &order, true);
            let mut seen = 0;
            for i in 0..a.n() {
                assert!(narrow.row_with_src(i).eq(wide.row_with_src(i)));
                for (j, src) in wide.row_with_src(i) {
                    let column = a.col_ptr().partition_point(|&p| p <= src) - 1;
                    let row = a.row_idx()[src as usize] as usize;
                    let ends = [row, column].map(|u| order.elim_of_user()[u]);
                    assert!(ends == [i as u32, j] || ends == [j, i as u32]);
                    assert!(j < i as u32);
                    seen += 1;
                }
            }
            assert_eq!(seen + a.n() as u64, a.nnz_lower());
        }
    }

    #[test]
    fn sources_above_32_bits_come_back_whole() {
        let rows = LowerRows {
            ptr: vec![0, 0, 1],
            entries: vec![7],
            src_high: vec![3],
        };
        assert!(rows.row_with_src(1).eq([(0, 3 << 32 | 7)]));
    }
}
