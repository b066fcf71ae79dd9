//! Random patterns and random symmetric positive definite matrices, by family and seed.

use std::sync::Arc;

use tamarack_sparse::{IndexLike, Pattern, Permutation, SymmetricCsc};

use crate::Rng;

/// A kind of graph. All are defined for every order, 0 and 1 included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// No off-diagonal entries.
    Diagonal,
    /// Each pair with a probability that gives about four neighbors a vertex.
    Sparse,
    /// Random entries within a small distance of the diagonal.
    Banded,
    /// Banded, with a dense last row.
    Arrow,
    /// The first vertex joined to all others: natural order fills everything.
    Star,
    /// A path under a random numbering.
    Path,
    /// A random tree: no fill in the right order.
    Tree,
    /// A square 5-point grid (vertices beyond the square hang on a path).
    Grid,
    /// Groups of indistinguishable vertices, three unknowns a node, on a sparse graph.
    Blocks,
    /// Several components, with isolated vertices.
    Disconnected,
    /// Every pair.
    Dense,
    /// Sparse, with a few rows joined to almost everything.
    DenseRows,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 12] = [
        Self::Diagonal,
        Self::Sparse,
        Self::Banded,
        Self::Arrow,
        Self::Star,
        Self::Path,
        Self::Tree,
        Self::Grid,
        Self::Blocks,
        Self::Disconnected,
        Self::Dense,
        Self::DenseRows,
    ];

    /// Whether the vertices `i > j` of an order-`n` graph are joined.
    fn edges(self, n: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
        let side = n.isqrt().max(1);
        let degree = 4.0 / n.max(1) as f64;
        let group: Vec<usize> = (0..n).map(|_| rng.below(4)).collect();
        let hubs = 1 + rng.below(3);
        match self {
            Self::Diagonal => vec![],
            Self::Sparse => pairs(n, |_, _| rng.chance(degree)),
            Self::Banded => pairs(n, |i, j| i - j <= 6 && rng.chance(0.5)),
            Self::Arrow => pairs(n, |i, j| i + 1 == n || i - j <= 2),
            Self::Star => pairs(n, |_, j| j == 0),
            Self::Path => {
                let p = random_permutation(n, rng.bits());
                let p = p.user_of_elim();
                (1..n).map(|k| (p[k] as usize, p[k - 1] as usize)).collect()
            }
            Self::Tree => (1..n).map(|i| (i, rng.below(i))).collect(),
            Self::Grid => pairs(n, |i, j| {
                i == j + side || (i == j + 1 && (i % side != 0 || i >= side * side))
            }),
            Self::Blocks => {
                let nodes = n.div_ceil(3);
                let joined = pairs(nodes, |_, _| rng.chance(3.0 / nodes as f64));
                pairs(n, |i, j| i / 3 == j / 3 || joined.contains(&(i / 3, j / 3)))
            }
            Self::Disconnected => pairs(n, |i, j| {
                group[i] != 0 && group[i] == group[j] && rng.chance(4.0 * degree)
            }),
            Self::Dense => pairs(n, |_, _| true),
            Self::DenseRows => pairs(n, |_, j| rng.chance(if j < hubs { 0.9 } else { degree })),
        }
    }
}

