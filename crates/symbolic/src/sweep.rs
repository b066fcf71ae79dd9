//! A sweep over rows of the permuted matrix that writes the structures of some supernodes; see `structure`.

use std::ops::Range;

use tamarack_sparse::Pattern;

use crate::assembly::{Assembly, Home};
use crate::columns::Turns;
use crate::entries::Block;
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
    /// Its first unknown, and the entries of the user's column of that.
    first: u32,
    length: u32,
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
    pub first_row: u64,
    pub first_entry: u64,
    pub nodes: &'a mut [Node],
    pub rows: &'a mut [u32],
    pub relative: &'a mut [u32],
    /// Of the entry map, those that are there.
    pub single: &'a mut [[u32; 2]],
    pub shaped: &'a mut [[u32; 3]],
    pub high: &'a mut [u32],
}

impl Sweep<'_> {
    /// Gives a row to `s` and those above it that lack it, up to its owner, which is marked beforehand, or to
    /// the last of these supernodes. Where the way ends is hard to foresee: one branch says it, for the owner as well.
    #[inline(always)]
    fn climb<W: Weights>(&mut self, s: u32, row: &Row) {
        let weight = if W::ONES { 1 } else { row.weight };
        let mut at = (s - self.supernodes.start) as usize;
        if self.nodes[at].mark == row.column {
            return;
        }
        loop {
            let node = &mut self.nodes[at];
            node.mark = row.column;
            let (slot, up) = ((node.cursor - self.first_row) as usize, node.parent);
            node.cursor += u64::from(weight);
            if up >= self.supernodes.end {
                return self.write_row::<W>(slot, row, row.position);
            }
            at = (up - self.supernodes.start) as usize;
            let above = &self.nodes[at];
            let position = above.position(row.column, weight);
            let has_it = above.mark == row.column;
            let position = if up == row.owner {
                row.position
            } else {
                position
            };
            self.write_row::<W>(slot, row, position);
            if has_it {
                return;
            }
        }
    }

    /// Writes a row and its position in the parent's front, both for each of its unknowns.
    #[inline(always)]
    fn write_row<W: Weights>(&mut self, slot: usize, row: &Row, position: u32) {
        if W::ONES {
            self.rows[slot] = row.column;
            self.relative[slot] = position;
            return;
        }
        // Loops of a length that is known are a few vectors.
        match row.weight {
            2 => self.write_unknowns::<2>(slot, row.column, position),
            3 => self.write_unknowns::<3>(slot, row.column, position),
            6 => self.write_unknowns::<6>(slot, row.column, position),
            9 => self.write_unknowns::<9>(slot, row.column, position),
            weight => {
                for k in 0..weight {
                    self.rows[slot + k as usize] = row.column + k;
                    self.relative[slot + k as usize] = position + k;
                }
            }
        }
    }

    #[inline(always)]
    fn write_unknowns<const N: usize>(&mut self, slot: usize, column: u32, position: u32) {
        let following = |first: u32| std::array::from_fn::<u32, N, _>(|k| first + k as u32);
        self.rows[slot..slot + N].copy_from_slice(&following(column));
        self.relative[slot..slot + N].copy_from_slice(&following(position));
    }

    /// Makes a row the last one of its owner and writes its triangle.
    #[inline(always)]
    fn begin<W: Weights>(&mut self, input: &Input<'_, W>, row: &Row) {
        self.nodes[(row.owner - self.supernodes.start) as usize].mark = row.column;
        let home = &input.assembly.homes[row.rank];
        home.begin_blocks(input.assembly.entry_ptr[row.column as usize]);
        let src = input.pattern.col_ptr()[row.first as usize];
        let shape = Block::shape(row.weight, true, row.length);
        self.write::<W>(home, src, row.position, shape);
    }

    /// Climbs from the edge of `row` that stands at `at` in the lower triangle, and writes it to the map.
    #[inline(always)]
    fn enter<W: Weights>(&mut self, input: &Input<'_, W>, row: &Row, at: usize) {
        let (rank, low) = input.lower.entry(at);
        let home = &input.assembly.homes[rank as usize];
        let (first, s) = home.place();
        let mut position = row.position;
        if s != row.owner {
            self.climb::<W>(s, row);
            let node = &self.nodes[(s - self.supernodes.start) as usize];
            position = node.position(row.column, if W::ONES { 1 } else { row.weight });
        } else if !home.has_begun() {
            return; // turned: it comes with the other row
        }
        self.write_edge(input, row, home, position, (first, low));
    }

    /// Writes the turned edges of a row.
    #[inline(always)]
    fn turn<W: Weights>(&mut self, input: &Input<'_, W>, row: &Row, turns: &mut Turns<'_>) {
        for turned in turns.of(row.column) {
            let home = &input.assembly.homes[turned.rank as usize];
            let (first, _) = home.place();
            self.write_edge(input, row, home, row.position, (first, turned.src));
        }
    }

    /// Writes the edge to a node, given its first unknown and the low half of the edge's position in the user's values.
    #[inline(always)]
    fn write_edge<W: Weights>(
        &mut self,
        input: &Input<'_, W>,
        row: &Row,
        home: &Home,
        position: u32,
        (first, low): (u32, u32),
    ) {
        let src = input.source(first.min(row.first), low);
        let shape = if W::ONES {
            0
        } else {
            Block::shape(row.weight, first < row.first, row.length)
        };
        self.write::<W>(home, src, position, shape);
    }

    /// Writes the next block of a node.
    #[inline(always)]
    fn write<W: Weights>(&mut self, home: &Home, src: u64, row: u32, shape: u32) {
        let at = (home.next_block() - self.first_entry) as usize;
        if W::ONES {
            self.single[at] = [src as u32, row];
        } else {
            self.shaped[at] = [src as u32, row, shape];
        }
        if let Some(high) = self.high.get_mut(at) {
            *high = (src >> 32) as u32;
        }
    }

    /// All rows of a part, then those of the top that have entries in it, whose first columns are returned.
    pub fn part<W: Weights>(
        mut self,
        input: &Input<'_, W>,
        outer: impl Iterator<Item = (u32, usize)>,
    ) -> Vec<u32> {
        let from = input.assembly.super_ptr[self.supernodes.start as usize];
        let mut turns = Turns::from(&input.assembly.turned, from);
        for owner in self.supernodes.clone() {
            let columns = [0, 1].map(|k| input.assembly.super_ptr[owner as usize + k]);
            let mut column = columns[0];
            while column < columns[1] {
                let row = input.row(column, owner, columns[0]);
                self.begin(input, &row);
                for at in input.lower.range(row.rank) {
                    self.enter(input, &row, at);
                }
                self.turn(input, &row, &mut turns);
                column += row.weight;
            }
        }
        let mut found = Vec::new();
        for (column, at) in outer {
            if found.last() != Some(&column) {
                found.push(column);
            }
            // Its owner is outside, and so are places in it.
            let row = input.row(column, NONE, column);
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
        let mut turns = Turns::from(&input.assembly.turned, 0);
        for (k, &column) in columns.iter().enumerate() {
            let rank = input.assembly.rank_at[column as usize];
            let owner = input.assembly.owner(rank as usize);
            let start = input.assembly.super_ptr[owner as usize];
            let row = input.row(column, owner, start);
            self.begin(input, &row);
            for &root in roots.of(k) {
                self.climb::<W>(root, &row);
            }
            while let Some((_, at)) = inner.next_if(|&(of, _)| of == column) {
                self.enter(input, &row, at);
            }
            self.turn(input, &row, &mut turns);
        }
    }
}

impl<W: Weights> Input<'_, W> {
    /// Position in the user's values of an entry in a column, given its low half.
    #[inline]
    fn source(&self, column: u32, low: u32) -> u64 {
        if !self.wide {
            return u64::from(low);
        }
        whole(self.pattern.col_ptr()[column as usize], low)
    }

    /// The row that begins with a column, in the front of an owner whose columns begin with `start`.
    #[inline(always)]
    fn row(&self, column: u32, owner: u32, start: u32) -> Row {
        let rank = self.assembly.rank_at[column as usize] as usize;
        let first = self.nodes.first[rank];
        let ptr = &self.pattern.col_ptr()[first as usize..];
        Row {
            rank,
            first,
            length: (ptr[1] - ptr[0]) as u32,
            column,
            weight: self.weights.of(rank),
            owner,
            position: column - start,
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
