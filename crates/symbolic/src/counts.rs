//! Column counts of `L` without forming it (Gilbert, Ng, Peyton 1994).
//!
//! Row `i` of `L` is a subtree of the elimination tree with root `i`, pruned at the leaves: the
//! columns `j` of row `i` of A that have no other entry of that row in their own subtree. The count of
//! column `j` is the number of row subtrees that hold `j`. Give weight 1 to each leaf, -1 to
//! the least common ancestor of leaves that follow one another, -1 to the parent of each root; then
//! the count is the sum of the weights below. Leaves are found in postorder by first descendants,
//! least common ancestors by disjoint sets: near linear in `nnz(A)`.

use crate::factor::NONE;
use crate::permuted::LowerColumns;
use crate::postorder::subtree_sizes;

/// What the sweep knows about a row.
#[derive(Clone, Copy)]
struct RowState {
    /// One more than the largest column seen, 0 before the first.
    seen: u32,
    /// Last leaf of the row subtree, or `NONE`.
    leaf: u32,
}

/// Entries of each column of `L`, diagonal included; the forest must be in postorder.
pub(crate) fn column_counts(parent: &[u32], lower: &LowerColumns) -> Vec<u32> {
    let n = parent.len();
    let size = subtree_sizes(parent);
    let mut weight: Vec<i64> = size.iter().map(|&s| i64::from(s == 1)).collect();
    let mut rows = vec![
        RowState {
            seen: 0,
            leaf: NONE
        };
        n
    ];
    let mut set: Vec<u32> = (0..n as u32).collect();
    for j in 0..n {
        let first = j as u32 + 1 - size[j];
        for &i in lower.column(j) {
            let row = &mut rows[i as usize];
            if row.seen <= first {
                weight[j] += 1;
                if row.leaf != NONE {
                    weight[find(&mut set, row.leaf) as usize] -= 1;
                }
                row.leaf = j as u32;
            }
            row.seen = j as u32 + 1;
        }
        if parent[j] != NONE {
            weight[parent[j] as usize] -= 1;
            set[j] = parent[j];
        }
    }
    for j in 0..n {
        if parent[j] != NONE {
            weight[parent[j] as usize] += weight[j];
        }
    }
    weight.into_iter().map(|w| w as u32).collect()
}

/// Root of the set of `k`: its highest ancestor that has not been left yet. Halves the path.
fn find(set: &mut [u32], mut k: u32) -> u32 {
    loop {
        let up = set[k as usize];
        if up == k {
            return k;
        }
        let above = set[up as usize];
        set[k as usize] = above;
        k = above;
    }
}
