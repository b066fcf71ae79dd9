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
use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::parts::{Crossing, Parts};
use crate::permuted::LowerRows;
use crate::threads::{map_all, slices};

/// What the sweep produces; see the fields of the same names in `SymbolicFactor`.
pub(crate) struct Structure {
    pub row_ptr: Vec<u64>,
    pub rows: Vec<u32>,
    pub relative: Vec<u32>,
    pub entry_src: Vec<u32>,
    pub entry_src_high: Vec<u32>,
    pub entry_row: Vec<u32>,
}

/// A supernode during the sweep.
#[derive(Clone, Copy)]
struct Node {
    /// Where its next row goes in `rows`.
    cursor: u64,
    /// `cursor - base` is the order of the front so far (modulo 2^64).
    base: u64,
    parent: u32,
    /// Last row that it was found to have.
    mark: u32,
}

impl Node {
    /// Position in the front of row `i`, the last one or the next, that stands for `weight` rows.
    fn position(&self, i: u32, weight: u32) -> u32 {
        let order = self.cursor.wrapping_sub(self.base) as u32;
        order - if self.mark == i { weight } else { 0 }
    }
}

/// A row of nodes, in the front of its owner.
#[derive(Clone, Copy)]
struct Row {
    rank: usize,
    /// Its first column, and the number of them.
    column: u32,
    weight: u32,
    owner: u32,
    /// Position in the owner's front.
    position: u32,
}

/// What the sweep reads.
struct Input<'a> {
    pattern: &'a Pattern,
    nodes: &'a Nodes<'a>,
    lower: &'a LowerRows,
    assembly: &'a Assembly,
}

/// What the sweep of some supernodes, in postorder, writes: theirs of every array.
struct Sweep<'a> {
    supernodes: Range<u32>,
    first_column: u32,
    first_row: u64,
    first_entry: u64,
    nodes: &'a mut [Node],
    rows: &'a mut [u32],
    relative: &'a mut [u32],
    /// Where the next entry of each node's first column goes.
    next: &'a mut [u64],
    entry_src: &'a mut [u32],
    entry_src_high: &'a mut [u32],
    entry_row: &'a mut [u32],
}

