//! Row structures of the supernodes, relative indices and the entry map, in one sweep over rows.
//!
//! Row `i` of `L` is a subtree of the assembly tree whose root owns column `i`: starting from the
//! supernode of each entry `(i, j)` of A and climbing until a node that has `i` already reaches
//! every supernode with row `i` once (Liu 1990). Rows are visited in increasing order, so every
//! structure, and the entries of every column, come out sorted without being sorted. On the way the
//! position of `i` in a node's front and in its parent's front are both known, which gives the relative
//! indices and the entry map for nothing. Linear in `nnz(A)` and the number of rows written; the rows of a node
//! of several unknowns are visited together.
//!
//! The [`Parts`] of the tree are swept at the same time, each with its own rows first and then with those of the
//! top in which it has entries, up to its root. The sweep of the top begins for these rows at the roots of
//! the parts, and writes their rows once more, now with the positions in the parents' fronts.

use std::ops::Range;

use tamarack_sparse::Pattern;

use crate::assembly::Assembly;
use crate::entries::EntryMap;
use crate::factor::NONE;
use crate::nodes::{Nodes, Ones, Weights};
use crate::parts::Parts;
use crate::permuted::LowerRows;
use crate::sums::{Children, most_rows};
use crate::sweep::{Input, Node, Sweep};
use crate::threads::{map_all, slices, zeros};
use tamarack_sparse::memory::with_room;

/// Share of the edges, in rows of the top, from which on the forest is swept as a whole: they are sorted by parts first, and swept by
/// one thread. 0.5 in solids of 10,000 nodes, 0.8 in a matrix with dense rows.
const MOST_ABOVE: f64 = 0.65;

/// What the sweep produces; see the fields of the same names in `SymbolicFactor`. The entry map has no offsets yet.
pub(crate) struct Structure {
    pub row_ptr: Vec<u64>,
    pub rows: Vec<u32>,
    pub relative: Vec<u32>,
    pub entries: EntryMap,
}

/// Roots of the parts that have entries in each row of the top.
pub(crate) struct Roots {
    ptr: Vec<usize>,
    list: Vec<u32>,
}

impl Roots {
    /// The parts' roots with entries in a row of the top.
    pub fn of(&self, k: usize) -> &[u32] {
        &self.list[self.ptr[k]..self.ptr[k + 1]]
    }

    /// For rows of the top that begin at `columns`, of `n`, given those in which each part has entries.
    fn new(columns: &[u32], n: usize, parts: &Parts, outer: &[Vec<u32>]) -> Self {
        let mut place = vec![0u32; n];
        for (&column, k) in columns.iter().zip(0..) {
            place[column as usize] = k;
        }
        let mut ptr = vec![0usize; columns.len() + 1];
        for &row in outer.iter().flatten() {
            ptr[place[row as usize] as usize] += 1;
        }
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut list = vec![0u32; sum];
        for (rows, range) in outer.iter().zip(&parts.ranges) {
            for &row in rows {
                let slot = &mut ptr[place[row as usize] as usize];
                *slot -= 1;
                list[*slot] = range.end as u32 - 1;
            }
        }
        Self { ptr, list }
    }
}

impl Structure {
    /// Sweeps over the rows of the permuted matrix, given the lists of children of the assembly tree.
    pub fn new(
        pattern: &Pattern,
        nodes: &Nodes<'_>,
        lower: &LowerRows,
        assembly: &Assembly,
        children: &Children,
    ) -> Self {
        let wide = pattern.nnz_lower() > u64::from(u32::MAX);
        if nodes.is_unit() {
            return Self::swept(
                &Input {
                    pattern,
                    nodes,
                    lower,
                    assembly,
                    weights: Ones,
                    wide,
                },
                children,
            );
        }
        Self::swept(
            &Input {
                pattern,
                nodes,
                lower,
                assembly,
                weights: nodes.weights(),
                wide,
            },
            children,
        )
    }

    fn swept<W: Weights>(input: &Input<'_, W>, children: &Children) -> Self {
        let (lower, assembly) = (input.lower, input.assembly);
        let (row_ptr, mut fronts) = empty_nodes(assembly);
        let rows = row_ptr[row_ptr.len() - 1] as usize;
        let room = most_rows(children, rows);
        let blocks = assembly.entry_ptr[assembly.entry_ptr.len() - 1] as usize;
        let mut out = Self {
            row_ptr,
            rows: zeros(rows, room),
            relative: zeros(rows, room),
            entries: EntryMap::zeroed(blocks, W::ONES, input.pattern.nnz_lower()),
        };
        let (parts, columns) = input.parts(&out.row_ptr);
        let crossing = parts.sorted(&columns, |column| {
            let owner = |at| assembly.owner(lower.entry(at).0 as usize) as usize;
            input.edges_of(column).map(move |at| (owner(at), at))
        });
        let sweeps = out.split(assembly, &parts.ranges, &mut fronts);
        let outer = map_all(sweeps.into_iter().enumerate(), |(part, sweep)| {
            sweep.part(input, crossing.of(part))
        });
        if columns.is_empty() {
            return out;
        }
        // The rows of the parts' roots once more.
        for range in &parts.ranges {
            let root = range.end - 1;
            fronts[root].cursor = out.row_ptr[root];
            fronts[root].mark = NONE;
        }
        let roots = Roots::new(&columns, input.pattern.n(), &parts, &outer);
        let all = 0..assembly.parent.len();
        let whole = out.split(assembly, &[all], &mut fronts);
        if let Some(sweep) = whole.into_iter().next() {
            let inner = crossing.of(parts.ranges.len());
            sweep.top(input, &columns, &roots, inner);
        }
        out
    }

