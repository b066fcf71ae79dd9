//! The analysis, step by step.

use std::sync::Arc;

use tamarack_sparse::{Pattern, Permutation, Runs};

use crate::amalgamate::Merged;
use crate::analyzed::Analyzed;
use crate::assembly::Assembly;
use crate::counts::{Counts, column_counts};
use crate::entries::EntryMap;
use crate::etree::{elimination_tree, grown};
use crate::flops::{Work, stored};
use crate::leaves::Joined;
use crate::nodes::Nodes;
use crate::parts::Parts;
use crate::permuted::LowerRows;
use crate::postorder::{Postordered, child_lists};
use crate::structure::Structure;
use crate::sums::Fronts;
use crate::supernodes::SuperForest;
use crate::threads::both;
use crate::walk::Walked;
use crate::{Stats, SymbolicError, SymbolicFactor, SymbolicOptions};

/// Unknowns from which steps that do not need each other are worth two threads.
const LARGE: usize = 1 << 14;

/// An analysis half done: the sizes of all fronts are known, their structures are not. What several
/// orderings of a pattern will cost can be compared by their drafts; one is then finished.
pub struct SymbolicDraft<'a> {
    pattern: &'a Arc<Pattern>,
    nodes: Nodes<'a>,
    lower: LowerRows,
    /// Counts of L and A; those of what is stored are left at zero.
    stats: Stats,
    assembly: Assembly,
}

impl<'a> SymbolicDraft<'a> {
    /// Elimination tree, column counts and supernodes of a pattern that is eliminated in a given
    /// order: near linear in `nnz(A)`, whatever the fill.
    ///
    /// # Errors
    /// [`SymbolicError::OrderingLength`] if `ordering` is not for a matrix of this order.
    pub fn new(
        pattern: &'a Arc<Pattern>,
        ordering: &'a Permutation,
        options: &SymbolicOptions,
    ) -> Result<Self, SymbolicError> {
        Self::with_runs(pattern, Runs::find(pattern).as_ref(), ordering, options)
    }

    /// The same where the runs of twins of the pattern are known, as [`Runs::find`] says: an ordering may have gone by them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_runs(
        pattern: &'a Arc<Pattern>,
        runs: Option<&Runs>,
        ordering: &'a Permutation,
        options: &SymbolicOptions,
    ) -> Result<Self, SymbolicError> {
        let n = pattern.n();
        if ordering.len() != n {
            let ordering = ordering.len();
            return Err(SymbolicError::OrderingLength { ordering, n });
        }
        let nodes = Nodes::find(pattern, runs, ordering);
        let lower = LowerRows::new(pattern, runs, &nodes);
        let (tree, counts) = tree_and_counts(&lower, &nodes);
        let amalgamation = options.amalgamation.as_ref();
        let forest = SuperForest::new(&tree, &counts.factor, amalgamation);
        let merged = match amalgamation {
            Some(amalgamation) => {
                let joined = Joined::find(&forest, &tree, &lower, &counts.below, amalgamation);
                Merged::new(&forest, &joined, amalgamation)
            }
            None => Merged::none(&forest),
        };
        let Work { nnz_l, flops } =
            Work::of_columns(&counts.factor, nodes.is_unit(), |j| tree.weight(j));
        let stats = Stats {
            nnz_a: pattern.nnz_lower(),
            nnz_l,
            flops,
            fundamental_supernodes: forest.fundamental,
            ..Stats::default()
        };
        Ok(Self {
            pattern,
            assembly: Assembly::new(
                &tree,
                &nodes,
                options.sorted_columns.then_some(&lower),
                &counts.below,
                &forest,
                &merged,
            ),
            nodes,
            lower,
            stats,
        })
    }

    /// Pivots and rows below them of every front, sum fronts not counted.
    pub fn front_sizes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let npiv = self.assembly.super_ptr.windows(2).map(|w| w[1] - w[0]);
        let sizes = npiv.zip(&self.assembly.nupd);
        sizes.map(|(npiv, &nupd)| (npiv as usize, nupd as usize))
    }

    /// Operations of the factorization, amalgamation's zeros not counted: Σ over columns of nnz(L column)².
    pub fn flops(&self) -> u128 {
        self.stats.flops
    }

    /// The whole analysis.
    ///
    /// # Errors
    /// None in practice: the order was looked at before.
    pub fn finish(self) -> Result<SymbolicFactor, SymbolicError> {
        let Self {
            pattern,
            nodes,
            lower,
            mut stats,
            assembly,
        } = self;
        let n = pattern.n();
        let children = child_lists(&assembly.parent);
        let wrong_length = |_| SymbolicError::OrderingLength { ordering: n, n };
        let (structure, permutation) = both(
            n > LARGE,
            || Structure::new(pattern, &nodes, &lower, &assembly, &children),
            || {
                let order = eliminated(&nodes, &assembly.rank_at);
                Permutation::from_elimination_order(&order)
            },
        );
        let permutation = permutation.map_err(wrong_length)?;
        drop(lower);
        let (fronts, (child_ptr, children)) = Fronts {
            super_ptr: assembly.super_ptr,
            parent: assembly.parent,
            row_ptr: structure.row_ptr,
            rows: structure.rows,
            relative: structure.relative,
        }
        .with_sums(children, |column| {
            let rank = assembly.rank_at[column as usize];
            nodes.weight(rank as usize)
        });
        let kept = stored(&fronts.super_ptr, &fronts.row_ptr);
        stats.nnz_l_stored = kept.nnz_l_stored;
        stats.flops_stored = kept.flops_stored;
        Ok(SymbolicFactor {
            permutation,
            super_ptr: fronts.super_ptr,
            parent: fronts.parent,
            child_ptr,
            children,
            row_ptr: fronts.row_ptr,
            rows: fronts.rows,
            relative: fronts.relative,
            entries: EntryMap {
                ptr: assembly.entry_ptr,
                ..structure.entries
            },
            stats,
            analyzed: Analyzed::Pattern(pattern.clone()),
        })
    }
}