impl Sweep<'_> {
    /// Gives a row to `s` and those above it that lack it, up to its owner, which is marked beforehand, or to
    /// the last of these supernodes.
    fn climb(&mut self, s: u32, row: &Row) {
        let mut at = s;
        loop {
            let node = &mut self.nodes[(at - self.supernodes.start) as usize];
            if node.mark == row.column {
                return;
            }
            node.mark = row.column;
            let slot = (node.cursor - self.first_row) as usize;
            node.cursor += u64::from(row.weight);
            let up = node.parent;
            let outside = up >= self.supernodes.end;
            let position = if up == row.owner || outside {
                row.position
            } else {
                let above = &self.nodes[(up - self.supernodes.start) as usize];
                above.position(row.column, row.weight)
            };
            if row.weight == 1 {
                self.rows[slot] = row.column;
                self.relative[slot] = position;
            } else {
                let slots = slot..slot + row.weight as usize;
                for (k, slot) in (0..row.weight).zip(slots) {
                    self.rows[slot] = row.column + k;
                    self.relative[slot] = position + k;
                }
            }
            if outside {
                return;
            }
            at = up;
        }
    }

    /// Makes a row the last one of its owner and writes its diagonal block.
    #[inline]
    fn begin(&mut self, input: &Input<'_>, row: &Row) {
        self.nodes[(row.owner - self.supernodes.start) as usize].mark = row.column;
        let first = input.nodes.first[row.rank] as usize;
        for b in 0..row.weight {
            let slot = self.slot(input, row.column + b);
            let src = input.pattern.col_ptr()[first + b as usize];
            for k in 0..row.weight - b {
                self.write(slot + k as usize, src + u64::from(k), row.position + b + k);
            }
        }
    }

    /// Climbs from the entry of `row` that stands at `at` in the lower triangle, and writes it to the map.
    #[inline]
    fn enter(&mut self, input: &Input<'_>, row: &Row, at: usize) {
        let (rank, src) = input.lower.entry(at);
        let (column, s) = input.assembly.home[rank as usize];
        let mut position = row.position;
        if s != row.owner {
            self.climb(s, row);
            let node = &self.nodes[(s - self.supernodes.start) as usize];
            position = node.position(row.column, row.weight);
        }
        let weight = input.nodes.weight(rank as usize);
        let next = &mut self.next[(column - self.first_column) as usize];
        let slot = (*next - self.first_entry) as usize;
        *next += u64::from(row.weight);
        if weight == 1 && row.weight == 1 {
            self.write(slot, src, position);
            return;
        }
        self.write_block(
            input,
            row,
            (rank as usize, column, weight),
            (slot, src, position),
        );
    }

    /// Writes the entries of a row of nodes in the columns of a node, given its rank, its first column and its
    /// unknowns, and for the first entry where it goes, its source, and its row in the front.
    fn write_block(
        &mut self,
        input: &Input<'_>,
        row: &Row,
        (rank, column, weight): (usize, u32, u32),
        (slot, src, position): (usize, u64, u32),
    ) {
        // The entry of the first unknowns is known: in each further column of the user the same rows stand one
        // place nearer to the diagonal.
        let ptr = input.pattern.col_ptr();
        let first = [rank, row.rank].map(|rank| input.nodes.first[rank] as usize);
        let left = first[0].min(first[1]);
        let offset = src - ptr[left];
        for b in 0..weight {
            // One diagonal entry less in each further column of the node.
            let further = self.slot(input, column + b) - self.slot(input, column);
            let slot = slot + further - b as usize;
            for k in 0..row.weight {
                let (c, r) = if left == first[0] { (b, k) } else { (k, b) };
                let src = ptr[left + c as usize] + offset - u64::from(c) + u64::from(r);
                self.write(slot + k as usize, src, position + k);
            }
        }
    }

    /// Where the entries of a column begin.
    fn slot(&self, input: &Input<'_>, column: u32) -> usize {
        (input.assembly.entry_ptr[column as usize] - self.first_entry) as usize
    }

    fn write(&mut self, slot: usize, src: u64, row: u32) {
        self.entry_src[slot] = src as u32;
        if let Some(high) = self.entry_src_high.get_mut(slot) {
            *high = (src >> 32) as u32;
        }
        self.entry_row[slot] = row;
    }

    /// All rows of a part, then those of the top that have entries in it.
    fn part(&mut self, input: &Input<'_>, outer: impl Iterator<Item = (u32, usize)>) {
        for owner in self.supernodes.clone() {
            let columns = [0, 1].map(|k| input.assembly.super_ptr[owner as usize + k]);
            let mut column = columns[0];
            while column < columns[1] {
                let rank = input.assembly.rank_at[column as usize] as usize;
                let row = Row {
                    rank,
                    column,
                    weight: input.nodes.weight(rank),
                    owner,
                    position: column - columns[0],
                };
                self.begin(input, &row);
                for at in input.lower.range(rank) {
                    self.enter(input, &row, at);
                }
                column += row.weight;
            }
        }
        for (column, at) in outer {
            // Its owner is outside.
            let row = Row {
                owner: NONE,
                position: 0,
                ..input.row(column)
            };
            self.enter(input, &row, at);
        }
    }

    /// The rows of the top; `roots` has the roots of the parts with entries in each.
    fn top(&mut self, input: &Input<'_>, columns: &[u32], roots: &Roots, parts: &Parts) {
        for (k, &column) in columns.iter().enumerate() {
            let row = input.row(column);
            self.begin(input, &row);
            for &root in &roots.list[roots.ptr[k]..roots.ptr[k + 1]] {
                self.climb(root, &row);
            }
            for at in input.lower.range(row.rank) {
                let (rank, _) = input.lower.entry(at);
                if parts
                    .of(input.assembly.home[rank as usize].1 as usize)
                    .is_none()
                {
                    self.enter(input, &row, at);
                }
            }
        }
    }
}

