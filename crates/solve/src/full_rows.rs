//! The rows of a symmetric pattern whose lower triangle is stored by columns.
//!
//! What a column has below the diagonal goes to rows that are anywhere, so it is first sorted into buckets of neighboring rows, as many
//! as can be written side by side, then row by row within each bucket, which is small enough for a cache. Blocks of columns, and then
//! buckets, are done by several threads. Cost: about 10 ns an entry.

use std::ops::Range;
use std::sync::Arc;

use tamarack_sparse::Pattern;
use tamarack_sparse::memory::{make_room, with_room};

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

/// Buckets at most, and rows of one at least.
const BUCKETS: usize = 256;
const LEAST_ROWS: usize = if cfg!(test) { 16 } else { 1 << 12 };

/// An entry below the diagonal on its way to its row.
#[derive(Clone, Copy, Debug)]
struct Below {
    row: u32,
    entry: Entry,
}

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
pub(crate) type Each<'a> = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + 'a;

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
        let n = pattern.n();
        let buckets = Buckets::new(n);
        let (ptr, below) = buckets.sorted(pattern, cuts, each);
        let count = pattern.nnz_full() as usize;
        self.starts.clear();
        make_room(&mut self.starts, n + 1);
        self.starts.resize(n + 1, 0);
        self.entries.clear();
        make_room(&mut self.entries, count + AHEAD);
        let entries = Shared(self.entries.as_mut_ptr());
        let ends = Shared(self.starts[1..].as_mut_ptr());
        each(buckets.count, &|bucket| {
            let rows = buckets.rows(bucket, n);
            let below = &below[ptr[bucket]..ptr[bucket + 1]];
            // All that is in rows before these.
            let begin = ptr[bucket] + pattern.col_ptr()[rows.start] as usize;
            // SAFETY: these rows, and so many entries of them, are this task's.
            unsafe {
                fill(
                    pattern,
                    rows.clone(),
                    below,
                    entries.at(begin),
                    begin,
                    ends.at(rows.start),
                )
            };
        });
        // SAFETY: all rows are full.
        unsafe { self.entries.set_len(count) };
        self.entries.resize(count + AHEAD, Entry::default());
        self.pattern = Some(pattern.clone());
    }

    /// The entries of row i, each with one that comes a while after it, or none that matters.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (&Entry, &Entry)> {
        let (begin, end) = (self.starts[i] as usize, self.starts[i + 1] as usize);
        let later = &self.entries[begin + AHEAD..end + AHEAD];
        self.entries[begin..end].iter().zip(later)
    }
}

/// Buckets of neighboring rows.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    /// A bucket has two to the power of this rows.
    shift: u32,
    count: usize,
}

impl Buckets {
    fn new(n: usize) -> Self {
        let rows = n.div_ceil(BUCKETS).max(LEAST_ROWS).next_power_of_two();
        Self {
            shift: rows.trailing_zeros(),
            count: n.div_ceil(rows),
        }
    }

    fn of(self, row: u32) -> usize {
        (row >> self.shift) as usize
    }

    fn rows(self, bucket: usize, n: usize) -> Range<usize> {
        bucket << self.shift..n.min((bucket + 1) << self.shift)
    }

    /// What columns have below the diagonal, bucket by bucket, columns increasing, and where buckets begin.
    fn sorted(
        self,
        pattern: &Pattern,
        cuts: &[usize],
        each: &Each<'_>,
    ) -> (Vec<usize>, Vec<Below>) {
        let blocks = cuts.len() - 1;
        let source_of = |c: usize| (cuts[c]..cuts[c + 1]).map(|j| (j, pattern.range(j).skip(1)));
        // For each block of columns and each bucket how many entries there are; then where the next one goes.
        let mut places = vec![0usize; blocks * self.count];
        let to_places = Shared(places.as_mut_ptr());
        let place = move |c: usize, row: u32| to_places.at(c * self.count + self.of(row));
        each(blocks, &|c| {
            for source in source_of(c).flat_map(|(_, sources)| sources) {
                // SAFETY: each block has places of its own.
                unsafe { *place(c, pattern.row_idx()[source]) += 1 };
            }
        });
        let (mut ptr, mut next) = (Vec::with_capacity(self.count + 1), 0);
        for bucket in 0..self.count {
            ptr.push(next);
            for place in places[bucket..].iter_mut().step_by(self.count) {
                (*place, next) = (next, next + *place);
            }
        }
        ptr.push(next);
        let mut below: Vec<Below> = with_room(next);
        let (to_places, to_below) = (Shared(places.as_mut_ptr()), Shared(below.as_mut_ptr()));
        let place = move |c: usize, row: u32| to_places.at(c * self.count + self.of(row));
        each(blocks, &|c| {
            for (j, sources) in source_of(c) {
                for source in sources {
                    let row = pattern.row_idx()[source];
                    let (column, source) = (j as u32, source as u32);
                    let entry = Entry { column, source };
                    // SAFETY: as above; there is room for all, and no two have one place.
                    unsafe {
                        let place = place(c, row);
                        to_below.at(*place).write(Below { row, entry });
                        *place += 1;
                    }
                }
            }
        });
        // SAFETY: as many were written as were counted.
        unsafe { below.set_len(next) };
        (ptr, below)
    }
}

/// Writes the entries of some rows, of which those left of the diagonal are given, columns increasing; the first row begins at `begin`,
/// and `ends` gets where each ends.
///
/// # Safety
/// There is room for these entries and for an end of each row, and nobody else uses it.
unsafe fn fill(
    pattern: &Pattern,
    rows: Range<usize>,
    below: &[Below],
    to: *mut Entry,
    begin: usize,
    ends: *mut u32,
) {
    // Entries left of the diagonal of each row, then where the next one goes.
    let mut next = vec![0u32; rows.len()];
    for entry in below {
        next[entry.row as usize - rows.start] += 1;
    }
    let mut at = 0;
    for (k, (i, next)) in rows.clone().zip(&mut next).enumerate() {
        let own = at + *next as usize;
        *next = at as u32;
        at = own;
        for source in pattern.range(i) {
            let column = pattern.row_idx()[source];
            let source = source as u32;
            // SAFETY: the caller's promise.
            unsafe { to.add(at).write(Entry { column, source }) };
            at += 1;
        }
        // SAFETY: the caller's promise.
        unsafe { *ends.add(k) = (begin + at) as u32 };
    }
    for &Below { row, entry } in below {
        let next = &mut next[row as usize - rows.start];
        // SAFETY: the caller's promise.
        unsafe { to.add(*next as usize).write(entry) };
        *next += 1;
    }
}
