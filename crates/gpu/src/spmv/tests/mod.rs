//! Every format against the product on the host; skipped visibly without a GPU.

mod backward_error;
mod conjugate;
mod cutting;
mod dealing;
mod products;
mod scale;

use super::Csr;

/// A matrix with its arrays, lower half or full.
struct Owned {
    columns: u32,
    starts: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Owned {
    fn from_rows(columns: u32, rows: Vec<Vec<u32>>) -> Self {
        let (mut starts, mut indices) = (vec![0], Vec::new());
        for mut row in rows {
            row.sort_unstable();
            row.dedup();
            indices.extend(row);
            starts.push(indices.len() as u64);
        }
        let values = (0..indices.len())
            .map(|k| ((k as f64) * 0.7 + 0.1).sin())
            .collect();
        Self {
            columns,
            starts,
            indices,
            values,
        }
    }

    fn csr(&self) -> Csr<'_, f64> {
        Csr::new(self.columns, &self.starts, &self.indices, &self.values).unwrap()
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        range.map(|k| (self.indices[k] as usize, self.values[k]))
    }
}

/// Numbers from a seed (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// Rows of random length up to `most`, a few of them `long`.
fn random(rows: u32, columns: u32, most: u64, long: u64, seed: u64) -> Owned {
    let mut random = Random(seed);
    let lists = (0..rows)
        .map(|i| {
            let length = if i % 97 == 13 {
                long
            } else {
                random.below(most + 1)
            };
            (0..length.min(4 * u64::from(columns)))
                .map(|_| random.below(columns.into()) as u32)
                .collect()
        })
        .collect();
    Owned::from_rows(columns, lists)
}

/// The lower half, diagonal included, of a grid of side³ points, each coupled with its 26 neighbors.
fn grid_lower(side: u32) -> Owned {
    let n = i64::from(side);
    let inside = |v: i64| (0..n).contains(&v);
    let lists = (0..n * n * n)
        .map(|p| {
            let (x, y, z) = (p % n, p / n % n, p / (n * n));
            let mut row = Vec::new();
            for d in 0..27 {
                let (a, b, c) = (x + d % 3 - 1, y + d / 3 % 3 - 1, z + d / 9 - 1);
                let q = a + b * n + c * n * n;
                if inside(a) && inside(b) && inside(c) && q <= p {
                    row.push(q as u32);
                }
            }
            row
        })
        .collect();
    Owned::from_rows(side * side * side, lists)
}

/// The lower half, diagonal included, of a grid of side³ points, each coupled with its 6 neighbors.
fn short_lower(side: u32) -> Owned {
    let steps = [side * side, side, 1, 0];
    let row = |i: u32| {
        steps
            .iter()
            .filter_map(|step| i.checked_sub(*step))
            .collect()
    };
    Owned::from_rows(side.pow(3), (0..side.pow(3)).map(row).collect())
}

/// Lower halves that are hard to cut: full rows and columns, long rows, rows without a diagonal.
fn awkward_lowers() -> Vec<Owned> {
    let arrow_down = (0..5003_u32)
        .map(|i| {
            if i == 5002 {
                (0..=i).collect()
            } else {
                vec![i]
            }
        })
        .collect();
    let arrow_left = (0..5003_u32).map(|i| vec![0, i]).collect();
    let dense = (0..300_u32).map(|i| (0..=i).collect()).collect();
    let mut random = Random(7);
    let holes = (0..4001_u32)
        .map(|i| {
            (0..random.below(9))
                .map(|_| random.below(u64::from(i) + 1) as u32)
                .collect()
        })
        .collect();
    vec![
        Owned::from_rows(5003, arrow_down),
        Owned::from_rows(5003, arrow_left),
        Owned::from_rows(300, dense),
        Owned::from_rows(4001, holes),
        Owned::from_rows(0, vec![]),
        Owned::from_rows(1, vec![vec![]]),
        Owned::from_rows(1, vec![vec![0]]),
        grid_lower(17),
    ]
}
