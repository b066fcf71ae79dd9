//! Where supernodes begin.
//!
//! Column `j` continues the fundamental supernode of `j - 1` if `j - 1` is its only child and `L` has the same rows below both (Liu, Ng,
//! Peyton 1993).
//!
//! Most fundamental supernodes of networks and grids are in small subtrees that amalgamation makes one supernode each, child by child. Where
//! the front of a whole subtree is so small that it takes less than any two of the same pivots, it is taken as one at once, and later steps
//! have fewer to look at: 562 instead of 1109 of `1138_bus`. A subtree ends with a fundamental supernode, none of which is cut. Chunks of nodes
//! are cut independently, so that subtrees across their bounds are left to amalgamation. Linear in the nodes.

use std::ops::Range;

use tamarack_sparse::memory::zeroed;

use crate::AmalgamationOptions;
use crate::flops::trapezoid;
use crate::nodes::Weights;

/// Columns that became one supernode.
pub(crate) struct Group {
    pub supernode: u32,
    /// Columns of all.
    pub npiv: u32,
    /// Zeros that are stored with them.
    pub zeros: u64,
}

/// The supernodes of some nodes.
pub(crate) struct Found {
    /// First node of each.
    pub firsts: Vec<u32>,
    /// Those that are whole subtrees; supernodes are counted from the first one here.
    pub whole: Vec<Group>,
    /// Fundamental supernodes that begin here.
    pub fundamental: u64,
}

/// What supernodes are cut from.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a, W> {
    /// Nodes of each subtree.
    pub size: &'a [u32],
    /// Entries of the first column of each node.
    pub count: &'a [u32],
    pub weights: W,
    /// When supernodes are merged, and the order of a front up to which one surely is.
    pub merging: Option<(&'a AmalgamationOptions, u32)>,
}

impl<W: Weights> Cut<'_, W> {
    /// The supernodes that begin in a chunk of the nodes.
    pub fn supernodes(self, nodes: Range<usize>) -> Found {
        let mut firsts = zeroed(nodes.len());
        // Written from the back, each in any case: whether a node begins one is hard to foresee.
        let mut at = nodes.len();
        let (mut whole, mut fundamental) = (Vec::new(), 0);
        let mut end = nodes.end;
        // Whether a supernode begins with node `end`: then what is below it may end one.
        let mut begun = end == self.size.len() || self.begins(end);
        while end > nodes.start {
            let last = end - 1;
            let subtree = match begun {
                true => self.subtree(nodes.start, last),
                false => None,
            };
            let Some((first, npiv, zeros)) = subtree else {
                begun = self.begins(last);
                firsts[at - 1] = last as u32;
                at -= usize::from(begun);
                fundamental += u64::from(begun);
                end = last;
                continue;
            };
            at -= 1;
            firsts[at] = first as u32;
            let supernode = at as u32;
            whole.push(Group {
                supernode,
                npiv,
                zeros,
            });
            fundamental += (first..end).map(|j| u64::from(self.begins(j))).sum::<u64>();
            end = first;
        }
        firsts.drain(..at);
        whole.reverse();
        whole
            .iter_mut()
            .for_each(|group| group.supernode -= at as u32);
        Found {
            firsts,
            whole,
            fundamental,
        }
    }

    /// Whether a fundamental supernode begins with node `j`.
    #[inline(always)]
    fn begins(&self, j: usize) -> bool {
        let before = j.saturating_sub(1);
        // Not the only child, which has all other nodes of the subtree, or other rows.
        (j == 0)
            | (self.size[j] != self.size[before] + 1)
            | (self.count[before] != self.count[j] + self.weights.of(before))
    }

    /// First node, columns and zeros of the subtree of `last`, if it does not begin before `start` and is one supernode from the beginning.
    #[inline(always)]
    fn subtree(&self, start: usize, last: usize) -> Option<(usize, u32, u64)> {
        let (options, surely) = self.merging?;
        let size = self.size[last];
        let nupd = self.count[last] - self.weights.of(last);
        if size == 1 || size + nupd > surely || size > options.small_columns {
            return None;
        }
        let first = (last + 1).checked_sub(size as usize);
        let first = first.filter(|&first| first >= start)?;
        let (mut npiv, mut needed) = (0, 0);
        for (j, &count) in (first..).zip(&self.count[first..=last]) {
            let weight = self.weights.of(j);
            npiv += weight;
            // Each column of a node has one entry less than that before it.
            needed += trapezoid(weight, count - weight);
        }
        let stored = trapezoid(npiv, nupd);
        let zeros = stored - needed;
        let is_small = npiv <= options.small_columns && npiv + nupd <= surely;
        // Without zeros it is a part of a fundamental one.
        let is_one = is_small && zeros > 0 && options.allows(npiv, zeros, stored);
        is_one.then_some((first, npiv, zeros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::column_counts;
    use crate::etree::elimination_tree;
    use crate::nodes::Nodes;
    use crate::parts::Parts;
    use crate::permuted::LowerRows;
    use crate::postorder::{Postordered, subtree_sizes};
    use crate::supernodes::SuperForest;
    use crate::tests::random::blocks;
    use tamarack_sparse::Runs;
    use tamarack_testkit::Rng;

    #[test]
    fn supernodes_are_fundamental_or_whole_small_subtrees() {
        let options = AmalgamationOptions::default();
        let surely = options.costs().surely_merged();
        let mut whole = 0;
        for seed in 0..700 {
            let (a, order) = blocks(&mut Rng::new(seed), 25);
            let runs = Runs::find(&a);
            let nodes = Nodes::find(&a, runs.as_ref(), &order);
            let lower = LowerRows::new(&a, runs.as_ref(), &nodes);
            let tree = Postordered::new(&elimination_tree(&lower), &nodes);
            let parts = Parts::new(&tree.parent, &tree.size, |s| u64::from(tree.size[s]));
            let count = column_counts(&tree, &lower, &nodes, &parts).factor;
            let plain = SuperForest::new(&tree, &count, None);
            let forest = SuperForest::new(&tree, &count, Some(&options));
            assert!(plain.whole.is_empty());
            assert_eq!(plain.fundamental, plain.len() as u64);
            assert_eq!(forest.fundamental, plain.fundamental, "seed {seed}");
            assert_eq!(forest.size, subtree_sizes(&forest.parent));
            for s in 0..forest.len() {
                let nodes = forest.ptr[s] as usize..forest.ptr[s + 1] as usize;
                let weights: u32 = nodes.clone().map(|j| tree.weight(j)).sum();
                assert_eq!(forest.npiv[s], weights, "seed {seed}");
                if forest.is_fundamental(s as u32) {
                    for end in [nodes.start, nodes.end] {
                        assert!(plain.ptr.contains(&(end as u32)), "seed {seed}");
                    }
                }
            }
            for group in &forest.whole {
                let s = group.supernode as usize;
                let nodes = forest.ptr[s] as usize..forest.ptr[s + 1] as usize;
                assert_eq!(tree.size[nodes.end - 1] as usize, nodes.len());
                let columns = nodes.flat_map(|j| (0..tree.weight(j)).map(move |k| (j, k)));
                let needed: u64 = columns.map(|(j, k)| u64::from(count[j] - k)).sum();
                let stored = trapezoid(group.npiv, forest.nupd[s]);
                assert_eq!(group.zeros, stored - needed, "seed {seed}");
                assert!(group.npiv + forest.nupd[s] <= surely);
                assert!(options.allows(group.npiv, group.zeros, stored));
                whole += 1;
            }
        }
        assert!(whole > 200, "{whole}");
    }
}
