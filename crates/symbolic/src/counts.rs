//! Column counts of `L` without forming it (Gilbert, Ng, Peyton 1994).
//!
//! Row `i` of `L` is a subtree of the elimination tree with root `i`, pruned at the leaves: the
//! columns `j` of row `i` of A that have no other entry of that row in their own subtree. The count of
//! column `j` is the number of row subtrees that hold `j`. Give weight 1 to each leaf, -1 to
//! the least common ancestor of leaves that follow one another, -1 to the parent of each root; then
//! the count is the sum of the weights below. Leaves are found in postorder by first descendants,
//! least common ancestors by disjoint sets: near linear in `nnz(A)`. A row of a node of several unknowns
//! weighs as many.
//!
//! The [`Parts`] of the tree are swept at the same time: all their rows are ancestors of their roots. To a row of the
//! top, a part that has entries in it is one leaf, the part's root, which was counted already. Weights are
//! summed modulo 2^32, as the counts themselves are below.

use std::ops::Range;

use crate::factor::NONE;
use crate::parts::Parts;
use crate::permuted::LowerRows;
use crate::postorder::Postordered;
use crate::threads::{map_all, slices};

/// What counting finds, by node in postorder.
pub(crate) struct Counts {
    /// Entries of the first column of each node in `L`, diagonal included.
    pub factor: Vec<u32>,
    /// Entries of each node's columns in A below the node.
    pub below: Vec<u32>,
}

/// What the sweep knows about a row.
#[derive(Clone, Copy)]
struct RowState {
    /// Its unknowns.
    weight: u32,
    /// One more than the largest column seen, 0 before the first.
    seen: u32,
    /// Last leaf of the row subtree, or `NONE`.
    leaf: u32,
}

/// Counts the columns of a forest that was cut into parts.
pub(crate) fn column_counts(tree: &Postordered, lower: &LowerRows, parts: &Parts) -> Counts {
    let mut counts = Counts {
        factor: vec![0; tree.len()],
        below: vec![0; tree.len()],
    };
    let crossing = parts.sorted(&parts.top, |row, found| {
        for rank in lower.row(tree.rank[row as usize] as usize) {
            let column = tree.label[rank as usize];
            found(column as usize, column);
        }
    });
    let factor = slices(&mut counts.factor, parts.ranges.iter().cloned());
    let below = slices(&mut counts.below, parts.ranges.iter().cloned());
    let tasks = factor.into_iter().zip(below).enumerate().collect();
    type Task<'a> = (usize, (&'a mut [u32], &'a mut [u32]));
    let outer = map_all(tasks, |(part, (factor, below)): Task<'_>| {
        let range = parts.ranges[part].clone();
        count_part(tree, lower, range, || crossing.of(part), factor, below)
    });
    if !parts.top.is_empty() {
        count_top(
            tree,
            parts,
            &outer,
            crossing.of(parts.ranges.len()),
            &mut counts,
        );
    }
    counts
}

/// Counts of a part; returns the rows of the top that it has entries in.
fn count_part<I: Iterator<Item = (u32, u32)> + Clone>(
    tree: &Postordered,
    lower: &LowerRows,
    range: Range<usize>,
    crossing: impl Fn() -> I,
    factor: &mut [u32],
    below: &mut [u32],
) -> Vec<u32> {
    let base = range.start as u32;
    let mut outer: Vec<u32> = Vec::new();
    for (row, _) in crossing() {
        if outer.last() != Some(&row) {
            outer.push(row);
        }
    }
    let mut sweep = Sweep::new(
        range.clone().map(|j| match tree.parent[j] {
            up if (up as usize) < range.end => up - base,
            _ => NONE,
        }),
        range.clone().map(|j| tree.size[j]),
        range
            .clone()
            .chain(outer.iter().map(|&i| i as usize))
            .map(|i| tree.weight(i)),
    );
    let inner = range.clone().flat_map(|i| {
        let ranks = lower.row(tree.rank[i] as usize);
        ranks.map(move |rank| (i as u32 - base, tree.label[rank as usize] - base))
    });
    let others = (range.len() as u32, NONE);
    let crossing = crossing().scan(others, |(next, before), (row, column)| {
        *next += u32::from(row != *before);
        *before = row;
        Some((*next - 1, column - base))
    });
    sweep.transpose(inner.chain(crossing));
    for (j, count) in factor.iter_mut().enumerate() {
        let leaf = sweep.size[j] == 1;
        *count = if leaf { sweep.states[j].weight } else { 0 };
    }
    sweep.run(factor, below, |_| false);
    outer
}

