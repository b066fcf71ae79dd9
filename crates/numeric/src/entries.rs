//! Entries of A on their way into a front.
//!
//! The [entry map](tamarack_symbolic::NodeEntries) names blocks: all entries between the unknowns of two nodes. Values come from
//! all over A, so those of later blocks are asked for ahead. Every place of a panel gets one entry at most, before anything else
//! is added to it: entries are written, not added.

use std::ops::Range;

use tamarack_dense::prefetch;
use tamarack_symbolic::{Block, NodeEntries, SymbolicFactor};

use crate::front::Packed;
use crate::value::Value;

/// How many entries ahead values are asked for, and how many blocks of several.
const AHEAD: usize = 24;
const BLOCKS_AHEAD: usize = 8;

/// Columns and rows of a block up to which it is entered without a loop.
const FEW: usize = 3;

/// Size of A's values up to which they are not asked for ahead: half of a second-level cache.
const NEAR_BYTES: usize = 1 << 19;

/// Enters the entries of A that fall into pivot columns `columns` (counted in the front) of
/// supernode `s`, which are zero so far, and adds `shift` to their diagonal.
///
/// # Safety
/// Nobody else may use these columns meanwhile; `values` belong to the pattern analyzed.
pub(crate) unsafe fn enter_entries<T: Value>(
    symbolic: &SymbolicFactor,
    s: usize,
    values: &[T],
    shift: T,
    panel: &Packed<T>,
    columns: Range<usize>,
) {
    let first = symbolic.columns(s).start;
    if let Some((ptr, entries)) = symbolic.single_entries() {
        for j in columns.clone() {
            let [begin, end] = [0, 1].map(|k| ptr[first + j + k] as usize);
            let lists = [&entries[begin..end], &entries[end..]];
            // SAFETY: the caller's promise.
            unsafe { enter_column(lists, values, panel.column(j)) };
        }
    } else {
        // SAFETY: the caller's promise.
        unsafe { enter_nodes(symbolic, first, values, panel, columns.clone()) };
    }
    if shift == T::default() {
        return;
    }
    for j in columns {
        // SAFETY: the diagonal entry is inside the panel.
        unsafe { *panel.column(j).wrapping_add(j) += shift };
    }
}

/// Enters the entries of some columns of a front whose pivots begin with column `first` of A.
///
/// # Safety
/// As for [`enter_entries`].
unsafe fn enter_nodes<T: Value>(
    symbolic: &SymbolicFactor,
    first: usize,
    values: &[T],
    panel: &Packed<T>,
    columns: Range<usize>,
) {
    let mut next = columns.start;
    while next < columns.end {
        let node = symbolic.node_entries(first + next);
        let begin = node.column - first;
        let of_node = next - begin..node.width.min(columns.end - begin);
        next = begin + of_node.end;
        // SAFETY: the caller's promise.
        unsafe { enter_node(&node, begin, of_node, values, panel) };
    }
}

/// Enters the entries of a column; after them come those of later columns.
///
/// # Safety
/// As for [`enter_entries`], and the column is the entries'.
#[inline]
unsafe fn enter_column<T: Value>([entries, later]: [&[[u32; 2]]; 2], values: &[T], column: *mut T) {
    let enter = |&[src, row]: &[u32; 2]| {
        // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
        unsafe { *column.wrapping_add(row as usize) = values[src as usize] };
    };
    // What fits into the caches needs no asking.
    if size_of_val(values) <= NEAR_BYTES {
        return entries.iter().for_each(enter);
    }
    let mut ahead = entries.iter().chain(later).skip(AHEAD);
    for entry in entries {
        if let Some(&[src, _]) = ahead.next() {
            prefetch(values.as_ptr().wrapping_add(src as usize));
        }
        enter(entry);
    }
}

/// Enters the entries of some columns of a node that begins at column `begin` of the front.
///
/// # Safety
/// As for [`enter_entries`].
unsafe fn enter_node<T: Value>(
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
            ask_for(&later, width, values);
        }
        // SAFETY: the caller's promise; columns of one block column are as far from each other.
        unsafe {
            if !is_whole {
                enter_by_columns(&block, k == 0, begin, columns.clone(), values, panel);
            } else if k == 0 {
                match width {
                    1 => enter_triangle(&block, 1, values, first, across),
                    2 => enter_triangle(&block, 2, values, first, across),
                    3 => enter_triangle(&block, 3, values, first, across),
                    _ => enter_triangle(&block, width, values, first, across),
                }
            } else {
                enter_rectangle(&block, width, values, first, across);
            }
        }
    }
}

