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
use crate::nodes::{Nodes, Ones, Weights};
use crate::parts::Parts;
use crate::permuted::LowerRows;
use crate::postorder::Postordered;
use crate::threads::{map_all, slices};
use tamarack_sparse::memory::zeroed;

/// What counting finds, by node in postorder.
pub(crate) struct Counts {
    /// Entries of the first column of each node in `L`, diagonal included.
    pub factor: Vec<u32>,
    /// Edges of each node in A to nodes below it.
    pub below: Vec<u32>,
}

/// Counts the columns of a forest that was cut into parts.
pub(crate) fn column_counts(
    tree: &Postordered,
    lower: &LowerRows,
    nodes: &Nodes<'_>,
    parts: &Parts,
) -> Counts {
    let mut counts = Counts {
        factor: zeroed(tree.len()),
        below: zeroed(tree.len()),
    };
    if let ([_], []) = (&parts.ranges[..], &parts.top[..]) {
        count_whole(tree, lower, nodes, &mut counts);
        return counts;
    }
    let crossing = parts.sorted(&parts.top, |row| {
        let ranks = lower.row(tree.rank[row as usize] as usize);
        let columns = ranks.map(|rank| tree.label[rank as usize]);
        columns.map(|column| (column as usize, column))
    });
    let factor = slices(&mut counts.factor, parts.ranges.iter().cloned());
    let below = slices(&mut counts.below, parts.ranges.iter().cloned());
    let tasks = factor.zip(below).enumerate();
    let outer = map_all(tasks, |(part, (factor, below))| {
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

/// Counts of a forest that is one part. Its entries are sorted by ranks, as they are: looking up the places in the postorder
/// took half of the sorting.
fn count_whole(tree: &Postordered, lower: &LowerRows, nodes: &Nodes<'_>, counts: &mut Counts) {
    let entries = (0..lower.len()).flat_map(|i| lower.row(i).map(move |j| (i as u32, j)));
    let columns = Columns::sorted(lower.len(), lower.columns(), entries);
    let up = tree.parent.iter().copied();
    let Counts { factor, below } = counts;
    let rank = |j: usize| tree.rank[j] as usize;
    if nodes.is_unit() {
        let sweep = Sweep::new(up, &tree.size, tree.len(), Ones);
        sweep.run(&columns, rank, factor, below, |_| false);
    } else {
        let sweep = Sweep::new(up, &tree.size, tree.len(), nodes.weights());
        sweep.run(&columns, rank, factor, below, |_| false);
    }
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
    let columns = Columns::new(range.len(), inner.chain(crossing));
    let up = tree.parent[range.clone()].iter().map(|&up| match up {
        up if (up as usize) < range.end => up - base,
        _ => NONE,
    });
    let size = &tree.size[range.clone()];
    let all = range.len() + outer.len();
    if tree.is_unit() {
        Sweep::new(up, size, all, Ones).run(&columns, |j| j, factor, below, |_| false);
    } else {
        let rows = range.clone().chain(outer.iter().map(|&i| i as usize));
        let weights: Vec<u32> = rows.map(|i| tree.weight(i)).collect();
        Sweep::new(up, size, all, &weights[..]).run(&columns, |j| j, factor, below, |_| false);
    }
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
    let place = &place;
    let leaves = nodes.iter().zip(0..).filter(|((_, part), _)| *part != NONE);
    let leaves = leaves.flat_map(|(&(_, part), k)| {
        let rows = outer[part as usize].iter();
        rows.map(move |&row| (place[row as usize] - 1, k))
    });
    let entries = inner.map(|(row, column)| (place[row as usize] - 1, place[column as usize] - 1));
    let columns = Columns::new(nodes.len(), leaves.chain(entries));
    // Parts' roots are counted, nothing is of the others yet.
    let counted = |k: usize| nodes[k].1 != NONE;
    let mut own: Vec<u32> = (0..nodes.len())
        .map(|k| match counted(k) {
            true => counts.factor[nodes[k].0 as usize],
            false => 0,
        })
        .collect();
    let mut below = vec![0; own.len()];
    let weights: Vec<u32> = nodes
        .iter()
        .map(|&(s, _)| tree.weight(s as usize))
        .collect();
    let up = up.into_iter();
    Sweep::new(up, &size, nodes.len(), &weights[..]).run(
        &columns,
        |j| j,
        &mut own,
        &mut below,
        counted,
    );
    for (k, &(s, part)) in nodes.iter().enumerate() {
        if part == NONE {
            counts.factor[s as usize] = own[k];
            counts.below[s as usize] = below[k];
        }
    }
}

/// Columns of a lower triangle.
struct Columns {
    /// Offsets of the columns.
    ptr: Vec<usize>,
    /// Rows of all columns.
    rows: Vec<u32>,
}

impl Columns {
    /// Sorts entries, rows and columns, into `n` columns.
    fn new(n: usize, entries: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        Self::sorted(n, entries.clone().map(|(_, column)| column), entries)
    }

    /// The same, where the columns of all entries are known beforehand, in any order.
    fn sorted(
        n: usize,
        columns: impl Iterator<Item = u32>,
        entries: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        let mut ptr = zeroed::<usize>(n + 1);
        columns.for_each(|column| ptr[column as usize] += 1);
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut rows = zeroed::<u32>(sum);
        entries.for_each(|(row, column)| {
            let slot = &mut ptr[column as usize];
            *slot -= 1;
            rows[*slot] = row;
        });
        Self { ptr, rows }
    }

    /// Rows of a column.
    fn of(&self, j: usize) -> &[u32] {
        &self.rows[self.ptr[j]..self.ptr[j + 1]]
    }
}

/// A postordered forest whose columns are swept.
struct Sweep<'a, W> {
    /// Some ancestor of each node, at first its parent, or `NONE`.
    above: Vec<u32>,
    /// Nodes of each subtree.
    size: &'a [u32],
    /// Unknowns of the rows: those of the nodes, then others.
    weights: W,
    /// One more than the last column seen of each row, 0 before the first.
    seen: Vec<u32>,
}

impl<'a, W: Weights> Sweep<'a, W> {
    fn new(up: impl Iterator<Item = u32>, size: &'a [u32], rows: usize, weights: W) -> Self {
        Self {
            above: up.collect(),
            size,
            weights,
            seen: zeroed(rows),
        }
    }

    /// Adds the weights of leaves, common ancestors and roots, and sums them up over subtrees; writes what is `below`
    /// in each column. Rows, and columns of `columns`, have numbers of their own: `place` says which is a node's. What
    /// is in the subtrees of `counted` columns is in their sums already; all others begin with 0.
    fn run(
        mut self,
        columns: &Columns,
        place: impl Fn(usize) -> usize,
        sums: &mut [u32],
        below: &mut [u32],
        counted: impl Fn(usize) -> bool,
    ) {
        for j in 0..self.size.len() {
            let first = j as u32 + 1 - self.size[j];
            let at = place(j);
            let own = self.weights.of(at);
            let mut leaves = if self.size[j] == 1 { own } else { 0 };
            let rows = columns.of(at);
            for &i in rows {
                let weight = self.weights.of(i as usize);
                let seen = std::mem::replace(&mut self.seen[i as usize], j as u32 + 1);
                if seen <= first {
                    leaves += weight;
                    if seen != 0 {
                        // The last column seen is the last leaf or one above it.
                        let meet = &mut sums[self.meet(seen - 1, j as u32) as usize];
                        *meet = meet.wrapping_sub(weight);
                    }
                }
            }
            below[j] = rows.len() as u32;
            if !counted(j) {
                sums[j] = sums[j].wrapping_add(leaves);
            }
            // Ancestors common to columns from here on are further up: this sum is complete.
            let up = self.above[j];
            if up != NONE {
                sums[up as usize] = sums[up as usize].wrapping_add(sums[j].wrapping_sub(own));
            }
        }
    }

    /// The least common ancestor of `k` and `j`, which comes later: the first one of `k` that is not before `j`.
    /// Halves the path.
    fn meet(&mut self, mut k: u32, j: u32) -> u32 {
        while k < j {
            let up = self.above[k as usize];
            if up >= j {
                return up;
            }
            let next = self.above[up as usize];
            self.above[k as usize] = next;
            k = next;
        }
        k
    }
}
