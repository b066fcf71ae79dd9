//! The elimination tree (Liu 1986, 1990).
//!
//! `parent[j]` is the row of the first entry below the diagonal in column `j` of `L`. Liu's
//! algorithm adds the rows of A one at a time; each entry `(i, j)` says that the root of the tree
//! that holds `j` becomes a child of `i`. Path compression on a second array of ancestors makes the
//! search for the root short: `O(nnz(A) log n)` at worst, near linear in practice.

use crate::factor::NONE;
use crate::permuted::LowerRows;

/// An elimination forest; always `parent[j] > j`.
pub(crate) struct Forest {
    /// Parent of every column, or `NONE`.
    pub parent: Vec<u32>,
    /// Columns of each subtree.
    pub size: Vec<u32>,
}

/// The elimination forest of the rows of a lower triangle.
pub(crate) fn elimination_tree(lower: &LowerRows) -> Forest {
    let n = lower.len();
    let mut parent = vec![NONE; n];
    let mut size = vec![1u32; n];
    let mut ancestor = vec![NONE; n];
    for i in 0..n {
        let row = i as u32;
        for column in lower.row(i) {
            let mut k = column as usize;
            loop {
                let up = ancestor[k];
                if up == row {
                    break;
                }
                ancestor[k] = row;
                if up == NONE {
                    // All that is below a row is there when the row is reached.
                    parent[k] = row;
                    size[i] += size[k];
                    break;
                }
                k = up as usize;
            }
        }
    }
    Forest { parent, size }
}
