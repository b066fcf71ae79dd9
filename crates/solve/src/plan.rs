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

/// Rows that an accumulator is a multiple of, so that no two have a line of the caches in common.
const ALIGNED: usize = 8;

/// No front above.
pub(crate) const NONE: u32 = u32::MAX;

/// A subtree that is walked by one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// First supernode; the subtree is `first..=root`.
    pub first: u32,
    /// Its root.
    pub root: u32,
    /// Where its sums for rows outside begin, a row of the workspace.
    pub outer: usize,
    /// The front of the top that gets them, or [`NONE`].
    pub above: u32,
}

/// A front above the subtrees, or a sum front there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    pub s: u32,
    /// Where its own rows stand together, pivots first: a row of the workspace.
    pub rows: usize,
    /// The front of the top that gets those below the pivots, or [`NONE`].
    pub above: u32,
    /// Its children in `below`.
    children: (u32, u32),
    /// The child to go on with on the way down: most entries of L are on the longest way below it.
    pub next: u32,
}

/// The plan of the triangular solves with one structure: immutable, made once.
#[derive(Clone, Debug)]
pub struct Substitution {
    /// The structure; solves with factors of another one are refused.
    symbolic: Arc<SymbolicFactor>,
    pub(crate) trees: Vec<Tree>,
    /// Fronts above the subtrees, in postorder.
    pub(crate) top: Vec<Top>,
    /// Children of all fronts of the top, in the order of the tree: a subtree by its number, a front of the top by its own and that of the
    /// subtrees.
    below: Vec<u32>,
    /// Fronts of the top without children.
    without_children: Vec<u32>,
    /// For the rows below every supernode of a subtree, as [`all_rows`](SymbolicFactor::all_rows) has them: the row of the workspace
    /// that gets what is theirs. Empty if that is their own everywhere.
    targets: Vec<u32>,
    /// Rows of the workspace: n of the right-hand sides and, behind them, the accumulators.
    pub(crate) workspace_rows: usize,
    pub(crate) largest_front: usize,
    pub(crate) n: usize,
}

impl Substitution {
    /// Plans the solves; time linear in the supernodes and their rows.
    pub fn new(symbolic: &Arc<SymbolicFactor>) -> Self {
        Self::within(symbolic, u32::MAX as usize)
    }

    /// The same with so many rows of the workspace at most, if there is a cut at all that needs no more: rows are `u32`.
    fn within(symbolic: &Arc<SymbolicFactor>, most_rows: usize) -> Self {
        let of = |limit| {
            let (roots, first, top) = cut(symbolic, limit);
            Above::new(symbolic, &roots, &first, &top)
        };
        let count = symbolic.supernodes();
        let total: u64 = (0..count).map(|s| symbolic.panel_entries(s)).sum();
        let cut = Some(of((total / SHARE).max(SMALL))).filter(|cut| cut.rows <= most_rows);
        let Above {
            trees,
            top,
            below,
            rows: workspace_rows,
        } = cut.unwrap_or_else(|| of(u64::MAX));
        let targets = match top.is_empty() {
            true => Vec::new(), // the roots of the forest have no rows outside
            false => targets(symbolic, &trees),
        };
        let orders = symbolic.front_sizes().map(|(npiv, nupd)| npiv + nupd);
        let largest_front = orders.max().unwrap_or(0);
        let n = symbolic.n();
        Self {
            symbolic: symbolic.clone(),
            trees,
            without_children: (0..)
                .zip(&top)
                .filter(|(_, front)| front.next == NONE)
                .map(|(k, _)| k)
                .collect(),
            top,
            below,
            targets,
            workspace_rows,
            largest_front,
            n,
        }
    }

    /// Whether it was made for this structure, not for an equal one: they are many, and comparing takes as long as a solve.
    pub(crate) fn is_for(&self, symbolic: &Arc<SymbolicFactor>) -> bool {
        Arc::ptr_eq(&self.symbolic, symbolic)
    }

    /// The rows of the workspace that the rows below all supernodes of subtrees are summed up in, as
    /// [`all_rows`](SymbolicFactor::all_rows) has them: their own, or those of the subtree's accumulator.
    #[inline]
    pub(crate) fn targets(&self) -> &[u32] {
        match self.targets.is_empty() {
            true => self.symbolic.all_rows(),
            false => &self.targets,
        }
    }