/// Counts of the top; `outer` has the rows of the top in which each part has entries, `inner` rows and columns of
/// the entries in the top.
fn count_top(
    tree: &Postordered,
    parts: &Parts,
    outer: &[Vec<u32>],
    inner: impl Iterator<Item = (u32, u32)> + Clone,
    counts: &mut Counts,
) {
    // The top and the roots of parts below it, in postorder; for each a part, or `NONE`.
    let mut nodes: Vec<(u32, u32)> = parts.top.iter().map(|&s| (s, NONE)).collect();
    for (part, range) in parts.ranges.iter().enumerate() {
        if tree.parent[range.end - 1] != NONE {
            nodes.push((range.end as u32 - 1, part as u32));
        }
    }
    nodes.sort_unstable();
    // One more than the place among `nodes`, 0 for all others.
    let mut place = vec![0u32; tree.len()];
    for (&(s, _), k) in nodes.iter().zip(1..) {
        place[s as usize] = k;
    }
    let up: Vec<u32> = nodes
        .iter()
        .map(|&(s, _)| match tree.parent[s as usize] {
            NONE => NONE,
            p => place[p as usize] - 1,
        })
        .collect();
    let size = crate::postorder::subtree_sizes(&up);
    let weights = nodes.iter().map(|&(s, _)| tree.weight(s as usize));
    let mut sweep = Sweep::new(up.iter().copied(), size.into_iter(), weights);
    let place = &place;
    let leaves = nodes.iter().zip(0..).filter(|((_, part), _)| *part != NONE);
    let leaves = leaves.flat_map(|(&(_, part), k)| {
        let rows = outer[part as usize].iter();
        rows.map(move |&row| (place[row as usize] - 1, k))
    });
    let entries = inner.map(|(row, column)| (place[row as usize] - 1, place[column as usize] - 1));
    sweep.transpose(leaves.chain(entries));
    let mut own: Vec<u32> = nodes
        .iter()
        .zip(&sweep.size)
        .map(|(&(s, part), &size)| match (part, size) {
            (NONE, 1) => tree.weight(s as usize),
            (NONE, _) => 0,
            _ => counts.factor[s as usize],
        })
        .collect();
    let mut below = vec![0; own.len()];
    sweep.run(&mut own, &mut below, |k| nodes[k].1 != NONE);
    for (k, &(s, part)) in nodes.iter().enumerate() {
        if part == NONE {
            counts.factor[s as usize] = own[k];
            counts.below[s as usize] = below[k];
        }
    }
}

/// A postordered forest whose columns are swept.
struct Sweep {
    /// Parent of each node, or `NONE`.
    up: Vec<u32>,
    /// Nodes of each subtree.
    size: Vec<u32>,
    /// The rows: those of the nodes, then others.
    states: Vec<RowState>,
    /// Offsets of the columns.
    ptr: Vec<usize>,
    /// Rows of all columns.
    rows: Vec<u32>,
}

impl Sweep {
    fn new(
        up: impl Iterator<Item = u32>,
        size: impl Iterator<Item = u32>,
        weight: impl Iterator<Item = u32>,
    ) -> Self {
        Self {
            up: up.collect(),
            size: size.collect(),
            states: weight.map(unseen).collect(),
            ptr: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Sorts entries, rows and columns, by columns.
    fn transpose(&mut self, entries: impl Iterator<Item = (u32, u32)> + Clone) {
        let mut ptr = vec![0usize; self.up.len() + 1];
        entries
            .clone()
            .for_each(|(_, column)| ptr[column as usize] += 1);
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut rows = vec![0u32; sum];
        entries.for_each(|(row, column)| {
            let slot = &mut ptr[column as usize];
            *slot -= 1;
            rows[*slot] = row;
        });
        (self.ptr, self.rows) = (ptr, rows);
    }

    /// Adds the weights of leaves, common ancestors and roots, and sums them up over subtrees; adds up what is `below`
    /// in each column. The leaves that `counted` columns are count already.
    fn run(&mut self, sums: &mut [u32], below: &mut [u32], counted: impl Fn(usize) -> bool) {
        let mut set: Vec<u32> = (0..self.up.len() as u32).collect();
        for j in 0..self.up.len() {
            let first = j as u32 + 1 - self.size[j];
            let (mut entries, mut leaves) = (0, 0u32);
            for &i in &self.rows[self.ptr[j]..self.ptr[j + 1]] {
                let row = &mut self.states[i as usize];
                entries += row.weight;
                if row.seen <= first {
                    leaves += row.weight;
                    if row.leaf != NONE {
                        let meet = &mut sums[find(&mut set, row.leaf) as usize];
                        *meet = meet.wrapping_sub(row.weight);
                    }
                    row.leaf = j as u32;
                }
                row.seen = j as u32 + 1;
            }
            below[j] = entries;
            if !counted(j) {
                sums[j] = sums[j].wrapping_add(leaves);
            }
            if self.up[j] != NONE {
                let above = &mut sums[self.up[j] as usize];
                *above = above.wrapping_sub(self.states[j].weight);
                set[j] = self.up[j];
            }
        }
        for j in 0..self.up.len() {
            if self.up[j] != NONE {
                let above = self.up[j] as usize;
                sums[above] = sums[above].wrapping_add(sums[j]);
            }
        }
    }
}

fn unseen(weight: u32) -> RowState {
    RowState {
        weight,
        seen: 0,
        leaf: NONE,
    }
}

/// Root of the set of `k`: its highest ancestor that has not been left yet. Halves the path.
fn find(set: &mut [u32], mut k: u32) -> u32 {
    loop {
        let up = set[k as usize];
        if up == k {
            return k;
        }
        let above = set[up as usize];
        set[k as usize] = above;
        k = above;
    }
}
