//! The strict lower triangle of `P A Pᵀ` by rows, node by node.
//!
//! Invariant: row `i` lists columns below `i` only, each once, in no particular order: nothing that is made of
//! the rows depends on it, so that threads may fill them together. Built by
//! a counting sort in time and memory linear in `n + nnz(A)`; the diagonal is left out because it is
//! always present and its source is known.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use tamarack_sparse::Pattern;

use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::threads::{chunks, map_all};

/// Unknowns whose entries a thread sorts in one go.
const CHUNK: usize = 1 << 14;

/// Strict lower triangle of a permuted pattern, by rows; rows and columns are ranks of nodes.
pub(crate) struct LowerRows {
    /// Offsets of the rows, length `nodes + 1`.
    pub ptr: Vec<u64>,
    /// Column in the high half, low half of the source in the low half: eight
    /// bytes an entry, as this is the largest array of the analysis. The source is where the entry of the first unknowns
    /// of both nodes stands in the user's values.
    entries: Vec<u64>,
    /// High halves of the sources, empty unless A has 2^32 entries or more.
    src_high: Vec<u32>,
}

impl LowerRows {
    /// Sorts the entries of `pattern` into rows of the permuted matrix.
    pub fn new(pattern: &Pattern, nodes: &Nodes<'_>) -> Self {
        let wide = pattern.nnz_lower() > u64::from(u32::MAX);
        Self::with_width(pattern, nodes, wide)
    }

    /// As `new`, with 64-bit sources if `wide`.
    fn with_width(pattern: &Pattern, nodes: &Nodes<'_>, wide: bool) -> Self {
        let mut ptr = vec![0u64; nodes.len() + 1];
        let counts = Counters::new(&mut ptr, pattern.n() > CHUNK);
        map_all(chunks(pattern.n(), CHUNK), |columns| {
            for_entries(pattern, nodes, columns, |row, _, _| {
                counts.add(row, 1);
            });
        });
        // Exclusive ends first; filling from the back turns them into starts.
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut entries = vec![0u64; sum as usize];
        let mut src_high = vec![0u32; if wide { sum as usize } else { 0 }];
        let next = Counters::new(&mut ptr, pattern.n() > CHUNK);
        let (slots, high) = (shared_u64(&mut entries), shared_u32(&mut src_high));
        map_all(chunks(pattern.n(), CHUNK), |columns| {
            for_entries(pattern, nodes, columns, |row, column, src| {
                let slot = next.add(row, u64::MAX).wrapping_sub(1) as usize;
                slots[slot].store(u64::from(column) << 32 | u64::from(src as u32), Relaxed);
                if wide {
                    high[slot].store((src >> 32) as u32, Relaxed);
                }
            });
        });
        Self {
            ptr,
            entries,
            src_high,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Where the entries of row `i` stand.
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        self.ptr[i] as usize..self.ptr[i + 1] as usize
    }

    /// Columns of row `i` left of the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = u32> + Clone + '_ {
        self.entries[self.range(i)].iter().map(|&e| column(e))
    }

    /// Column of the entry that stands at `at`, and its position in the user's values.
    #[inline]
    pub fn entry(&self, at: usize) -> (u32, u64) {
        let entry = self.entries[at];
        let high = self.src_high.get(at).copied().unwrap_or(0);
        (
            column(entry),
            u64::from(high) << 32 | u64::from(entry as u32),
        )
    }
}

/// The column of a packed entry.
fn column(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// Calls `work` with the row, the column (ranks) and the source of every edge between nodes that stands in some of the
/// user's columns.
fn for_entries(
    pattern: &Pattern,
    nodes: &Nodes<'_>,
    columns: Range<usize>,
    mut work: impl FnMut(u32, u32, u64),
) {
    let (ptr, rows, rank) = (pattern.col_ptr(), pattern.row_idx(), &nodes.rank[..]);
    for j in columns {
        let b = rank[j];
        if b == NONE {
            continue;
        }
        let below = ptr[j] + 1..ptr[j + 1];
        let list = &rows[below.start as usize..below.end as usize];
        for (src, &i) in below.zip(list) {
            let a = rank[i as usize];
            if a != NONE {
                work(a.max(b), a.min(b), src);
            }
        }
    }
}

/// Numbers that several threads count in.
struct Counters<'a> {
    numbers: &'a [AtomicU64],
    /// Whether there are several threads: a locked addition costs several plain ones.
    contended: bool,
}

impl<'a> Counters<'a> {
    fn new(numbers: &'a mut [u64], large: bool) -> Self {
        Self {
            numbers: shared_u64(numbers),
            contended: large && rayon::current_num_threads() > 1,
        }
    }

    /// Adds (modulo 2^64) and returns what was there.
    #[inline]
    fn add(&self, at: u32, what: u64) -> u64 {
        let number = &self.numbers[at as usize];
        if self.contended {
            return number.fetch_add(what, Relaxed);
        }
        let old = number.load(Relaxed);
        number.store(old.wrapping_add(what), Relaxed);
        old
    }
}

/// The same numbers for several threads.
fn shared_u64(numbers: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    // SAFETY: an atomic has the size of its number, and the alignment, as was just looked at. The borrow is
    // exclusive and handed on, so that for its life all accesses are atomic.
    unsafe { &*(std::ptr::from_mut(numbers) as *const [AtomicU64]) }
}

/// The same for half the width.
fn shared_u32(numbers: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: as above; a `u32` has the alignment of `AtomicU32` on all targets.
    unsafe { &*(std::ptr::from_mut(numbers) as *const [AtomicU32]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::{Random, blocks};

    #[test]
    fn wide_and_narrow_sources_agree_and_name_their_entries() {
        for seed in 0..300 {
            let (a, order) = blocks(&mut Random(seed), 12);
            let nodes = Nodes::find(&a, &order);
            let narrow = LowerRows::with_width(&a, &nodes, false);
            let wide = LowerRows::with_width(&a, &nodes, true);
            assert_eq!(
                (narrow.len(), narrow.ptr.clone()),
                (nodes.len(), wide.ptr.clone())
            );
            let mut seen = 0;
            for i in 0..nodes.len() {
                seen += nodes.weight(i) * (nodes.weight(i) + 1) / 2;
                for at in wide.range(i) {
                    let (j, src) = wide.entry(at);
                    assert_eq!(narrow.entry(at), (j, src));
                    let column = a.col_ptr().partition_point(|&p| p <= src) - 1;
                    let row = a.row_idx()[src as usize] as usize;
                    let ends = [row, column].map(|u| nodes.rank[u]);
                    assert!(ends == [i as u32, j] || ends == [j, i as u32]);
                    assert!(j < i as u32);
                    seen += nodes.weight(i) * nodes.weight(j as usize);
                }
            }
            assert_eq!(u64::from(seen), a.nnz_lower());
        }
    }

    #[test]
    fn sources_above_32_bits_come_back_whole() {
        let rows = LowerRows {
            ptr: vec![0, 0, 1],
            entries: vec![7],
            src_high: vec![3],
        };
        assert_eq!((rows.range(1), rows.entry(0)), (0..1, (0, 3 << 32 | 7)));
    }
}
