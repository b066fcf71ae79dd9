//! The strict lower triangle of `P A Pᵀ` by rows, node by node.
//!
//! Invariant: row `i` lists columns below `i` only, each once, in the order of the user's columns. One thread sorts the
//! entries by counting. Several do so in two passes: some columns of the user at a time, entries go to blocks of rows;
//! then each block, small enough for a cache, is sorted by rows. No thread waits for another. Time and memory
//! linear in `n + nnz(A)`; the diagonal is left out because it is always present and its source is known.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use tamarack_sparse::{Pattern, Runs};

use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::threads::{CHUNK, chunks, map_all, shared_u32, shared_u64, slices, threads};
use tamarack_sparse::memory::zeroed;

/// Blocks of rows, at most: so many streams a thread writes at once.
const BLOCKS: usize = 256;

/// Entries from which two threads are worth it.
const MANY: usize = if cfg!(test) { 1 } else { 1 << 20 };

/// Rows of a block, at least.
const LEAST_ROWS: usize = if cfg!(test) { 4 } else { 1 << 11 };

/// Strict lower triangle of a permuted pattern, by rows; rows and columns are ranks of nodes.
pub(crate) struct LowerRows {
    /// Offsets of the rows, length `nodes + 1`.
    pub ptr: Vec<u64>,
    /// Column in the high half and the source modulo 2^32 in the low half: eight bytes an entry, as this is the
    /// largest array of the analysis. The source is where the entry of the first unknowns of both nodes stands
    /// in the user's values.
    entries: Vec<u64>,
}

impl LowerRows {
    /// Sorts the entries of `pattern` into rows of the permuted matrix; `runs` are those that the nodes were found in.
    pub fn new(pattern: &Pattern, runs: Option<&Runs>, nodes: &Nodes<'_>) -> Self {
        let edges = Edges::new(pattern, runs, nodes);
        let rows = match nodes.len() {
            // Few rows may be blocks themselves.
            0..=LEAST_ROWS => 1,
            _ if !edges.are_worth_blocks() => 1,
            many => LEAST_ROWS.max(many.div_ceil(BLOCKS)),
        };
        if rows == 1 {
            return Self::sorted(&edges, nodes.len());
        }
        let shift = rows.next_power_of_two().trailing_zeros();
        let blocks = chunks(nodes.len(), 1 << shift);
        let (ptr, row_of, mut entries) = sorted_by_blocks(&edges, shift, blocks.len());
        let mut row_ptr = zeroed(nodes.len() + 1);
        row_ptr[nodes.len()] = entries.len() as u64;
        let ranges = || ptr.windows(2).map(|w| w[0] as usize..w[1] as usize);
        let starts = slices(&mut row_ptr, blocks.clone());
        let places = slices(&mut entries, ranges());
        let tasks = starts.zip(places).zip(ranges().zip(blocks));
        map_all(tasks, |((starts, entries), (range, rows))| {
            let row_of = &row_of[range.clone()];
            sort_block(
                row_of,
                rows.start as u32,
                range.start as u64,
                starts,
                entries,
            );
        });
        Self {
            ptr: row_ptr,
            entries,
        }
    }

    /// Sorts edges into rows, as one thread does it.
    fn sorted(edges: &Edges<'_>, rows: usize) -> Self {
        let columns = 0..edges.ptr.len() - 1;
        // Counts stand two places on; summed up, `ptr[row + 1]` says where a row begins and, once it is filled, where it ends.
        let mut ptr = zeroed::<u64>(rows + 2);
        let counts = &mut ptr[2..];
        edges.for_each(columns.clone(), |row, _, _| counts[row as usize] += 1);
        let mut sum = 0;
        for begin in counts {
            sum += *begin;
            *begin = sum;
        }
        let mut entries = zeroed(sum as usize);
        let (next, to_entries) = (&mut ptr[1..], &mut entries[..]);
        edges.for_each(columns, |row, column, src| {
            let slot = &mut next[row as usize];
            to_entries[*slot as usize] = packed(column, src);
            *slot += 1;
        });
        ptr.truncate(rows + 1);
        Self { ptr, entries }
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

    /// Number of entries.
    pub fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// Columns of all entries, row after row.
    pub fn columns(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().map(|&e| column(e))
    }

    /// Columns of row `i` left of the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = u32> + Clone + '_ {
        self.entries[self.range(i)].iter().map(|&e| column(e))
    }

    /// Columns of row `i` left of the diagonal, and the positions of these entries in the user's values modulo 2^32.
    #[inline]
    pub fn row_entries(&self, i: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.entries[self.range(i)]
            .iter()
            .map(|&e| (column(e), e as u32))
    }

    /// Column of the entry that stands at `at`, and its position in the user's values modulo 2^32.
    #[inline]
    pub fn entry(&self, at: usize) -> (u32, u32) {
        let entry = self.entries[at];
        (column(entry), entry as u32)
    }
}

/// A column, and a source modulo 2^32.
fn packed(column: u32, src: u64) -> u64 {
    u64::from(column) << 32 | u64::from(src as u32)
}

