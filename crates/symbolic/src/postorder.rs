//! Postorder of a forest whose parents come after their children.
//!
//! In a postorder every subtree is a range that ends with its root. Sizes of subtrees say where each
//! range lies, so the order is written down from the roots without a stack: the children of a node
//! share out the range before it. Linear time; children keep their relative order, so a forest
//! that is in postorder already stays as it is.

use std::sync::atomic::Ordering::Relaxed;

use crate::etree::Forest;
use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::threads::{CHUNK, chunks, map_all, shared_u32};
use tamarack_sparse::memory::zeroed;

/// An elimination forest of nodes in postorder.
pub(crate) struct Postordered {
    /// Parent of each node, or `NONE`; postorder.
    pub parent: Vec<u32>,
    /// Nodes of each subtree, postorder.
    pub size: Vec<u32>,
    /// Place in the postorder, by rank.
    pub label: Vec<u32>,
    /// Rank, by place in the postorder.
    pub rank: Vec<u32>,
    /// Unknowns of each node, postorder; empty if all have one.
    weight: Vec<u32>,
}

impl Postordered {
    /// Postorders a forest by ranks of nodes.
    pub fn new(forest: &Forest, nodes: &Nodes<'_>) -> Self {
        let n = forest.parent.len();
        let label = labels(&forest.parent, &forest.size);
        let mut out = Self {
            parent: zeroed(n),
            size: zeroed(n),
            rank: zeroed(n),
            weight: vec![0; nodes.weights().len()],
            label,
        };
        let (parent, size) = (shared_u32(&mut out.parent), shared_u32(&mut out.size));
        let (rank, weight) = (shared_u32(&mut out.rank), shared_u32(&mut out.weight));
        let label = &out.label;
        map_all(chunks(n, CHUNK), |ranks| {
            for j in ranks {
                let at = label[j] as usize;
                let up = forest.parent[j];
                let above = if up == NONE { NONE } else { label[up as usize] };
                parent[at].store(above, Relaxed);
                size[at].store(forest.size[j], Relaxed);
                rank[at].store(j as u32, Relaxed);
                if let Some(weight) = weight.get(at) {
                    weight.store(nodes.weight(j), Relaxed);
                }
            }
        });
        out
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether every unknown is a node.
    pub fn is_unit(&self) -> bool {
        self.weight.is_empty()
    }

    /// Unknowns of each node; empty if all have one.
    pub fn weights(&self) -> &[u32] {
        &self.weight
    }

    /// Unknowns of a node.
    #[inline]
    pub fn weight(&self, j: usize) -> u32 {
        self.weight.get(j).copied().unwrap_or(1)
    }
}

/// Place of every node in the postorder; `parent[j] > j` or `NONE`, `size` as [`subtree_sizes`] says.
fn labels(parent: &[u32], size: &[u32]) -> Vec<u32> {
    let n = parent.len();
    let mut label = zeroed::<u32>(n);
    // End of what is left of each node's range for children not placed yet.
    let mut end = zeroed::<u32>(n);
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

/// Children of a node of a postordered forest with subtrees of `size` nodes, the last one first.
pub(crate) fn children(size: &[u32], p: usize) -> impl Iterator<Item = usize> + '_ {
    let first = p + 1 - size[p] as usize;
    let mut end = p;
    std::iter::from_fn(move || {
        let child = end.checked_sub(1).filter(|_| end > first)?;
        end -= size[child] as usize;
        Some(child)
    })
}

/// Children of every node, increasing: offsets and nodes.
pub(crate) fn child_lists(parent: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut ptr = vec![0u32; parent.len() + 1];
    for &p in parent {
        if p != NONE {
            ptr[p as usize] += 1;
        }
    }
    let mut sum = 0;
    for p in &mut ptr {
        sum += *p;
        *p = sum;
    }
    let mut children = vec![0u32; sum as usize];
    for (c, &p) in parent.iter().enumerate().rev() {
        if p != NONE {
            ptr[p as usize] -= 1;
            children[ptr[p as usize] as usize] = c as u32;
        }
    }
    (ptr, children)
}
