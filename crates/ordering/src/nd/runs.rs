//! Twins with consecutive numbers, merged before the graph is built.
//!
//! Unknowns of a mesh node mostly stand one after the other. With three of them the lower triangle shrinks
//! nine times in one pass over it, and neither both triangles nor sorted neighbors of all unknowns
//! are ever needed. `compress` finds the other twins afterwards. Time linear in the entries.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;
use tamarack_sparse::Pattern;

use crate::error::{OrderingError, refill};
use crate::graph::Lower;
use crate::nd::graph::concatenated;

/// Columns that one thread takes at a time.
const CHUNK: usize = 1024;

/// Merging is worth it where at most this share of the vertices is left.
const WORTH: f64 = 0.9;

/// The lower triangle of a graph whose vertices are runs of consecutive twins.
pub(crate) struct Runs {
    /// First unknown of each run, and n at the end.
    pub(crate) first: Vec<u32>,
    /// Offsets into `rows`, one more than there are runs.
    col_ptr: Vec<u64>,
    /// Lower triangle with its diagonal, rows increasing.
    rows: Vec<u32>,
}

impl Runs {
    /// The runs of `pattern`, if they are worth merging.
    pub(crate) fn find(pattern: &Pattern) -> Result<Option<Self>, OrderingError> {
        let n = pattern.n();
        let begins = begins(pattern);
        let is_first = |v: &usize| begins[*v].load(Relaxed);
        let chunks = || (0..n).into_par_iter().step_by(CHUNK);
        let range = |from: usize| from..n.min(from + CHUNK);
        let count: usize = chunks().map(|c| range(c).filter(is_first).count()).sum();
        if count as f64 > WORTH * n as f64 {
            return Ok(None);
        }
        let lists: Vec<Vec<u32>> = chunks()
            .map(|c| range(c).filter(is_first).map(|v| v as u32).collect())
            .collect();
        let mut first = concatenated(&slices(&lists));
        let mut run_of = Vec::new();
        refill(&mut run_of, n, 0u32)?;
        for (r, &v) in (0..).zip(&first) {
            run_of[v as usize] = r;
        }
        // All of a run are rows of a column, or none: its first one stands for it.
        let parts: Vec<(Vec<u32>, Vec<u32>)> = first
            .par_chunks(CHUNK)
            .map(|columns| {
                let (mut rows, mut lens) = (Vec::new(), Vec::with_capacity(columns.len()));
                for &v in columns {
                    let before = rows.len();
                    let firsts = pattern.rows(v as usize).iter();
                    let firsts = firsts.filter(|&&i| is_first(&(i as usize)));
                    rows.extend(firsts.map(|&i| run_of[i as usize]));
                    lens.push((rows.len() - before) as u32);
                }
                (rows, lens)
            })
            .collect();
        let rows = concatenated(&parts.iter().map(|p| &p.0[..]).collect::<Vec<_>>());
        let mut col_ptr = Vec::with_capacity(count + 1);
        col_ptr.push(0);
        let mut end = 0;
        for &len in parts.iter().flat_map(|p| &p.1) {
            end += u64::from(len);
            col_ptr.push(end);
        }
        first.push(n as u32);
        Ok(Some(Self {
            first,
            col_ptr,
            rows,
        }))
    }

    /// The graph of the runs.
    pub(crate) fn lower(&self) -> Lower<'_> {
        Lower {
            col_ptr: &self.col_ptr,
            row_idx: &self.rows,
        }
    }

    /// Unknowns of each run.
    pub(crate) fn weights(&self) -> Vec<u32> {
        let ends = self.first.iter().skip(1);
        ends.zip(&self.first)
            .map(|(end, from)| end - from)
            .collect()
    }
}

fn slices(lists: &[Vec<u32>]) -> Vec<&[u32]> {
    lists.iter().map(Vec::as_slice).collect()
}

