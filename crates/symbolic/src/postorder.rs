//! Postorder of a forest whose parents come after their children.
//!
//! In a postorder every subtree is a range that ends with its root. Sizes of subtrees say where each
//! range lies, so the order is written down from the roots without a stack: the children of a node
//! share out the range before it. Linear time; children keep their relative order, so a forest
//! that is in postorder already stays as it is.

use crate::factor::NONE;

/// New label of every node; `parent[j] > j` or `NONE`.
pub(crate) fn postorder(parent: &[u32]) -> Vec<u32> {
    let n = parent.len();
    let size = subtree_sizes(parent);
    let mut label = vec![0u32; n];
    // End of what is left of each node's range for children not placed yet.
    let mut end = vec![0u32; n];
    let mut roots_end = n as u32;
    for j in (0..n).rev() {
        let free = match parent[j] {
            NONE => &mut roots_end,
            p => &mut end[p as usize],
        };
        label[j] = *free - 1;
        *free -= size[j];
        end[j] = label[j];
    }
    label
}

/// Number of nodes of each subtree; `parent[j] > j` or `NONE`.
pub(crate) fn subtree_sizes(parent: &[u32]) -> Vec<u32> {
    let mut size = vec![1u32; parent.len()];
    for j in 0..parent.len() {
        if parent[j] != NONE {
            size[parent[j] as usize] += size[j];
        }
    }
    size
}

/// The same forest under new labels.
pub(crate) fn relabel_forest(parent: &[u32], label: &[u32]) -> Vec<u32> {
    let mut out = vec![NONE; parent.len()];
    for (j, &p) in parent.iter().enumerate() {
        if p != NONE {
            out[label[j] as usize] = label[p as usize];
        }
    }
    out
}
