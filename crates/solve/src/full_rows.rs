//! The rows of a symmetric pattern whose lower triangle is stored by columns.
//!
//! Made by blocks of columns side by side: each counts what it has in every row, then it is known where that goes. Cost: a few
//! nanoseconds an entry, for it goes somewhere else than the one before, and as many a row for each block.

use std::sync::Arc;

use tamarack_sparse::Pattern;
use tamarack_sparse::memory::{in_large_pages, zeroed};

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

/// Rows whose beginnings are found by one task.
const PART: usize = 1 << 14;

/// All entries of the full matrix, row by row, columns increasing: 8 bytes each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FullRows {
    /// Whose entries they are.
    pattern: Option<Arc<Pattern>>,
    /// Where rows begin, n + 1 numbers.
    starts: Vec<u32>,
    /// Row after row, and [`AHEAD`] more that belong to none.
    entries: Vec<Entry>,
}

/// Calls `body(0..count)`, side by side.
type Each<'a> = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + 'a;

impl FullRows {
    /// Whether entries can be numbered.
    pub fn can_hold(pattern: &Pattern) -> bool {
        u32::try_from(pattern.nnz_full()).is_ok()
    }

    /// Finds the rows of another pattern, in the memory of those before, by blocks of columns from `cuts[c]` to `cuts[c + 1]`. Nothing
    /// is done for the same pattern once more.
    pub fn refill(&mut self, pattern: &Arc<Pattern>, cuts: &[usize], each: &Each<'_>) {
        let same = |of: &Arc<Pattern>| Arc::ptr_eq(of, pattern) || **of == **pattern;
        if self.pattern.as_ref().is_some_and(same) {
            return;
        }
        // Nobody's, should this end halfway.
        self.pattern = None;
        let (n, blocks) = (pattern.n(), cuts.len() - 1);
        // For each block of columns and each row how many entries it has there; then where the next one goes.
        let mut places: Vec<u32> = zeroed(blocks * n);
        let to_places = Shared(places.as_mut_ptr());
        each(blocks, &|c| {
            let rows = pattern.row_idx();
            for j in cuts[c]..cuts[c + 1] {
                for source in pattern.range(j).skip(1) {
                    // SAFETY: each block has n places of its own.
                    unsafe { *to_places.at(c * n + rows[source] as usize) += 1 };
                }
            }
        });
        let count = self.find_starts(pattern, &mut places, each);
        self.entries.clear();
        self.entries.reserve(count + AHEAD);
        in_large_pages(&self.entries);
        let (entries, starts) = (Shared(self.entries.as_mut_ptr()), &self.starts[..]);
        let to_places = Shared(places.as_mut_ptr());
        each(blocks, &|c| {
            let rows = pattern.row_idx();
            for j in cuts[c]..cuts[c + 1] {
                let range = pattern.range(j);
                // Behind those left of the diagonal.
                let own = starts[j + 1] as usize - range.len();
                for (k, source) in range.enumerate() {
                    let row = rows[source];
                    let entry = |column: u32| Entry {
                        column,
                        source: source as u32,
                    };
                    // SAFETY: as above; there is room for as many entries as were counted, and no two have one place.
                    unsafe {
                        entries.at(own + k).write(entry(row));
                        if k > 0 {
                            let place = to_places.at(c * n + row as usize);
                            entries.at(*place as usize).write(entry(j as u32));
                            *place += 1;
                        }
                    }
                }
            }
        });
        // SAFETY: all rows are full.
        unsafe { self.entries.set_len(count) };
        self.entries.resize(count + AHEAD, Entry::default());
        self.pattern = Some(pattern.clone());
    }

    /// Finds where rows begin, and where what each block of columns has of them does, given how much that is. Returns the number of all
    /// entries.
    fn find_starts(&mut self, pattern: &Pattern, places: &mut [u32], each: &Each<'_>) -> usize {
        let n = pattern.n();
        let part = |p: usize| p * PART..n.min((p + 1) * PART);
        self.starts.clear();
        self.starts.resize(n + 1, 0);
        let (starts, places) = (
            Shared(self.starts.as_mut_ptr()),
            (Shared(places.as_mut_ptr()), places.len()),
        );
        let of_row = move |i: usize| (i..places.1).step_by(n).map(move |at| places.0.at(at));
        let parts = n.div_ceil(PART);
        let mut sums = vec![0u32; parts];
        let to_sums = Shared(sums.as_mut_ptr());
        each(parts, &|p| {
            // SAFETY: these rows, and this sum, are this task's alone.
            let lower = |i: usize| of_row(i).map(|place| unsafe { *place }).sum::<u32>();
            let sum = part(p)
                .map(|i| lower(i) + pattern.range(i).len() as u32)
                .sum();
            // SAFETY: as above.
            unsafe { *to_sums.at(p) = sum };
        });
        let mut count = 0;
        for sum in &mut sums {
            (*sum, count) = (count, count + *sum);
        }
        each(parts, &|p| {
            let mut next = sums[p];
            for i in part(p) {
                for place in of_row(i) {
                    // SAFETY: as above.
                    unsafe { (*place, next) = (next, next + *place) };
                }
                next += pattern.range(i).len() as u32;
                // SAFETY: as above.
                unsafe { *starts.at(i + 1) = next };
            }
        });
        count as usize
    }

    /// The entries of row i, each with one that comes a while after it, or none that matters.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (&Entry, &Entry)> {
        let (begin, end) = (self.starts[i] as usize, self.starts[i + 1] as usize);
        let later = &self.entries[begin + AHEAD..end + AHEAD];
        self.entries[begin..end].iter().zip(later)
    }
}
