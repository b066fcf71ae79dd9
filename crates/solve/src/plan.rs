//! The plan of the triangular solves: which subtrees are walked by one thread each.
//!
//! The cut depends on the structure alone, never on the number of threads, because the order of
//! sums follows it: contributions from a subtree to rows outside are first added up by themselves.

use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;
use tamarack_sparse::concatenated;
use tamarack_symbolic::SymbolicFactor;

/// Subtrees are cut until each holds at most this share of the factor.
const SHARE: u64 = 48;

/// Factors with fewer entries are walked as one: their solve takes less than waking a thread.
const SMALL: u64 = 1 << 15;

/// Fewer rows are planned by the caller alone: two threads would take longer, in memory of their own.
const WORTH_THREADS: usize = if cfg!(test) { 8 } else { 1 << 22 };

/// Groups of subtrees for each thread: each needs an array as long as the matrix.
const GROUPS_PER_THREAD: usize = 2;

/// A subtree that is walked by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// First supernode; the subtree is `first..=root`.
    pub first: u32,
    /// Its root.
    pub root: u32,
    /// Where its sums for rows outside begin, in rows of the accumulator.
    pub outer: usize,
}

/// The plan of the triangular solves with one structure: immutable, made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    pub(crate) trees: Vec<Tree>,
    /// Supernodes above the subtrees, in postorder.
    pub(crate) top: Vec<u32>,
    /// Offsets into `outer_rows`, by supernode; length supernodes + 1.
    outer_ptr: Vec<u64>,
    /// For the rows of a supernode that lie outside its subtree: their positions among the rows of
    /// the subtree's root.
    outer_rows: Vec<u32>,
    /// Rows of all accumulators together.
    pub(crate) accumulator_rows: usize,
    pub(crate) largest_front: usize,
    pub(crate) n: usize,
}

impl Substitution {
    /// Plans the solves; time linear in the supernodes and the rows outside their subtrees, which are
    /// shared out among the threads of the pool that the caller is in, if they are many.
    pub fn new(symbolic: &SymbolicFactor) -> Self {
        let (roots, first, top) = cut(symbolic);
        let mut trees = Vec::with_capacity(roots.len());
        let mut accumulator_rows = 0;
        for root in roots {
            trees.push(Tree {
                first: first[root as usize],
                root,
                outer: accumulator_rows,
            });
            accumulator_rows += symbolic.nupd(root as usize);
        }
        let (outer_ptr, outer_rows) = outer_lists(symbolic, &trees);
        let order = |s| symbolic.npiv(s) + symbolic.nupd(s);
        let largest_front = (0..symbolic.supernodes()).map(order).max().unwrap_or(0);
        Self {
            trees,
            top,
            outer_ptr,
            outer_rows,
            accumulator_rows,
            largest_front,
            n: symbolic.n(),
        }
    }

    /// Positions of the last rows of `s`, those outside its subtree, among its root's rows.
    #[inline]
    pub(crate) fn outer(&self, s: usize) -> &[u32] {
        &self.outer_rows[self.outer_ptr[s] as usize..self.outer_ptr[s + 1] as usize]
    }

    /// Where it is kept which these are, for whoever asks for that ahead; there may be no supernode `s`.
    #[inline]
    pub(crate) fn outer_place(&self, s: usize) -> *const u64 {
        self.outer_ptr.as_ptr().wrapping_add(s)
    }

    /// Rows of the accumulator that belong to a subtree.
    pub(crate) fn outer_range(&self, symbolic: &SymbolicFactor, tree: &Tree) -> Range<usize> {
        tree.outer..tree.outer + symbolic.nupd(tree.root as usize)
    }
}

/// For every supernode the positions of its rows outside its subtree among those of the subtree's root: offsets, length
/// supernodes + 1, and positions.
fn outer_lists(symbolic: &SymbolicFactor, trees: &[Tree]) -> (Vec<u64>, Vec<u32>) {
    let groups = match symbolic.all_rows().len() {
        ..WORTH_THREADS => 1,
        _ => match rayon::current_num_threads() {
            1 => 1,
            threads => GROUPS_PER_THREAD * threads,
        },
    };
    let trees: Vec<&[Tree]> = trees.chunks(trees.len().div_ceil(groups).max(1)).collect();
    // Their numbers first, each where its end will be.
    let mut ptr = vec![0u64; symbolic.supernodes() + 1];
    let span = |trees: &&[Tree]| trees[0].first as usize..trees[trees.len() - 1].root as usize + 1;
    let counts = slices(&mut ptr[1..], trees.iter().map(span));
    let tasks: Vec<(&[Tree], &mut [u64])> = trees.iter().copied().zip(counts).collect();
    let locate = |(trees, counts)| locate_outer(symbolic, trees, counts);
    let mut rows: Vec<Vec<u32>> = match tasks.len() {
        ..2 => tasks.into_iter().map(locate).collect(),
        _ => tasks.into_par_iter().with_max_len(1).map(locate).collect(),
    };
    let mut sum = 0;
    for end in &mut ptr {
        sum += *end;
        *end = sum;
    }
    let rows = match &mut rows[..] {
        [only] => std::mem::take(only),
        several => concatenated(several),
    };
    (ptr, rows)
}