impl Input<'_> {
    fn row(&self, column: u32) -> Row {
        let rank = self.assembly.rank_at[column as usize] as usize;
        let owner = self.assembly.home[rank].1;
        Row {
            rank,
            column,
            weight: self.nodes.weight(rank),
            owner,
            position: column - self.assembly.super_ptr[owner as usize],
        }
    }

    /// Where the entries of each node's first column begin that are below the node; by column, anything for others.
    fn first_slots(&self) -> Vec<u64> {
        let ptr = &self.assembly.entry_ptr;
        if self.nodes.is_unit() {
            return ptr[..ptr.len() - 1].iter().map(|p| p + 1).collect();
        }
        let columns = ptr.iter().zip(&self.assembly.rank_at);
        columns
            .map(|(p, &rank)| p + u64::from(self.nodes.weight(rank as usize)))
            .collect()
    }

    /// Columns at which the rows of some supernodes begin, increasing.
    fn columns_of(&self, supernodes: &[u32]) -> Vec<u32> {
        let mut columns = Vec::new();
        for &s in supernodes {
            let mut column = self.assembly.super_ptr[s as usize];
            while column < self.assembly.super_ptr[s as usize + 1] {
                columns.push(column);
                column += self
                    .nodes
                    .weight(self.assembly.rank_at[column as usize] as usize);
            }
        }
        columns
    }
}

/// Roots of the parts that have entries in each row of the top.
struct Roots {
    ptr: Vec<usize>,
    list: Vec<u32>,
}

impl Roots {
    /// For rows of the top that begin at `columns`, of `n`.
    fn new(columns: &[u32], n: usize, parts: &Parts, crossing: &Crossing<usize>) -> Self {
        let mut place = vec![0u32; n];
        for (&column, k) in columns.iter().zip(0..) {
            place[column as usize] = k;
        }
        let distinct = |part: usize| {
            let mut before = NONE;
            let rows = crossing.of(part).map(|(row, _)| row);
            rows.filter(move |&row| std::mem::replace(&mut before, row) != row)
        };
        let mut ptr = vec![0usize; columns.len() + 1];
        for part in 0..parts.ranges.len() {
            distinct(part).for_each(|row| ptr[place[row as usize] as usize] += 1);
        }
        let mut sum = 0;
        for p in &mut ptr {
            sum += *p;
            *p = sum;
        }
        let mut list = vec![0u32; sum];
        for (part, range) in parts.ranges.iter().enumerate() {
            distinct(part).for_each(|row| {
                let slot = &mut ptr[place[row as usize] as usize];
                *slot -= 1;
                list[*slot] = range.end as u32 - 1;
            });
        }
        Self { ptr, list }
    }
}

