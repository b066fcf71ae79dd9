//! Fundamental supernodes (Liu, Ng, Peyton 1993), and whole small subtrees in the place of theirs.
//!
//! The rows of a child are among those of its parent, so that the counts tell whether both have the same: see
//! [`fundamental`](crate::fundamental). The partition into fundamental supernodes depends on the tree alone, not on which
//! postorder is taken. Linear in `n`.

use crate::AmalgamationOptions;
use crate::factor::NONE;
use crate::fundamental::{Cut, Found, Group};
use crate::nodes::{Ones, Weights};
use crate::postorder::Postordered;
use crate::threads::{CHUNK, chunks, map_all, slices};
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
    /// Those that are whole subtrees, increasing: their rows are not those of their first column.
    pub whole: Vec<Group>,
    /// How many fundamental supernodes there are.
    pub fundamental: u64,
}

impl SuperForest {
    /// Finds the fundamental supernodes of a postordered elimination forest; `count` has the entries of the first
    /// column of each node. With options, subtrees that are surely merged are one supernode each from the beginning.
    pub fn new(tree: &Postordered, count: &[u32], options: Option<&AmalgamationOptions>) -> Self {
        let merging = options.map(|options| (options, options.costs().surely_merged()));
        let blocks = chunks(tree.len(), CHUNK);
        let mut found = match tree.is_unit() {
            true => cut(tree, count, merging, Ones),
            false => cut(tree, count, merging, tree.weights()),
        };
        let end = [tree.len() as u32];
        let lists = found
            .iter()
            .map(|found| &found.firsts[..])
            .chain([&end[..]]);
        let ptr = concatenated(&lists.collect::<Vec<_>>());
        // A parent begins a supernode, unless its only child is in the same one.
        let mut begun = zeroed::<u32>(tree.len());
        let mut before = 0;
        let tasks = slices(&mut begun, blocks.clone())
            .zip(blocks)
            .zip(&mut found);
        let tasks = tasks.map(|(block, found)| {
            let base = before;
            before += found.firsts.len() as u32;
            (block, found, base)
        });
        map_all(tasks, |((begun, nodes), found, base)| {
            for (&first, s) in found.firsts.iter().zip(base..) {
                begun[first as usize - nodes.start] = s;
            }
            found
                .whole
                .iter_mut()
                .for_each(|group| group.supernode += base);
        });
        let mut out = Self::with_sizes(tree, count, ptr, &begun);
        out.fundamental = found.iter().map(|found| found.fundamental).sum();
        let whole = found.into_iter().map(|found| found.whole);
        out.whole = whole.reduce(joined).unwrap_or_default();
        for group in &out.whole {
            out.npiv[group.supernode as usize] = group.npiv;
        }
        out
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
                // A subtree found whole has another, which replaces this difference: it may wrap.
                *npiv = count[first].wrapping_sub(*nupd);
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
            whole: Vec::new(),
            fundamental: 0,
        }
    }

    /// Whether all columns of a supernode have the rows of its first one.
    pub fn is_fundamental(&self, s: u32) -> bool {
        let found = self.whole.binary_search_by_key(&s, |group| group.supernode);
        found.is_err()
    }

    /// Number of supernodes.
    pub fn len(&self) -> usize {
        self.parent.len()
    }
}

/// The one list after the other.
fn joined(mut all: Vec<Group>, mut more: Vec<Group>) -> Vec<Group> {
    all.append(&mut more);
    all
}

/// The supernodes of chunks of the nodes.
fn cut<W: Weights>(
    tree: &Postordered,
    count: &[u32],
    merging: Option<(&AmalgamationOptions, u32)>,
    weights: W,
) -> Vec<Found> {
    let cut = Cut {
        size: &tree.size,
        count,
        weights,
        merging,
    };
    map_all(chunks(tree.len(), CHUNK), |nodes| cut.supernodes(nodes))
}
