//! The elimination tree (Liu 1986, 1990).
//!
//! `parent[j]` is the row of the first entry below the diagonal in column `j` of `L`. Liu's
//! algorithm adds the rows of A one at a time; each entry `(i, j)` says that the root of the tree
//! that holds `j` becomes a child of `i`. Path compression on a second array of ancestors makes the
//! search for the root short: `O(nnz(A) log n)` at worst, near linear in practice.
//!
//! Several threads take a piece of the rows each, without the columns before it. What is an ancestor in the tree of
//! a piece is one in the tree of A, so an entry in a column of another piece says as much in the root of that
//! column's tree. Only rows with such entries, their ancestors and those roots can have other parents in the whole: the
//! algorithm runs on them once more, with the edges of the pieces' trees for entries (`join`).

use std::ops::Range;

use crate::factor::NONE;
use crate::permuted::LowerRows;
use crate::threads::{map_all, slices, threads};
use tamarack_sparse::memory::filled;

/// Nodes of a piece, at least.
const LEAST: usize = if cfg!(test) { 4 } else { 1 << 15 };

/// Pieces are given up if more than one node in so many would be looked at twice.
const SHARE: usize = if cfg!(test) { 1 } else { 4 };

/// An elimination forest; always `parent[j] > j`.
pub(crate) struct Forest {
    /// Parent of every column, or `NONE`.
    pub parent: Vec<u32>,
    /// Columns of each subtree.
    pub size: Vec<u32>,
}

/// The elimination forest of the rows of a lower triangle.
pub(crate) fn elimination_tree(lower: &LowerRows) -> Forest {
    let n = lower.len();
    let pieces = match n / LEAST {
        few @ 0..2 => few,
        many => threads().min(many),
    };
    if pieces > 1
        && let Some(forest) = in_pieces(lower, &ranges(lower, pieces))
    {
        return forest;
    }
    grown(Forest::leaves(n), lower, 0)
}

/// The elimination forest where that of the rows before `row` is known.
pub(crate) fn grown(mut forest: Forest, lower: &LowerRows, row: usize) -> Forest {
    let mut ancestor = forest.parent.clone();
    let (parent, size) = (&mut forest.parent[..], &mut forest.size[..]);
    let whole = Piece {
        first: 0,
        parent,
        size,
        ancestor: &mut ancestor,
    };
    whole.grow(lower, row, |_, _| {});
    forest
}

impl Forest {
    /// Trees of one node each.
    pub fn leaves(n: usize) -> Self {
        Self {
            parent: filled(n, NONE),
            size: filled(n, 1),
        }
    }
}

/// Ranges of rows with about as many entries each.
fn ranges(lower: &LowerRows, pieces: usize) -> Vec<Range<usize>> {
    let n = lower.len();
    let weight = |row: usize| lower.ptr[row] + row as u64;
    let cut = |k: usize| {
        let wanted = weight(n) as u128 * k as u128 / pieces as u128;
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = low.midpoint(high);
            if u128::from(weight(middle)) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    (0..pieces).map(|k| cut(k)..cut(k + 1)).collect()
}

/// Rows that are added to a forest of their own.
struct Piece<'a> {
    first: u32,
    parent: &'a mut [u32],
    size: &'a mut [u32],
    /// Some ancestor of each node, or `NONE` for roots.
    ancestor: &'a mut [u32],
}

impl Piece<'_> {
    /// Adds all rows from one of the piece on; calls `outside` with row and column of entries in earlier columns.
    fn grow(self, lower: &LowerRows, from: usize, mut outside: impl FnMut(u32, u32)) {
        let Self {
            first,
            parent,
            size,
            ancestor,
        } = self;
        for i in from..parent.len() {
            let row = first + i as u32;
            for column in lower.row(row as usize) {
                if column < first {
                    outside(row, column);
                    continue;
                }
                let mut k = (column - first) as usize;
                loop {
                    let up = ancestor[k];
                    if up == row {
                        break;
                    }
                    ancestor[k] = row;
                    if up == NONE {
                        // All that is below a row is there when the row is reached.
                        parent[k] = row;
                        size[i] += size[k];
                        break;
                    }
                    k = (up - first) as usize;
                }
            }
        }
    }
}

/// A row and a column in another piece.
type Entry = (u32, u32);

/// What has to be looked at again in a piece.
struct Open {
    /// Whether each node has.
    marked: Vec<bool>,
    /// Those that have.
    nodes: Vec<u32>,
}

impl Open {
    fn mark(&mut self, node: u32, first: u32) -> bool {
        let fresh = !std::mem::replace(&mut self.marked[(node - first) as usize], true);
        if fresh {
            self.nodes.push(node);
        }
        fresh
    }
}

