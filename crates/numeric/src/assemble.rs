//! Assembly of a front: entries of A, and extend-add of the children's update matrices.
//!
//! Extend-add works on runs, stretches of rows that are consecutive in the child and in the
//! parent: within a run it is a plain vector addition. Flops are one per two loads and a store, so
//! the limit is memory: 3 numbers moved for each number of the child.

use std::ops::Range;

use tamarack_symbolic::SymbolicFactor;

use crate::front::{Front, Packed};
use crate::value::Value;

/// Rows `from..to` of a child's update matrix that are consecutive in the parent, at `target..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    from: u32,
    to: u32,
    target: u32,
}

/// Splits relative indices into runs, into a list that has room for all of them.
pub(crate) fn find_runs(relative: &[u32], runs: &mut Vec<Run>) {
    runs.clear();
    for (i, &target) in relative.iter().enumerate() {
        let i = i as u32;
        match runs.last_mut() {
            Some(run) if run.target + (i - run.from) == target => run.to = i + 1,
            _ => runs.push(Run {
                from: i,
                to: i + 1,
                target,
            }),
        }
    }
}

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
    for j in columns {
        let column = panel.column(j);
        for (src, row) in symbolic.entries(first + j).iter() {
            // SAFETY: the entry map holds positions inside the panel, at or below the diagonal.
            unsafe { *column.wrapping_add(row as usize) += values[src as usize] };
        }
        // SAFETY: the diagonal entry is inside the panel.
        unsafe { *column.wrapping_add(j) += shift };
    }
}

/// Adds columns `columns` of a child's update matrix to its parent's front.
///
/// `runs` cover all rows of the child, from [`find_runs`] on its relative indices.
///
/// # Safety
/// The parent's columns that the child's columns map to may not be used by anyone else meanwhile,
/// and the child's matrix may not be written.
pub(crate) unsafe fn extend_add<T: Value>(
    child: &Packed<T>,
    runs: &[Run],
    columns: Range<usize>,
    parent: &Front<T>,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2; the rest is the caller's promise.
        return unsafe { extend_add_avx2(child, runs, columns, parent) };
    }
    // SAFETY: the caller's promise.
    unsafe { extend_add_any(child, runs, columns, parent) }
}

/// The same code, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn extend_add_avx2<T: Value>(
    child: &Packed<T>,
    runs: &[Run],
    columns: Range<usize>,
    parent: &Front<T>,
) {
    // SAFETY: the caller's promise.
    unsafe { extend_add_any(child, runs, columns, parent) }
}

#[inline(always)]
unsafe fn extend_add_any<T: Value>(
    child: &Packed<T>,
    runs: &[Run],
    columns: Range<usize>,
    parent: &Front<T>,
) {
    let mut current = runs.partition_point(|run| run.to as usize <= columns.start);
    for j in columns {
        if runs[current].to as usize <= j {
            current += 1;
        }
        let source = child.column(j);
        let run = runs[current];
        let target = parent.column(run.target as usize + (j - run.from as usize));
        let mut from = j;
        for run in &runs[current..] {
            let skipped = from - run.from as usize;
            let len = run.to as usize - from;
            let (src, dst) = (
                source.wrapping_add(from),
                target.wrapping_add(run.target as usize + skipped),
            );
            for i in 0..len {
                // SAFETY: rows `from..to` of the child and their images are at or below the
                // diagonals of their columns, hence inside the matrices, which do not overlap.
                unsafe { *dst.wrapping_add(i) += *src.wrapping_add(i) };
            }
            from = run.to as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_dense::BlockColumns;

    #[test]
    fn runs_cover_all_rows() {
        let mut runs = Vec::new();
        find_runs(&[0, 1, 2, 5, 7, 8], &mut runs);
        let run = |from, to, target| Run { from, to, target };
        assert_eq!(runs, [run(0, 3, 0), run(3, 4, 5), run(4, 6, 7)]);
        find_runs(&[], &mut runs);
        assert!(runs.is_empty());
    }

    /// Extend-add against entry-by-entry addition, whole and cut into column ranges.
    #[test]
    fn extend_add_places_every_entry() {
        let (npiv, nupd, block) = (5, 9, 4);
        let relative = [1u32, 2, 4, 5, 6, 7, 10, 13];
        let child_layout = BlockColumns::update(relative.len(), block);
        let mut child: Vec<f64> = (0..child_layout.len()).map(|k| 1.0 + k as f64).collect();
        let child_matrix = Packed {
            data: child.as_mut_ptr(),
            layout: child_layout,
        };
        let mut runs = Vec::new();
        find_runs(&relative, &mut runs);
        for cut in 0..=relative.len() {
            let panel_layout = BlockColumns::panel(npiv, nupd, block);
            let update_layout = BlockColumns::update(nupd, block);
            let mut panel = vec![0.5f64; panel_layout.len()];
            let mut update = vec![0.5f64; update_layout.len()];
            let front = Front {
                panel: Packed {
                    data: panel.as_mut_ptr(),
                    layout: panel_layout,
                },
                update: Packed {
                    data: update.as_mut_ptr(),
                    layout: update_layout,
                },
            };
            for columns in [0..cut, cut..relative.len()] {
                // SAFETY: the matrices are ours alone.
                unsafe { extend_add(&child_matrix, &runs, columns, &front) };
            }
            for j in 0..npiv + nupd {
                for i in j..npiv + nupd {
                    let find = |x: usize| relative.iter().position(|&r| r as usize == x);
                    let added = find(i)
                        .zip(find(j))
                        .map_or(0.0, |(ci, cj)| child[child_layout.index(ci, cj)]);
                    let found = if j < npiv {
                        panel[panel_layout.index(i, j)]
                    } else {
                        update[update_layout.index(i - npiv, j - npiv)]
                    };
                    assert_eq!(found, 0.5 + added, "({i}, {j}), cut {cut}");
                }
            }
        }
    }
}
