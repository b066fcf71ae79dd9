//! The elimination tree (Liu 1986, 1990).
//!
//! `parent[j]` is the row of the first entry below the diagonal in column `j` of `L`. Liu's
//! algorithm adds the rows of A one at a time; each entry `(i, j)` says that the root of the tree
//! that holds `j` becomes a child of `i`. Path compression on a second array of ancestors makes the
//! search for the root short: `O(nnz(A) log n)` at worst, near linear in practice.

use crate::factor::NONE;
use crate::permuted::LowerRows;

/// Parent of every column, or `NONE`; always `parent[j] > j`.
pub(crate) fn elimination_tree(lower: &LowerRows) -> Vec<u32> {
    let n = lower.len();
    let mut parent = vec![NONE; n];
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
                    parent[k] = row;
                    break;
                }
                k = up as usize;
            }
        }
    }
    parent
}
