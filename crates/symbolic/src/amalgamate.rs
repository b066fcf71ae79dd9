//! Relaxed amalgamation of supernodes, judged by predicted time.
//!
//! Merging a child of `k` columns and `u` rows into its parent of `k'` columns and `u'` rows gives a
//! front of `k + k'` pivots and `u'` rows below, since the child's rows are among the parent's
//! columns and rows. It stores `k (k' + u' - u)` zeros more, and saves the child's update matrix,
//! one front's overhead, and time in products that become wider (Duff, Reid 1983; Ashcraft, Grimes
//! 1989 merge by counts of zeros only). Any child may merge, not only the last: columns are renumbered
//! afterwards. Parents are visited in postorder (`merging`). Leaves that were joined before (`leaves`) count as one child.

use crate::AmalgamationOptions;
use crate::factor::NONE;
use crate::leaves::Joined;
use crate::merging::{Growing, JOINED, Merging};
use crate::parts::Parts;
use crate::supernodes::SuperForest;
use crate::threads::{made, map_all, slices};
use tamarack_sparse::memory::zeroed;

/// Supernodes of a forest joined into larger ones.
pub(crate) struct Merged {
    /// For each supernode, the one that it became part of: itself, an ancestor, or another leaf with the same rows.
    pub into: Vec<u32>,
    /// Columns of each one that remains.
    pub npiv: Vec<u32>,
}

impl Merged {
    /// Nothing merged.
    pub fn none(forest: &SuperForest) -> Self {
        Self {
            into: (0..forest.len() as u32).collect(),
            npiv: forest.npiv.clone(),
        }
    }

    /// Merges wherever the options say that it pays.
    pub fn new(forest: &SuperForest, joined: &Joined, options: &AmalgamationOptions) -> Self {
        let size = &forest.size;
        let parts = Parts::new(&forest.parent, size, |s| WORK * u64::from(size[s]));
        let new = Growing {
            secs: 0.0,
            zeros: 0,
            npiv: 0,
            into: NONE,
        };
        let mut nodes = made(forest.len(), || new);
        for &(s, _) in &joined.leaves {
            nodes[s as usize].into = JOINED;
        }
        for group in forest.whole.iter().chain(&joined.groups) {
            let node = &mut nodes[group.supernode as usize];
            (node.npiv, node.zeros) = (group.npiv, group.zeros);
        }
        let merging = Merging::new(forest, options);
        let own = slices(&mut nodes, parts.ranges.iter().cloned());
        map_all(own.zip(&parts.ranges), |(nodes, range)| {
            merging.run(nodes, range.start, range.clone());
        });
        merging.run(&mut nodes, 0, parts.top.iter().map(|&p| p as usize));
        let mut out = Self::resolved(&nodes, &parts);
        for &(s, other) in &joined.leaves {
            out.into[s as usize] = out.into[other as usize];
        }
        out
    }

    /// Where each supernode ends up, given the parents that they became parts of: ancestors come later, so sweeps
    /// from the roots find it.
    fn resolved(nodes: &[Growing], parts: &Parts) -> Self {
        let mut out = Self {
            into: zeroed(nodes.len()),
            npiv: zeroed(nodes.len()),
        };
        for &s in parts.top.iter().rev() {
            let node = &nodes[s as usize];
            out.npiv[s as usize] = node.npiv;
            out.into[s as usize] = match node.into {
                NONE | JOINED => s,
                p => out.into[p as usize],
            };
        }
        // A part's root may be part of one in the top.
        let ends: Vec<u32> = parts
            .ranges
            .iter()
            .map(|range| match nodes[range.end - 1].into {
                NONE | JOINED => range.end as u32 - 1,
                p => out.into[p as usize],
            })
            .collect();
        let into = slices(&mut out.into, parts.ranges.iter().cloned());
        let npiv = slices(&mut out.npiv, parts.ranges.iter().cloned());
        let tasks = into.zip(npiv).zip(parts.ranges.iter().zip(ends));
        map_all(tasks, |((into, npiv), (range, end))| {
            for s in range.clone().rev() {
                let node = &nodes[s];
                npiv[s - range.start] = node.npiv;
                into[s - range.start] = match node.into {
                    _ if s + 1 == range.end => end,
                    NONE | JOINED => s as u32,
                    p => into[p as usize - range.start],
                };
            }
        });
        out
    }
}

/// Work on a supernode, in that of a node in [`Parts`].
const WORK: u64 = 4;
