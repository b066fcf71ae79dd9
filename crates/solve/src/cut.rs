//! Where the tree of a triangular solve is cut into subtrees, and where everything stands in the workspace.

use std::collections::BinaryHeap;

use tamarack_symbolic::SymbolicFactor;

use crate::plan::{Grove, NONE, Sum, Top};

/// A subtree takes at most one in so many parts of the whole solve.
const SHARE: u64 = 48;

/// What a front takes beside its entries, in entries: tens of nanoseconds.
const FRONT: u64 = 64;

/// What a front above the subtrees takes beside that, in entries: each is a task, and one thread waits for another.
const TASK: u64 = 1000;

/// Factors that take less are walked as one: their solve takes less than waking a thread.
const SMALL: u64 = 1 << 15;

/// Three quarters of a solve on one way leave others nothing to do, if its fronts are of an order up to which nobody shares one: the chains of
/// banded matrices.
const CHAIN: [u64; 2] = [3, 4];
const NARROW: usize = 256;

/// Rows that an accumulator is a multiple of, so that no two have a line of the caches in common.
const ALIGNED: usize = 8;

/// A cut of the assembly tree: subtrees, and the top above them.
pub(crate) struct Cut {
    /// Roots of the subtrees, increasing.
    roots: Vec<u32>,
    /// Fronts above them, in postorder.
    top: Vec<u32>,
    /// What the subtree below each front takes, in entries of L.
    work: Vec<u64>,
    /// What a subtree may take.
    limit: u64,
}

impl Cut {
    /// Into subtrees that take a small part of the whole each: from the roots down, the largest first.
    pub fn new(symbolic: &SymbolicFactor) -> Self {
        let mut cut = Self::none(symbolic);
        let whole: u64 = cut.roots.iter().map(|&root| cut.work[root as usize]).sum();
        if is_chain(symbolic, whole) {
            return cut;
        }
        cut.limit = (whole / SHARE).max(SMALL);
        let work = |s: u32| (cut.work[s as usize], s);
        let mut heap: BinaryHeap<(u64, u32)> = cut.roots.iter().map(|&root| work(root)).collect();
        while let Some(&(largest, root)) = heap.peek() {
            if largest <= cut.limit {
                break;
            }
            heap.pop();
            cut.top.push(root);
            heap.extend(symbolic.children(root as usize).iter().map(|&c| work(c)));
        }
        let below: u64 = heap.iter().map(|&(work, _)| work).sum();
        if cut.top.len() as u64 * TASK > below / 2 {
            return Self::none(symbolic); // two threads would save less than that
        }
        cut.roots = heap.into_iter().map(|(_, root)| root).collect();
        cut.roots.sort_unstable();
        cut.top.sort_unstable();
        cut
    }

    /// No cut: the trees of the forest are subtrees, and one thread walks all of them.
    pub fn none(symbolic: &SymbolicFactor) -> Self {
        let count = symbolic.supernodes();
        let mut work: Vec<u64> = (0..count).map(|s| work_of(symbolic, s)).collect();
        let mut roots = Vec::new();
        for s in 0..count {
            match symbolic.parent(s) {
                Some(parent) => work[parent] += work[s],
                None => roots.push(s as u32),
            }
        }
        Self {
            roots,
            top: Vec::new(),
            work,
            limit: u64::MAX,
        }
    }

    /// How many of these subtrees, from the first one on, one thread walks one after the other: siblings that stand side by side and
    /// together take no more than one may.
    fn alike(&self, roots: &[u32], first: &[u32], is_sibling: impl Fn(u32) -> bool) -> usize {
        let work = |k: usize| self.work[roots[k] as usize];
        let mut together = work(0);
        let follows = |&k: &usize| {
            together = together.saturating_add(work(k));
            let adjacent = roots[k - 1] + 1 == first[roots[k] as usize];
            adjacent && is_sibling(roots[k]) && together <= self.limit
        };
        1 + (1..roots.len()).take_while(follows).count()
    }
}

/// What a front takes. A sum front has no part in L.
fn work_of(symbolic: &SymbolicFactor, s: usize) -> u64 {
    match symbolic.npiv(s) {
        0 => 0,
        _ => symbolic.panel_entries(s) + FRONT,
    }
}

/// Whether the tree, which takes so much as a whole, is a chain of narrow fronts, but for a few.
fn is_chain(symbolic: &SymbolicFactor, whole: u64) -> bool {
    let mut way = vec![0; symbolic.supernodes()];
    for s in 0..way.len() {
        if symbolic.npiv(s) + symbolic.nupd(s) > NARROW {
            return false;
        }
        way[s] += work_of(symbolic, s);
        if let Some(parent) = symbolic.parent(s) {
            way[parent] = way[parent].max(way[s]);
        }
    }
    let [most, of] = CHAIN;
    let longest = way.into_iter().max().unwrap_or(0);
    longest.saturating_mul(of) > whole.saturating_mul(most)
}

