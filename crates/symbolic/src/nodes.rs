//! Nodes: unknowns that the analysis treats as one.
//!
//! The unknowns of a mesh node have the same neighbors, themselves included (Ashcraft 1995). Where such
//! twins follow one another both in the user's order and in the elimination, they are consecutive columns of `L` with
//! the same rows below: tree, counts and structures of the graph of nodes say everything, and
//! with three unknowns a node it has a ninth of the edges. In which order twins are eliminated makes no difference: those that come one
//! after another are put into the user's, in which their entries stand. Nodes are parts of the [`Runs`] of twins, whole ones after most
//! orderings. Linear in `n` and the runs' edges; patterns in which few unknowns and few entries are twins' keep a node for each unknown.

use std::borrow::Cow;

use tamarack_sparse::{Pattern, Permutation, Runs};

use crate::entries::{LONGEST_COLUMN, MOST_UNKNOWNS};
use crate::factor::NONE;
use tamarack_sparse::memory::{filled, with_room, zeroed};

/// Merging pays if at least one unknown in so many follows its twin,
const WORTH: usize = 5;

/// or if nodes have at most one edge for so many entries.
const WORTH_EDGES: u64 = 2;

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
    /// Rank of the node that begins with each unknown, or `NONE`, user order; by runs instead where all nodes are runs.
    pub rank: Cow<'a, [u32]>,
    /// First unknown of each node, by rank.
    pub first: Cow<'a, [u32]>,
    /// Unknowns of each node, by rank; empty if all have one.
    weight: Vec<u32>,
    /// Whether nodes are the whole runs that they were found in.
    pub are_runs: bool,
}

impl<'a> Nodes<'a> {
    /// The nodes of a pattern with these runs of twins that is eliminated in a given order.
    pub fn find(pattern: &Pattern, runs: Option<&Runs>, ordering: &'a Permutation) -> Self {
        let found = runs.and_then(|runs| Self::in_runs(pattern, runs, ordering.user_of_elim()));
        found.unwrap_or_else(|| Self {
            rank: Cow::Borrowed(ordering.elim_of_user()),
            first: Cow::Borrowed(ordering.user_of_elim()),
            weight: Vec::new(),
            are_runs: false,
        })
    }

    /// Those of several unknowns, if there are many.
    fn in_runs(pattern: &Pattern, runs: &Runs, mut order: &[u32]) -> Option<Self> {
        let n = pattern.n();
        let mut run_of = zeroed(n);
        for (run, unknowns) in (0..).zip(runs.first().windows(2)) {
            run_of[unknowns[0] as usize..unknowns[1] as usize].fill(run);
        }
        let (mut first, mut weight) = (with_room(runs.len()), with_room::<u32>(runs.len()));
        let mut rank = filled(runs.len(), NONE);
        let mut sorted = Vec::new();
        // Blocks say how long columns are, of which a node's first is the longest: looked up where one can be too long.
        let may_be_long = n as u64 > LONGEST_COLUMN;
        let is_long = |column: u32| pattern.rows(column as usize).len() as u64 > LONGEST_COLUMN;
        while let [user, ..] = order {
            let run = run_of[*user as usize] as usize;
            let unknowns = runs.unknowns(run);
            let most = match may_be_long && is_long(unknowns.start) {
                true => 1,
                false => MOST_UNKNOWNS as usize,
            };
            let next = order.get(..unknowns.len()).unwrap_or_default();
            let is_whole = !next.is_empty() && next.iter().all(|user| unknowns.contains(user));
            if is_whole && unknowns.len() <= most {
                rank[run] = first.len() as u32;
                first.push(unknowns.start);
                weight.push(unknowns.len() as u32);
                order = &order[unknowns.len()..];
                continue;
            }
            let twins = order.iter().take_while(|user| unknowns.contains(user));
            let (twins, rest) = order.split_at(twins.count());
            sorted.clear();
            sorted.extend_from_slice(twins);
            sorted.sort_unstable();
            let pieces = sorted.chunk_by(|&a, &b| a + 1 == b);
            for node in pieces.flat_map(|piece| piece.chunks(most)) {
                first.push(node[0]);
                weight.push(node.len() as u32);
            }
            order = rest;
        }
        let is_worth = (n - first.len()) * WORTH >= n
            || edges(runs, &run_of, &first) <= pattern.nnz_lower() / WORTH_EDGES;
        if !is_worth {
            return None;
        }
        // A node lies in one run.
        let are_runs = first.len() == runs.len();
        if !are_runs {
            rank = run_of;
            rank.fill(NONE);
            (0..)
                .zip(&first)
                .for_each(|(r, &user)| rank[user as usize] = r);
        }
        Some(Self {
            rank: Cow::Owned(rank),
            first: Cow::Owned(first),
            weight,
            are_runs,
        })
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

/// Edges between nodes that begin with these unknowns, each node's to itself included and those within a run counted twice.
fn edges(runs: &Runs, run_of: &[u32], first: &[u32]) -> u64 {
    let mut pieces = vec![0u64; runs.len()];
    first
        .iter()
        .for_each(|&user| pieces[run_of[user as usize] as usize] += 1);
    let of_run = |run: usize| {
        let others = runs.rows(run).iter();
        pieces[run] * others.map(|&other| pieces[other as usize]).sum::<u64>()
    };
    (0..runs.len()).map(of_run).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::blocks;
    use tamarack_testkit::{Rng, pattern_of_edges};

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
            let mut random = Rng::new(seed);
            let (a, order) = blocks(&mut random, 12);
            let runs = Runs::find(&a);
            let nodes = Nodes::find(&a, runs.as_ref(), &order);
            let lists = neighborhoods(&a);
            let (elim, user) = (order.elim_of_user(), order.user_of_elim());
            // In one run: so are all unknowns between.
            let twins = |i: usize, j: usize| (i.min(j)..i.max(j)).all(|k| lists[k] == lists[k + 1]);
            // Whatever is eliminated between is a twin too.
            let follows = |j: usize| {
                j > 0 && twins(j - 1, j) && {
                    let (a, b) = (elim[j - 1].min(elim[j]), elim[j - 1].max(elim[j]));
                    user[a as usize..b as usize]
                        .iter()
                        .all(|&u| twins(u as usize, j))
                }
            };
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

    #[test]
    fn few_unknowns_that_all_others_meet_are_few_nodes() {
        let (n, border) = (300, 2 * MOST_UNKNOWNS);
        for first in [0, n] {
            // The border comes first or last.
            let members = first..first + border;
            let others = (0..n + border).filter(|i| !members.contains(i));
            let mut edges: Vec<(u32, u32)> = others
                .flat_map(|i| members.clone().map(move |j| (i, j)))
                .collect();
            edges.extend(
                members
                    .clone()
                    .flat_map(|i| (first..i).map(move |j| (i, j))),
            );
            let a = pattern_of_edges((n + border) as usize, &edges);
            let order: Vec<u32> = (0..n + border).rev().collect();
            let order = Permutation::from_elimination_order(&order).unwrap();
            let runs = Runs::find(&a).unwrap();
            assert_eq!(runs.len() as u32, n + 1);
            let nodes = Nodes::find(&a, Some(&runs), &order);
            assert_eq!(nodes.len() as u32, n + 2);
            assert!((a.n() - nodes.len()) * WORTH < a.n());
        }
    }
}
