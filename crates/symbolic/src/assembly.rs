//! The final order of supernodes and columns: children so as to keep the update stack small.
//!
//! While a child's subtree is worked on, the update matrices of its elder siblings wait on the stack;
//! with `P` the peak of a subtree and `U` the size of its root's update matrix, visiting children by
//! decreasing `P - U` makes the largest of `U_1 + … + U_{k-1} + P_k` least (Liu 1986). At the
//! front itself all children's update matrices are live beside its own, which no order changes:
//! `P(s) = max(max_k (U_1 + … + U_{k-1} + P_k), U_1 + … + U_c + U_s)`.
//! Linear, but for sorting the children of each node.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::amalgamate::{Merged, children};
use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::postorder::{Postordered, subtree_sizes};
use crate::supernodes::SuperForest;
use crate::threads::{CHUNK, chunks, map_all, shared_u32, shared_u64, slices};
use tamarack_sparse::memory::{with_room, zeroed};

/// Where a node is, and what it has: together, because both are looked up for every edge. One thread at a time writes.
#[derive(Default)]
pub(crate) struct Home {
    /// Its first unknown in the high half, and its supernode.
    place: AtomicU64,
    /// Where its next block goes in the entry map.
    next_block: AtomicU64,
}

impl Home {
    /// First unknown of the node, and its supernode.
    #[inline]
    pub fn place(&self) -> (u32, u32) {
        let place = self.place.load(Relaxed);
        ((place >> 32) as u32, place as u32)
    }

    /// Says where its first block goes.
    #[inline]
    pub fn begin_blocks(&self, at: u64) {
        self.next_block.store(at, Relaxed);
    }

    /// Where its next block goes.
    #[inline]
    pub fn next_block(&self) -> u64 {
        let at = self.next_block.load(Relaxed);
        self.next_block.store(at + 1, Relaxed);
        at
    }
}

/// Supernodes in their final order.
pub(crate) struct Assembly {
    /// First column of each, and n; length `supernodes + 1`.
    pub super_ptr: Vec<u32>,
    /// Parent or `NONE`.
    pub parent: Vec<u32>,
    /// Rows below the diagonal block.
    pub nupd: Vec<u32>,
    /// Supernodes of each subtree.
    pub size: Vec<u32>,
    /// By the rank of the node.
    pub homes: Vec<Home>,
    /// Rank of the node that begins with each column; anything for its others.
    pub rank_at: Vec<u32>,
    /// Offsets of the blocks of A by column, length `n + 1`: all of a node's are its first column's.
    pub entry_ptr: Vec<u64>,
}

impl Assembly {
    /// Orders what amalgamation left of a forest of supernodes; `below` are the edges of each node
    /// in A to nodes below it.
    pub fn new(
        tree: &Postordered,
        nodes: &Nodes<'_>,
        below: &[u32],
        forest: &SuperForest,
        merged: &Merged,
    ) -> Self {
        let blocks = chunks(forest.len(), CHUNK);
        let kept = map_all(blocks, |supernodes| {
            let supernodes = supernodes.start as u32..supernodes.end as u32;
            let kept = supernodes.filter(|&s| merged.into[s as usize] == s);
            kept.collect::<Vec<u32>>()
        });
        let kept = kept.concat();
        let mut rank = vec![0u32; forest.len()];
        for (&s, k) in kept.iter().zip(0..) {
            rank[s as usize] = k;
        }
        let up = |s: usize| match forest.parent[s] {
            NONE => NONE,
            p => rank[merged.into[p as usize] as usize],
        };
        let parent = gathered(kept.len(), |k| up(kept[k] as usize));
        let nupd = gathered(kept.len(), |k| forest.nupd[kept[k] as usize]);
        let npiv = gathered(kept.len(), |k| merged.npiv[kept[k] as usize]);
        let (place, size) = stack_minimizing_postorder(&parent, &nupd);

        let ns = parent.len();
        let mut out = Self {
            super_ptr: vec![0; ns + 1],
            parent: vec![NONE; ns],
            nupd: vec![0; ns],
            size: vec![0; ns],
            homes: with_room(tree.len()),
            rank_at: Vec::new(),
            entry_ptr: Vec::new(),
        };
        for k in 0..ns {
            let s = place[k] as usize;
            out.super_ptr[s + 1] = npiv[k];
            out.nupd[s] = nupd[k];
            out.size[s] = size[k];
            if parent[k] != NONE {
                out.parent[s] = place[parent[k] as usize];
            }
        }
        for s in 0..ns {
            out.super_ptr[s + 1] += out.super_ptr[s];
        }
        let homes = gathered(forest.len(), |s| {
            place[rank[merged.into[s] as usize] as usize]
        });
        out.place_columns(tree, nodes, below, forest, &homes);
        out
    }

