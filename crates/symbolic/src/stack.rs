//! The order of siblings that keeps the update stack small.
//!
//! While a child's subtree is worked on, the update matrices of its elder siblings wait on the stack;
//! with `P` the peak of a subtree and `U` the size of its root's update matrix, visiting children by
//! decreasing `P - U` makes the largest of `U_1 + … + U_{k-1} + P_k` least (Liu 1986). At the
//! front itself all children's update matrices are live beside its own, which no order changes:
//! `P(s) = max(max_k (U_1 + … + U_{k-1} + P_k), U_1 + … + U_c + U_s)`.
//! Linear, but for sorting the children of each node; disjoint subtrees at the same time, then the top.

use std::cmp::Reverse;

use crate::factor::NONE;
use crate::parts::Parts;
use crate::postorder::children;
use crate::threads::{gathered, map_all, slices, zeros};

/// Work on a node, in that of a node in [`Parts`].
const WORK: u64 = 2;

/// Siblings from which on equal ones come in the user's order: entries of A are then read in the order in which they stand.
const MANY: usize = if cfg!(test) { 8 } else { 64 };

/// The subtree of a node.
#[derive(Clone, Copy, Default)]
struct Subtree {
    /// Entries on the stack, at most, or 2^64 - 1.
    peak: u64,
    /// Where it begins among its siblings' and, later, among all.
    start: u32,
}

/// Place of every node in the postorder that needs the smallest stack; a forest in postorder with subtrees of `size` nodes.
///
/// Equal siblings keep their order; where there are many, they come in that of `user`, an unknown of each.
pub(crate) fn stack_minimizing_postorder(
    parent: &[u32],
    nupd: &[u32],
    size: &[u32],
    user: impl Fn(usize) -> u32 + Sync,
) -> Vec<u32> {
    let parts = Parts::new(parent, size, |s| WORK * u64::from(size[s]));
    let mut subtrees = zeros(parent.len(), 0);
    let tasks = slices(&mut subtrees, parts.ranges.iter().cloned()).zip(&parts.ranges);
    map_all(tasks, |(own, range)| {
        sort_children(own, range.start, range.clone(), nupd, size, &user);
    });
    let top = || parts.top.iter().map(|&s| s as usize);
    sort_children(&mut subtrees, 0, top(), nupd, size, &user);
    // From the roots: each subtree begins where its siblings' before it and its parent's do.
    let root_start = |s: usize| s as u32 + 1 - size[s];
    for s in top().rev() {
        subtrees[s].start += match parent[s] {
            NONE => root_start(s),
            p => subtrees[p as usize].start,
        };
    }
    let above: Vec<u32> = (parts.ranges.iter())
        .map(|range| match parent[range.end - 1] {
            NONE => 0,
            p => subtrees[p as usize].start,
        })
        .collect();
    let tasks = slices(&mut subtrees, parts.ranges.iter().cloned());
    let tasks = tasks.zip(parts.ranges.iter().zip(above));
    map_all(tasks, |(own, (range, above))| {
        for s in range.clone().rev() {
            own[s - range.start].start += match parent[s] {
                NONE => root_start(s),
                p if range.contains(&(p as usize)) => own[p as usize - range.start].start,
                _ => above,
            };
        }
    });
    gathered(parent.len(), |s| subtrees[s].start + size[s] - 1)
}

/// Finds the peaks of `nodes`, increasing, and where the subtrees of their children begin; `subtrees` begin with node `base` and hold
/// all their descendants.
fn sort_children(
    subtrees: &mut [Subtree],
    base: usize,
    nodes: impl Iterator<Item = usize>,
    nupd: &[u32],
    size: &[u32],
    user: &impl Fn(usize) -> u32,
) {
    let mut list: Vec<(Reverse<u64>, u32)> = Vec::new();
    for s in nodes {
        let own = update_entries(nupd[s]);
        subtrees[s - base].peak = match size[s] {
            1 => own,
            total if total == size[s - 1] + 1 => {
                let child = (update_entries(nupd[s - 1]), subtrees[s - 1 - base].peak);
                stack_peak(std::iter::once(child), own)
            }
            _ => {
                list.clear();
                list.extend(children(size, s).map(|c| {
                    let waiting = subtrees[c - base].peak - update_entries(nupd[c]);
                    (Reverse(waiting), c as u32)
                }));
                list.sort_unstable();
                for equal in list.chunk_by_mut(|a, b| a.0 == b.0) {
                    if equal.len() >= MANY {
                        equal.sort_by_cached_key(|&(_, c)| user(c as usize));
                    }
                }
                let mut free = 0;
                for &(_, c) in &list {
                    subtrees[c as usize - base].start = free;
                    free += size[c as usize];
                }
                let children = list.iter().map(|&(_, c)| c as usize);
                let pairs = children.map(|c| (update_entries(nupd[c]), subtrees[c - base].peak));
                stack_peak(pairs, own)
            }
        };
    }
}

/// Peak of a front given `(update, peak)` of its children in order, and its own update matrix.
pub(crate) fn stack_peak(children: impl Iterator<Item = (u64, u64)>, own: u64) -> u64 {
    let (mut waiting, mut most) = (0u64, 0);
    for (update, peak) in children {
        most = most.max(waiting.saturating_add(peak));
        waiting = waiting.saturating_add(update);
    }
    most.max(waiting.saturating_add(own))
}

/// Entries of the lower triangle of an update matrix.
pub(crate) fn update_entries(nupd: u32) -> u64 {
    u64::from(nupd) * (u64::from(nupd) + 1) / 2
}
