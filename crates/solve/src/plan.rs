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
    /// Where its sums for rows outside begin, in rows of the accumulator.
    pub outer: usize,
    /// The front of the top that gets them, or [`NONE`].
    pub above: u32,
}

/// A front above the subtrees, or a sum front there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    pub s: u32,
    /// Where its own rows stand together, pivots first, in rows of the accumulator.
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
        let mut root_of = vec![u32::MAX; count];
        for &root in &roots {
            root_of[first[root as usize] as usize..=root as usize].fill(root);
        }
        let Above {
            trees,
            top,
            below,
            accumulator_rows,
        } = Above::new(symbolic, &roots, &first, &top);
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
            without_children: (0..)
                .zip(&top)
                .filter(|(_, front)| front.next == NONE)
                .map(|(k, _)| k)
                .collect(),
            top,
            below,
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

    /// Children of a front of the top.
    pub(crate) fn below(&self, front: &Top) -> &[u32] {
        &self.below[front.children.0 as usize..front.children.1 as usize]
    }

    /// Fronts of the top that wait for nothing.
    pub(crate) fn without_children(&self) -> &[u32] {
        &self.without_children
    }

    /// The root of a subtree or a front of the top, as [`below`](Self::below) numbers them, and where its rows for those above stand in
    /// the accumulator.
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

    /// Rows of the accumulator that belong to a subtree.
    pub(crate) fn outer_range(&self, symbolic: &SymbolicFactor, tree: &Tree) -> Range<usize> {
        tree.outer..tree.outer + symbolic.nupd(tree.root as usize)
    }
}

/// The subtrees and the fronts above them, with their places in the accumulator.
struct Above {
    trees: Vec<Tree>,
    top: Vec<Top>,
    below: Vec<u32>,
    accumulator_rows: usize,
}

impl Above {
    /// For the roots of the subtrees, increasing, the first supernodes of all subtrees, and the top.
    fn new(symbolic: &SymbolicFactor, roots: &[u32], first: &[u32], top: &[u32]) -> Self {
        let parent = |s: u32| symbolic.parent(s as usize);
        let place = |s: usize| top.binary_search(&(s as u32)).ok();
        let above = |s: u32| parent(s).and_then(place).map_or(NONE, |k| k as u32);
        let mut rows = 0;
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
            accumulator_rows: rows,
        }
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
