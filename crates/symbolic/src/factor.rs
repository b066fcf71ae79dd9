//! The symbolic factor: supernodes, their structures, the assembly tree, the entry map.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tamarack_sparse::{Pattern, Permutation};

use crate::analyzed::Analyzed;
use crate::entries::{EntryMap, NodeEntries};
use crate::saved::Unchecked;

/// Marks the absence of a parent.
pub(crate) const NONE: u32 = u32::MAX;

/// Structure of the Cholesky factor `L` of `P A Pᵀ`, as a postordered forest of supernodes.
///
/// Supernode `s` owns the contiguous columns [`columns(s)`](Self::columns); children come before
/// their parent, every subtree is contiguous, and siblings stand in the order in which their
/// update matrices are to be added. All rows are in elimination order.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct SymbolicFactor {
    /// Fill-reducing ordering followed by the postorder; length n.
    pub(crate) permutation: Permutation,
    /// First column of each supernode, and n; length `supernodes + 1`.
    pub(crate) super_ptr: Vec<u32>,
    /// Parent supernode or `NONE`; length `supernodes`.
    pub(crate) parent: Vec<u32>,
    /// Offsets into `children`; length `supernodes + 1`.
    pub(crate) child_ptr: Vec<u32>,
    /// Children of every supernode, increasing.
    pub(crate) children: Vec<u32>,
    /// Offsets into `rows` and `relative`; length `supernodes + 1`.
    pub(crate) row_ptr: Vec<u64>,
    /// Rows below the diagonal block, increasing.
    pub(crate) rows: Vec<u32>,
    /// Position of each of `rows` in the parent's front (0 for its first pivot).
    pub(crate) relative: Vec<u32>,
    /// Where the entries of A go.
    pub(crate) entries: EntryMap,
    /// Counts.
    pub(crate) stats: Stats,
    /// The pattern that was analyzed.
    pub(crate) analyzed: Analyzed,
}

impl fmt::Debug for SymbolicFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SymbolicFactor")
            .field("n", &self.n())
            .field("supernodes", &self.supernodes())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

/// Exact counts of a symbolic factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Entries of the lower triangle of A.
    pub nnz_a: u64,
    /// Entries of L, diagonal included, without amalgamation's zeros: in the order that was given, as columns of a supernode that
    /// change places may have zeros among them.
    pub nnz_l: u64,
    /// Operations of that factorization: Σ over columns of nnz(L column)², without amalgamation.
    pub flops: u128,
    /// Entries of the trapezoids kept: `nnz_l` and amalgamation's zeros.
    pub nnz_l_stored: u64,
    /// Σ over columns of (stored entries of the column)².
    pub flops_stored: u128,
    /// Supernodes before amalgamation.
    pub fundamental_supernodes: u64,
}

impl SymbolicFactor {
    /// Order of the matrix.
    #[inline]
    pub fn n(&self) -> usize {
        self.permutation.len()
    }

    /// User order to elimination order, the postorder included.
    pub fn permutation(&self) -> &Permutation {
        &self.permutation
    }

    /// Counts.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whether values of a pattern belong to this analysis: whether it is the one that was analyzed, or has the
    /// same [`fingerprint`](Pattern::fingerprint) where the analysis was saved.
    pub fn is_of(&self, pattern: &Arc<Pattern>) -> bool {
        let as_large = self.n() == pattern.n() && self.nnz_a() == pattern.nnz_lower();
        as_large && self.analyzed.is(pattern)
    }

    /// Entries of the lower triangle of A, and so of the values that belong to this analysis.
    pub fn nnz_a(&self) -> u64 {
        self.stats.nnz_a
    }

    /// Number of supernodes.
    #[inline]
    pub fn supernodes(&self) -> usize {
        self.parent.len()
    }

    /// Pivot columns of supernode `s`, elimination order.
    #[inline]
    pub fn columns(&self, s: usize) -> Range<usize> {
        self.super_ptr[s] as usize..self.super_ptr[s + 1] as usize
    }

    /// Number of pivot columns of supernode `s`: 0 for a sum front, whose update matrix is the sum
    /// of its children's (many siblings are added up in groups before they reach their parent).
    #[inline]
    pub fn npiv(&self, s: usize) -> usize {
        (self.super_ptr[s + 1] - self.super_ptr[s]) as usize
    }

    /// Number of rows below the diagonal block of supernode `s`.
    #[inline]
    pub fn nupd(&self, s: usize) -> usize {
        (self.row_ptr[s + 1] - self.row_ptr[s]) as usize
    }

    /// Rows below the diagonal block of `s`, elimination order, increasing; length `nupd(s)`.
    #[inline]
    pub fn rows(&self, s: usize) -> &[u32] {
        &self.rows[self.row_range(s)]
    }

    /// Where [`rows(s)`](Self::rows) stand in [`all_rows`](Self::all_rows).
    #[inline]
    pub fn row_range(&self, s: usize) -> Range<usize> {
        self.row_ptr[s] as usize..self.row_ptr[s + 1] as usize
    }

    /// [`rows`](Self::rows) of all supernodes, one behind the other.
    pub fn all_rows(&self) -> &[u32] {
        &self.rows
    }

    /// Where each of [`rows(s)`](Self::rows) stands in the parent's front; length `nupd(s)`.
    #[inline]
    pub fn relative(&self, s: usize) -> &[u32] {
        &self.relative[self.row_range(s)]
    }

    /// Parent of `s` in the assembly tree: the owner of its first row below the diagonal block, or
    /// a sum front below that owner.
    #[inline]
    pub fn parent(&self, s: usize) -> Option<usize> {
        (self.parent[s] != NONE).then(|| self.parent[s] as usize)
    }

    /// Children of `s`, increasing.
    #[inline]
    pub fn children(&self, s: usize) -> &[u32] {
        &self.children[self.child_ptr[s] as usize..self.child_ptr[s + 1] as usize]
    }

    /// Bytes of all its arrays.
    pub fn heap_bytes(&self) -> u64 {
        fn of<T>(list: &[T]) -> u64 {
            size_of_val(list) as u64
        }
        2 * of(self.permutation.user_of_elim())
            + of(&self.super_ptr)
            + of(&self.parent)
            + of(&self.child_ptr)
            + of(&self.children)
            + of(&self.row_ptr)
            + of(&self.rows)
            + of(&self.relative)
            + of(&self.entries.ptr)
            + of(&self.entries.single)
            + of(&self.entries.shaped)
            + of(&self.entries.high)
    }

    /// The columns of the node that pivot column `j` (elimination order, `0..n`) is of, and where entries of A go in
    /// them; all are of one supernode.
    #[inline]
    pub fn node_entries(&self, j: usize) -> NodeEntries<'_> {
        self.entries.node(j)
    }

    /// Where the entries of A go, if every unknown is a node and A has less than 2^32 entries: offsets of the columns
    /// (elimination order, length `n + 1`), and for every entry its position in the values of the user's matrix, and its
    /// row as a position in the front.
    #[inline]
    pub fn single_entries(&self) -> Option<(&[u64], &[[u32; 2]])> {
        self.entries.singles()
    }

    /// Entries of A in pivot column `j` (elimination order, `0..n`): positions in the values of the user's matrix, and
    /// rows as positions in the front, increasing.
    pub fn entries(&self, j: usize) -> impl Iterator<Item = (u64, u32)> + '_ {
        let node = self.node_entries(j);
        node.of_column((j - node.column) as u32)
    }
}