    /// What the sweeps of some ranges of supernodes write.
    fn split<'a>(
        &'a mut self,
        assembly: &Assembly,
        ranges: &[Range<usize>],
        fronts: &'a mut [Node],
    ) -> Vec<Sweep<'a>> {
        let column = |s: usize| assembly.super_ptr[s] as usize;
        let columns = || ranges.iter().map(|r| column(r.start)..column(r.end));
        let row = |s: usize| self.row_ptr[s] as usize;
        let rows = || ranges.iter().map(|r| row(r.start)..row(r.end));
        let entry = |j: usize| assembly.entry_ptr[j] as usize;
        let entries = || columns().map(|r| entry(r.start)..entry(r.end));
        let EntryMap {
            single,
            shaped,
            high,
            ..
        } = &mut self.entries;
        let mut fronts = slices(fronts, ranges.iter().cloned());
        let mut out_rows = slices(&mut self.rows, rows());
        let mut relative = slices(&mut self.relative, rows());
        let mut single = slices_if_any(single, entries());
        let mut shaped = slices_if_any(shaped, entries());
        let mut high = slices_if_any(high, entries());
        ranges
            .iter()
            .map(|range| Sweep {
                supernodes: range.start as u32..range.end as u32,
                first_row: self.row_ptr[range.start],
                first_entry: assembly.entry_ptr[column(range.start)],
                nodes: fronts.next().unwrap_or_default(),
                rows: out_rows.next().unwrap_or_default(),
                relative: relative.next().unwrap_or_default(),
                single: single.next().unwrap_or_default(),
                shaped: shaped.next().unwrap_or_default(),
                high: high.next().unwrap_or_default(),
            })
            .collect()
    }
}

/// [`slices`] of an array that may have been left out.
fn slices_if_any<T>(
    data: &mut [T],
    ranges: impl Iterator<Item = Range<usize>>,
) -> impl Iterator<Item = &mut [T]> {
    let none = data.is_empty();
    slices(data, ranges.filter(move |_| !none))
}

impl<W: Weights> Input<'_, W> {
    /// Parts of the forest, given where the rows of each supernode begin, and the columns at which the rows of the top begin.
    fn parts(&self, row_ptr: &[u64]) -> (Parts, Vec<u32>) {
        let Assembly {
            super_ptr,
            parent,
            size,
            entry_ptr,
            ..
        } = self.assembly;
        let work = |ptr: &[u64], from: usize, to: usize| ptr[to] - ptr[from];
        let parts = Parts::new(parent, size, |s| {
            let first = s + 1 - size[s] as usize;
            let columns = [first, s + 1].map(|k| super_ptr[k] as usize);
            work(row_ptr, first, s + 1) + work(entry_ptr, columns[0], columns[1])
        });
        let columns = self.columns_of(&parts.top);
        let above: usize = columns.iter().map(|&c| self.edges_of(c).len()).sum();
        if above as f64 > MOST_ABOVE * self.lower.entry_count() as f64 {
            return (Parts::whole(parent.len()), Vec::new());
        }
        (parts, columns)
    }

    /// Where the edges of the row that begins with a column stand in the lower triangle.
    fn edges_of(&self, column: u32) -> Range<usize> {
        self.lower
            .range(self.assembly.rank_at[column as usize] as usize)
    }
}

/// Supernode of every column.
pub(crate) fn owners(super_ptr: &[u32]) -> Vec<u32> {
    let n = super_ptr[super_ptr.len() - 1] as usize;
    let mut owner = vec![0u32; n];
    for (s, w) in super_ptr.windows(2).enumerate() {
        owner[w[0] as usize..w[1] as usize].fill(s as u32);
    }
    owner
}

/// Offsets of the row structures, and the nodes with none of their rows yet.
fn empty_nodes(assembly: &Assembly) -> (Vec<u64>, Vec<Node>) {
    let ns = assembly.parent.len();
    let mut row_ptr = with_room(ns + 1);
    let mut nodes = with_room(ns);
    let mut cursor = 0;
    for s in 0..ns {
        let npiv = u64::from(assembly.super_ptr[s + 1] - assembly.super_ptr[s]);
        row_ptr.push(cursor);
        nodes.push(Node {
            cursor,
            base: cursor.wrapping_sub(npiv),
            parent: assembly.parent[s],
            mark: NONE,
        });
        cursor += u64::from(assembly.nupd[s]);
    }
    row_ptr.push(cursor);
    (row_ptr, nodes)
}