    /// Children of a front of the top.
    pub(crate) fn below(&self, front: &Top) -> &[u32] {
        &self.below[front.children.0 as usize..front.children.1 as usize]
    }

    /// Fronts of the top that wait for nothing.
    pub(crate) fn without_children(&self) -> &[u32] {
        &self.without_children
    }

    /// The root of a subtree or a front of the top, as [`below`](Self::below) numbers them, and where its rows for those above stand in
    /// the workspace.
    pub(crate) fn sums_of(&self, node: u32) -> (usize, usize) {
        if let Some(tree) = self.trees.get(node as usize) {
            return (tree.root as usize, tree.outer);
        }
        let front = &self.top[node as usize - self.trees.len()];
        let s = front.s as usize;
        (s, front.rows + self.symbolic.npiv(s))
    }

    /// Subtrees and fronts of the top with nothing above them.
    pub(crate) fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        let trees = self.trees.iter().map(|tree| tree.above);
        let above = trees.chain(self.top.iter().map(|front| front.above));
        let nodes = (0..).zip(above).filter(|&(_, above)| above == NONE);
        nodes.map(|(node, _)| node)
    }

    /// Rows of the workspace that are a subtree's accumulator.
    pub(crate) fn outer_range(&self, symbolic: &SymbolicFactor, tree: &Tree) -> Range<usize> {
        tree.outer..tree.outer + symbolic.nupd(tree.root as usize)
    }
}

/// The subtrees and the fronts above them, with their places in the workspace.
struct Above {
    trees: Vec<Tree>,
    top: Vec<Top>,
    below: Vec<u32>,
    /// Rows of the workspace.
    rows: usize,
}

impl Above {
    /// For the roots of the subtrees, increasing, the first supernodes of all subtrees, and the top.
    fn new(symbolic: &SymbolicFactor, roots: &[u32], first: &[u32], top: &[u32]) -> Self {
        let parent = |s: u32| symbolic.parent(s as usize);
        let place = |s: usize| top.binary_search(&(s as u32)).ok();
        let above = |s: u32| parent(s).and_then(place).map_or(NONE, |k| k as u32);
        let mut rows = symbolic.n().next_multiple_of(ALIGNED);
        let mut take = |count: usize| {
            let from = rows;
            rows += count.next_multiple_of(ALIGNED);
            from
        };
        let tree = |&root: &u32| Tree {
            first: first[root as usize],
            root,
            outer: take(symbolic.nupd(root as usize)),
            above: above(root),
        };
        let trees: Vec<Tree> = roots.iter().map(tree).collect();
        let node = |c: u32| match roots.binary_search(&c) {
            Ok(tree) => tree as u32,
            Err(_) => (trees.len() + place(c as usize).unwrap_or(0)) as u32,
        };
        let mut below = Vec::with_capacity(trees.len() + top.len());
        // Entries of the longest way down from each front.
        let mut longest = vec![0u64; top.len()];
        let mut fronts: Vec<Top> = Vec::with_capacity(top.len());
        for (k, &s) in top.iter().enumerate() {
            let from = below.len() as u32;
            below.extend(symbolic.children(s as usize).iter().map(|&c| node(c)));
            let children = &below[from as usize..];
            let way = |node: u32| {
                let front = (node as usize).checked_sub(trees.len());
                front.map_or(0, |front| longest[front])
            };
            let next = children.iter().copied().max_by_key(|&node| way(node));
            longest[k] = symbolic.panel_entries(s as usize) + next.map_or(0, way);
            fronts.push(Top {
                s,
                rows: take(symbolic.npiv(s as usize) + symbolic.nupd(s as usize)),
                above: above(s),
                children: (from, below.len() as u32),
                next: next.unwrap_or(NONE),
            });
        }
        Self {
            trees,
            top: fronts,
            below,
            rows,
        }
    }
}

