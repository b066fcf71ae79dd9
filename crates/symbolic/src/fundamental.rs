//! Where supernodes begin.
//!
//! Column `j` continues the fundamental supernode of `j - 1` if `j - 1` is its only child and `L` has the same rows below both (Liu, Ng,
//! Peyton 1993).
//!
//! Most fundamental supernodes of networks and grids are in small subtrees that amalgamation makes one supernode each, child by child. Where
//! the front of a whole subtree is so small that it takes less than any two of the same pivots, it is taken as one at once: all
//! later steps have a third of the supernodes to look at, or less. Chunks of nodes are cut independently, so that subtrees across their
//! bounds are left to amalgamation.

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
        let mut begun = end == self.size.len() || self.begins(end);
        while end > nodes.start {
            let last = end - 1;
            let subtree = match begun {
                true => self.subtree(nodes.start, last),
                false => None,
            };
            let Some((first, group)) = subtree else {
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
            whole.push(Group { supernode, ..group });
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

    /// The first node and the columns of the subtree of `last`, if it does not begin before `start` and is one supernode from the beginning.
    #[inline(always)]
    fn subtree(&self, start: usize, last: usize) -> Option<(usize, Group)> {
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
        let supernode = 0;
        is_one.then_some((
            first,
            Group {
                supernode,
                npiv,
                zeros,
            },
        ))
    }
}
