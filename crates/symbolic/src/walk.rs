//! Elimination tree and column counts in one walk over the entries of `L`.
//!
//! What row `i` of `L` has left of the diagonal is on the ways up from its entries in A, as far as nodes that have row `i` already
//! (Liu 1986); where a way ends in a root, that one becomes a child of `i`. Takes time by the entries of `L`, so it is for small
//! systems with little fill, such as networks, where a step for each entry is a few times faster than tree and counts one after the other.
//! Where rows turn out to have too many, the walk ends, and the [tree](crate::etree) is grown on from there.

use crate::counts::Counts;
use crate::etree::Forest;
use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::permuted::LowerRows;
use crate::postorder::Postordered;
use tamarack_sparse::memory::{filled, zeroed};

/// Nodes at most.
const SMALL: usize = if cfg!(test) { 40 } else { 1 << 12 };

/// A forest and its counts, by rank.
pub(crate) struct Walked {
    pub forest: Forest,
    /// Rows that were walked over: all of them, or the counts are not complete.
    pub rows: usize,
    counts: Counts,
}

impl Walked {
    /// Walks over the rows of a small system as long as entries of `L` are few beside nodes and edges; None where nodes are many.
    pub fn new(lower: &LowerRows, nodes: &Nodes<'_>) -> Option<Self> {
        let n = lower.len();
        if n > SMALL {
            return None;
        }
        let mut forest = Forest::leaves(n);
        let mut counts = Counts {
            factor: (0..n).map(|i| nodes.weight(i)).collect(),
            below: zeroed(n),
        };
        let mut seen = filled(n, NONE);
        let (mut rows, mut visits) = (0, 0);
        // Rows have more entries of `L` the later they are: where they have too many early, that is not going to be better.
        while rows < n && visits <= n / 4 + rows + lower.ptr[rows] as usize {
            let i = rows;
            let (row, weight) = (i as u32, nodes.weight(i));
            seen[i] = row;
            for rank in lower.row(i) {
                let mut j = rank as usize;
                counts.below[j] += 1;
                while seen[j] != row {
                    seen[j] = row;
                    counts.factor[j] += weight;
                    visits += 1;
                    if forest.parent[j] == NONE {
                        // All that is below a row is there when the row is reached.
                        forest.parent[j] = row;
                        forest.size[i] += forest.size[j];
                    }
                    j = forest.parent[j] as usize;
                }
            }
            rows += 1;
        }
        Some(Self {
            forest,
            rows,
            counts,
        })
    }

    /// The counts by place in the postorder.
    pub fn counts(&self, tree: &Postordered) -> Counts {
        let placed = |list: &[u32]| tree.rank.iter().map(|&r| list[r as usize]).collect();
        Counts {
            factor: placed(&self.counts.factor),
            below: placed(&self.counts.below),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::column_counts;
    use crate::etree::{elimination_tree, grown};
    use crate::parts::Parts;
    use crate::tests::random::blocks;
    use tamarack_sparse::Runs;
    use tamarack_testkit::Rng;

    #[test]
    fn one_walk_finds_tree_and_counts() {
        let (mut walks, mut ended) = (0, 0);
        for seed in 0..600 {
            let (a, order) = blocks(&mut Rng::new(seed), 12);
            let runs = Runs::find(&a);
            let nodes = Nodes::find(&a, runs.as_ref(), &order);
            let lower = LowerRows::new(&a, runs.as_ref(), &nodes);
            let Some(walked) = Walked::new(&lower, &nodes) else {
                continue;
            };
            let forest = elimination_tree(&lower);
            if walked.rows < lower.len() {
                let grown = grown(walked.forest, &lower, walked.rows);
                assert_eq!(grown.parent, forest.parent, "seed {seed}");
                assert_eq!(grown.size, forest.size, "seed {seed}");
                ended += 1;
                continue;
            }
            assert_eq!(walked.forest.parent, forest.parent, "seed {seed}");
            assert_eq!(walked.forest.size, forest.size, "seed {seed}");
            let tree = Postordered::new(&forest, &nodes);
            let parts = Parts::new(&tree.parent, &tree.size, |s| u64::from(tree.size[s]));
            let (found, truth) = (
                walked.counts(&tree),
                column_counts(&tree, &lower, &nodes, &parts),
            );
            assert_eq!(found.factor, truth.factor, "seed {seed}");
            assert_eq!(found.below, truth.below, "seed {seed}");
            walks += 1;
        }
        assert!(walks >= 100 && ended >= 20, "{walks} {ended}");
    }
}