/// A subtree of a grove.
#[derive(Clone, Copy)]
pub(crate) struct Subtree {
    /// First supernode and root; the subtree is `first..=root`.
    pub first: u32,
    pub root: u32,
    /// Where its sums for rows outside begin, a row of the workspace.
    pub outer: usize,
    /// Whether they stand as the rows of the front above do, not only its root's: the grove has one accumulator.
    pub in_common: bool,
}

/// Groves and the fronts above them, with their places in the workspace.
pub(crate) struct Placed {
    pub subtrees: Vec<Subtree>,
    pub groves: Vec<Grove>,
    pub top: Vec<Top>,
    pub below: Vec<u32>,
    pub sums: Vec<Sum>,
    /// Rows of the workspace.
    pub rows: usize,
}

impl Placed {
    pub fn new(symbolic: &SymbolicFactor, cut: &Cut) -> Self {
        let mut out = Self {
            subtrees: Vec::with_capacity(cut.roots.len()),
            groves: Vec::new(),
            top: Vec::with_capacity(cut.top.len()),
            below: Vec::new(),
            sums: Vec::new(),
            rows: symbolic.n().next_multiple_of(ALIGNED),
        };
        let parent = |s: u32| symbolic.parent(s as usize);
        let place = |s: usize| cut.top.binary_search(&(s as u32)).ok();
        let above = |s: u32| parent(s).and_then(place).map_or(NONE, |k| k as u32);
        let first = symbolic.subtree_first();
        // Where each subtree's grove is.
        let mut grove_of = Vec::with_capacity(cut.roots.len());
        let mut rest = &cut.roots[..];
        while let [root, ..] = *rest {
            let above = above(root);
            let (own, others) =
                rest.split_at(cut.alike(rest, &first, |s| parent(s) == parent(root)));
            grove_of.resize(grove_of.len() + own.len(), out.groves.len() as u32);
            out.plant(symbolic, own, &first, above);
            rest = others;
        }
        out.stack(symbolic, cut, &grove_of, above);
        out
    }

    /// Adds a grove of some siblings.
    fn plant(&mut self, symbolic: &SymbolicFactor, roots: &[u32], first: &[u32], above: u32) {
        let (outer, nupd) = (self.rows, |&root: &u32| symbolic.nupd(root as usize));
        let apart: usize = roots.iter().map(nupd).sum();
        let parent = roots
            .last()
            .and_then(|&root| symbolic.parent(root as usize));
        let order = parent.map_or(0, |p| symbolic.npiv(p) + symbolic.nupd(p));
        let in_common = roots.len() > 1 && apart > order;
        let mut at = outer;
        for root in roots {
            self.subtrees.push(Subtree {
                first: first[*root as usize],
                root: *root,
                outer: at,
                in_common,
            });
            at += if in_common { 0 } else { nupd(root) };
        }
        let outer_rows = if in_common { order } else { apart };
        self.rows += outer_rows.next_multiple_of(ALIGNED);
        self.groves.push(Grove {
            first: first[roots[0] as usize],
            root: roots[roots.len() - 1],
            outer,
            outer_rows,
            above,
        });
    }

    /// Adds the fronts of the top.
    fn stack(
        &mut self,
        symbolic: &SymbolicFactor,
        cut: &Cut,
        grove_of: &[u32],
        above: impl Fn(u32) -> u32,
    ) {
        let groves = self.groves.len() as u32;
        // Entries of the longest way down from each front.
        let mut longest = vec![0u64; cut.top.len()];
        for (k, &s) in cut.top.iter().enumerate() {
            let from = (self.below.len() as u32, self.sums.len() as u32);
            for &child in symbolic.children(s as usize) {
                let (node, sum) = match cut.roots.binary_search(&child) {
                    Ok(at) => {
                        let Subtree {
                            outer, in_common, ..
                        } = self.subtrees[at];
                        let child = if in_common { NONE } else { child };
                        (grove_of[at], Sum::new(child, outer))
                    }
                    Err(_) => {
                        // A child that is not a subtree's root is in the top, and before its parent.
                        let at = cut.top[..k].partition_point(|&t| t < child);
                        let rows = self.top[at].rows + symbolic.npiv(child as usize);
                        (groves + at as u32, Sum::new(child, rows))
                    }
                };
                if self.below[from.0 as usize..].last() != Some(&node) {
                    self.below.push(node);
                }
                if self.sums[from.1 as usize..].last() != Some(&sum) {
                    self.sums.push(sum);
                }
            }
            let way = |node: u32| {
                let front = node.checked_sub(groves);
                front.map_or(0, |front| longest[front as usize])
            };
            let below = &self.below[from.0 as usize..];
            let most = below.iter().map(|&node| way(node)).max().unwrap_or(0);
            let next = below.iter().rfind(|&&node| way(node) >= most / 2);
            longest[k] = symbolic.panel_entries(s as usize) + most;
            self.top.push(Top {
                s,
                rows: self.rows,
                above: above(s),
                below: (from.0, self.below.len() as u32),
                sums: (from.1, self.sums.len() as u32),
                next: next.copied().unwrap_or(NONE),
            });
            let order = symbolic.npiv(s as usize) + symbolic.nupd(s as usize);
            self.rows += order.next_multiple_of(ALIGNED);
        }
    }
}
