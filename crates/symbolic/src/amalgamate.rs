//! Relaxed amalgamation of supernodes, judged by predicted time.
//!
//! Merging a child of `k` columns and `u` rows into its parent of `k'` columns and `u'` rows gives a
//! front of `k + k'` pivots and `u'` rows below, since the child's rows are among the parent's
//! columns and rows. It stores `k (k' + u' - u)` zeros more, and saves the child's update matrix,
//! one front's overhead, and time in products that become wider (Duff, Reid 1983; Ashcraft, Grimes
//! 1989 merge by counts of zeros only). Any child may merge, not only the last: columns are renumbered
//! afterwards. Parents are visited in postorder; each takes its best child first, and judges the
//! others anew after every merge. Leaves that were joined before (`leaves`) count as one child. `O(children log children)` for each
//! parent.

use std::ops::Range;

use crate::AmalgamationOptions;
use crate::factor::NONE;
use crate::leaves::Joined;
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

/// A supernode while others merge into it.
#[derive(Clone, Copy)]
struct Growing {
    /// Predicted seconds, as far as it has grown.
    secs: f64,
    zeros: u64,
    /// None before it is looked at, unless other leaves are part of it.
    npiv: u32,
    /// The one above that it became part of, `NONE`, or `JOINED`.
    into: u32,
}

/// Says that a leaf is part of one beside it.
const JOINED: u32 = NONE - 1;

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
        for group in &joined.groups {
            let node = &mut nodes[group.supernode as usize];
            (node.npiv, node.zeros) = (group.npiv, group.zeros);
        }
        let merging = Merging {
            forest,
            options,
            size,
        };
        let own = slices(&mut nodes, parts.ranges.iter().cloned());
        let tasks = own.into_iter().zip(&parts.ranges).collect();
        map_all(tasks, |(nodes, range): (&mut [Growing], &Range<usize>)| {
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
        let into = slices(&mut out.into, parts.ranges.iter().cloned()).into_iter();
        let npiv = slices(&mut out.npiv, parts.ranges.iter().cloned());
        let tasks = into.zip(npiv).zip(parts.ranges.iter().zip(ends));
        type Task<'a> = ((&'a mut [u32], &'a mut [u32]), (&'a Range<usize>, u32));
        map_all(tasks.collect(), |((into, npiv), (range, end)): Task<'_>| {
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

/// What merging looks at.
struct Merging<'a> {
    forest: &'a SuperForest,
    options: &'a AmalgamationOptions,
    /// Supernodes of each subtree.
    size: &'a [u32],
}

impl Merging<'_> {
    /// Merges children into each of `parents`, increasing; `nodes` begin with supernode `base` and hold all
    /// their descendants.
    fn run(&self, nodes: &mut [Growing], base: usize, parents: impl Iterator<Item = usize>) {
        let forest = self.forest;
        let secs = |npiv: u32, nupd: u32| self.options.predicted_secs(npiv, nupd);
        // Gain, child, and seconds of both together.
        let mut queue: Vec<(f64, u32, f64)> = Vec::new();
        for p in parents {
            let up = forest.nupd[p];
            let mut this = nodes[p - base];
            if this.npiv == 0 {
                this.npiv = forest.npiv[p];
            }
            this.secs = secs(this.npiv, up);
            queue.clear();
            for c in children(self.size, p) {
                let child = &nodes[c - base];
                if child.into == JOINED {
                    continue;
                }
                let together = secs(child.npiv + this.npiv, up);
                let gain = child.secs + this.secs - together;
                if gain > 0.0 {
                    queue.push((gain, c as u32, together));
                }
            }
            sort_by_gain(&mut queue);
            for (k, &(_, c, first)) in queue.iter().enumerate() {
                let child = &mut nodes[c as usize - base];
                let sizes = ((child.npiv, forest.nupd[c as usize]), (this.npiv, up));
                let zeros = this.zeros + child.zeros + added_zeros(sizes.0, sizes.1);
                let npiv = child.npiv + this.npiv;
                if self.options.allows(npiv, zeros, trapezoid(npiv, up)) {
                    // The first one's gain is what was found before: the parent is as it was.
                    let together = if k == 0 { first } else { secs(npiv, up) };
                    if k == 0 || child.secs + this.secs - together > 0.0 {
                        child.into = p as u32;
                        this.zeros = zeros;
                        this.npiv = npiv;
                        this.secs = together;
                    }
                }
            }
            nodes[p - base] = this;
        }
    }
}