/// The column of a packed entry.
fn column(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// Sorts the edges between nodes by blocks of `1 << shift` rows, those of a block in the order of the user's
/// columns: offsets of the blocks, rows, packed entries.
fn sorted_by_blocks(
    edges: &Edges<'_>,
    shift: u32,
    blocks: usize,
) -> (Vec<u64>, Vec<u32>, Vec<u64>) {
    let parts = chunks(edges.ptr.len() - 1, CHUNK);
    let mut next = map_all(parts.clone(), |columns| {
        let mut counts = vec![0u64; blocks];
        edges.for_each(columns, |row, _, _| {
            counts[(row >> shift) as usize] += 1;
        });
        counts
    });
    let mut ptr = Vec::with_capacity(blocks + 1);
    let mut sum = 0u64;
    for block in 0..blocks {
        ptr.push(sum);
        for counts in &mut next {
            sum += std::mem::replace(&mut counts[block], sum);
        }
    }
    ptr.push(sum);
    let mut entries = zeroed(sum as usize);
    let mut row_of = zeroed(sum as usize);
    let (to_entries, to_rows) = (shared_u64(&mut entries), shared_u32(&mut row_of));
    map_all(parts.zip(next), |(columns, mut next)| {
        edges.for_each(columns, |row, column, src| {
            let slot = &mut next[(row >> shift) as usize];
            to_entries[*slot as usize].store(packed(column, src), Relaxed);
            to_rows[*slot as usize].store(row, Relaxed);
            *slot += 1;
        });
    });
    (ptr, row_of, entries)
}

/// Sorts the entries of a block by rows, which begin with `first`; the offsets of the rows, zero so far, count from
/// `base`.
fn sort_block(rows: &[u32], first: u32, base: u64, starts: &mut [u64], entries: &mut [u64]) {
    for &row in rows {
        starts[(row - first) as usize] += 1;
    }
    // Exclusive ends first; filling from the back turns them into starts.
    let mut sum = base;
    for start in starts.iter_mut() {
        sum += *start;
        *start = sum;
    }
    let unsorted = entries.to_vec();
    for (&row, entry) in rows.iter().zip(unsorted).rev() {
        let slot = &mut starts[(row - first) as usize];
        *slot -= 1;
        entries[(*slot - base) as usize] = entry;
    }
}

/// The edges between nodes, by columns: those of the pattern, or of its runs where these are the nodes.
struct Edges<'a> {
    /// Offsets into `rows`.
    ptr: &'a [u64],
    /// Rows of each column, itself first.
    rows: &'a [u32],
    /// Rank of the node that each column and row begins, or `NONE`.
    rank: &'a [u32],
    /// Where the column of each run's first unknown begins in the user's values, and the runs.
    runs: Option<(&'a [u64], &'a Runs)>,
}

impl<'a> Edges<'a> {
    fn new(pattern: &'a Pattern, runs: Option<&'a Runs>, nodes: &'a Nodes<'_>) -> Self {
        let rank = &nodes.rank[..];
        match runs.filter(|_| nodes.are_runs) {
            Some(runs) => Self {
                ptr: runs.col_ptr(),
                rows: runs.row_idx(),
                rank,
                runs: Some((pattern.col_ptr(), runs)),
            },
            None => Self {
                ptr: pattern.col_ptr(),
                rows: pattern.row_idx(),
                rank,
                runs: None,
            },
        }
    }

    /// Whether threads sort them sooner by blocks first than one does by rows: two are as long about two passes each as one about
    /// one, as long as rows are in its caches.
    fn are_worth_blocks(&self) -> bool {
        match threads() {
            0 | 1 => false,
            2 => self.rows.len() >= MANY,
            _ => true,
        }
    }

    /// Calls `work` with the row, the column (ranks) and the source of every edge that stands in some of the columns.
    #[inline(always)]
    fn for_each(&self, columns: Range<usize>, mut work: impl FnMut(u32, u32, u64)) {
        let rank = self.rank;
        let bounds = self.ptr[columns.start..=columns.end].windows(2);
        for ((j, bounds), &b) in columns.clone().zip(bounds).zip(&rank[columns]) {
            if b == NONE {
                continue;
            }
            let below = bounds[0] as usize + 1..bounds[1] as usize;
            let rows = &self.rows[below.clone()];
            let mut edge = |src: u64, i: u32| {
                let a = rank[i as usize];
                if a != NONE {
                    work(a.max(b), a.min(b), src);
                }
            };
            if let Some((starts, runs)) = self.runs {
                let start = starts[runs.first()[j] as usize];
                let edges = runs.places()[below].iter().zip(rows);
                edges.for_each(|(&place, &i)| edge(start + u64::from(place), i));
            } else {
                let edges = (below.start as u64..).zip(rows);
                edges.for_each(|(src, &i)| edge(src, i));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::blocks;
    use tamarack_testkit::Rng;

    #[test]
    fn rows_hold_every_edge_and_name_its_entry() {
        // One thread sorts them otherwise than two.
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| (0..300).for_each(check));
        }
    }

    fn check(seed: u64) {
        let (a, order) = blocks(&mut Rng::new(seed), 30);
        let runs = Runs::find(&a);
        let nodes = Nodes::find(&a, runs.as_ref(), &order);
        let rows = LowerRows::new(&a, runs.as_ref(), &nodes);
        let mut rank = vec![NONE; a.n()];
        for (&user, r) in nodes.first.iter().zip(0..) {
            rank[user as usize] = r;
        }
        assert_eq!(rows.len(), nodes.len());
        let mut seen = 0;
        for i in 0..nodes.len() {
            seen += nodes.weight(i) * (nodes.weight(i) + 1) / 2;
            let mut before = None;
            for at in rows.range(i) {
                let (j, src) = rows.entry(at);
                assert!(before < Some(src));
                before = Some(src);
                let column = a.col_ptr().partition_point(|&p| p <= u64::from(src)) - 1;
                let row = a.row_idx()[src as usize] as usize;
                let ends = [row, column].map(|u| rank[u]);
                assert!(ends == [i as u32, j] || ends == [j, i as u32]);
                assert!(j < i as u32);
                seen += nodes.weight(i) * nodes.weight(j as usize);
            }
        }
        assert_eq!(u64::from(seen), a.nnz_lower());
    }
}