/// Whether each vertex begins a run: whether it is no twin of the one before it.
///
/// `v - 1` and `v` are twins if their columns agree from `v` on, and if every column before holds both
/// or none of them. A column that agrees with the one before it has the same faults: one of each such
/// group is looked at.
fn begins(pattern: &Pattern) -> Vec<AtomicBool> {
    let n = pattern.n();
    let unlike = |v: usize| v == 0 || pattern.rows(v - 1).get(1..) != Some(pattern.rows(v));
    let vertices = (0..n).into_par_iter().with_min_len(CHUNK);
    let columns: Vec<bool> = vertices.map(unlike).collect();
    let begins: Vec<AtomicBool> = columns.iter().map(|&own| AtomicBool::new(own)).collect();
    if columns.iter().filter(|&&own| own).count() as f64 > WORTH * n as f64 {
        return begins;
    }
    let columns = (0..n)
        .into_par_iter()
        .with_min_len(CHUNK)
        .filter(|&j| columns[j]);
    columns.for_each(|j| {
        let rows = pattern.rows(j);
        let split = |v: usize| {
            if begins.get(v).is_some_and(|begin| !begin.load(Relaxed)) {
                begins[v].store(true, Relaxed);
            }
        };
        // Between two rows that are not neighbors: the first has lost its successor, the second its
        // predecessor. The column's own predecessor is not its business.
        for pair in rows.windows(2) {
            if pair[1] != pair[0] + 1 {
                split(pair[0] as usize + 1);
                split(pair[1] as usize);
            }
        }
        split(rows[rows.len() - 1] as usize + 1);
    });
    begins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nd::random::mix;

    /// Whether closed neighborhoods agree, entry by entry of the full matrix.
    fn runs_by_definition(full: &[Vec<bool>]) -> Vec<u32> {
        (0..full.len() as u32)
            .filter(|&v| v == 0 || full[v as usize] != full[v as usize - 1])
            .collect()
    }

    #[test]
    fn runs_are_those_of_the_full_matrix() {
        let mut found = 0;
        for seed in 0..300 {
            // Nodes of one to three unknowns, and a few entries that break twins apart.
            let mut node = Vec::new();
            for k in 0..12u64 {
                let size = 1 + mix(seed ^ k << 32) % 3;
                node.resize(node.len() + size as usize, k);
            }
            let n = node.len();
            let mut full = vec![vec![false; n]; n];
            let mut join = |i: usize, j: usize| {
                full[i][j] = true;
                full[j][i] = true;
            };
            for (i, own) in node.iter().enumerate() {
                for (j, other) in node[..=i].iter().enumerate() {
                    if own == other || mix(seed ^ own << 8 ^ other << 16).is_multiple_of(4) {
                        join(i, j);
                    }
                }
            }
            for k in 0..seed % 3 {
                let [i, j] = [1, 2].map(|d| (mix(seed ^ k << 40 ^ d << 50) % n as u64) as usize);
                join(i, j);
            }
            let (mut ptr, mut rows) = (vec![0u64], Vec::new());
            for (j, row) in (0..).zip(&full) {
                rows.extend((j..n as u32).filter(|&i| row[i as usize]));
                ptr.push(rows.len() as u64);
            }
            let pattern = Pattern::lower(n, &ptr, &rows).unwrap();
            let expected = runs_by_definition(&full);
            let Some(runs) = Runs::find(&pattern).unwrap() else {
                assert!(expected.len() as f64 > WORTH * n as f64);
                continue;
            };
            found += 1;
            assert_eq!(runs.first[..runs.first.len() - 1], expected);
            assert_eq!(runs.weights().iter().sum::<u32>(), n as u32);
            for (c, &v) in expected.iter().enumerate() {
                let below = (c..expected.len()).filter(|&r| full[expected[r] as usize][v as usize]);
                let column = runs.lower().rows(c).iter().map(|&r| r as usize);
                assert!(column.eq(below));
            }
        }
        assert!(found > 200, "{found}");
    }
}