/// Sorts candidates, the last child first so far, by decreasing gain; equal ones by child.
fn sort_by_gain(queue: &mut [(f64, u32, f64)]) {
    /// From so many on children of one size, who gain the same, are so many that a stable sort, which has only the gains to tell
    /// apart, is faster: 22,000 below one front of `ba_ladybug16` in 0.1 ms instead of 0.3.
    const MANY: usize = 256;
    if queue.len() < MANY {
        queue.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    } else {
        queue.reverse();
        queue.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
}

/// Children of a node of a postordered forest with subtrees of `size` nodes, the last one first.
pub(crate) fn children(size: &[u32], p: usize) -> impl Iterator<Item = usize> + '_ {
    let first = p + 1 - size[p] as usize;
    let mut end = p;
    std::iter::from_fn(move || {
        let child = end.checked_sub(1).filter(|_| end > first)?;
        end -= size[child] as usize;
        Some(child)
    })
}

impl AmalgamationOptions {
    /// Predicted seconds of a front of `npiv` pivots and `nupd` rows below.
    pub fn predicted_secs(&self, npiv: u32, nupd: u32) -> f64 {
        let (k, u) = (f64::from(npiv), f64::from(nupd));
        let m = k + u;
        // Sum of squares from u + 1 to m over k, and entries of the trapezoid.
        let flops = m * m - m * k + k * k * (1.0 / 3.0) + m - 0.5 * k + 1.0 / 6.0;
        let panel = k * (m - 0.5 * (k - 1.0));
        let update = 0.5 * u * (u + 1.0);
        self.front_secs
            + k * self.column_secs
            + (panel + 3.0 * update) * self.entry_bytes * self.secs_per_byte
            + flops * (k + self.half_rate_columns) / self.peak_flops_per_sec
    }

    /// Whether a merged supernode of `npiv` columns may have so many zeros.
    pub(crate) fn allows(&self, npiv: u32, zeros: u64, stored: u64) -> bool {
        let share = if npiv <= self.small_columns {
            self.small_zero_fraction
        } else {
            self.max_zero_fraction
        };
        zeros as f64 <= share * stored as f64
    }
}

/// Zeros that a merge adds to those that child and parent have already.
fn added_zeros(child: (u32, u32), parent: (u32, u32)) -> u64 {
    u64::from(child.0) * (u64::from(parent.0) + u64::from(parent.1) - u64::from(child.1))
}

/// Entries of `npiv` columns with `nupd` rows below their triangle.
pub(crate) fn trapezoid(npiv: u32, nupd: u32) -> u64 {
    let (k, u) = (u64::from(npiv), u64::from(nupd));
    // k (k + 1) / 2 does not overflow for k < 2^32; the sum with k u stays below 2^64 as k + u does
    // below 2^32.
    k * (k + 1) / 2 + k * u
}

/// Children of every node, increasing: offsets and nodes.
pub(crate) fn child_lists(parent: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut ptr = vec![0u32; parent.len() + 1];
    for &p in parent {
        if p != NONE {
            ptr[p as usize] += 1;
        }
    }
    let mut sum = 0;
    for p in &mut ptr {
        sum += *p;
        *p = sum;
    }
    let mut children = vec![0u32; sum as usize];
    for (c, &p) in parent.iter().enumerate().rev() {
        if p != NONE {
            ptr[p as usize] -= 1;
            children[ptr[p as usize] as usize] = c as u32;
        }
    }
    (ptr, children)
}
