//! The plan of the triangular solves: which subtrees are walked by one thread each.
//!
//! It depends on the structure alone, never on the number of threads, because the order of
//! sums follows it: contributions from a subtree to rows outside are first added up by themselves.

use std::sync::Arc;

use tamarack_sparse::memory::{with_room, zeroed};
use tamarack_symbolic::SymbolicFactor;

use crate::cut::{Cut, Placed, Subtree};

/// No front above.
pub(crate) const NONE: u32 = u32::MAX;

/// Subtrees that are walked by one thread, one after the other: siblings, or trees of the forest. Mostly it is one; below a front with
/// thousands of small children (the hub of a network) a task for each would take longer than its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grove {
    /// First supernode of the first subtree; all of them are `first..=root`.
    pub first: u32,
    /// Root of the last one.
    pub root: u32,
    /// Where their sums for rows outside begin, subtree after subtree, and how many there are: rows of the workspace.
    pub outer: usize,
    pub outer_rows: usize,
    /// The front of the top that gets them, or [`NONE`].
    pub above: u32,
}

/// What a child, or a grove, has for the front of the top above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    /// The child, or [`NONE`]: then there is a sum for each of the front's rows.
    pub child: u32,
    /// Where its sums begin, a row of the workspace.
    pub from: u32,
}

impl Sum {
    /// Of a child, or, with [`NONE`], of a grove.
    pub fn new(child: u32, from: usize) -> Self {
        // Rows of the workspace are `u32`.
        let from = from as u32;
        Self { child, from }
    }
}

/// A front above the subtrees, or a sum front there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    pub s: u32,
    /// Where its own rows stand together, pivots first: a row of the workspace.
    pub rows: usize,
    /// The front of the top that gets those below the pivots, or [`NONE`].
    pub above: u32,
    /// The groves and fronts below it in `below`, and what they have for it in `sums`.
    pub below: (u32, u32),
    pub sums: (u32, u32),
    /// The child to go on with on the way down: the last one, unless it has less than half of the entries of L on the longest way below it
    /// that another one has.
    pub next: u32,
}

/// The plan of the triangular solves with one structure: immutable, made once.
#[derive(Clone, Debug)]
pub struct Substitution {
    /// The structure; solves with factors of another one are refused.
    symbolic: Arc<SymbolicFactor>,
    pub(crate) groves: Vec<Grove>,
    /// Fronts above the subtrees, in postorder.
    pub(crate) top: Vec<Top>,
    /// What is below all fronts of the top, in the order of the tree: a grove by its number, a front of the top by its own and that of the
    /// groves.
    below: Vec<u32>,
    /// What those have for the front, in the same order.
    sums: Vec<Sum>,
    /// Groves and fronts of the top in postorder, and where in it each of them is; numbers as in `below`.
    postorder: Vec<u32>,
    ranks: Vec<u32>,
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
        let placed = Some(Placed::new(symbolic, &Cut::new(symbolic)));
        let placed = placed.filter(|placed| placed.rows <= most_rows);
        let Placed {
            subtrees,
            groves,
            top,
            below,
            sums,
            rows: workspace_rows,
        } = placed.unwrap_or_else(|| Placed::new(symbolic, &Cut::none(symbolic)));
        let targets = match top.is_empty() {
            true => Vec::new(), // the roots of the forest have no rows outside
            false => targets(symbolic, &subtrees),
        };
        let (postorder, ranks) = postorder(&groves, &top);
        let orders = symbolic.front_sizes().map(|(npiv, nupd)| npiv + nupd);
        let largest_front = orders.max().unwrap_or(0);
        let n = symbolic.n();
        Self {
            symbolic: symbolic.clone(),
            groves,
            without_children: (0..)
                .zip(&top)
                .filter(|(_, front)| front.next == NONE)
                .map(|(k, _)| k)
                .collect(),
            top,
            below,
            sums,
            postorder,
            ranks,
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

    /// What is below a front of the top: what it waits for on the way up.
    pub(crate) fn below(&self, front: &Top) -> &[u32] {
        &self.below[front.below.0 as usize..front.below.1 as usize]
    }

    /// What the children of a front of the top have for it.
    pub(crate) fn sums(&self, front: &Top) -> &[Sum] {
        &self.sums[front.sums.0 as usize..front.sums.1 as usize]
    }

    /// Fronts of the top that wait for nothing.
    pub(crate) fn without_children(&self) -> &[u32] {
        &self.without_children
    }

    /// Groves and fronts of the top.
    pub(crate) fn nodes(&self) -> usize {
        self.postorder.len()
    }

    /// The node that is at this place of the postorder of groves and fronts of the top: a number as in [`below`](Self::below).
    pub(crate) fn node(&self, rank: u32) -> u32 {
        self.postorder[rank as usize]
    }

    /// Where a node is in that order.
    pub(crate) fn rank(&self, node: u32) -> u32 {
        self.ranks[node as usize]
    }

    /// Groves and fronts of the top with nothing above them.
    pub(crate) fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        let groves = self.groves.iter().map(|grove| grove.above);
        let above = groves.chain(self.top.iter().map(|front| front.above));
        let nodes = (0..).zip(above).filter(|&(_, above)| above == NONE);
        nodes.map(|(node, _)| node)
    }
}

