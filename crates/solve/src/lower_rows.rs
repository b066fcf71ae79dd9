//! The rows of a lower triangle that is stored by columns.

use std::ops::Range;
use std::sync::Arc;

use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::substitution::Shared;

/// An entry of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub value: f64,
    pub column: u32,
    /// Where it stands in the matrix's values, modulo 2^32.
    source: u32,
}

/// Entries whose values are taken anew by one task, about.
const PART: usize = 1 << 16;

/// A copy of the entries below the diagonal, row by row, columns increasing: 16 bytes an entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct LowerRows {
    /// Whose entries they are.
    pattern: Option<Arc<Pattern>>,
    /// Where rows begin, n + 1 numbers.
    starts: Vec<usize>,
    entries: Vec<Entry>,
}

impl LowerRows {
    /// Copies the entries of another matrix, in the memory of those before: those of blocks of columns, from `cuts[c]` to `cuts[c + 1]`,
    /// side by side if `each(count, body)` calls `body(0..count)` so. Of a matrix with the same pattern as before only the values.
    pub fn refill(
        &mut self,
        a: &SymmetricCsc<f64>,
        cuts: &[usize],
        each: impl Fn(usize, &(dyn Fn(usize) + Sync)),
    ) {
        let same = |of: &Arc<Pattern>| Arc::ptr_eq(of, a.pattern()) || **of == **a.pattern();
        if a.values().len() as u64 <= 1 << 32 && self.pattern.as_ref().is_some_and(same) {
            return self.take_values(a.values(), each);
        }
        // Nobody's, should this end halfway.
        self.pattern = None;
        let (n, blocks) = (a.n(), cuts.len() - 1);
        // For each block of columns and each row how many entries it has there; then where the next one goes.
        let mut places = vec![0usize; blocks * n];
        let to_places = Shared(places.as_mut_ptr());
        each(blocks, &|c| {
            for_each_below(a, cuts[c]..cuts[c + 1], |i, _| {
                // SAFETY: each block has n places of its own.
                unsafe { *to_places.at(c * n + i) += 1 };
            });
        });
        self.starts.clear();
        let mut next = 0;
        for i in 0..n {
            self.starts.push(next);
            for place in places[i..].iter_mut().step_by(n) {
                (*place, next) = (next, next + *place);
            }
        }
        self.starts.push(next);
        self.entries.resize(next, Entry::default());
        let (to_places, entries) = (
            Shared(places.as_mut_ptr()),
            Shared(self.entries.as_mut_ptr()),
        );
        each(blocks, &|c| {
            for_each_below(a, cuts[c]..cuts[c + 1], |i, entry| {
                // SAFETY: as above; what was counted is as many entries as there are, and no two have one place.
                unsafe {
                    let place = to_places.at(c * n + i);
                    *entries.at(*place) = entry;
                    *place += 1;
                }
            });
        });
        self.pattern = Some(a.pattern().clone());
    }

    /// The values of another matrix with this pattern.
    fn take_values(&mut self, values: &[f64], each: impl Fn(usize, &(dyn Fn(usize) + Sync))) {
        let len = self.entries.len();
        let entries = Shared(self.entries.as_mut_ptr());
        each(len.div_ceil(PART), &|part| {
            for k in part * PART..len.min((part + 1) * PART) {
                // SAFETY: there are so many entries, and each is in one part.
                let entry = unsafe { &mut *entries.at(k) };
                entry.value = values[entry.source as usize];
            }
        });
    }

    /// The entries of row i left of the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[Entry] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }
}

/// Calls `body` with the row and the entry of everything below the diagonal in some columns.
#[inline(always)]
fn for_each_below(
    a: &SymmetricCsc<f64>,
    columns: Range<usize>,
    mut body: impl FnMut(usize, Entry),
) {
    let rows = a.pattern().row_idx();
    for j in columns {
        for source in a.pattern().range(j) {
            let (i, column) = (rows[source] as usize, j as u32);
            if i != j {
                let entry = Entry {
                    value: a.values()[source],
                    column,
                    source: source as u32,
                };
                body(i, entry);
            }
        }
    }
}
