//! Entries of A on their way into a front.
//!
//! The [entry map](tamarack_symbolic::NodeEntries) names blocks: all entries between the unknowns of two nodes. Values come from
//! all over A, so those of later blocks are asked for ahead. Every place of a panel gets one entry at most.

use std::ops::Range;

use tamarack_dense::prefetch;
use tamarack_symbolic::{Block, NodeEntries, SymbolicFactor};

use crate::front::Packed;
use crate::value::Value;

/// How many entries ahead values are asked for, and how many blocks of several.
const AHEAD: usize = 24;
const BLOCKS_AHEAD: usize = 8;

/// Size of A's values up to which they are not asked for ahead: half of a second-level cache.
const NEAR_BYTES: usize = 1 << 19;

/// Adds the entries of A that fall into pivot columns `columns` (counted in the front) of
/// supernode `s`, and `shift` to their diagonal.
///
/// # Safety
/// Nobody else may use these columns meanwhile; `values` belong to the pattern analyzed.
pub(crate) unsafe fn add_entries<T: Value>(
    symbolic: &SymbolicFactor,
    s: usize,
    values: &[T],
    shift: T,
    panel: &Packed<T>,
    columns: Range<usize>,
) {
    let first = symbolic.columns(s).start;
    let mut next = columns.start;
    while next < columns.end {
        let node = symbolic.node_entries(first + next);
        let begin = node.column - first;
        let of_node = next - begin..node.width.min(columns.end - begin);
        next = begin + of_node.end;
        // SAFETY: the caller's promise.
        unsafe {
            match node.singles() {
                Some(entries) => add_column(entries, values, panel.column(begin)),
                None => add_node(&node, begin, of_node, values, panel),
            }
        }
    }
    for j in columns {
        // SAFETY: the diagonal entry is inside the panel.
        unsafe { *panel.column(j).wrapping_add(j) += shift };
    }
}

/// Adds entries to a column; after them come those of later columns.
///
/// # Safety
/// As for [`add_entries`], and the column is the entries'.
#[inline]
unsafe fn add_column<T: Value>([entries, later]: [&[[u32; 2]]; 2], values: &[T], column: *mut T) {
    let add = |&[src, row]: &[u32; 2]| {
        // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
        unsafe { *column.wrapping_add(row as usize) += values[src as usize] };
    };
    // What fits into the caches needs no asking.
    if size_of_val(values) <= NEAR_BYTES {
        return entries.iter().for_each(add);
    }
    let mut ahead = entries.iter().chain(later).skip(AHEAD);
    for entry in entries {
        if let Some(&[src, _]) = ahead.next() {
            prefetch(values.as_ptr().wrapping_add(src as usize));
        }
        add(entry);
    }
}

/// Adds entries to some columns of a node that begins at column `begin` of the front.
///
/// # Safety
/// As for [`add_entries`].
unsafe fn add_node<T: Value>(
    node: &NodeEntries<'_>,
    begin: usize,
    columns: Range<usize>,
    values: &[T],
    panel: &Packed<T>,
) {
    let far = size_of_val(values) > NEAR_BYTES;
    let width = node.width;
    let block_of = |b: usize| panel.layout.block_of(begin + b);
    // Mostly; else a strip or a block column of the panel ends inside of the node.
    let is_whole = columns == (0..width) && block_of(0) == block_of(width - 1);
    let first = panel.column(begin);
    let across = panel
        .column(begin + width.min(2) - 1)
        .addr()
        .wrapping_sub(first.addr())
        / size_of::<T>();
    for (k, block) in node.blocks().enumerate() {
        if let Some(later) = node.block(k + BLOCKS_AHEAD).filter(|_| far) {
            let lines = if later.upright {
                width
            } else {
                later.weight as usize
            };
            for at in later.lines(lines) {
                prefetch(values.as_ptr().wrapping_add(at as usize));
            }
        }
        // SAFETY: the caller's promise; columns of one block column are as far from each other.
        unsafe {
            match (width, block.weight as usize) {
                _ if !is_whole => {
                    add_by_columns(&block, k == 0, begin, columns.clone(), values, panel);
                }
                _ if k == 0 => add_triangle(&block, values, first, across),
                // Solids: loops are unrolled.
                (3, 3) => add_rectangle(&block, [3, 3], values, first, across),
                (width, weight) => add_rectangle(&block, [width, weight], values, first, across),
            }
        }
    }
}

/// Adds some columns of a block.
///
/// # Safety
/// As for [`add_entries`].
unsafe fn add_by_columns<T: Value>(
    block: &Block,
    is_triangle: bool,
    begin: usize,
    columns: Range<usize>,
    values: &[T],
    panel: &Packed<T>,
) {
    for b in columns {
        let column = panel.column(begin + b);
        let from = if is_triangle { b as u32 } else { 0 };
        for r in from..block.weight {
            let value = values[block.source(r, b as u32) as usize];
            // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
            unsafe { *column.wrapping_add((block.row + r) as usize) += value };
        }
    }
}

/// Adds a triangle to columns of which the first one is given, and how far the next is behind it.
///
/// # Safety
/// As for [`add_entries`]; all its columns are as far from each other.
#[inline(always)]
unsafe fn add_triangle<T: Value>(block: &Block, values: &[T], first: *mut T, across: usize) {
    let to = first.wrapping_add(block.row as usize);
    let width = block.weight as usize;
    for (b, at) in block.lines(width).enumerate() {
        let column = to.wrapping_add(b * across);
        let at = at as usize;
        for (&value, row) in values[at + b..at + width].iter().zip(b..) {
            // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
            unsafe { *column.wrapping_add(row) += value };
        }
    }
}

/// Adds a block, given its columns and rows, to columns of which the first one is given, and how far the next is behind it.
///
/// # Safety
/// As for [`add_entries`]; all its columns are as far from each other.
#[inline(always)]
unsafe fn add_rectangle<T: Value>(
    block: &Block,
    [width, weight]: [usize; 2],
    values: &[T],
    first: *mut T,
    across: usize,
) {
    let to = first.wrapping_add(block.row as usize);
    // SAFETY: the caller's promise.
    unsafe {
        match block.upright {
            // Which way a block stands is hard to predict: only distances depend on it.
            upright if width == weight && width <= 3 => {
                let steps = if upright { [across, 1] } else { [1, across] };
                add_lines(block, [width, width], values, to, steps);
            }
            true => add_lines(block, [width, weight], values, to, [across, 1]),
            false => add_lines(block, [weight, width], values, to, [1, across]),
        }
    }
}

/// Adds so many lines of a block, of such a length, given how far the next one is to go and the next entry of one.
///
/// # Safety
/// As for [`add_entries`].
#[inline(always)]
unsafe fn add_lines<T: Value>(
    block: &Block,
    [lines, len]: [usize; 2],
    values: &[T],
    to: *mut T,
    [next_line, next]: [usize; 2],
) {
    for (line, at) in block.lines(lines).enumerate() {
        let to = to.wrapping_add(line * next_line);
        for (&value, k) in values[at as usize..at as usize + len].iter().zip(0..) {
            // SAFETY: the entry map holds positions inside the panel, below the diagonal.
            unsafe { *to.wrapping_add(k * next) += value };
        }
    }
}