/// Lines of a block of a node that has so many columns, and entries of a line.
#[inline(always)]
fn lines_of(block: &Block, width: usize) -> [usize; 2] {
    let weight = block.weight as usize;
    if block.upright {
        [width, weight]
    } else {
        [weight, width]
    }
}

/// Asks for the values of a block: where its lines begin, and where those of many entries end.
#[inline(always)]
fn ask_for<T>(block: &Block, width: usize, values: &[T]) {
    let ask = |at: u64| prefetch(values.as_ptr().wrapping_add(at as usize));
    let [lines, len] = lines_of(block, width);
    // The last line once more rather than a jump that is hard to predict.
    let last = (lines - 1) as u32;
    for line in 0..FEW as u32 {
        ask(block.line(line.min(last)));
    }
    if lines.max(len) > FEW {
        for at in block.lines(lines) {
            ask(at);
            ask(at.wrapping_add(len as u64 - 1));
        }
    }
}

/// Enters some columns of a block.
///
/// # Safety
/// As for [`enter_entries`].
unsafe fn enter_by_columns<T: Value>(
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
            unsafe { *column.wrapping_add((block.row + r) as usize) = value };
        }
    }
}

/// Enters a triangle of so many columns, of which the first one is given, and how far the next is behind it.
///
/// # Safety
/// As for [`enter_entries`]; all its columns are as far from each other.
#[inline(always)]
unsafe fn enter_triangle<T: Value>(
    block: &Block,
    width: usize,
    values: &[T],
    first: *mut T,
    across: usize,
) {
    let to = first.wrapping_add(block.row as usize);
    for (b, at) in block.lines(width).enumerate() {
        let column = to.wrapping_add(b * across);
        let at = at as usize;
        for (&value, row) in values[at + b..at + width].iter().zip(b..) {
            // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
            unsafe { *column.wrapping_add(row) = value };
        }
    }
}

/// Enters a block, given the number of its columns, the first of them, and how far the next is behind it.
///
/// # Safety
/// As for [`enter_entries`]; all its columns are as far from each other.
#[inline(always)]
unsafe fn enter_rectangle<T: Value>(
    block: &Block,
    width: usize,
    values: &[T],
    first: *mut T,
    across: usize,
) {
    let to = first.wrapping_add(block.row as usize);
    let [lines, len] = lines_of(block, width);
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            _ if block.weight as usize > FEW => {}
            1 => return enter_few::<1, T>(block, values, to, across),
            2 => return enter_few::<2, T>(block, values, to, across),
            3 => return enter_few::<3, T>(block, values, to, across),
            _ => {}
        }
        // Loops over lines of these lengths are unrolled: points, frames, cameras.
        match (block.upright, len) {
            (true, 3) => enter_lines(block, [lines, 3], values, to, [across, 1]),
            (true, 6) => enter_lines(block, [lines, 6], values, to, [across, 1]),
            (true, 9) => enter_lines(block, [lines, 9], values, to, [across, 1]),
            (true, _) => enter_lines(block, [lines, len], values, to, [across, 1]),
            (false, 3) => enter_lines(block, [lines, 3], values, to, [1, across]),
            (false, 6) => enter_lines(block, [lines, 6], values, to, [1, across]),
            (false, 9) => enter_lines(block, [lines, 9], values, to, [1, across]),
            (false, _) => enter_lines(block, [lines, len], values, to, [1, across]),
        }
    }
}

/// Enters a block of so many columns and at most [`FEW`] rows. How many there are and which way the block stands is hard to
/// predict, so only distances depend on it: the last row is entered again instead of those that are missing.
///
/// # Safety
/// As for [`enter_entries`].
#[inline(always)]
unsafe fn enter_few<const WIDTH: usize, T: Value>(
    block: &Block,
    values: &[T],
    to: *mut T,
    across: usize,
) {
    for r in 0..FEW as u32 {
        let r = r.min(block.weight - 1);
        for b in 0..WIDTH {
            let value = values[block.source(r, b as u32) as usize];
            // SAFETY: the entry map holds positions inside the panel, below the diagonal.
            unsafe { *to.wrapping_add(b * across + r as usize) = value };
        }
    }
}

/// Enters so many lines of a block, of such a length, given how far the next one is to go and the next entry of one.
///
/// # Safety
/// As for [`enter_entries`].
#[inline(always)]
unsafe fn enter_lines<T: Value>(
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
            unsafe { *to.wrapping_add(k * next) = value };
        }
    }
}
