//! The rows of a lower triangle that is stored by columns.

use tamarack_sparse::SymmetricCsc;

use crate::substitution::Shared;

/// An entry of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub value: f64,
    pub column: u32,
}

/// A copy of the entries below the diagonal, row by row, columns increasing: 16 bytes an entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct LowerRows {
    /// Where rows begin, n + 1 numbers.
    starts: Vec<usize>,
    entries: Vec<Entry>,
    /// For each block of columns and each row how many entries it has there; then where the next one goes.
    places: Vec<usize>,
}

impl LowerRows {
    /// Copies the entries of another matrix, in the memory of those before: those of blocks of columns, from `cuts[c]` to `cuts[c + 1]`,
    /// side by side if `each(count, body)` calls `body(0..count)` so.
    pub fn refill(
        &mut self,
        a: &SymmetricCsc<f64>,
        cuts: &[usize],
        each: impl Fn(usize, &(dyn Fn(usize) + Sync)),
    ) {
        let (n, blocks) = (a.n(), cuts.len() - 1);
        let below = |c: usize| {
            (cuts[c]..cuts[c + 1]).flat_map(move |j| {
                let (rows, values) = a.column(j);
                let entries = rows.iter().zip(values);
                let below = entries.filter(move |&(&i, _)| i as usize != j);
                below.map(move |(&i, &value)| (i as usize, j as u32, value))
            })
        };
        self.places.clear();
        self.places.resize(blocks * n, 0);
        let places = Shared(self.places.as_mut_ptr());
        each(blocks, &|c| {
            for (i, ..) in below(c) {
                // SAFETY: each block has n places of its own.
                unsafe { *places.at(c * n + i) += 1 };
            }
        });
        self.starts.clear();
        let mut next = 0;
        for i in 0..n {
            self.starts.push(next);
            for place in self.places[i..].iter_mut().step_by(n) {
                (*place, next) = (next, next + *place);
            }
        }
        self.starts.push(next);
        self.entries.resize(next, Entry::default());
        let (places, entries) = (
            Shared(self.places.as_mut_ptr()),
            Shared(self.entries.as_mut_ptr()),
        );
        each(blocks, &|c| {
            for (i, column, value) in below(c) {
                // SAFETY: as above; what was counted is as many entries as there are, and no two have one place.
                unsafe {
                    let place = places.at(c * n + i);
                    *entries.at(*place) = Entry { value, column };
                    *place += 1;
                }
            }
        });
    }

    /// The entries of row i left of the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[Entry] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }
}
