//! The plan of the triangular solves: which subtrees are walked by one thread each.
//!
//! The cut depends on the structure alone, never on the number of threads, because the order of
//! sums follows it: contributions from a subtree to rows outside are first added up by themselves.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use tamarack_symbolic::SymbolicFactor;

/// A subtree holds at most one in so many of the factor's entries.
const SHARE: u64 = 48;

/// Factors with fewer entries are walked as one: their solve takes less than waking a thread.
const SMALL: u64 = 1 << 15;

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
#[derive(Clone, Debug)]
pub struct Substitution {
    /// The structure; solves with factors of another one are refused.
    symbolic: Arc<SymbolicFactor>,
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
    /// Plans the solves; time linear in the supernodes and the rows outside their subtrees.
    pub fn new(symbolic: &Arc<SymbolicFactor>) -> Self {
        let (roots, first, top) = cut(symbolic);
        let count = symbolic.supernodes();
        let mut trees = Vec::with_capacity(roots.len());
        let mut root_of = vec![u32::MAX; count];
        let mut accumulator_rows = 0;
        for &root in &roots {
            let first = first[root as usize];
            root_of[first as usize..=root as usize].fill(root);
            trees.push(Tree {
                first,
                root,
                outer: accumulator_rows,
            });
            accumulator_rows += symbolic.nupd(root as usize);
        }
        let (outer_ptr, outer_rows) = match top.is_empty() {
            true => (vec![0; count + 1], Vec::new()), // the roots of the forest have no rows outside
            false => outer_rows(symbolic, &root_of),
        };
        let orders = symbolic.front_sizes().map(|(npiv, nupd)| npiv + nupd);
        let largest_front = orders.max().unwrap_or(0);
        let n = symbolic.n();
        Self {
            symbolic: symbolic.clone(),
            trees,
            top,
            outer_ptr,
            outer_rows,
            accumulator_rows,
            largest_front,
            n,
        }
    }

    /// Whether it was made for this structure, not for an equal one: they are many, and comparing takes as long as a solve.
    pub(crate) fn is_for(&self, symbolic: &Arc<SymbolicFactor>) -> bool {
        Arc::ptr_eq(&self.symbolic, symbolic)
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

/// Where the rows of each supernode that are outside its subtree stand among those of the subtree's root: offsets and positions. A
/// sum front has no part in L, and none here.
fn outer_rows(symbolic: &SymbolicFactor, root_of: &[u32]) -> (Vec<u64>, Vec<u32>) {
    let in_trees = || root_of.iter().enumerate();
    let in_trees = || in_trees().filter(|&(s, &root)| root != u32::MAX && symbolic.npiv(s) > 0);
    // Those of a subtree's root and its children are known without a search.
    let mut outer_ptr = vec![0; root_of.len() + 1];
    for (s, &root) in in_trees() {
        let end = symbolic.columns(root as usize).end;
        let rows = symbolic.rows(s);
        let inside = match s as u32 == root {
            true => 0,
            // Below a sum front all of them are.
            false if rows.first().is_none_or(|&row| row as usize >= end) => 0,
            false => rows.partition_point(|&row| (row as usize) < end),
        };
        outer_ptr[s] = (rows.len() - inside) as u64;
    }
    let mut sum = 0;
    for ptr in &mut outer_ptr {
        sum += std::mem::replace(ptr, sum);
    }
    let mut outer_rows = Vec::with_capacity(sum as usize);
    // Where each row stands among those of the root that was looked at last.
    let mut place = vec![0; symbolic.n()];
    let mut placed = u32::MAX;
    for (s, &root) in in_trees() {
        let count = (outer_ptr[s + 1] - outer_ptr[s]) as usize;
        let inside = symbolic.nupd(s) - count;
        let above = symbolic.parent(s).filter(|&above| above == root as usize);
        if s as u32 == root {
            outer_rows.extend(0..count as u32);
        } else if let Some(above) = above {
            let pivots = symbolic.npiv(above) as u32;
            let relative = &symbolic.relative(s)[inside..];
            outer_rows.extend(relative.iter().map(|&at| at - pivots));
        } else {
            if placed != root {
                placed = root;
                for (&row, position) in symbolic.rows(root as usize).iter().zip(0..) {
                    place[row as usize] = position;
                }
            }
            let rows = &symbolic.rows(s)[inside..];
            outer_rows.extend(rows.iter().map(|&row| place[row as usize]));
        }
    }
    (outer_ptr, outer_rows)
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
