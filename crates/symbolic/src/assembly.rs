//! The final order of supernodes and columns: children so as to keep the update stack small.
//!
//! While a child's subtree is worked on, the update matrices of its elder siblings wait on the stack;
//! with `P` the peak of a subtree and `U` the size of its root's update matrix, visiting children by
//! decreasing `P - U` makes the largest of `U_1 + … + U_{k-1} + P_k` least (Liu 1986). At the
//! front itself all children's update matrices are live beside its own, which no order changes:
//! `P(s) = max(max_k (U_1 + … + U_{k-1} + P_k), U_1 + … + U_c + U_s)`.
//! Linear, but for sorting the children of each node.

use std::cmp::Reverse;

use crate::amalgamate::{Merged, child_lists};
use crate::factor::NONE;
use crate::supernodes::SuperForest;

/// Supernodes in their final order.
pub(crate) struct Assembly {
    /// First column of each, and n; length `supernodes + 1`.
    pub super_ptr: Vec<u32>,
    /// Parent or `NONE`.
    pub parent: Vec<u32>,
    /// Rows below the diagonal block.
    pub nupd: Vec<u32>,
    /// Final label of every column, by its label in the postordered elimination tree.
    pub column_label: Vec<u32>,
}

impl Assembly {
    /// Orders what amalgamation left of a forest of supernodes.
    pub fn new(forest: &SuperForest, merged: &Merged) -> Self {
        let kept: Vec<u32> = (0..forest.len() as u32)
            .filter(|&s| merged.into[s as usize] == s)
            .collect();
        let mut rank = vec![NONE; forest.len()];
        for (k, &s) in kept.iter().enumerate() {
            rank[s as usize] = k as u32;
        }
        let parent: Vec<u32> = kept
            .iter()
            .map(|&s| match merged.parent[s as usize] {
                NONE => NONE,
                p => rank[p as usize],
            })
            .collect();
        let nupd: Vec<u32> = kept.iter().map(|&s| forest.nupd[s as usize]).collect();
        let npiv: Vec<u32> = kept.iter().map(|&s| merged.npiv[s as usize]).collect();
        let place = stack_minimizing_postorder(&parent, &nupd);

        let ns = kept.len();
        let mut out = Self {
            super_ptr: vec![0; ns + 1],
            parent: vec![NONE; ns],
            nupd: vec![0; ns],
            column_label: vec![0; forest.ptr[forest.len()] as usize],
        };
        for k in 0..ns {
            let s = place[k] as usize;
            out.super_ptr[s + 1] = npiv[k];
            out.nupd[s] = nupd[k];
            if parent[k] != NONE {
                out.parent[s] = place[parent[k] as usize];
            }
        }
        for s in 0..ns {
            out.super_ptr[s + 1] += out.super_ptr[s];
        }
        // Members come in the old postorder, so descendants stay before ancestors.
        let mut next = out.super_ptr.clone();
        for s in 0..forest.len() {
            let home = place[rank[merged.into[s] as usize] as usize] as usize;
            let columns = forest.ptr[s] as usize..forest.ptr[s + 1] as usize;
            for label in &mut out.column_label[columns] {
                *label = next[home];
                next[home] += 1;
            }
        }
        out
    }
}

/// Place of every node in the postorder that needs the smallest stack; `parent[s] > s` or `NONE`.
fn stack_minimizing_postorder(parent: &[u32], nupd: &[u32]) -> Vec<u32> {
    let ns = parent.len();
    let (ptr, mut children) = child_lists(parent);
    let mut peak = vec![0u128; ns];
    let mut size = vec![1u32; ns];
    for s in 0..ns {
        let list = &mut children[ptr[s]..ptr[s + 1]];
        // A stable sort: equal children keep their order.
        list.sort_by_key(|&c| Reverse(peak[c as usize] - update_entries(nupd[c as usize])));
        let updates = list.iter().map(|&c| update_entries(nupd[c as usize]));
        let peaks = list.iter().map(|&c| peak[c as usize]);
        peak[s] = stack_peak(updates.zip(peaks), update_entries(nupd[s]));
        size[s] += list.iter().map(|&c| size[c as usize]).sum::<u32>();
    }
    // As in `postorder`, but each node shares its range out among its children as they are sorted.
    let mut place = vec![0u32; ns];
    let mut start = vec![0u32; ns];
    let mut next_root = 0;
    for s in (0..ns).rev() {
        if parent[s] == NONE {
            start[s] = next_root;
            next_root += size[s];
        }
        let mut free = start[s];
        for &c in &children[ptr[s]..ptr[s + 1]] {
            start[c as usize] = free;
            free += size[c as usize];
        }
        place[s] = free;
    }
    place
}

/// Peak of a front given `(update, peak)` of its children in order, and its own update matrix.
pub(crate) fn stack_peak(children: impl Iterator<Item = (u128, u128)>, own: u128) -> u128 {
    let (mut waiting, mut most) = (0, 0);
    for (update, peak) in children {
        most = most.max(waiting + peak);
        waiting += update;
    }
    most.max(waiting + own)
}

/// Entries of the lower triangle of an update matrix.
pub(crate) fn update_entries(nupd: u32) -> u128 {
    u128::from(nupd) * (u128::from(nupd) + 1) / 2
}
