//! Fundamental supernodes (Liu, Ng, Peyton 1993).
//!
//! Column `j` continues the supernode of `j - 1` if `j - 1` is its only child and `L` has the same
//! rows below both, which the counts tell: the rows of a child are among those of its parent. The
//! partition depends on the tree alone, not on which postorder is taken. Linear in `n`.

use crate::factor::NONE;
use crate::postorder::Postordered;
use crate::threads::{CHUNK, chunks, kept, map_all, slices};
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
        let tasks = slices(&mut begun, blocks.clone()).zip(blocks).zip(firsts);
        let tasks = tasks.map(|(block, firsts)| {
            let base = before;
            before += firsts.len() as u32;
            (block, firsts, base)
        });
        map_all(tasks, |((begun, nodes), firsts, base)| {
            for (first, s) in firsts.into_iter().zip(base..) {
                begun[first as usize - nodes.start] = s;
            }
        });
        Self::with_sizes(tree, count, ptr, &begun)
    }

    /// With parents and sizes; `begun` has the supernode that each first node begins.
    fn with_sizes(tree: &Postordered, count: &[u32], ptr: Vec<u32>, begun: &[u32]) -> Self {
        let supernodes = ptr.len() - 1;
        let [mut parent, mut npiv, mut nupd, mut size] =
            [(); 4].map(|()| zeroed::<u32>(supernodes));
        let blocks = chunks(supernodes, CHUNK);
        let upwards = slices(&mut parent, blocks.clone()).zip(slices(&mut size, blocks.clone()));
        let orders = slices(&mut npiv, blocks.clone()).zip(slices(&mut nupd, blocks.clone()));
        map_all(blocks.zip(upwards.zip(orders)), |(block, lists)| {
            let ((parent, size), (npiv, nupd)) = lists;
            let bounds = ptr[block.start..=block.end].windows(2);
            let outs = parent.iter_mut().zip(npiv).zip(nupd.iter_mut().zip(size));
            for ((s, bounds), ((parent, npiv), (nupd, size))) in block.zip(bounds).zip(outs) {
                let (first, last) = (bounds[0] as usize, bounds[1] as usize - 1);
                *nupd = count[last] - tree.weight(last);
                *npiv = count[first] - *nupd;
                *parent = match tree.parent[last] {
                    NONE => NONE,
                    p => begun[p as usize],
                };
                // A subtree begins with a leaf, which begins a supernode.
                *size = s as u32 + 1 - begun[last + 1 - tree.size[last] as usize];
            }
        });
        Self {
            ptr,
            parent,
            npiv,
            nupd,
            size,
        }
    }

    /// Number of supernodes.
    pub fn len(&self) -> usize {
        self.parent.len()
    }
}
