//! The final order of supernodes and columns.
//!
//! Supernodes stand in the postorder that needs the smallest stack (`stack`), each with the nodes that amalgamation gave it: those
//! of one fundamental supernode after the other, in the order that was given or in one of their own (`columns`). Linear, but for sorting.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::amalgamate::Merged;
use crate::columns::{Columns, Found, Turned};
use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::permuted::LowerRows;
use crate::postorder::Postordered;
use crate::stack::stack_minimizing_postorder;
use crate::supernodes::SuperForest;
use crate::threads::{
    CHUNK, chunks, gathered, kept, made, map_all, shared_u32, shared_u64, slices, sums_before,
};
use tamarack_sparse::concatenated;
use tamarack_sparse::memory::zeroed;

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

    /// Whether that was said: the first column's first block is its triangle.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.next_block.load(Relaxed) != 0
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
    /// Edges that are turned, rows increasing.
    pub turned: Vec<Turned>,
}

impl Assembly {
    /// Orders what amalgamation left of a forest of supernodes; `below` are the edges of each node
    /// in A to nodes below it. With the lower triangle, the columns of large supernodes are sorted.
    pub fn new(
        tree: &Postordered,
        nodes: &Nodes<'_>,
        sorted_by: Option<&LowerRows>,
        below: &[u32],
        forest: &SuperForest,
        merged: &Merged,
    ) -> Self {
        let (kept, rank) = remaining(merged);
        let up = |s: usize| match forest.parent[s] {
            NONE => NONE,
            p => rank[merged.into[p as usize] as usize],
        };
        let parent = gathered(kept.len(), |k| up(kept[k] as usize));
        let nupd = gathered(kept.len(), |k| forest.nupd[kept[k] as usize]);
        // A subtree is a range before and after: of it remain those from the first that does.
        let size = gathered(kept.len(), |k| {
            let s = kept[k];
            k as u32 + 1 - rank[(s + 1 - forest.size[s as usize]) as usize]
        });
        let user = |k: usize| {
            let node = forest.ptr[kept[k] as usize] as usize;
            nodes.first[tree.rank[node] as usize]
        };
        let place = stack_minimizing_postorder(&parent, &nupd, &size, user);

        let ns = parent.len();
        let mut out = Self {
            super_ptr: zeroed(ns + 1),
            parent: zeroed(ns),
            nupd: zeroed(ns),
            size: zeroed(ns),
            homes: made(tree.len(), Home::default),
            rank_at: Vec::new(),
            entry_ptr: Vec::new(),
            turned: Vec::new(),
        };
        let [to_npiv, to_parent, to_nupd, to_size] = [
            &mut out.super_ptr,
            &mut out.parent,
            &mut out.nupd,
            &mut out.size,
        ]
        .map(|list| shared_u32(list));
        map_all(chunks(ns, CHUNK), |supernodes| {
            for k in supernodes {
                let s = place[k] as usize;
                to_npiv[s].store(merged.npiv[kept[k] as usize], Relaxed);
                to_nupd[s].store(nupd[k], Relaxed);
                to_size[s].store(size[k], Relaxed);
                let up = match parent[k] {
                    NONE => NONE,
                    p => place[p as usize],
                };
                to_parent[s].store(up, Relaxed);
            }
        });
        sums_before(&mut out.super_ptr);
        let homes = gathered(forest.len(), |s| {
            place[rank[merged.into[s] as usize] as usize]
        });
        out.place_columns(tree, nodes, sorted_by, below, forest, &homes);
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
        sorted_by: Option<&LowerRows>,
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
        let to_homes = &self.homes[..];
        let (rank_of, first_of) = (&tree.rank[..], &nodes.first[..]);
        let rank_at = shared_u32(&mut self.rank_at);
        let lengths = shared_u64(&mut self.entry_ptr);
        let are_sorted =
            |s: usize| Columns::are_many(forest.npiv[s]) && forest.is_fundamental(s as u32);
        let found = map_all(chunks(forest.len(), CHUNK), |supernodes| {
            let mut sorted = sorted_by.map(|lower| Columns::new(tree, lower));
            for s in supernodes {
                let (mut column, home) = (first[s], homes[s]);
                let mut place = |(node, below): (usize, u32)| {
                    let (rank, weight) = (rank_of[node], tree.weight(node));
                    let first = first_of[rank as usize];
                    let packed = u64::from(first) << 32 | u64::from(home);
                    to_homes[rank as usize].place.store(packed, Relaxed);
                    rank_at[column as usize].store(rank, Relaxed);
                    lengths[column as usize].store(u64::from(1 + below), Relaxed);
                    column += weight;
                };
                let members = forest.ptr[s] as usize..forest.ptr[s + 1] as usize;
                let below = &below[members.clone()];
                match &mut sorted {
                    Some(sorted) if are_sorted(s) => {
                        sorted.sort(members, below, first[s]).for_each(place);
                    }
                    _ => members.zip(below.iter().copied()).for_each(&mut place),
                }
            }
            sorted.map(|sorted| sorted.found).unwrap_or_default()
        });
        self.turned = Found::in_order(&found);
        sums_before(&mut self.entry_ptr);
    }
}

/// The supernodes that remain, increasing, and how many of them are before each.
fn remaining(merged: &Merged) -> (Vec<u32>, Vec<u32>) {
    let remains = |s: usize| merged.into[s] as usize == s;
    let blocks = chunks(merged.into.len(), CHUNK);
    let found = map_all(blocks.clone(), |supernodes| kept(supernodes, remains));
    let mut rank = zeroed(merged.into.len());
    let mut before = 0;
    let places = slices(&mut rank, blocks.clone());
    let tasks = places.zip(blocks).zip(&found).map(|(block, kept)| {
        let base = before;
        before += kept.len() as u32;
        (block, base)
    });
    map_all(tasks, |((rank, supernodes), mut next)| {
        for (rank, s) in rank.iter_mut().zip(supernodes) {
            *rank = next;
            next += u32::from(remains(s));
        }
    });
    (concatenated(&found), rank)
}
