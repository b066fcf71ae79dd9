//! Entries of A into a front.

use std::ops::Range;

use tamarack_dense::prefetch;
use tamarack_symbolic::SymbolicFactor;

use crate::front::Packed;
use crate::value::Value;

/// How many entries ahead values are asked for: they come from all over A, and are added in the
/// order of elimination.
const AHEAD: usize = 24;

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
    let mut ahead = symbolic.sources_from(first + columns.start).skip(AHEAD);
    for j in columns {
        let column = panel.column(j);
        for (src, row) in symbolic.entries(first + j).iter() {
            if let Some(next) = ahead.next() {
                prefetch(values.as_ptr().wrapping_add(next as usize));
            }
            // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
            unsafe { *column.wrapping_add(row as usize) += values[src as usize] };
        }
        // SAFETY: the diagonal entry is inside the panel.
        unsafe { *column.wrapping_add(j) += shift };
    }
}
