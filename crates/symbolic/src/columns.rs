//! The order of the columns of a supernode.
//!
//! The columns of a fundamental supernode may be eliminated in any order: none gets other rows than those that all of them are
//! stored with. What changes is in how many runs the rows of the fronts below stand in it, and with that the speed of
//! extend-add, whose vectors end with a run, and of everything that gathers rows (Pichon, Faverge, Ramet, Roman 2017; Jacquelin,
//! Ng, Peyton 2018 refine partitions of the columns by the structures of all descendants). Here one number a column does: the first
//! leaf of its row subtree, which is the first node in postorder with an entry of A in that row. Rows that begin in the same
//! subtree are in the same fronts from there on, and subtrees are ranges: sorted by their first leaves, the rows of a front
//! mostly follow one another. With METIS's order of `p3d7_80` runs become four and a half times as long.
//!
//! Edges of A between two columns that change places are *turned*: they belong to the column of the other node. Linear in the
//! edges of the columns looked at, but for sorting.

use std::ops::Range;

use crate::permuted::LowerRows;
use crate::postorder::Postordered;

/// Columns from which on a supernode's are ordered: runs cannot be long in small ones.
const MANY: u32 = if cfg!(test) { 3 } else { 32 };

/// An edge of A whose nodes are eliminated the other way round than in the order that was given.
#[derive(Clone, Copy)]
pub(crate) struct Turned {
    /// First column of the node that is eliminated later.
    pub row: u32,
    /// Rank of the other one.
    pub rank: u32,
    /// Position in the user's values, as the lower triangle has it.
    pub src: u32,
}

/// Turned edges, rows increasing: what rows that are visited in that order still have to come.
pub(crate) struct Turns<'a>(&'a [Turned]);

impl<'a> Turns<'a> {
    /// Those of the rows from a column on.
    pub fn from(all: &'a [Turned], column: u32) -> Self {
        Self(&all[all.partition_point(|turned| turned.row < column)..])
    }

    /// Those of a row, which comes after all rows that were asked for.
    #[inline]
    pub fn of(&mut self, row: u32) -> &'a [Turned] {
        if self.0.first().is_none_or(|turned| turned.row > row) {
            return &[];
        }
        let from = self.0.partition_point(|turned| turned.row < row);
        let len = self.0[from..]
            .iter()
            .take_while(|turned| turned.row == row)
            .count();
        let (own, rest) = self.0[from..].split_at(len);
        self.0 = rest;
        own
    }
}

/// Turned edges of some supernodes.
#[derive(Default)]
pub(crate) struct Found {
    /// Rows increasing within each supernode.
    turned: Vec<Turned>,
    /// First column of each supernode, and where its edges end.
    supernodes: Vec<(u32, usize)>,
}

impl Found {
    /// All of them, rows increasing.
    pub fn in_order(found: &[Self]) -> Vec<Turned> {
        let mut lists: Vec<(u32, &[Turned])> = Vec::new();
        for Self { turned, supernodes } in found {
            let mut begin = 0;
            for &(column, end) in supernodes {
                lists.push((column, &turned[begin..end]));
                begin = end;
            }
        }
        lists.sort_unstable_by_key(|&(column, _)| column);
        let lists: Vec<_> = lists.into_iter().map(|(_, turned)| turned).collect();
        lists.concat()
    }
}

/// Orders the columns of one supernode after the other.
pub(crate) struct Columns<'a> {
    tree: &'a Postordered,
    lower: &'a LowerRows,
    /// First leaf in the high half, and node: as they are going to be eliminated.
    order: Vec<u64>,
    /// Edges inside of the supernode: both nodes, counted from its first one, and the position in the user's values.
    edges: Vec<(u32, u32, u32)>,
    /// First column of each node.
    first: Vec<u32>,
    /// Edges of each node in A to nodes below it.
    below: Vec<u32>,
    /// What is turned in all of them.
    pub found: Found,
}

impl<'a> Columns<'a> {
    pub fn new(tree: &'a Postordered, lower: &'a LowerRows) -> Self {
        Self {
            tree,
            lower,
            order: Vec::new(),
            edges: Vec::new(),
            first: Vec::new(),
            below: Vec::new(),
            found: Found::default(),
        }
    }

    /// Whether a supernode of so many columns is worth it.
    pub fn are_many(npiv: u32) -> bool {
        npiv >= MANY
    }

    /// Orders the nodes of a supernode whose columns begin with `column`, given the edges of each to nodes below it. Returns them, and
    /// the edges of each as they are now.
    pub fn sort(
        &mut self,
        nodes: Range<usize>,
        below: &[u32],
        mut column: u32,
    ) -> impl Iterator<Item = (usize, u32)> + '_ {
        let Found { turned, supernodes } = &mut self.found;
        let (begin, before) = (column, turned.len());
        find_leaves(
            self.tree,
            self.lower,
            nodes.clone(),
            &mut self.order,
            &mut self.edges,
        );
        self.order.sort_unstable();
        self.first.resize(nodes.len(), 0);
        for node in self.order.iter().map(|&key| node(key)) {
            self.first[node - nodes.start] = column;
            column += self.tree.weight(node);
        }
        self.below.clear();
        self.below.extend_from_slice(below);
        for &(row, other, src) in &self.edges {
            let (from, to) = (row as usize, other as usize);
            if self.first[to] > self.first[from] {
                self.below[to] -= 1;
                self.below[from] += 1;
                turned.push(Turned {
                    row: self.first[to],
                    rank: self.tree.rank[nodes.start + from],
                    src,
                });
            }
        }
        turned[before..].sort_unstable_by_key(|turned| turned.row);
        supernodes.push((begin, turned.len()));
        let below = &self.below;
        let ordered = self.order.iter().map(|&key| node(key));
        ordered.map(move |node| (node, below[node - nodes.start]))
    }
}

/// The node of a leaf and a node.
fn node(key: u64) -> usize {
    key as u32 as usize
}

/// Finds the first leaves of some nodes' rows, and the edges between these nodes.
fn find_leaves(
    tree: &Postordered,
    lower: &LowerRows,
    nodes: Range<usize>,
    leaves: &mut Vec<u64>,
    edges: &mut Vec<(u32, u32, u32)>,
) {
    leaves.clear();
    edges.clear();
    let start = nodes.start as u32;
    for node in nodes {
        let mut leaf = node as u32;
        for (rank, src) in lower.row_entries(tree.rank[node] as usize) {
            let other = tree.label[rank as usize];
            leaf = leaf.min(other);
            if let Some(other) = other.checked_sub(start) {
                edges.push((node as u32 - start, other, src));
            }
        }
        leaves.push(u64::from(leaf) << 32 | node as u64);
    }
}
