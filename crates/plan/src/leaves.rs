//! Leaves of the tree whose update matrices are never made.
//!
//! The update matrix of a leaf with `p` pivots and `u` rows below is the product of those rows with themselves: `u / 2p` times as many
//! numbers, which are written to be read once. Where many leaves hang below one front, as the points of a bundle adjustment below its
//! cameras, they would fill memory and take most of the time; there the parent makes the products itself, from the leaves' panels.

use tamarack_dense::{THIN, is_small, is_tiny};
use tamarack_symbolic::SymbolicFactor;

/// Fewest such leaves of a front. With fewer their update matrices stay in a cache, and refactorizations of planes, plates, circuits and
/// cubes would take up to a tenth longer (no lines kept).
pub const FEWEST_LEAVES: usize = 16;

/// Rows of an update matrix up to which it is made in any case: added number by number, it is gone in less time.
const FEW_ROWS: usize = 8;

/// Most rows below a leaf's pivots.
pub const MOST_LEAF_ROWS: usize = u8::MAX as usize;

/// Most visits of leaves to bands of their parent's front that are listed at a time, but for the last leaf's. With sixteen times as many,
/// bundle adjustments and ratings take as long (no lines kept).
const VISITS: usize = 1 << 15;

/// Which leaves these are, and the fronts above them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaves {
    /// Whether the update of each supernode is implicit; empty if none is.
    implicit: Vec<bool>,
    /// Order of the largest front above such leaves.
    pub order: usize,
    /// Visits that are listed at a time, at most.
    pub visits: usize,
    /// Most children of any front that are no such leaves, if there are some.
    pub others: usize,
}

impl Leaves {
    /// Of fronts with block columns of `block` columns.
    pub fn of(symbolic: &SymbolicFactor, block: usize) -> Self {
        let size = |s: usize| (symbolic.npiv(s), symbolic.nupd(s));
        let is_thin = |s: usize| {
            let (npiv, nupd) = size(s);
            let is_thin = (1..=THIN).contains(&npiv) && is_small(npiv, nupd);
            let has_rows = (FEW_ROWS + 1..=MOST_LEAF_ROWS).contains(&nupd);
            is_thin && has_rows && symbolic.children(s).is_empty()
        };
        let mut out = Self::default();
        for p in 0..symbolic.supernodes() {
            let children = symbolic.children(p);
            if children.len() < FEWEST_LEAVES {
                continue;
            }
            let (npiv, nupd) = size(p);
            let leaves = || children.iter().map(|&c| c as usize).filter(|&c| is_thin(c));
            if is_tiny(npiv, nupd, block) || leaves().count() < FEWEST_LEAVES {
                continue;
            }
            out.implicit.resize(symbolic.supernodes(), false);
            leaves().for_each(|leaf| out.implicit[leaf] = true);
            out.order = out.order.max(npiv + nupd);
            // Each row may be in another band.
            let rows: usize = leaves().map(|leaf| symbolic.nupd(leaf)).sum();
            out.visits = out.visits.max(rows.min(VISITS) + MOST_LEAF_ROWS);
        }
        if !out.implicit.is_empty() {
            let others = |p: usize| {
                let children = symbolic.children(p).iter();
                children.filter(|&&c| !out.implicit[c as usize]).count()
            };
            let most = (0..symbolic.supernodes()).map(others).max();
            out.others = most.unwrap_or(0);
        }
        out
    }

    /// Whether supernode `s` is one.
    pub fn contain(&self, s: usize) -> bool {
        self.implicit.get(s).copied().unwrap_or(false)
    }

    /// Bytes of working memory that a thread has for them.
    pub fn workspace_bytes(&self) -> usize {
        // A visit is two `u32` in each of two batches, and three as it is found; a column has three.
        28 * self.visits + 12 * self.order + 4 * self.others
    }
}