/// The forest by way of pieces, unless too much of it would have to be done twice.
fn in_pieces(lower: &LowerRows, ranges: &[Range<usize>]) -> Option<Forest> {
    let mut forest = Forest::leaves(lower.len());
    let mut ancestor = filled(lower.len(), NONE);
    let all = || ranges.iter().cloned();
    let parents = slices(&mut forest.parent, all());
    let parents = parents.zip(slices(&mut forest.size, all()));
    let tasks = parents.zip(slices(&mut ancestor, all())).zip(ranges);
    let grown = map_all(tasks, |(((parent, size), ancestor), range)| {
        grow_piece(lower, ranges, range, (parent, size, ancestor))
    });
    let (mut open, crossing): (Vec<Open>, Vec<Vec<Vec<Entry>>>) = grown.into_iter().unzip();
    let tasks = slices(&mut ancestor, all()).zip(&mut open);
    let roots = map_all(tasks.enumerate(), |(at, (ancestor, open))| {
        let first = ranges[at].start as u32;
        let found = crossing.iter().map(|entries| match entries.get(at) {
            Some(entries) => roots_of(entries, first, ancestor, open),
            None => Vec::new(),
        });
        let found: Vec<Vec<Entry>> = found.collect();
        open.nodes.sort_unstable();
        found
    });
    let total: usize = open.iter().map(|open| open.nodes.len()).sum();
    if total * SHARE > lower.len() {
        return None;
    }
    let open: Vec<&[u32]> = open.iter().map(|open| &open.nodes[..]).collect();
    join(&mut forest, &open, &roots);
    Some(forest)
}

/// Grows the forest of a range of rows; returns what is open, and the entries in each of the `ranges` before.
fn grow_piece(
    lower: &LowerRows,
    ranges: &[Range<usize>],
    range: &Range<usize>,
    (parent, size, ancestor): (&mut [u32], &mut [u32], &mut [u32]),
) -> (Open, Vec<Vec<Entry>>) {
    let first = range.start as u32;
    let before = ranges.partition_point(|other| other.start < range.start);
    let mut crossing = vec![Vec::new(); before];
    let mut open = Open {
        marked: vec![false; range.len()],
        nodes: Vec::new(),
    };
    let piece = Piece {
        first,
        parent: &mut *parent,
        size,
        ancestor,
    };
    let mut rows = Vec::new();
    piece.grow(lower, 0, |row, column| {
        let at = ranges.partition_point(|other| other.end <= column as usize);
        crossing[at].push((row, column));
        if rows.last() != Some(&row) {
            rows.push(row);
        }
    });
    for row in rows {
        let mut node = row;
        while node != NONE && open.mark(node, first) {
            node = parent[(node - first) as usize];
        }
    }
    (open, crossing)
}

/// The roots of the trees that hold the columns of some entries, each row's mostly once, which are open from now on.
fn roots_of(entries: &[Entry], first: u32, ancestor: &mut [u32], open: &mut Open) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    for &(row, column) in entries {
        let mut root = column;
        while ancestor[(root - first) as usize] != NONE {
            root = ancestor[(root - first) as usize];
        }
        let mut k = column;
        while k != root {
            k = std::mem::replace(&mut ancestor[(k - first) as usize], root);
        }
        let last = found.iter().rev().take(8);
        if last
            .take_while(|found| found.0 == row)
            .all(|found| found.1 != root)
        {
            found.push((row, root));
            open.mark(root, first);
        }
    }
    found
}

/// Makes the forests of pieces one. For each piece `open` has the nodes, increasing, whose parents may be others, and
/// `roots` the rows of each later piece with entries in its trees, and their roots.
fn join(forest: &mut Forest, open: &[&[u32]], roots: &[Vec<Vec<Entry>>]) {
    let Forest { parent, size } = forest;
    let nodes = open.concat();
    let mut place = vec![0u32; parent.len()];
    for (&node, k) in nodes.iter().zip(0..) {
        place[node as usize] = k;
    }
    // Children that are open themselves are taken out of their parents' sizes, and into lists.
    let mut child = vec![NONE; nodes.len()];
    let mut sibling = vec![NONE; nodes.len()];
    for k in (0..nodes.len()).rev() {
        let up = std::mem::replace(&mut parent[nodes[k] as usize], NONE);
        if up != NONE {
            size[up as usize] -= size[nodes[k] as usize];
            sibling[k] = std::mem::replace(&mut child[place[up as usize] as usize], k as u32);
        }
    }
    let mut ancestor = vec![NONE; nodes.len()];
    let mut climb = |i: u32, mut k: u32, size: &mut [u32]| {
        loop {
            let up = std::mem::replace(&mut ancestor[k as usize], i);
            if up == i {
                return;
            }
            if up == NONE {
                let (row, node) = (nodes[i as usize], nodes[k as usize] as usize);
                parent[node] = row;
                size[row as usize] += size[node];
                return;
            }
            k = up;
        }
    };
    let mut i = 0;
    for (piece, nodes) in open.iter().enumerate() {
        let mut lists: Vec<_> = roots[..piece]
            .iter()
            .map(|lists| lists[piece].iter().peekable())
            .collect();
        for &node in *nodes {
            let mut k = child[i as usize];
            while k != NONE {
                climb(i, k, size);
                k = sibling[k as usize];
            }
            for list in &mut lists {
                while let Some(&(_, root)) = list.next_if(|entry| entry.0 == node) {
                    climb(i, place[root as usize], size);
                }
            }
            i += 1;
        }
    }
}
