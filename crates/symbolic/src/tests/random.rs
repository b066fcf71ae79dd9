//! Small random patterns and orders, from a seed.

use tamarack_sparse::{Pattern, Permutation};

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    pub fn order(&mut self, n: usize) -> Permutation {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for k in (1..n).rev() {
            order.swap(k, self.below(k + 1));
        }
        Permutation::from_elimination_order(&order).unwrap()
    }

    /// A pattern of some kind: empty, sparse, dense, banded, with several parts, cliques, a star.
    pub fn pattern(&mut self, max_order: usize) -> Pattern {
        let n = self.below(max_order + 1);
        let mut edges = Vec::new();
        if n > 1 {
            match self.below(6) {
                0 => {}
                1 => edges.extend((1..n as u32).map(|i| (i, 0))),
                2 => {
                    let width = 1 + self.below(4);
                    for j in 0..n {
                        edges.extend((j + 1..n.min(j + 1 + width)).map(|i| (i as u32, j as u32)));
                    }
                }
                3 => {
                    for _ in 0..1 + self.below(n) {
                        let size = 2 + self.below(4);
                        let clique: Vec<usize> = (0..size).map(|_| self.below(n)).collect();
                        for &i in &clique {
                            edges.extend(clique.iter().map(|&j| (i as u32, j as u32)));
                        }
                    }
                }
                kind => {
                    let entries = if kind == 4 { n } else { 1 + n * n / 4 };
                    for _ in 0..self.below(2 * entries) {
                        edges.push((self.below(n) as u32, self.below(n) as u32));
                    }
                }
            }
        }
        pattern(n, &edges)
    }
}

/// The pattern of order `n` with these entries, on either side of the diagonal.
pub(super) fn pattern(n: usize, edges: &[(u32, u32)]) -> Pattern {
    let mut columns = vec![std::collections::BTreeSet::new(); n];
    for (j, column) in columns.iter_mut().enumerate() {
        column.insert(j as u32);
    }
    for &(i, j) in edges {
        columns[i.min(j) as usize].insert(i.max(j));
    }
    let mut ptr = vec![0u64];
    let mut rows = Vec::new();
    for column in columns {
        rows.extend(column);
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n, &ptr, &rows).unwrap()
}

/// Five-point grid of `w × h`.
pub(super) fn grid(w: u32, h: u32) -> Pattern {
    let mut edges = Vec::new();
    for y in 0..h {
        for x in 0..w {
            let k = y * w + x;
            if x + 1 < w {
                edges.push((k + 1, k));
            }
            if y + 1 < h {
                edges.push((k + w, k));
            }
        }
    }
    pattern((w * h) as usize, &edges)
}
