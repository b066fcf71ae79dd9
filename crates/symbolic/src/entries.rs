//! The entry map: where every entry of A goes.
//!
//! Unknowns of two [nodes](crate::nodes) that meet at all meet in a rectangle: consecutive rows of a front in consecutive
//! columns, and in the user's values a run of each line of it, the same distance apart but for the user's columns getting
//! shorter by one. So 12 bytes say where a whole block goes: with three unknowns a node 1.4 bytes an entry, where a place and
//! a source for each took 8, written by the analysis and read by every factorization. Without nodes an entry takes 8 bytes.
//!
//! Blocks belong to the first column of a node, its triangle first, then those below it by increasing rows.

use serde::{Deserialize, Serialize};

use crate::threads::zeros;

/// Most unknowns of a node: a block has a bounded number of entries, so that a damaged file cannot promise many.
pub(crate) const MOST_UNKNOWNS: u32 = (1 << WEIGHT_BITS) - 1;

/// Bits of a block's shape, from the lowest: rows; whether it stands upright; entries of the user's column of the first row's
/// unknown, which is that of the first column in a triangle and not looked at in other upright blocks.
const WEIGHT_BITS: u32 = 4;
const UPRIGHT: u32 = 1 << WEIGHT_BITS;
const LENGTH_SHIFT: u32 = WEIGHT_BITS + 1;

/// Most entries of a column whose unknown shares a node.
pub(crate) const LONGEST_COLUMN: u64 = (1 << (32 - LENGTH_SHIFT)) - 1;

/// Blocks of all columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryMap {
    /// Offsets of the blocks by column, length `n + 1`; a node's other columns have none.
    pub ptr: Vec<u64>,
    /// Source and row of each block, where every unknown is a node and every block one entry.
    pub single: Vec<[u32; 2]>,
    /// Source, row and shape of each block, where there are nodes of several unknowns.
    pub shaped: Vec<[u32; 3]>,
    /// High halves of the sources, empty unless A has 2^32 entries or more.
    pub high: Vec<u32>,
}

impl EntryMap {
    /// Room for so many blocks of a matrix with so many entries; offsets are still to come.
    pub fn zeroed(blocks: usize, is_single: bool, nnz: u64) -> Self {
        let wide = nnz > u64::from(u32::MAX);
        Self {
            ptr: Vec::new(),
            single: zeros(if is_single { blocks } else { 0 }, 0),
            shaped: zeros(if is_single { 0 } else { blocks }, 0),
            high: zeros(if wide { blocks } else { 0 }, 0),
        }
    }
}

/// Entries of A between the unknowns of two nodes: a rectangle of a front, or a triangle on its diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Position in the user's values of the entry in the first column and row.
    pub src: u64,
    /// First row, as a position in the front.
    pub row: u32,
    /// Number of rows.
    pub weight: u32,
    /// Whether lines of the user's columns are columns here; they are rows if not.
    pub upright: bool,
    /// Entries of the user's column in which `src` stands; each further one has one entry less.
    pub length: u32,
}

impl Block {
    /// A block of one entry.
    fn single([src, row]: [u32; 2]) -> Self {
        Self {
            src: src.into(),
            row,
            weight: 1,
            upright: true,
            length: 1,
        }
    }

    #[inline]
    fn shaped([src, row, shape]: [u32; 3], length: u32) -> Self {
        let upright = shape & UPRIGHT != 0;
        Self {
            src: src.into(),
            row,
            weight: shape & MOST_UNKNOWNS,
            upright,
            length: if upright {
                length
            } else {
                shape >> LENGTH_SHIFT
            },
        }
    }

    /// Its shape in a word. A longer column's length is cut off: its unknown has a node for itself, so it is never asked for.
    #[inline(always)]
    pub(crate) fn shape(weight: u32, upright: bool, length: u32) -> u32 {
        weight | if upright { UPRIGHT } else { 0 } | length << LENGTH_SHIFT
    }

