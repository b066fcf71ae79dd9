//! The rows of a lower triangle that is stored by columns.

use tamarack_sparse::SymmetricCsc;

/// An entry of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub value: f64,
    pub column: u32,
}

/// A copy of the entries below the diagonal, row by row, columns increasing: 16 bytes an entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct LowerRows {
    /// Where rows begin, n + 2 numbers; the last two are the same.
    starts: Vec<usize>,
    entries: Vec<Entry>,
}

impl LowerRows {
    /// Copies the entries of another matrix, in the memory of those before.
    pub fn refill(&mut self, a: &SymmetricCsc<f64>) {
        let n = a.n();
        let below = |j: usize| {
            let (rows, values) = a.column(j);
            let entries = rows.iter().map(|&i| i as usize).zip(values);
            entries.filter(move |&(i, _)| i != j)
        };
        self.starts.clear();
        self.starts.resize(n + 2, 0);
        for (i, _) in (0..n).flat_map(below) {
            self.starts[i + 2] += 1;
        }
        for i in 1..n + 2 {
            self.starts[i] += self.starts[i - 1];
        }
        // Until its entries are there, a row's start stands one place behind, and moves on with them.
        self.entries.resize(self.starts[n + 1], Entry::default());
        for j in 0..n {
            for (i, &value) in below(j) {
                let place = &mut self.starts[i + 1];
                let column = j as u32;
                self.entries[*place] = Entry { value, column };
                *place += 1;
            }
        }
    }

    /// The entries of row i left of the diagonal.
    #[inline]
    pub fn row(&self, i: usize) -> &[Entry] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }
}
