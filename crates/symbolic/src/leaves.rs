//! Leaves of the tree that have the same rows become one supernode.
//!
//! The points of a bundle adjustment that the same cameras see are eliminated one by one, and each makes an update matrix in the
//! same rows: 22,064 leaves of `ba_ladybug16` have 4,437 structures. Taken together they are one front, with one update matrix and
//! one list of rows; what is stored in vain are the zeros between their pivots. Amalgamation cannot do that, as it joins children
//! with parents only.
//!
//! Leaves are looked at below parents that have many: what is below them stands in A, so their rows are known before any
//! structure is. Linear in the edges of A, and nothing but a count of leaves for other trees.

use std::ops::Range;

use tamarack_sparse::memory::{filled, with_room, zeroed};

use crate::AmalgamationOptions;
use crate::factor::NONE;
use crate::flops::trapezoid;
use crate::fundamental::Group;
use crate::permuted::LowerRows;
use crate::postorder::Postordered;
use crate::supernodes::SuperForest;

/// Leaves of a parent from which on they are looked at: elsewhere equal ones are rare, and rows would be read for nothing.
const MANY: u32 = if cfg!(test) { 2 } else { 64 };

/// Leaves with the same rows that were joined.
#[derive(Default)]
pub(crate) struct Joined {
    pub groups: Vec<Group>,
    /// Leaves that became part of another one, and which.
    pub leaves: Vec<(u32, u32)>,
}

impl Joined {
    /// Joins leaves with the same rows as long as that saves time; `below` are the edges of each node in A to nodes below it.
    pub fn find(
        forest: &SuperForest,
        tree: &Postordered,
        lower: &LowerRows,
        below: &[u32],
        options: &AmalgamationOptions,
    ) -> Self {
        let mut out = Self::default();
        let leaves = crowded_leaves(forest);
        if leaves.is_empty() {
            return out;
        }
        let Some(rows) = Rows::new(forest, tree, lower, below, &leaves) else {
            return out;
        };
        // A hash in the high half, and a leaf's place in the list.
        let places = 0..leaves.len();
        let mut order: Vec<u64> = places.map(|k| rows.hash(k) << 32 | k as u64).collect();
        order.sort_unstable();
        let leaf = |key: u64| leaves[key as u32 as usize];
        let same = |&a: &u64, &b: &u64| {
            let [s, t] = [a, b].map(|key| leaf(key) as usize);
            let of = |key: u64| rows.of(key as u32 as usize);
            a >> 32 == b >> 32 && forest.npiv[s] == forest.npiv[t] && of(a) == of(b)
        };
        for alike in order.chunk_by(same) {
            let first = leaf(alike[0]) as usize;
            let (npiv, count) = (forest.npiv[first], alike.len());
            let most = options.most_alike(npiv, forest.nupd[first], count as u32) as usize;
            // As few groups as it takes, of nearly one size.
            let groups = count.div_ceil(most);
            for g in 0..groups {
                let range = g * count / groups..(g + 1) * count / groups;
                out.join(npiv, alike[range].iter().map(|&key| leaf(key)));
            }
        }
        out
    }

    /// Joins leaves with `npiv` columns each, if there are several.
    fn join(&mut self, npiv: u32, mut leaves: impl ExactSizeIterator<Item = u32>) {
        let count = leaves.len() as u32;
        if count < 2 {
            return;
        }
        let Some(supernode) = leaves.next() else {
            return;
        };
        self.leaves.extend(leaves.map(|s| (s, supernode)));
        self.groups.push(Group {
            supernode,
            npiv: count * npiv,
            zeros: zeros(count, npiv),
        });
    }
}

/// Leaves of parents that have many, increasing, but for whole subtrees.
fn crowded_leaves(forest: &SuperForest) -> Vec<u32> {
    let mut count = zeroed::<u32>(forest.len());
    let below = || (0..forest.len()).filter(|&s| forest.parent[s] != NONE);
    // Added in any case: what is a leaf is hard to foresee.
    below().for_each(|s| count[forest.parent[s] as usize] += u32::from(forest.size[s] == 1));
    if count.iter().all(|&count| count < MANY) {
        return Vec::new();
    }
    let is_crowded = |s: &usize| forest.size[*s] == 1 && count[forest.parent[*s] as usize] >= MANY;
    let crowded = below().filter(is_crowded).map(|s| s as u32);
    crowded.filter(|&s| forest.is_fundamental(s)).collect()
}

/// The nodes below some leaves, by ranks, increasing.
struct Rows {
    /// Where those of each leaf stand.
    ranges: Vec<Range<usize>>,
    rows: Vec<u32>,
}

impl Rows {
    /// Reads them off the lower triangle; none if there are 2^32 or more.
    fn new(
        forest: &SuperForest,
        tree: &Postordered,
        lower: &LowerRows,
        below: &[u32],
        leaves: &[u32],
    ) -> Option<Self> {
        let mut next = filled(lower.len(), NONE);
        let mut ranges = with_room(leaves.len());
        let mut end = 0u32;
        for &s in leaves {
            // Nothing is filled in below a leaf: its first column has the rows of all, the others' nodes first.
            let nodes = forest.ptr[s as usize] as usize..forest.ptr[s as usize + 1] as usize;
            next[tree.rank[nodes.start] as usize] = end;
            let begin = end as usize + nodes.len() - 1;
            end = end.checked_add(below[nodes.start])?;
            ranges.push(begin..end as usize);
        }
        let mut rows = zeroed(end as usize);
        for row in 0..lower.len() {
            for column in lower.row(row) {
                let next = &mut next[column as usize];
                if *next != NONE {
                    rows[*next as usize] = row as u32;
                    *next += 1;
                }
            }
        }
        Some(Self { ranges, rows })
    }

    /// Rows below leaf `k` of the list.
    fn of(&self, k: usize) -> &[u32] {
        &self.rows[self.ranges[k].clone()]
    }

    /// A number that equal rows share.
    fn hash(&self, k: usize) -> u64 {
        // 2^64 over the golden ratio (Knuth, volume 3, 6.4); its high bits depend on all, so they are brought down.
        let mixed = |hash: u64, &row: &u32| {
            let hash = (hash + u64::from(row)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash >> 32 ^ hash >> 1
        };
        self.of(k).iter().fold(1, mixed)
    }
}

impl AmalgamationOptions {
    /// How many leaves of `npiv` columns each, with the same `nupd` rows below, are one supernode at best, of `most`.
    fn most_alike(&self, npiv: u32, nupd: u32, most: u32) -> u32 {
        let secs = |count: u32| self.predicted_secs(count * npiv, nupd);
        // One more.
        let pays = |&count: &u32| {
            let stored = trapezoid(count * npiv, nupd);
            let saves = secs(count - 1) + secs(1) > secs(count);
            saves && self.allows(count * npiv, zeros(count, npiv), stored)
        };
        1 + (2..=most).take_while(pays).count() as u32
    }
}

/// Zeros between the pivots of so many leaves of `npiv` columns each.
fn zeros(count: u32, npiv: u32) -> u64 {
    let (count, npiv) = (u64::from(count), u64::from(npiv));
    count * (count - 1) / 2 * npiv * npiv
}