/// The postorder of groves and fronts of the top, and the place of each in it.
fn postorder(groves: &[Grove], top: &[Top]) -> (Vec<u32>, Vec<u32>) {
    let groves = groves.iter().map(|grove| grove.root);
    let roots: Vec<u32> = groves.chain(top.iter().map(|front| front.s)).collect();
    let mut order: Vec<u32> = (0..roots.len() as u32).collect();
    order.sort_unstable_by_key(|&node| roots[node as usize]);
    let mut ranks = vec![0; order.len()];
    for (rank, &node) in (0..).zip(&order) {
        ranks[node as usize] = rank;
    }
    (order, ranks)
}

/// The rows of the workspace that get what fronts of subtrees have for the rows below them: those outside of the subtree are the
/// accumulator's. Those of fronts above, and of sum fronts, which have no part in L, are of no use.
fn targets(symbolic: &SymbolicFactor, subtrees: &[Subtree]) -> Vec<u32> {
    let mut targets = with_room(symbolic.all_rows().len());
    targets.extend_from_slice(symbolic.all_rows());
    // Where each row stands among those of the root that was looked at last.
    let mut place = zeroed(symbolic.n());
    for tree in subtrees {
        let (root, outer) = (tree.root as usize, tree.outer as u32);
        // Where a row of the root is summed up.
        let sums = symbolic.relative(root);
        let sum = |position: u32| match tree.in_common {
            true => outer + sums[position as usize],
            false => outer + position,
        };
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
                positions.for_each(|(to, position)| *to = sum(position));
            } else if symbolic.parent(s) == Some(root) {
                let (pivots, relative) = (symbolic.npiv(root) as u32, symbolic.relative(s));
                let positions = outside.iter_mut().zip(&relative[inside..]);
                positions.for_each(|(to, &at)| *to = sum(at - pivots));
            } else {
                if !std::mem::replace(&mut placed, true) {
                    for (&row, position) in symbolic.rows(root).iter().zip(0..) {
                        place[row as usize] = position;
                    }
                }
                for to in outside {
                    *to = sum(place[*to as usize]);
                }
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_ordering::{Method, Workspace, order};
    use tamarack_sparse::models::Model;
    use tamarack_sparse::{Pattern, Permutation};
    use tamarack_symbolic::SymbolicOptions;

    fn structure(model: &str) -> Arc<SymbolicFactor> {
        let model: Model = model.parse().unwrap();
        let a = model.generate::<f64>().unwrap();
        let order = order(a.pattern(), &Method::default(), &mut Workspace::new()).unwrap();
        SymbolicFactor::analyze(a.pattern(), &order, &SymbolicOptions::default())
            .unwrap()
            .into()
    }

    /// Looks up where every row below a front of a grove is summed up, from the root's rows alone.
    fn check(symbolic: &Arc<SymbolicFactor>) -> Substitution {
        let plan = Substitution::new(symbolic);
        let subtrees = Placed::new(symbolic, &Cut::new(symbolic)).subtrees;
        let mut grove = plan.groves.iter();
        let mut last = None;
        for tree in &subtrees {
            let root = tree.root as usize;
            let of = last.filter(|of: &&Grove| tree.root <= of.root);
            let of = of.or_else(|| grove.next()).unwrap();
            last = Some(of);
            assert!(of.first <= tree.first && tree.root <= of.root);
            let above = (of.above != NONE).then(|| plan.top[of.above as usize].s as usize);
            assert_eq!(symbolic.parent(root), above);
            let end = symbolic.columns(root).end;
            for s in (tree.first as usize..=root).filter(|&s| symbolic.npiv(s) > 0) {
                let targets = &plan.targets()[symbolic.row_range(s)];
                for (&row, &target) in symbolic.rows(s).iter().zip(targets) {
                    if (row as usize) < end {
                        assert_eq!(target, row);
                        continue;
                    }
                    let place = symbolic.rows(root).binary_search(&row).unwrap();
                    let place = match tree.in_common {
                        true => symbolic.relative(root)[place] as usize,
                        false => place,
                    };
                    assert_eq!(target as usize, tree.outer + place);
                    assert!((of.outer..of.outer + of.outer_rows).contains(&(target as usize)));
                    assert!((target as usize) < plan.workspace_rows);
                }
            }
        }
        assert!(grove.next().is_none());
        plan
    }

    #[test]
    fn fronts_of_a_grove_add_to_its_rows_or_to_its_accumulators() {
        let plan = check(&structure("p2d5_120"));
        assert!(plan.groves.len() > 1);
    }

    #[test]
    fn small_siblings_are_walked_together() {
        let symbolic = structure("circuit_40000");
        let plan = check(&symbolic);
        let cut = Cut::new(&symbolic);
        let subtrees = Placed::new(&symbolic, &cut).subtrees;
        assert!(subtrees.len() > 2 * plan.groves.len());
        assert!(subtrees.iter().any(|tree| tree.in_common));
        let sums: usize = plan.top.iter().map(|front| plan.sums(front).len()).sum();
        assert!(sums < subtrees.len());
    }

    #[test]
    fn chains_of_narrow_fronts_are_walked_whole() {
        // A band: each unknown and the five after it, in their order.
        let n = 20_000u32;
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for j in 0..n {
            rows.extend(j..n.min(j + 6));
            ptr.push(rows.len() as u64);
        }
        let pattern = Pattern::lower(n as usize, &ptr, &rows).unwrap().shared();
        let natural = Permutation::identity(n as usize);
        let options = SymbolicOptions::default();
        let symbolic = SymbolicFactor::analyze(&pattern, &natural, &options).unwrap();
        assert!(symbolic.supernodes() > 1000);
        let plan = check(&symbolic.into());
        assert!(plan.top.is_empty());
        assert_eq!(plan.groves.len(), 1);
    }

    #[test]
    fn subtrees_that_save_less_than_the_fronts_above_take_are_walked_whole() {
        // A bar of 4 x 4 x 1200 points, each joined to the 26 about it: leaves along a chain of thousands of fronts.
        let at = |v: u32| [v / 4800, v / 1200 % 4, v % 1200];
        let n = 16 * 1200;
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for j in 0..n {
            let near = |i: &u32| (0..3).all(|k| at(*i)[k].abs_diff(at(j)[k]) <= 1);
            let steps = [
                0, 1, 1199, 1200, 1201, 3599, 3600, 3601, 4799, 4800, 4801, 5999, 6000, 6001,
            ];
            rows.extend(
                steps
                    .map(|step| j + step)
                    .into_iter()
                    .filter(|&i| i < n)
                    .filter(near),
            );
            ptr.push(rows.len() as u64);
        }
        let pattern = Pattern::lower(n as usize, &ptr, &rows).unwrap().shared();
        let order = order(&pattern, &Method::default(), &mut Workspace::new()).unwrap();
        let options = SymbolicOptions::default();
        let symbolic = SymbolicFactor::analyze(&pattern, &order, &options).unwrap();
        let plan = check(&symbolic.into());
        assert!(plan.top.is_empty(), "{}", plan.top.len());
    }

    #[test]
    fn where_rows_would_be_too_many_to_be_numbered_trees_are_walked_whole() {
        let symbolic = structure("p2d5_120");
        let plan = Substitution::within(&symbolic, symbolic.n());
        assert!(plan.top.is_empty());
        assert_eq!(plan.groves.len(), 1);
        assert_eq!(plan.targets(), symbolic.all_rows());
    }
}
