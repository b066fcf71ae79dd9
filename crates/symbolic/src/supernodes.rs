//! Fundamental supernodes (Liu, Ng, Peyton 1993).
//!
//! Column `j` continues the supernode of `j - 1` if `j - 1` is its only child and `L` has the same
//! rows below both, which the counts tell: the rows of a child are among those of its parent. The
//! partition depends on the tree alone, not on which postorder is taken. Linear in `n`.

use std::ops::Range;

use crate::amalgamate::trapezoid;
use crate::analyze::front_flops;
use crate::factor::NONE;
use crate::postorder::Postordered;
use crate::threads::{CHUNK, chunks, gathered, kept, map_all, slices};
use tamarack_sparse::concatenated;
use tamarack_sparse::memory::zeroed;

/// A forest of supernodes in postorder, each a range of nodes.
pub(crate) struct SuperForest {
    /// First node of each, and their number; length `supernodes + 1`.
    pub ptr: Vec<u32>,
    /// Parent of each, or `NONE`.
    pub parent: Vec<u32>,
    /// Columns of each.
    pub npiv: Vec<u32>,
    /// Rows below the diagonal block of each.
    pub nupd: Vec<u32>,
    /// Supernodes of the subtree of each.
    pub size: Vec<u32>,
}

impl SuperForest {
    /// Finds the fundamental supernodes of a postordered elimination forest; `count` has the entries of the first
    /// column of each node.
    pub fn fundamental(tree: &Postordered, count: &[u32]) -> Self {
        let begins = |j: usize| {
            let before = j.saturating_sub(1);
            // Not the only child, which has all other nodes of the subtree, or other rows.
            (j == 0)
                | (tree.size[j] != tree.size[before] + 1)
                | (count[before] != count[j] + tree.weight(before))
        };
        let blocks = chunks(tree.len(), CHUNK);
        let firsts = map_all(blocks.clone(), |nodes| kept(nodes, begins));
        let end = [tree.len() as u32];
        let lists = firsts.iter().map(Vec::as_slice).chain([&end[..]]);
        let ptr = concatenated(&lists.collect::<Vec<_>>());
        // A parent begins a supernode, unless its only child is in the same one.
        let mut begun = zeroed::<u32>(tree.len());
        let mut before = 0;
        let tasks = slices(&mut begun, blocks.iter().cloned()).into_iter();
        let tasks = tasks.zip(blocks).zip(firsts).map(|(block, firsts)| {
            let base = before;
            before += firsts.len() as u32;
            (block, firsts, base)
        });
        type Task<'a> = ((&'a mut [u32], Range<usize>), Vec<u32>, u32);
        map_all(
            tasks.collect(),
            |((begun, nodes), firsts, base): Task<'_>| {
                for (first, s) in firsts.into_iter().zip(base..) {
                    begun[first as usize - nodes.start] = s;
                }
            },
        );
        Self::with_sizes(tree, count, ptr, &begun)
    }

    /// With parents and sizes; `begun` has the supernode that each first node begins.
    fn with_sizes(tree: &Postordered, count: &[u32], ptr: Vec<u32>, begun: &[u32]) -> Self {
        let supernodes = ptr.len() - 1;
        let [mut parent, mut npiv, mut nupd] = [(); 3].map(|()| zeroed::<u32>(supernodes));
        let blocks = || chunks(supernodes, CHUNK).into_iter();
        let sizes = slices(&mut npiv, blocks()).into_iter();
        let sizes = sizes.zip(slices(&mut nupd, blocks()));
        let tasks = slices(&mut parent, blocks()).into_iter().zip(sizes);
        type Task<'a> = (
            (&'a mut [u32], (&'a mut [u32], &'a mut [u32])),
            Range<usize>,
        );
        map_all(tasks.zip(blocks()).collect(), |task: Task<'_>| {
            let ((parent, (npiv, nupd)), supernodes) = task;
            for (k, s) in supernodes.enumerate() {
                let (first, last) = (ptr[s] as usize, ptr[s + 1] as usize - 1);
                nupd[k] = count[last] - tree.weight(last);
                npiv[k] = count[first] - nupd[k];
                parent[k] = match tree.parent[last] {
                    NONE => NONE,
                    p => begun[p as usize],
                };
            }
        });
        // A subtree begins with a leaf, which begins a supernode.
        let size = gathered(supernodes, |s| {
            let last = ptr[s + 1] - 1;
            s as u32 + 1 - begun[(last + 1 - tree.size[last as usize]) as usize]
        });
        Self {
            ptr,
            parent,
            npiv,
            nupd,
            size,
        }
    }

    /// Entries of L, and operations of its factorization.
    pub fn entries_and_flops(&self) -> (u64, u128) {
        let blocks = map_all(chunks(self.len(), CHUNK), |supernodes| {
            let sizes = self.npiv[supernodes.clone()]
                .iter()
                .zip(&self.nupd[supernodes]);
            sizes.fold((0, 0), |(entries, flops), (&npiv, &nupd)| {
                let more = (
                    trapezoid(npiv, nupd),
                    front_flops(npiv as usize, nupd as usize),
                );
                (entries + more.0, flops + more.1)
            })
        });
        let add = |a: (u64, u128), b: (u64, u128)| (a.0 + b.0, a.1 + b.1);
        blocks.into_iter().fold((0, 0), add)
    }

    /// Number of supernodes.
    pub fn len(&self) -> usize {
        self.parent.len()
    }
}