    /// Where a line begins in the user's values: a column of an upright block, or a row.
    #[inline(always)]
    pub fn line(&self, line: u32) -> u64 {
        let line = u64::from(line);
        let before = line * u64::from(self.length);
        self.src
            .wrapping_add(before.wrapping_sub(line * (line + 1) / 2))
    }

    /// Where its first lines begin, so many.
    #[inline(always)]
    pub fn lines(&self, count: usize) -> impl Iterator<Item = u64> + use<> {
        let (mut at, mut length) = (self.src, u64::from(self.length));
        (0..count).map(move |_| {
            length = length.wrapping_sub(1);
            let next = at.wrapping_add(length);
            std::mem::replace(&mut at, next)
        })
    }

    /// Position in the user's values of the entry in a row and column of the block; of a triangle those on and below
    /// the diagonal.
    #[inline(always)]
    pub fn source(&self, row: u32, column: u32) -> u64 {
        let (line, along) = if self.upright {
            (column, row)
        } else {
            (row, column)
        };
        self.line(line).wrapping_add(u64::from(along))
    }
}

/// The columns of a node, and their blocks.
#[derive(Clone, Copy, Debug)]
pub struct NodeEntries<'a> {
    /// Its first column, elimination order.
    pub column: usize,
    /// Number of its columns.
    pub width: usize,
    /// Entries of the user's column of its first unknown.
    length: u32,
    /// Number of its blocks.
    count: usize,
    /// Its blocks and those of all columns after it; one of both is empty, as in the map.
    single: &'a [[u32; 2]],
    shaped: &'a [[u32; 3]],
    high: &'a [u32],
}

impl<'a> NodeEntries<'a> {
    /// Its blocks: its triangle, then those below it.
    #[inline]
    pub fn blocks(self) -> impl Iterator<Item = Block> + use<'a> {
        (0..self.count).map_while(move |k| self.block(k))
    }

    /// Block `k`, and beyond the last one those of the columns that follow, to ask for values ahead.
    #[inline(always)]
    pub fn block(&self, k: usize) -> Option<Block> {
        let mut block = match self.shaped.get(k) {
            Some(&words) => Block::shaped(words, self.length),
            None => Block::single(*self.single.get(k)?),
        };
        if let Some(&high) = self.high.get(k) {
            block.src |= u64::from(high) << 32;
        }
        Some(block)
    }

    /// Positions in the user's values, and rows as positions in the front, increasing, of the entries of a column,
    /// counted in the node.
    pub fn of_column(self, b: u32) -> impl Iterator<Item = (u64, u32)> + use<'a> {
        self.blocks().enumerate().flat_map(move |(k, block)| {
            let from = if k == 0 { b } else { 0 };
            (from..block.weight).map(move |r| (block.source(r, b), block.row.wrapping_add(r)))
        })
    }
}

impl EntryMap {
    /// Offsets of the columns, length `n + 1`, and the entries of all of them, position in the user's values and row as
    /// position in the front: where every block is one entry, and positions have no high halves.
    #[inline]
    pub fn singles(&self) -> Option<(&[u64], &[[u32; 2]])> {
        let simple = self.shaped.is_empty() && self.high.is_empty();
        simple.then_some((&self.ptr, &self.single))
    }

    /// The node that column `j` is of.
    #[inline]
    pub fn node(&self, j: usize) -> NodeEntries<'_> {
        fn rest<T>(list: &[T], from: usize) -> &[T] {
            list.get(from..).unwrap_or_default()
        }
        let mut column = j;
        while column > 0 && self.ptr[column] == self.ptr[column + 1] {
            column -= 1;
        }
        let [begin, end] = [0, 1].map(|k| self.ptr[column + k] as usize);
        let shaped = rest(&self.shaped, begin);
        let (width, length) = shaped.first().map_or((1, 1), |&[_, _, shape]| {
            (shape & MOST_UNKNOWNS, shape >> LENGTH_SHIFT)
        });
        NodeEntries {
            column,
            width: width as usize,
            length,
            count: end - begin,
            single: rest(&self.single, begin),
            shaped,
            high: rest(&self.high, begin),
        }
    }
}
