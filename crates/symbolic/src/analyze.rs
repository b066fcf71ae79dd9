//! The analysis, step by step.

use tamarack_sparse::{Pattern, Permutation};

use crate::amalgamate::{Merged, child_lists, trapezoid};
use crate::assembly::Assembly;
use crate::counts::column_counts;
use crate::etree::elimination_tree;
use crate::fingerprint::pattern_fingerprint;
use crate::permuted::LowerRows;
use crate::postorder::{postorder, relabel_forest};
use crate::structure::Structure;
use crate::sums::Fronts;
use crate::supernodes::SuperForest;
use crate::{Stats, SymbolicError, SymbolicFactor, SymbolicOptions};

/// An analysis half done: the sizes of all fronts are known, their structures are not. What several
/// orderings of a pattern will cost can be compared by their drafts; one is then finished.
pub struct SymbolicDraft<'a> {
    pattern: &'a Pattern,
    ordering: &'a Permutation,
    lower: LowerRows,
    /// Postorder label of every step of the ordering.
    post: Vec<u32>,
    /// Room for the rows of the entry map.
    buffer: Vec<u32>,
    /// Entries of every column of L.
    count: Vec<u32>,
    fundamental_supernodes: u64,
    assembly: Assembly,
}

impl<'a> SymbolicDraft<'a> {
    /// Elimination tree, column counts and supernodes of a pattern that is eliminated in a given
    /// order: near linear in `nnz(A)`, whatever the fill.
    ///
    /// # Errors
    /// [`SymbolicError::OrderingLength`] if `ordering` is not for a matrix of this order.
    pub fn new(
        pattern: &'a Pattern,
        ordering: &'a Permutation,
        options: &SymbolicOptions,
    ) -> Result<Self, SymbolicError> {
        let n = pattern.n();
        if ordering.len() != n {
            let ordering = ordering.len();
            return Err(SymbolicError::OrderingLength { ordering, n });
        }
        let lower = LowerRows::new(pattern, ordering);
        let tree = elimination_tree(&lower);
        let post = postorder(&tree);
        let tree = relabel_forest(&tree, &post);
        let columns = lower.columns(&post);
        let count = column_counts(&tree, &columns);
        let forest = SuperForest::fundamental(&tree, &count);
        drop(tree);
        let merged = match &options.amalgamation {
            Some(amalgamation) => Merged::new(&forest, amalgamation),
            None => Merged::none(&forest),
        };
        Ok(Self {
            pattern,
            ordering,
            lower,
            post,
            buffer: columns.rows,
            count,
            fundamental_supernodes: forest.len() as u64,
            assembly: Assembly::new(&forest, &merged),
        })
    }

    /// Pivots and rows below them of every front, sum fronts not counted.
    pub fn front_sizes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let npiv = self.assembly.super_ptr.windows(2).map(|w| w[1] - w[0]);
        let sizes = npiv.zip(&self.assembly.nupd);
        sizes.map(|(npiv, &nupd)| (npiv as usize, nupd as usize))
    }

    /// The whole analysis.
    ///
    /// # Errors
    /// None in practice: the order was looked at before.
    pub fn finish(self) -> Result<SymbolicFactor, SymbolicError> {
        let Self {
            pattern,
            ordering,
            lower,
            post,
            buffer,
            count,
            fundamental_supernodes,
            assembly,
        } = self;
        let n = pattern.n();
        let wrong_length = |_| SymbolicError::OrderingLength {
            ordering: ordering.len(),
            n,
        };
        let label: Vec<u32> = post
            .iter()
            .map(|&k| assembly.column_label[k as usize])
            .collect();
        drop(post);
        let permutation = renumbered(ordering, &label).map_err(wrong_length)?;
        let structure = Structure::new(pattern, &lower, &label, &permutation, &assembly, buffer);
        let fronts = Fronts {
            super_ptr: assembly.super_ptr,
            parent: assembly.parent,
            row_ptr: structure.row_ptr,
            rows: structure.rows,
            relative: structure.relative,
        }
        .with_sums();
        let stats = Stats {
            nnz_a: pattern.nnz_lower(),
            nnz_l: count.iter().map(|&c| u64::from(c)).sum(),
            flops: count.iter().map(|&c| u128::from(c).pow(2)).sum(),
            fundamental_supernodes,
            ..stored(&fronts.super_ptr, &fronts.row_ptr)
        };
        let (child_ptr, children) = child_lists(&fronts.parent);
        Ok(SymbolicFactor {
            permutation,
            super_ptr: fronts.super_ptr,
            parent: fronts.parent,
            child_ptr: child_ptr.into_iter().map(|p| p as u32).collect(),
            children,
            row_ptr: fronts.row_ptr,
            rows: fronts.rows,
            relative: fronts.relative,
            entry_ptr: structure.entry_ptr,
            entry_src: structure.entry_src,
            entry_src_high: structure.entry_src_high,
            entry_row: structure.entry_row,
            stats,
            fingerprint: pattern_fingerprint(pattern),
        })
    }
}

impl SymbolicFactor {
    /// Analyzes the factorization of matrices with a pattern, eliminated in a given order.
    ///
    /// The order of elimination that results, [`permutation`](Self::permutation), is `ordering`
    /// followed by a renumbering that changes neither fill nor operations. Time and memory are near linear
    /// in `nnz(A)` and the size of the row structures; the same input gives the same result.
    ///
    /// # Errors
    /// [`SymbolicError::OrderingLength`] if `ordering` is not for a matrix of this order.
    pub fn analyze(
        pattern: &Pattern,
        ordering: &Permutation,
        options: &SymbolicOptions,
    ) -> Result<Self, SymbolicError> {
        SymbolicDraft::new(pattern, ordering, options)?.finish()
    }
}

/// The ordering in which step `label[k]` eliminates what was step `k` of `ordering`.
fn renumbered(
    ordering: &Permutation,
    label: &[u32],
) -> Result<Permutation, tamarack_sparse::PermutationError> {
    let mut user = vec![0u32; label.len()];
    for (&i, &j) in ordering.user_of_elim().iter().zip(label) {
        user[j as usize] = i;
    }
    Permutation::from_elimination_order(&user)
}

/// Counts of what is stored; the others are left at zero.
pub(crate) fn stored(super_ptr: &[u32], row_ptr: &[u64]) -> Stats {
    let mut stats = Stats::default();
    for (c, r) in super_ptr.windows(2).zip(row_ptr.windows(2)) {
        let (npiv, nupd) = (c[1] - c[0], (r[1] - r[0]) as u32);
        stats.nnz_l_stored += trapezoid(npiv, nupd);
        stats.flops_stored += front_flops(npiv, nupd);
    }
    stats
}

/// Sum of the squares of `nupd + 1 ..= nupd + npiv`.
pub(crate) fn front_flops(npiv: u32, nupd: u32) -> u128 {
    let pyramid = |m: u128| m * (m + 1) * (2 * m + 1) / 6;
    pyramid(u128::from(npiv) + u128::from(nupd)) - pyramid(u128::from(nupd))
}
