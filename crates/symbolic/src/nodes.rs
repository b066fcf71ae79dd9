//! Nodes: unknowns that the analysis treats as one.
//!
//! The unknowns of a mesh node have the same neighbors, themselves included (Ashcraft 1995). Where such
//! twins follow one another both in the user's order and in the elimination, they are consecutive columns of `L` with
//! the same rows below: tree, counts and structures of the graph of nodes say everything, and
//! with three unknowns a node it has a ninth of the edges. Nodes are looked for among
//! neighbors in the user's order only, and so many of them: lists of rows are compared as they stand. Linear in `nnz(A)`, read at memory
//! speed; patterns with few twins keep a node for each unknown.

use std::borrow::Cow;
use std::ops::Range;

use tamarack_sparse::{Pattern, Permutation};

use crate::entries::{LONGEST_COLUMN, MOST_UNKNOWNS};
use crate::factor::NONE;
use crate::memory::filled;
use crate::threads::{CHUNK, chunks, map_all, slices};

/// Merging pays if at least one unknown in so many follows its twin.
const WORTH: usize = 5;

/// Unknowns of each node. Nothing is looked up where all nodes have one: most patterns are of this kind.
pub(crate) trait Weights: Copy + Send + Sync {
    /// Whether all nodes have one unknown.
    const ONES: bool;

    /// Unknowns of a node.
    fn of(self, node: usize) -> u32;
}

/// One unknown for each node.
#[derive(Clone, Copy)]
pub(crate) struct Ones;

impl Weights for Ones {
    const ONES: bool = true;

    #[inline]
    fn of(self, _: usize) -> u32 {
        1
    }
}

impl Weights for &[u32] {
    const ONES: bool = false;

    #[inline]
    fn of(self, node: usize) -> u32 {
        self[node]
    }
}

/// The unknowns as nodes, ranked in the order of elimination.
pub(crate) struct Nodes<'a> {
    /// Rank of the node that each unknown begins, or `NONE`; user order, length n.
    pub rank: Cow<'a, [u32]>,
    /// First unknown of each node, by rank.
    pub first: Cow<'a, [u32]>,
    /// Unknowns of each node, by rank; empty if all have one.
    weight: Vec<u32>,
}

