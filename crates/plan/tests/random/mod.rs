//! Random patterns, and their structures.

use std::sync::Arc;

use tamarack_sparse::{Pattern, Permutation};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

pub fn random_symbolic(seed: u64) -> Arc<SymbolicFactor> {
    let mut random = Random(seed);
    let n = 1 + random.below(300);
    let degree = random.below(4);
    let mut columns = vec![Vec::new(); n];
    for _ in 0..n * degree {
        let (i, j) = (random.below(n), random.below(n));
        if i != j {
            columns[i.min(j)].push(i.max(j) as u32);
        }
    }
    let (mut col_ptr, mut row_idx) = (vec![0u64], Vec::new());
    for (j, mut rows) in columns.into_iter().enumerate() {
        rows.push(j as u32);
        rows.sort_unstable();
        rows.dedup();
        row_idx.extend(rows);
        col_ptr.push(row_idx.len() as u64);
    }
    let pattern = Arc::new(Pattern::lower(n, &col_ptr, &row_idx).unwrap());
    let order = Permutation::identity(n);
    Arc::new(SymbolicFactor::analyze(&pattern, &order, &SymbolicOptions::default()).unwrap())
}