/// The rows of the workspace that get what fronts of subtrees have for the rows below them: those outside of the subtree are the
/// accumulator's. Those of fronts above, and of sum fronts, which have no part in L, are of no use.
fn targets(symbolic: &SymbolicFactor, trees: &[Tree]) -> Vec<u32> {
    let mut targets = symbolic.all_rows().to_vec();
    // Where each row stands among those of the root that was looked at last.
    let mut place = vec![0; symbolic.n()];
    for tree in trees {
        let (root, outer) = (tree.root as usize, tree.outer as u32);
        let end = symbolic.columns(root).end;
        let mut placed = false;
        for s in (tree.first as usize..=root).filter(|&s| symbolic.npiv(s) > 0) {
            let (rows, range) = (symbolic.rows(s), symbolic.row_range(s));
            // Those of the root and its children are known without a search.
            let inside = match s == root {
                true => 0,
                // Below a sum front all of them are outside.
                false if rows.first().is_none_or(|&row| row as usize >= end) => 0,
                false => rows.partition_point(|&row| (row as usize) < end),
            };
            let outside = &mut targets[range.start + inside..range.end];
            if s == root {
                let positions = outside.iter_mut().zip(0..);
                positions.for_each(|(to, position)| *to = outer + position);
            } else if symbolic.parent(s) == Some(root) {
                let (pivots, relative) = (symbolic.npiv(root) as u32, symbolic.relative(s));
                let positions = outside.iter_mut().zip(&relative[inside..]);
                positions.for_each(|(to, &at)| *to = outer + (at - pivots));
            } else {
                if !std::mem::replace(&mut placed, true) {
                    for (&row, position) in symbolic.rows(root).iter().zip(0..) {
                        place[row as usize] = position;
                    }
                }
                for to in outside {
                    *to = outer + place[*to as usize];
                }
            }
        }
    }
    targets
}

/// Roots of the subtrees of at most `limit` entries, in elimination order, first supernodes of all subtrees, and the top.
fn cut(symbolic: &SymbolicFactor, limit: u64) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let count = symbolic.supernodes();
    let mut entries: Vec<u64> = (0..count).map(|s| symbolic.panel_entries(s)).collect();
    for s in 0..count {
        if let Some(parent) = symbolic.parent(s) {
            entries[parent] += entries[s];
        }
    }
    let roots = (0..count).filter(|&s| symbolic.parent(s).is_none());
    let mut heap: BinaryHeap<(u64, u32)> = roots.map(|s| (entries[s], s as u32)).collect();
    let mut top = Vec::new();
    while let Some(&(size, root)) = heap.peek() {
        if size <= limit {
            break;
        }
        heap.pop();
        top.push(root);
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
    use tamarack_ordering::{Method, Workspace, order};
    use tamarack_sparse::models::Model;
    use tamarack_symbolic::SymbolicOptions;

    fn structure(model: &str) -> Arc<SymbolicFactor> {
        let model: Model = model.parse().unwrap();
        let a = model.generate::<f64>().unwrap();
        let order = order(a.pattern(), &Method::default(), &mut Workspace::new()).unwrap();
        SymbolicFactor::analyze(a.pattern(), &order, &SymbolicOptions::default())
            .unwrap()
            .into()
    }

    #[test]
    fn fronts_of_a_subtree_add_to_its_rows_or_to_its_accumulator() {
        let symbolic = structure("p2d5_120");
        let plan = Substitution::new(&symbolic);
        assert!(plan.trees.len() > 1);
        for tree in &plan.trees {
            let root = tree.root as usize;
            let end = symbolic.columns(root).end;
            for s in (tree.first as usize..=root).filter(|&s| symbolic.npiv(s) > 0) {
                let targets = &plan.targets()[symbolic.row_range(s)];
                for (&row, &target) in symbolic.rows(s).iter().zip(targets) {
                    if (row as usize) < end {
                        assert_eq!(target, row);
                    } else {
                        let place = symbolic.rows(root).binary_search(&row).unwrap();
                        assert_eq!(target as usize, tree.outer + place);
                        assert!((target as usize) < plan.workspace_rows);
                    }
                }
            }
        }
    }

    #[test]
    fn where_rows_would_be_too_many_to_be_numbered_trees_are_walked_whole() {
        let symbolic = structure("p2d5_120");
        let plan = Substitution::within(&symbolic, symbolic.n());
        assert!(plan.top.is_empty());
        let roots = (0..symbolic.supernodes()).filter(|&s| symbolic.parent(s).is_none());
        assert_eq!(plan.trees.len(), roots.count());
        assert_eq!(plan.targets(), symbolic.all_rows());
    }
}