impl<'a> Nodes<'a> {
    /// The nodes of a pattern that is eliminated in a given order.
    pub fn find(pattern: &Pattern, ordering: &'a Permutation) -> Self {
        let follows = twins(pattern, ordering.elim_of_user());
        if follows.is_empty() {
            return Self {
                rank: Cow::Borrowed(ordering.elim_of_user()),
                first: Cow::Borrowed(ordering.user_of_elim()),
                weight: Vec::new(),
            };
        }
        let mut rank = filled(pattern.n(), NONE);
        let (mut first, mut weight) = (Vec::new(), Vec::<u32>::new());
        for &user in ordering.user_of_elim() {
            match weight.last_mut() {
                // Twins are eliminated one after the other: the node is the last one so far.
                Some(last) if follows[user as usize] && *last < MOST_UNKNOWNS => *last += 1,
                _ => {
                    rank[user as usize] = first.len() as u32;
                    first.push(user);
                    weight.push(1);
                }
            }
        }
        Self {
            rank: Cow::Owned(rank),
            first: Cow::Owned(first),
            weight,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Unknowns of each node, by rank; empty if all have one.
    pub fn weights(&self) -> &[u32] {
        &self.weight
    }

    /// Whether every unknown is a node.
    pub fn is_unit(&self) -> bool {
        self.weight.is_empty()
    }

    /// Unknowns of the node of a rank.
    #[inline]
    pub fn weight(&self, rank: usize) -> u32 {
        self.weight.get(rank).copied().unwrap_or(1)
    }
}

/// For each unknown whether it belongs to the node of the one before; empty if too few do.
fn twins(pattern: &Pattern, elim: &[u32]) -> Vec<bool> {
    let n = pattern.n();
    let (ptr, rows) = (pattern.col_ptr(), pattern.row_idx());
    // Consecutive, and the same rows below: what the columns themselves say. Most differ in their lengths.
    let same_rows = |j: usize| {
        j > 0
            && ptr[j + 1] + ptr[j - 1] + 1 == 2 * ptr[j]
            && elim[j] == elim[j - 1] + 1
            && ptr[j] - ptr[j - 1] <= LONGEST_COLUMN
            && rows[ptr[j - 1] as usize + 1..ptr[j] as usize]
                == rows[ptr[j] as usize..ptr[j + 1] as usize]
    };
    let mut follows = vec![false; n];
    let blocks = slices(&mut follows, chunks(n, CHUNK).into_iter());
    let blocks = blocks.into_iter().zip(chunks(n, CHUNK)).collect();
    let found = map_all(blocks, |(block, columns): (&mut [bool], Range<usize>)| {
        for (flag, j) in block.iter_mut().zip(columns) {
            *flag = same_rows(j);
        }
        block.iter().filter(|&&flag| flag).count()
    });
    let found: usize = found.into_iter().sum();
    if found * WORTH < n {
        return Vec::new();
    }
    // A column further left that has one without the other parts them. Columns that follow have the rows of those
    // before, which speak for them.
    let parted = map_all(chunks(n, CHUNK), |columns| {
        let mut parted = Vec::new();
        for k in columns.filter(|&k| !follows[k]) {
            part(pattern.rows(k), &follows, &mut parted);
        }
        parted
    });
    let mut left = found;
    for j in parted.into_iter().flatten() {
        left -= usize::from(std::mem::replace(&mut follows[j as usize], false));
    }
    if left * WORTH < n {
        return Vec::new();
    }
    follows
}

/// Adds the unknowns that do not follow the ones before them, as one column has one of both only.
fn part(rows: &[u32], follows: &[bool], parted: &mut Vec<u32>) {
    let mut due = rows[0];
    for &r in rows {
        if r != due {
            // `due` would follow the row before, or `r` the one that is missing before it.
            if follows.get(due as usize) == Some(&true) {
                parted.push(due);
            }
            if follows[r as usize] {
                parted.push(r);
            }
        }
        due = r + 1;
    }
    if follows.get(due as usize) == Some(&true) {
        parted.push(due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::{Random, blocks};

    /// Closed neighborhoods, from the definition.
    fn neighborhoods(a: &Pattern) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); a.n()];
        for j in 0..a.n() {
            for &i in a.rows(j) {
                lists[i as usize].push(j as u32);
                if i as usize != j {
                    lists[j].push(i);
                }
            }
        }
        for list in &mut lists {
            list.sort_unstable();
        }
        lists
    }

    #[test]
    fn nodes_are_the_runs_of_twins() {
        let mut merged = 0;
        for seed in 0..2000 {
            let mut random = Random(seed);
            let (a, order) = blocks(&mut random, 12);
            let nodes = Nodes::find(&a, &order);
            let lists = neighborhoods(&a);
            let elim = order.elim_of_user();
            let follows =
                |j: usize| j > 0 && lists[j] == lists[j - 1] && elim[j] == elim[j - 1] + 1;
            let mut run = 0;
            let begins = |&j: &usize| {
                run = if follows(j) && run < MOST_UNKNOWNS {
                    run + 1
                } else {
                    1
                };
                run == 1
            };
            let truth: Vec<usize> = (0..a.n()).filter(begins).collect();
            if nodes.len() < a.n() {
                let mut first: Vec<usize> = nodes.first.iter().map(|&u| u as usize).collect();
                first.sort_unstable();
                assert_eq!(first, truth, "seed {seed}");
                merged += 1;
            } else {
                assert!((a.n() - truth.len()) * WORTH < a.n().max(1));
            }
            let total: u32 = (0..nodes.len()).map(|q| nodes.weight(q)).sum();
            assert_eq!(total as usize, a.n());
        }
        assert!(merged > 500, "{merged}");
    }
}
