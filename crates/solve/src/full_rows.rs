//! The rows of a symmetric pattern whose lower triangle is stored by columns.
//!
//! Made by ranges of rows side by side: each goes over all entries and keeps its own, in the order of the columns. That is a look at every
//! entry for each range, and nothing between ranges: no counts for each of them, no entry that two may write. Cost: a look is half a
//! nanosecond, an entry that is kept ten times that, for it goes somewhere else than the one before.

use std::ops::Range;
use std::sync::Arc;

use tamarack_sparse::Pattern;
use tamarack_sparse::memory::in_large_pages;

use crate::substitution::Shared;

/// An entry of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub column: u32,
    /// Where it stands in the matrix's values.
    pub source: u32,
}

/// Entries ahead of those in work: what these need is anywhere, and has to be asked for.
const AHEAD: usize = 32;

/// All entries of the full matrix, row by row, columns increasing: 8 bytes each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FullRows {
    /// Whose entries they are.
    pattern: Option<Arc<Pattern>>,
    /// Where rows begin, n + 1 numbers.
    starts: Vec<usize>,
    /// Row after row, and [`AHEAD`] more that belong to none.
    entries: Vec<Entry>,
}

impl FullRows {
    /// Whether entries can be numbered.
    pub fn can_hold(pattern: &Pattern) -> bool {
        u32::try_from(pattern.nnz_lower()).is_ok()
    }

    /// Finds the rows of another pattern, in the memory of those before: `ranges` of them side by side, if `each(count, body)` calls
    /// `body(0..count)` so. Nothing is done for the same pattern once more.
    pub fn refill(
        &mut self,
        pattern: &Arc<Pattern>,
        ranges: usize,
        each: impl Fn(usize, &(dyn Fn(usize) + Sync)),
    ) {
        let same = |of: &Arc<Pattern>| Arc::ptr_eq(of, pattern) || **of == **pattern;
        if self.pattern.as_ref().is_some_and(same) {
            return;
        }
        // Nobody's, should this end halfway.
        self.pattern = None;
        self.find_starts(pattern, ranges, &each);
        let (n, count) = (pattern.n(), self.starts[pattern.n() + 1]);
        self.entries.clear();
        self.entries.reserve(count + AHEAD);
        in_large_pages(&self.entries);
        let entries = Shared(self.entries.as_mut_ptr());
        let cut = |k: usize| self.starts[1..].partition_point(|&at| at < count * k / ranges);
        let cuts: Vec<usize> = (0..=ranges).map(|k| cut(k).min(n)).collect();
        let next = Shared(self.starts[1..].as_mut_ptr());
        each(ranges, &|range| {
            // SAFETY: rows of this range are nobody else's, and their entries are as many as were counted.
            let put = |row: usize, entry: Entry| unsafe {
                let next = &mut *next.at(row);
                entries.at(*next).write(entry);
                *next += 1;
            };
            for_each(pattern, cuts[range]..cuts[range + 1], put);
        });
        // SAFETY: all rows are full.
        unsafe { self.entries.set_len(count) };
        self.entries.resize(count + AHEAD, Entry::default());
        self.starts.truncate(n + 1);
        self.pattern = Some(pattern.clone());
    }

    /// Finds where rows begin, one place behind where that is looked up: filled row by row, each of these numbers becomes that of the
    /// next row. The last one is the number of entries.
    fn find_starts(
        &mut self,
        pattern: &Pattern,
        ranges: usize,
        each: impl Fn(usize, &(dyn Fn(usize) + Sync)),
    ) {
        let n = pattern.n();
        self.starts.clear();
        self.starts.resize(n + 2, 0);
        let counts = Shared(self.starts[2..].as_mut_ptr());
        each(ranges, &|range| {
            let own = n * range / ranges..n * (range + 1) / ranges;
            for &row in pattern.row_idx() {
                if own.contains(&(row as usize)) {
                    // SAFETY: rows of this range are nobody else's.
                    unsafe { *counts.at(row as usize) += 1 };
                }
            }
            for row in own {
                // The diagonal was counted. SAFETY: as above.
                unsafe { *counts.at(row) += pattern.range(row).len() - 1 };
            }
        });
        let mut sum = 0;
        for begin in &mut self.starts[2..] {
            sum += *begin;
            *begin = sum;
        }
    }

    /// The entries of row i, each with one that comes a while after it, or none that matters.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (&Entry, &Entry)> {
        let (begin, end) = (self.starts[i], self.starts[i + 1]);
        let later = &self.entries[begin + AHEAD..end + AHEAD];
        self.entries[begin..end].iter().zip(later)
    }
}

/// Calls `put(row, entry)` for all entries of some rows, those of a row in the order of the columns.
fn for_each(pattern: &Pattern, own: Range<usize>, mut put: impl FnMut(usize, Entry)) {
    let rows = pattern.row_idx();
    let entry = |column: usize, source: usize| Entry {
        column: column as u32,
        source: source as u32,
    };
    for j in 0..own.end {
        let range = pattern.range(j);
        for source in range.clone().skip(1) {
            let i = rows[source] as usize;
            if own.contains(&i) {
                put(i, entry(j, source));
            }
        }
        if j >= own.start {
            // What is left of the diagonal was put there by the columns before.
            range.for_each(|source| put(j, entry(rows[source] as usize, source)));
        }
    }
}