fn pairs(n: usize, mut joined: impl FnMut(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for j in 0..n {
        edges.extend((j + 1..n).filter(|&i| joined(i, j)).map(|i| (i, j)));
    }
    edges
}

/// The pattern of edges `(i, j)`, either way round, loops and repetitions allowed, all below `n`.
pub fn pattern_of_edges<I: IndexLike>(n: usize, edges: &[(I, I)]) -> Pattern {
    let index = |i: I| i.to_index().expect("not negative") as usize;
    let mut columns: Vec<Vec<usize>> = (0..n).map(|j| vec![j]).collect();
    for &(i, j) in edges {
        let (i, j) = (index(i), index(j));
        columns[i.min(j)].push(i.max(j));
    }
    let mut col_ptr = vec![0];
    let mut row_idx = Vec::new();
    for mut rows in columns {
        rows.sort_unstable();
        rows.dedup();
        row_idx.extend(rows);
        col_ptr.push(row_idx.len());
    }
    Pattern::lower(n, &col_ptr, &row_idx).expect("sorted, unique, with the diagonal")
}

/// A pattern of a family; takes time O(n²), so meant for n up to a few thousand.
pub fn random_pattern(family: Family, n: usize, seed: u64) -> Pattern {
    pattern_of_edges(n, &family.edges(n, &mut Rng::new(seed)))
}

/// Uniformly random permutation (Fisher–Yates).
pub fn random_permutation(n: usize, seed: u64) -> Permutation {
    let mut rng = Rng::new(seed);
    let mut order: Vec<usize> = (0..n).collect();
    for k in (1..n).rev() {
        order.swap(k, rng.below(k + 1));
    }
    Permutation::from_elimination_order(&order).expect("a shuffle is a permutation")
}

/// Values for a pattern: off-diagonal entries uniform in [-1, 1), the diagonal larger than the row's
/// sum of absolute values by 0.01 to 1.01. Symmetric positive definite, strictly diagonally dominant.
pub fn spd_with_pattern(pattern: Arc<Pattern>, seed: u64) -> SymmetricCsc<f64> {
    let mut rng = Rng::new(seed);
    let n = pattern.n();
    let mut values = vec![0.0; pattern.row_idx().len()];
    let mut sums = vec![0.0f64; n];
    for j in 0..n {
        for k in pattern.range(j).skip(1) {
            values[k] = rng.signed();
            sums[j] += values[k].abs();
            sums[pattern.row_idx()[k] as usize] += values[k].abs();
        }
    }
    for (j, sum) in sums.iter().enumerate() {
        values[pattern.range(j).start] = sum + 0.01 + rng.unit();
    }
    SymmetricCsc::new(pattern, values).expect("one value for every entry")
}

/// A random symmetric positive definite matrix of a family.
pub fn random_spd(family: Family, n: usize, seed: u64) -> SymmetricCsc<f64> {
    spd_with_pattern(random_pattern(family, n, seed).shared(), seed ^ 0xA5A5)
}

/// A bundle adjustment: cameras of six unknowns, points of three that some cameras each see; points are eliminated first.
pub fn bundle_adjustment(
    cameras: usize,
    points: usize,
    seed: u64,
) -> (SymmetricCsc<f64>, Permutation) {
    let mut random = Rng::new(seed);
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let node = |first: usize, width: usize| first..first + width;
    for point in 0..points {
        let own = node(6 * cameras + 3 * point, 3);
        let mut seen: Vec<usize> = own.clone().collect();
        for _ in 0..2 + random.below(5) {
            seen.extend(node(6 * random.below(cameras), 6));
        }
        edges.extend(own.flat_map(|i| seen.clone().into_iter().map(move |j| (i, j))));
    }
    // Those that see a point are joined by it.
    let joined = (0..cameras).map(|c| node(6 * c, 6));
    edges.extend(joined.flat_map(|own| {
        own.clone()
            .flat_map(move |i| own.clone().map(move |j| (i, j)))
    }));
    let n = 6 * cameras + 3 * points;
    let a = spd_with_pattern(pattern_of_edges(n, &edges).shared(), seed);
    let order: Vec<usize> = (6 * cameras..n).chain(0..6 * cameras).collect();
    (
        a,
        Permutation::from_elimination_order(&order).expect("all of them"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_exists_at_every_order_and_repeats_itself() {
        for family in Family::ALL {
            for n in [0, 1, 2, 3, 10, 50] {
                let a = random_spd(family, n, 7);
                assert_eq!(a.n(), n);
                assert_eq!(a, random_spd(family, n, 7), "{family:?}");
            }
        }
        let all = |n: u64| n * (n + 1) / 2;
        assert_eq!(random_pattern(Family::Dense, 20, 1).nnz_lower(), all(20));
        assert_eq!(random_pattern(Family::Star, 20, 1).nnz_lower(), 39);
        assert_eq!(random_pattern(Family::Path, 20, 1).nnz_lower(), 39);
        assert_eq!(random_pattern(Family::Grid, 25, 1).nnz_lower(), 25 + 40);
        assert_ne!(
            random_pattern(Family::Sparse, 50, 1),
            random_pattern(Family::Sparse, 50, 2)
        );
    }
}
