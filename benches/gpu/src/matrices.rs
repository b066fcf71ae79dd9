//! Matrices for the sparse products, made on the spot.

/// A square matrix by rows, on the host.
pub struct Matrix {
    /// Where each row begins, and the end.
    pub starts: Vec<u64>,
    /// Column of each entry, ascending within a row.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

impl Matrix {
    fn from_rows(rows: impl Iterator<Item = Vec<u32>>) -> Self {
        let (mut starts, mut columns) = (vec![0], Vec::new());
        for row in rows {
            columns.extend(row);
            starts.push(columns.len() as u64);
        }
        let values = (0..columns.len())
            .map(|k| ((k % 1021) as f64 - 500.0) / 512.0)
            .collect();
        Self {
            starts,
            columns,
            values,
        }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries on and below the diagonal.
    #[must_use]
    pub fn lower(&self) -> Self {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..self.rows() {
            let range = self.starts[i] as usize..self.starts[i + 1] as usize;
            for k in range.filter(|&k| self.columns[k] as usize <= i) {
                columns.push(self.columns[k]);
                values.push(self.values[k]);
            }
            starts.push(columns.len() as u64);
        }
        Self {
            starts,
            columns,
            values,
        }
    }
}

/// A grid of side³ points with `unknowns` each, every point coupled with its 6 or 26 neighbors: 7, 27
/// or, with three unknowns, 81 entries a row.
#[must_use]
pub fn grid(side: u32, unknowns: u32, neighbors: u32) -> Matrix {
    let n = i64::from(side);
    let inside = |v: i64| (0..n).contains(&v);
    let points = side * side * side;
    Matrix::from_rows((0..points * unknowns).map(|row| {
        let p = i64::from(row / unknowns);
        let (x, y, z) = (p % n, p / n % n, p / (n * n));
        let mut list = Vec::with_capacity(27 * unknowns as usize);
        for d in 0..27_i64 {
            let (dx, dy, dz) = (d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1);
            let far = dx.abs() + dy.abs() + dz.abs() > 1 && neighbors == 6;
            if !far && inside(x + dx) && inside(y + dy) && inside(z + dz) {
                let q = (p + dx + n * (dy + n * dz)) as u32;
                list.extend((0..unknowns).map(|u| q * unknowns + u));
            }
        }
        list
    }))
}

/// A graph whose degrees fall off as a power of the vertex's rank, up to a hundredth of all vertices:
/// few rows hold much of the work, and neighbors are anywhere.
#[must_use]
pub fn power_law(vertices: u32) -> Matrix {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let n = u64::from(vertices);
    Matrix::from_rows((0..vertices).map(|_| {
        let u = (random() as f64 + 1.0) / (1_u64 << 53) as f64;
        let degree = (3.0 / u.powf(0.6)).min(n as f64 / 100.0) as usize;
        let mut list: Vec<u32> = (0..degree).map(|_| (random() % n) as u32).collect();
        list.sort_unstable();
        list.dedup();
        list
    }))
}
