//! Choices of a nested dissection.

use crate::nd::refine::{Goal, Patience};

/// Graphs of fewer vertices may have no separator that is small beside its sides, and still be worth cutting.
const SMALL: usize = 5000;

/// Options of [`Method::NestedDissection`](crate::Method::NestedDissection).
///
/// The defaults were measured on grids, shells, solids and graphs of the benchmark set; see
/// `docs/decisions/` and `examples/dissect.rs`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NdOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Pieces with at most so many (merged) vertices are ordered by constrained AMD.
    pub leaf: usize,
    /// Pieces of a large graph are bisected on the coarsest level on which they have so many
    /// vertices; 0 counts as 1.
    pub piece: usize,
    /// Dissections of the coarse version of a large graph, or first separators there where it is cut by finished ones, of which the
    /// best is kept. Its parts have one.
    pub tries: u32,
    /// Bisections tried on the coarsest graph.
    pub starts: u32,
    /// Coarsening stops at so many vertices.
    pub coarsest: usize,
    /// Weight of the heavier side over half of the weight, at most: from 1, which wants equal halves, to 2, with which anything may be cut off.
    pub imbalance: f64,
    /// Price of imbalance: a separator may be larger by the factor `1 + price · ((a - b) / n)²` if that
    /// makes its sides `a` and `b` equal.
    pub price: f64,
}

impl Default for NdOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            leaf: 250,
            piece: 1000,
            starts: 2,
            tries: 3,
            coarsest: 80,
            imbalance: 1.5,
            price: 1.1,
        }
    }
}

impl NdOptions {
    /// The same with so many times the price of uneven sides.
    pub(crate) fn priced(&self, times: f64) -> Self {
        Self {
            price: times * self.price,
            ..self.clone()
        }
    }

    /// What a good separation of a graph of weight `total` is.
    pub(crate) fn goal(&self, total: u64) -> Goal {
        Goal {
            limit: (total as f64 * 0.5 * self.imbalance) as u64,
            price: self.price,
            per_total: 1.0 / total.max(1) as f64,
        }
    }

    /// Whether a separation of a graph of `n` vertices makes the elimination cheaper: there is nothing to gain from a separator
    /// as large as what it separates.
    pub(crate) fn is_worth(&self, n: usize, weight: &[u64; 3]) -> bool {
        let [a, b, separator] = *weight;
        a > 0 && b > 0 && separator <= a.min(b) && is_small(n, weight)
    }

    /// Whether it makes a large graph smaller as well: what is cut one after the other takes a share of it each time, never a few
    /// vertices. Networks have nothing better than a leaf and its neighbor.
    pub(crate) fn halves(&self, n: usize, weight: &[u64; 3]) -> bool {
        let (larger, total) = (weight[0].max(weight[1]), weight.iter().sum::<u64>());
        self.is_worth(n, weight) && larger <= total / 8 * 7
    }
}

/// Price, over the usual one, that hardly leaves room for uneven sides; and that of planes, which halve what they cut before they are refined.
pub(crate) const EVEN: f64 = 4.0;
pub(crate) const UNEVEN: f64 = 0.8 / 1.1;

/// Whether a separator has at most half of the smaller side, or the graph is small itself. In networks that are like random graphs
/// there are none, and minimum degree is better.
pub(crate) fn is_small(n: usize, &[a, b, separator]: &[u64; 3]) -> bool {
    n < SMALL || separator <= a.min(b) / 2
}

/// Separators of the upper levels where they are found, while graphs are small: worth long searches. Half of the
/// moves for each vertex costs 2 % of flops and saves 5 % of the time. Passes that go on to twice the best cost take a tenth
/// of the time more for nothing.
pub(crate) const THOROUGH: Patience = Patience {
    passes: 12,
    per_vertex: 6.0,
    least: 20,
    most: 4000,
    hopeless: 1.25,
};

/// The same separators on the next levels.
pub(crate) const COARSE: Patience = Patience {
    passes: 4,
    per_vertex: 3.0,
    ..THOROUGH
};

/// The same separators on the large graphs, where they move little.
pub(crate) const FINE: Patience = Patience {
    passes: 3,
    per_vertex: 3.0,
    hopeless: 1.2,
    ..THOROUGH
};

/// Separators of small pieces, where most of the time goes and little of the fill comes from.
pub(crate) const QUICK: Patience = Patience {
    per_vertex: 1.0,
    hopeless: 1.3,
    ..THOROUGH
};
