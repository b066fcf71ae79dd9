//! A sweep over rows of the permuted matrix that writes the structures of some supernodes; see `structure`.

use std::ops::Range;

use tamarack_sparse::Pattern;

use crate::assembly::Assembly;
use crate::factor::NONE;
use crate::nodes::{Nodes, Weights};
use crate::permuted::LowerRows;
use crate::structure::Roots;

/// A supernode during the sweep.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    /// Where its next row goes in `rows`.
    pub cursor: u64,
    /// `cursor - base` is the order of the front so far (modulo 2^64).
    pub base: u64,
    pub parent: u32,
    /// Last row that it was found to have.
    pub mark: u32,
}

impl Node {
    /// Position in the front of row `i`, the last one or the next, that stands for `weight` rows.
    #[inline]
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
pub(crate) struct Input<'a, W> {
    pub pattern: &'a Pattern,
    pub nodes: &'a Nodes<'a>,
    pub lower: &'a LowerRows,
    pub assembly: &'a Assembly,
    /// Unknowns of nodes, by rank.
    pub weights: W,
    /// Whether positions in the user's values take more than 32 bits.
    pub wide: bool,
}

/// What the sweep of some supernodes, in postorder, writes: theirs of every array. Its loops own it and have all its
/// methods inlined, so that the slices' addresses stay in registers.
pub(crate) struct Sweep<'a> {
    pub supernodes: Range<u32>,
    pub first_column: u32,
    pub first_row: u64,
    pub first_entry: u64,
    pub nodes: &'a mut [Node],
    pub rows: &'a mut [u32],
    pub relative: &'a mut [u32],
    /// Entries that each node's first column has so far.
    pub filled: &'a mut [u32],
    pub entry_src: &'a mut [u32],
    pub entry_src_high: &'a mut [u32],
    pub entry_row: &'a mut [u32],
}