impl SymbolicFactor {
    /// Analyzes the factorization of matrices with a pattern, eliminated in a given order.
    ///
    /// The order of elimination that results, [`permutation`](Self::permutation), is `ordering`
    /// followed by a renumbering that adds neither fill nor operations. Time and memory are near linear
    /// in `nnz(A)` and the size of the row structures; the same input gives the same result.
    ///
    /// # Errors
    /// [`SymbolicError::OrderingLength`] if `ordering` is not for a matrix of this order.
    pub fn analyze(
        pattern: &Arc<Pattern>,
        ordering: &Permutation,
        options: &SymbolicOptions,
    ) -> Result<Self, SymbolicError> {
        SymbolicDraft::new(pattern, ordering, options)?.finish()
    }
}

/// The postordered elimination tree, and what its columns have in `L`.
fn tree_and_counts(lower: &LowerRows, nodes: &Nodes<'_>) -> (Postordered, Counts) {
    let forest = match Walked::new(lower, nodes) {
        Some(walked) if walked.rows == lower.len() => {
            let tree = Postordered::new(&walked.forest, nodes);
            let counts = walked.counts(&tree);
            return (tree, counts);
        }
        Some(walked) => grown(walked.forest, lower, walked.rows),
        None => elimination_tree(lower),
    };
    let tree = Postordered::new(&forest, nodes);
    let parts = Parts::new(&tree.parent, &tree.size, |s| u64::from(tree.size[s]));
    let counts = column_counts(&tree, lower, nodes, &parts);
    (tree, counts)
}

/// The unknowns in the order of elimination, given the rank of the node that begins at a column.
fn eliminated(nodes: &Nodes<'_>, rank_at: &[u32]) -> Vec<u32> {
    if nodes.is_unit() {
        return rank_at
            .iter()
            .map(|&rank| nodes.first[rank as usize])
            .collect();
    }
    let mut order = Vec::with_capacity(rank_at.len());
    while let Some(&rank) = rank_at.get(order.len()) {
        let first = nodes.first[rank as usize];
        order.extend(first..first + nodes.weight(rank as usize));
    }
    order
}