/// Counts and positions for all supernodes from the first of some trees to the last.
fn locate_outer(symbolic: &SymbolicFactor, trees: &[Tree], counts: &mut [u64]) -> Vec<u32> {
    // It grows: in memory that is free already, where the whole would be new.
    let mut outer = Vec::new();
    // Where each row stands among those of the root that is looked at.
    let mut place = vec![0; symbolic.n()];
    let base = trees[0].first;
    for tree in trees {
        for (&row, position) in symbolic.rows(tree.root as usize).iter().zip(0..) {
            place[row as usize] = position;
        }
        let end = symbolic.columns(tree.root as usize).end;
        for s in tree.first..=tree.root {
            let rows = symbolic.rows(s as usize);
            let inside = rows.partition_point(|&r| (r as usize) < end);
            outer.extend(rows[inside..].iter().map(|&row| place[row as usize]));
            counts[(s - base) as usize] = (rows.len() - inside) as u64;
        }
    }
    outer
}

/// The parts of `data` in increasing, disjoint ranges.
fn slices<T>(mut data: &mut [T], ranges: impl Iterator<Item = Range<usize>>) -> Vec<&mut [T]> {
    let mut begin = 0;
    ranges
        .map(|range| {
            let (_, rest) = std::mem::take(&mut data).split_at_mut(range.start - begin);
            let (part, rest) = rest.split_at_mut(range.len());
            (begin, data) = (range.end, rest);
            part
        })
        .collect()
}

/// Roots of the subtrees in elimination order, first supernodes of all subtrees, and the top.
fn cut(symbolic: &SymbolicFactor) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let count = symbolic.supernodes();
    let mut entries: Vec<u64> = (0..count).map(|s| symbolic.panel_entries(s)).collect();
    let total: u64 = entries.iter().sum();
    for s in 0..count {
        if let Some(parent) = symbolic.parent(s) {
            entries[parent] += entries[s];
        }
    }
    let limit = (total / SHARE).max(SMALL);
    let roots = (0..count).filter(|&s| symbolic.parent(s).is_none());
    let mut heap: BinaryHeap<(u64, u32)> = roots.map(|s| (entries[s], s as u32)).collect();
    let mut top = Vec::new();
    while let Some(&(size, root)) = heap.peek() {
        if size <= limit {
            break;
        }
        heap.pop();
        // A sum front has no part in L.
        if symbolic.npiv(root as usize) > 0 {
            top.push(root);
        }
        heap.extend(
            symbolic
                .children(root as usize)
                .iter()
                .map(|&c| (entries[c as usize], c)),
        );
    }
    let mut roots: Vec<u32> = heap.into_iter().map(|(_, root)| root).collect();
    roots.sort_unstable();
    top.sort_unstable();
    (roots, symbolic.subtree_first(), top)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_ordering::{Method, NdOptions, Workspace, order};
    use tamarack_sparse::models::Model;
    use tamarack_symbolic::SymbolicOptions;

    #[test]
    fn rows_outside_subtrees_are_found_among_their_roots_by_any_number_of_threads() {
        for model in ["p3d7_5", "el3d_8", "p2d5_200"] {
            let a = model.parse::<Model>().unwrap().generate::<f64>().unwrap();
            let method = Method::NestedDissection(NdOptions::default());
            let order = order(a.pattern(), &method, &mut Workspace::new()).unwrap();
            let options = SymbolicOptions::default();
            let symbolic = SymbolicFactor::analyze(a.pattern(), &order, &options).unwrap();
            let plan = Substitution::new(&symbolic);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let again = pool
                    .build()
                    .unwrap()
                    .install(|| Substitution::new(&symbolic));
                assert!(plan == again, "{model}, {threads} threads");
            }
            let mut listed = 0;
            for tree in &plan.trees {
                let root = tree.root as usize;
                let end = symbolic.columns(root).end as u32;
                for s in tree.first as usize..=root {
                    let rows = symbolic.rows(s).iter().copied();
                    let outer = plan
                        .outer(s)
                        .iter()
                        .map(|&at| symbolic.rows(root)[at as usize]);
                    assert!(rows.filter(|&row| row >= end).eq(outer), "{model}, {s}");
                    listed += plan.outer(s).len();
                }
            }
            assert_eq!(listed, plan.outer_rows.len());
        }
    }
}