impl Sweep<'_> {
    /// Gives a row to `s` and those above it that lack it, up to its owner, which is marked beforehand, or to
    /// the last of these supernodes.
    #[inline(always)]
    fn climb<W: Weights>(&mut self, s: u32, row: &Row) {
        let weight = if W::ONES { 1 } else { row.weight };
        let mut at = s;
        loop {
            let node = &mut self.nodes[(at - self.supernodes.start) as usize];
            if node.mark == row.column {
                return;
            }
            node.mark = row.column;
            let slot = (node.cursor - self.first_row) as usize;
            node.cursor += u64::from(weight);
            let up = node.parent;
            let outside = up >= self.supernodes.end;
            let position = if up == row.owner || outside {
                row.position
            } else {
                let above = &self.nodes[(up - self.supernodes.start) as usize];
                above.position(row.column, weight)
            };
            if W::ONES {
                self.rows[slot] = row.column;
                self.relative[slot] = position;
            } else {
                let slots = slot..slot + weight as usize;
                let to = self.rows[slots.clone()]
                    .iter_mut()
                    .zip(&mut self.relative[slots]);
                for (k, (row_at, relative)) in (0..weight).zip(to) {
                    *row_at = row.column + k;
                    *relative = position + k;
                }
            }
            if outside {
                return;
            }
            at = up;
        }
    }

    /// Makes a row the last one of its owner and writes its diagonal block.
    #[inline(always)]
    fn begin<W: Weights>(&mut self, input: &Input<'_, W>, row: &Row) {
        self.nodes[(row.owner - self.supernodes.start) as usize].mark = row.column;
        let first = input.nodes.first[row.rank] as usize;
        let weight = if W::ONES { 1 } else { row.weight };
        self.filled[(row.column - self.first_column) as usize] = weight;
        for b in 0..weight {
            let start = input.assembly.entry_ptr[(row.column + b) as usize];
            let slot = (start - self.first_entry) as usize;
            let src = input.pattern.col_ptr()[first + b as usize];
            for k in 0..weight - b {
                self.write(slot + k as usize, src + u64::from(k), row.position + b + k);
            }
        }
    }

    /// Climbs from the entry of `row` that stands at `at` in the lower triangle, and writes it to the map.
    #[inline(always)]
    fn enter<W: Weights>(&mut self, input: &Input<'_, W>, row: &Row, at: usize) {
        let (rank, low) = input.lower.entry(at);
        let (column, s) = input.assembly.home(rank as usize);
        let width = if W::ONES { 1 } else { row.weight };
        let mut position = row.position;
        if s != row.owner {
            self.climb::<W>(s, row);
            let node = &self.nodes[(s - self.supernodes.start) as usize];
            position = node.position(row.column, width);
        }
        let filled = &mut self.filled[(column - self.first_column) as usize];
        let start = input.assembly.entry_ptr[column as usize] + u64::from(*filled);
        let slot = (start - self.first_entry) as usize;
        *filled += width;
        if W::ONES {
            let src = input.source(rank as usize, row.rank, low);
            self.write(slot, src, position);
        } else {
            self.write_block(input, row, (rank as usize, column, low), (slot, position));
        }
    }

    /// Writes the entries of a row of nodes in the columns of a node, given its rank, its first column, and of the
    /// first entry the source's low half, where it goes, and its row in the front.
    #[inline]
    fn write_block<W: Weights>(
        &mut self,
        input: &Input<'_, W>,
        row: &Row,
        (rank, column, low): (usize, u32, u32),
        (slot, position): (usize, u32),
    ) {
        // Each further column of a node has one entry less: the same rows stand one place nearer to
        // its diagonal. So it is in the user's columns, which are those of the node or of the row.
        let first = [rank, row.rank].map(|rank| input.nodes.first[rank]);
        let ptr = &input.pattern.col_ptr()[first[0].min(first[1]) as usize..];
        let src = input.source(rank, row.rank, low);
        let step = ptr[1] - ptr[0] - 1;
        let ptr = &input.assembly.entry_ptr[column as usize..];
        let stride = (ptr[1] - ptr[0] - 1) as usize;
        let width = input.weights.of(rank);
        let upright = first[0] < first[1];
        match (width, row.weight) {
            // Solids: the loops are unrolled.
            (3, 3) => self.write_rows(3, 3, (slot, stride), (src, step, upright), position),
            (width, weight) => self.write_rows(
                width,
                weight,
                (slot, stride),
                (src, step, upright),
                position,
            ),
        }
    }

    /// Writes `weight` rows in each of `width` columns: where those of the first column go, and how much further those of
    /// the next; position in the user's values, how much further the next column's are there, and
    /// whether these are the columns here or the rows; row in the front.
    #[inline(always)]
    fn write_rows(
        &mut self,
        width: u32,
        weight: u32,
        (mut slot, stride): (usize, usize),
        (mut src, step, upright): (u64, u64, bool),
        position: u32,
    ) {
        for b in 0..width {
            let slots = slot..slot + weight as usize;
            let mut at = src;
            for (k, high) in (0..weight).zip(self.high(slots.clone())) {
                *high = (at >> 32) as u32;
                at += if upright { 1 } else { step - u64::from(k) };
            }
            let mut low = src as u32;
            let to_src = self.entry_src[slots.clone()].iter_mut();
            let to_row = self.entry_row[slots].iter_mut();
            for ((k, src), row) in (0..weight).zip(to_src).zip(to_row) {
                *src = low;
                *row = position + k;
                low = low.wrapping_add(if upright {
                    1
                } else {
                    (step as u32).wrapping_sub(k)
                });
            }
            slot += stride - b as usize;
            src += if upright { step - u64::from(b) } else { 1 };
        }
    }

    /// High halves of positions, if they are kept.
    #[inline(always)]
    fn high(&mut self, slots: Range<usize>) -> &mut [u32] {
        self.entry_src_high.get_mut(slots).unwrap_or_default()
    }

    #[inline(always)]
    fn write(&mut self, slot: usize, src: u64, row: u32) {
        self.entry_src[slot] = src as u32;
        if let Some(high) = self.entry_src_high.get_mut(slot) {
            *high = (src >> 32) as u32;
        }
        self.entry_row[slot] = row;
    }

    /// All rows of a part, then those of the top that have entries in it, whose first columns are returned.
    pub fn part<W: Weights>(
        mut self,
        input: &Input<'_, W>,
        outer: impl Iterator<Item = (u32, usize)>,
    ) -> Vec<u32> {
        for owner in self.supernodes.clone() {
            let columns = [0, 1].map(|k| input.assembly.super_ptr[owner as usize + k]);
            let mut column = columns[0];
            while column < columns[1] {
                let rank = input.assembly.rank_at[column as usize] as usize;
                let row = Row {
                    rank,
                    column,
                    weight: input.weights.of(rank),
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
        let mut found = Vec::new();
        for (column, at) in outer {
            if found.last() != Some(&column) {
                found.push(column);
            }
            // Its owner is outside.
            let row = Row {
                owner: NONE,
                position: 0,
                ..input.row(column)
            };
            self.enter(input, &row, at);
        }
        found
    }

    /// The rows of the top, which begin at `columns`; `roots` has the roots of the parts with entries in each,
    /// `inner` the entries in the top.
    pub fn top<W: Weights>(
        mut self,
        input: &Input<'_, W>,
        columns: &[u32],
        roots: &Roots,
        inner: impl Iterator<Item = (u32, usize)>,
    ) {
        let mut inner = inner.peekable();
        for (k, &column) in columns.iter().enumerate() {
            let row = input.row(column);
            self.begin(input, &row);
            for &root in roots.of(k) {
                self.climb::<W>(root, &row);
            }
            while let Some((_, at)) = inner.next_if(|&(of, _)| of == column) {
                self.enter(input, &row, at);
            }
        }
    }
}

impl<W: Weights> Input<'_, W> {
    /// Position in the user's values of an entry between two nodes, given its low half.
    #[inline]
    fn source(&self, a: usize, b: usize, low: u32) -> u64 {
        if !self.wide {
            return u64::from(low);
        }
        let left = self.nodes.first[a].min(self.nodes.first[b]);
        whole(self.pattern.col_ptr()[left as usize], low)
    }

    fn row(&self, column: u32) -> Row {
        let rank = self.assembly.rank_at[column as usize] as usize;
        let owner = self.assembly.home(rank).1;
        Row {
            rank,
            column,
            weight: self.weights.of(rank),
            owner,
            position: column - self.assembly.super_ptr[owner as usize],
        }
    }

    /// Columns at which the rows of some supernodes begin, increasing.
    pub fn columns_of(&self, supernodes: &[u32]) -> Vec<u32> {
        let mut columns = Vec::new();
        for &s in supernodes {
            let mut column = self.assembly.super_ptr[s as usize];
            while column < self.assembly.super_ptr[s as usize + 1] {
                columns.push(column);
                let rank = self.assembly.rank_at[column as usize];
                column += self.weights.of(rank as usize);
            }
        }
        columns
    }
}

/// The least number from `base` on with this low half: columns have less than 2^32 entries.
fn whole(base: u64, low: u32) -> u64 {
    base + u64::from(low.wrapping_sub(base as u32))
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn positions_above_32_bits_come_back_whole() {
        for base in [0, 7, (3 << 32) - 2, (3 << 32) + 5] {
            for at in [base, base + 1, base + 4, base + u64::from(u32::MAX)] {
                assert_eq!(whole(base, at as u32), at);
            }
        }
    }
}