    /// Supernode of a node.
    #[inline]
    pub fn owner(&self, rank: usize) -> u32 {
        self.homes[rank].place().1
    }

    /// Gives every node its columns, in the supernode that its own is part of.
    fn place_columns(
        &mut self,
        tree: &Postordered,
        nodes: &Nodes<'_>,
        below: &[u32],
        forest: &SuperForest,
        homes: &[u32],
    ) {
        let n = self.super_ptr[self.parent.len()] as usize;
        self.rank_at = zeroed(n);
        self.entry_ptr = zeroed(n + 1);
        // Members come in the old postorder, so descendants stay before ancestors.
        let mut next = self.super_ptr.clone();
        let mut first = Vec::with_capacity(forest.len());
        for (&home, npiv) in homes.iter().zip(&forest.npiv) {
            let next = &mut next[home as usize];
            first.push(*next);
            *next += npiv;
        }
        self.homes.resize_with(tree.len(), Home::default);
        let to_homes = &self.homes;
        let rank_at = shared_u32(&mut self.rank_at);
        let lengths = shared_u64(&mut self.entry_ptr);
        map_all(chunks(forest.len(), CHUNK), |supernodes| {
            for s in supernodes {
                let (mut column, home) = (first[s], homes[s]);
                let members = forest.ptr[s] as usize..forest.ptr[s + 1] as usize;
                for (node, &below) in members.clone().zip(&below[members]) {
                    let (rank, weight) = (tree.rank[node], tree.weight(node));
                    let first = nodes.first[rank as usize];
                    let packed = u64::from(first) << 32 | u64::from(home);
                    to_homes[rank as usize].place.store(packed, Relaxed);
                    rank_at[column as usize].store(rank, Relaxed);
                    lengths[column as usize].store(u64::from(1 + below), Relaxed);
                    column += weight;
                }
            }
        });
        let mut sum = 0;
        for p in &mut self.entry_ptr {
            sum += std::mem::replace(p, sum);
        }
    }
}

/// `what` of each of `0..len`.
fn gathered(len: usize, what: impl Fn(usize) -> u32 + Sync) -> Vec<u32> {
    let mut out = zeroed(len);
    let blocks = || chunks(len, CHUNK).into_iter();
    let tasks = slices(&mut out, blocks()).into_iter().zip(blocks());
    map_all(
        tasks.collect(),
        |(out, block): (&mut [u32], Range<usize>)| {
            for (out, k) in out.iter_mut().zip(block) {
                *out = what(k);
            }
        },
    );
    out
}

/// Place of every node in the postorder that needs the smallest stack, and the number of nodes of its
/// subtree; a forest in postorder.
fn stack_minimizing_postorder(parent: &[u32], nupd: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let ns = parent.len();
    let size = subtree_sizes(parent);
    let mut peak = vec![0u128; ns];
    // Where the subtree of each begins among its siblings' and, later, among all.
    let mut start = vec![0u32; ns];
    let mut list: Vec<(Reverse<u128>, u32)> = Vec::new();
    for s in 0..ns {
        let own = update_entries(nupd[s]);
        match size[s] {
            1 => peak[s] = own,
            total if total == size[s - 1] + 1 => {
                let child = update_entries(nupd[s - 1]);
                peak[s] = stack_peak(std::iter::once((child, peak[s - 1])), own);
            }
            _ => {
                list.clear();
                list.extend(children(&size, s).map(|c| {
                    let waiting = peak[c] - update_entries(nupd[c]);
                    (Reverse(waiting), c as u32)
                }));
                // Equal children keep their order.
                list.sort_unstable();
                let pairs = list.iter().map(|&(_, c)| c as usize);
                peak[s] = stack_peak(pairs.map(|c| (update_entries(nupd[c]), peak[c])), own);
                let mut free = 0;
                for &(_, c) in &list {
                    start[c as usize] = free;
                    free += size[c as usize];
                }
            }
        }
    }
    // From the roots: each subtree begins where its siblings' before it and its parent's do.
    let mut place = vec![0u32; ns];
    for s in (0..ns).rev() {
        start[s] += match parent[s] {
            NONE => s as u32 + 1 - size[s],
            p => start[p as usize],
        };
        place[s] = start[s] + size[s] - 1;
    }
    (place, size)
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