impl Structure {
    /// Sweeps over the rows of the permuted matrix.
    pub fn new(
        pattern: &Pattern,
        nodes: &Nodes<'_>,
        lower: &LowerRows,
        assembly: &Assembly,
    ) -> Self {
        let input = Input {
            pattern,
            nodes,
            lower,
            assembly,
        };
        let (row_ptr, mut fronts) = empty_nodes(assembly);
        let mut out = Self::zeroed(row_ptr, pattern.nnz_lower());
        let work = |ptr: &[u64], from: usize, to: usize| ptr[to] - ptr[from];
        let parts = Parts::new(&assembly.parent, &assembly.size, |s| {
            let first = s + 1 - assembly.size[s] as usize;
            let columns = [first, s + 1].map(|k| assembly.super_ptr[k] as usize);
            work(&out.row_ptr, first, s + 1) + work(&assembly.entry_ptr, columns[0], columns[1])
        });
        let columns = input.columns_of(&parts.top);
        let crossing = parts.sorted(&columns, |column, found| {
            let rank = assembly.rank_at[column as usize] as usize;
            for at in lower.range(rank) {
                let (rank, _) = lower.entry(at);
                found(assembly.home[rank as usize].1 as usize, at);
            }
        });
        let mut next = input.first_slots();
        let sweeps = out.split(assembly, &parts.ranges, &mut fronts, &mut next);
        let tasks = sweeps.into_iter().enumerate().collect();
        map_all(tasks, |(part, mut sweep): (usize, Sweep<'_>)| {
            sweep.part(&input, crossing.of(part));
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
        let roots = Roots::new(&columns, pattern.n(), &parts, &crossing);
        let all = 0..assembly.parent.len();
        let mut whole = out.split(assembly, &[all], &mut fronts, &mut next);
        if let Some(sweep) = whole.first_mut() {
            sweep.top(&input, &columns, &roots, &parts);
        }
        out
    }

    fn zeroed(row_ptr: Vec<u64>, nnz: u64) -> Self {
        let rows = row_ptr[row_ptr.len() - 1] as usize;
        let wide = nnz > u64::from(u32::MAX);
        Self {
            row_ptr,
            rows: vec![0; rows],
            relative: vec![0; rows],
            entry_src: vec![0; nnz as usize],
            entry_src_high: vec![0; if wide { nnz as usize } else { 0 }],
            entry_row: vec![0; nnz as usize],
        }
    }

    /// What the sweeps of some ranges of supernodes write.
    fn split<'a>(
        &'a mut self,
        assembly: &Assembly,
        ranges: &[Range<usize>],
        fronts: &'a mut [Node],
        next: &'a mut [u64],
    ) -> Vec<Sweep<'a>> {
        let column = |s: usize| assembly.super_ptr[s] as usize;
        let columns = || ranges.iter().map(|r| column(r.start)..column(r.end));
        let row = |s: usize| self.row_ptr[s] as usize;
        let rows = || ranges.iter().map(|r| row(r.start)..row(r.end));
        let entry = |j: usize| assembly.entry_ptr[j] as usize;
        let entries = || columns().map(|r| entry(r.start)..entry(r.end));
        let high = || {
            entries().map(|r| {
                if self.entry_src_high.is_empty() {
                    0..0
                } else {
                    r
                }
            })
        };
        let high: Vec<Range<usize>> = high().collect();
        let mut fronts = slices(fronts, ranges.iter().cloned()).into_iter();
        let mut next = slices(next, columns()).into_iter();
        let mut out_rows = slices(&mut self.rows, rows()).into_iter();
        let mut relative = slices(&mut self.relative, rows()).into_iter();
        let mut entry_src = slices(&mut self.entry_src, entries()).into_iter();
        let mut entry_row = slices(&mut self.entry_row, entries()).into_iter();
        let mut entry_src_high = slices(&mut self.entry_src_high, high.into_iter()).into_iter();
        ranges
            .iter()
            .map(|range| Sweep {
                supernodes: range.start as u32..range.end as u32,
                first_column: assembly.super_ptr[range.start],
                first_row: self.row_ptr[range.start],
                first_entry: assembly.entry_ptr[column(range.start)],
                nodes: fronts.next().unwrap_or_default(),
                rows: out_rows.next().unwrap_or_default(),
                relative: relative.next().unwrap_or_default(),
                next: next.next().unwrap_or_default(),
                entry_src: entry_src.next().unwrap_or_default(),
                entry_src_high: entry_src_high.next().unwrap_or_default(),
                entry_row: entry_row.next().unwrap_or_default(),
            })
            .collect()
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
    let mut row_ptr = Vec::with_capacity(ns + 1);
    let mut nodes = Vec::with_capacity(ns);
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
