//! Runs of twins: unknowns that follow one another and have the same neighbors.
//!
//! The unknowns of a mesh node are such twins (Ashcraft 1995), and mostly stand one after the other. With three of them the
//! graph of the runs has a ninth of the edges. It is found in one pass over the lower triangle: neither both triangles nor
//! sorted neighbors of all unknowns are ever needed. Orderings and analyses go by the same runs. Time linear in the entries, on
//! the threads of the caller's pool.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use crate::memory::zeroed;
use crate::{Pattern, concatenated};

/// Columns that one thread takes at a time.
const CHUNK: usize = 1024;

/// Fewer unknowns are looked at by the caller, who need not be in a pool.
const FEW: usize = 1 << 13;

/// Runs are worth finding where there are at most so many for each unknown.
const WORTH: f64 = 0.9;

/// The lower triangle of a graph whose vertices are the runs of twins of a pattern: as long as they can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// First unknown of each run, and n at the end.
    first: Vec<u32>,
    /// Offsets into `rows`, one more than there are runs.
    col_ptr: Vec<u64>,
    /// Runs, increasing, the column's own first.
    rows: Vec<u32>,
    /// Where in the column of a run's first unknown that of each row's run stands; as long as `rows`.
    places: Vec<u32>,
}

impl Runs {
    /// The runs of `pattern`, if there are few enough of them to be worth it.
    pub fn find(pattern: &Pattern) -> Option<Self> {
        let n = pattern.n();
        let begins = begins(pattern)?;
        let is_first = |v: usize| begins[v].load(Relaxed);
        let firsts = |from: usize| -> Vec<u32> {
            let chunk = from..n.min(from + CHUNK);
            chunk.filter(|&v| is_first(v)).map(|v| v as u32).collect()
        };
        let lists: Vec<Vec<u32>> = match n < FEW {
            true => (0..n).step_by(CHUNK).map(firsts).collect(),
            false => (0..n).into_par_iter().step_by(CHUNK).map(firsts).collect(),
        };
        let mut first = concatenated(&lists);
        if !is_worth(first.len(), n) {
            return None;
        }
        let mut run_of = vec![0; n];
        for (r, &v) in (0..).zip(&first) {
            run_of[v as usize] = r;
        }
        // All of a run are rows of a column, or none: its first one stands for it. They are counted before they are written: lists
        // that grow would be copied, and memory that is touched for the first time costs more than the count.
        let count = |&v: &u32| {
            let rows = pattern.rows(v as usize).iter();
            rows.map(|&i| usize::from(is_first(i as usize))).sum()
        };
        let lens: Vec<usize> = if n < FEW {
            first.iter().map(count).collect()
        } else {
            let lens = first.par_iter().with_min_len(CHUNK).with_max_len(CHUNK);
            lens.map(count).collect()
        };
        let mut col_ptr = Vec::with_capacity(first.len() + 1);
        col_ptr.push(0);
        col_ptr.extend(lens.iter().scan(0, |end, &len| {
            *end += len as u64;
            Some(*end)
        }));
        let entries = lens.iter().sum();
        let (mut rows, mut places) = (zeroed(entries), zeroed(entries));
        let (mut rest_rows, mut rest_places) = (&mut rows[..], &mut places[..]);
        let mut parts = Vec::with_capacity(first.len().div_ceil(CHUNK));
        for (columns, lens) in first.chunks(CHUNK).zip(lens.chunks(CHUNK)) {
            let len = lens.iter().sum();
            let own_rows = split_off(&mut rest_rows, len);
            parts.push((columns, own_rows, split_off(&mut rest_places, len)));
        }
        let write = |(columns, rows, places): (&[u32], &mut [u32], &mut [u32])| {
            let mut at = 0;
            for &v in columns {
                for (place, &i) in (0..).zip(pattern.rows(v as usize)) {
                    if at == rows.len() {
                        break; // others of the last run
                    }
                    // Written in any case, kept if it is a first one: no branch to guess.
                    (rows[at], places[at]) = (run_of[i as usize], place);
                    at += usize::from(is_first(i as usize));
                }
            }
        };
        match n < FEW {
            true => parts.into_iter().for_each(write),
            false => parts.into_par_iter().with_max_len(1).for_each(write),
        }
        first.push(n as u32);
        Some(Self {
            first,
            col_ptr,
            rows,
            places,
        })
    }

    /// Number of runs.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// First unknown of each run, and n at the end.
    pub fn first(&self) -> &[u32] {
        &self.first
    }

    /// Unknowns of a run.
    pub fn unknowns(&self, run: usize) -> Range<u32> {
        self.first[run]..self.first[run + 1]
    }

    /// Offsets of the columns into [`row_idx`](Self::row_idx), one more than there are runs.
    pub fn col_ptr(&self) -> &[u64] {
        &self.col_ptr
    }

    /// The runs that each run has for neighbors from itself on, itself first, increasing.
    pub fn row_idx(&self) -> &[u32] {
        &self.rows
    }

    /// For each of [`row_idx`](Self::row_idx) where its first unknown stands among the rows of the column's first unknown.
    pub fn places(&self) -> &[u32] {
        &self.places
    }
}

/// The first `len` of a list, which are no longer part of it.
fn split_off<'a>(list: &mut &'a mut [u32], len: usize) -> &'a mut [u32] {
    let (own, rest) = std::mem::take(list).split_at_mut(len);
    *list = rest;
    own
}

fn is_worth(runs: usize, n: usize) -> bool {
    runs as f64 <= WORTH * n as f64
}

/// Whether each unknown begins a run: whether it is no twin of the one before it. None where too many do.
///
/// `v - 1` and `v` are twins if their columns agree from `v` on, and if every column before holds both
/// or none of them. A column that agrees with the one before it has the same faults: one of each such
/// group is looked at.
fn begins(pattern: &Pattern) -> Option<Vec<AtomicBool>> {
    let n = pattern.n();
    let unlike = |v: usize| !pattern.continues(v);
    let columns: Vec<bool> = if n < FEW {
        // Mostly there are none, and a first glance says so.
        let least = n
            - (1..n)
                .map(|v| usize::from(pattern.may_continue(v)))
                .sum::<usize>();
        if !is_worth(least, n) {
            return None;
        }
        (0..n).map(unlike).collect()
    } else {
        let vertices = (0..n).into_par_iter();
        let vertices = vertices.with_min_len(CHUNK).with_max_len(CHUNK);
        vertices.map(unlike).collect()
    };
    if !is_worth(columns.iter().filter(|&&own| own).count(), n) {
        return None;
    }
    let begins: Vec<AtomicBool> = columns.iter().map(|&own| AtomicBool::new(own)).collect();
    let spread = |j: usize| {
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
    };
    if n < FEW {
        (0..n).filter(|&j| columns[j]).for_each(spread);
    } else {
        let vertices = (0..n).into_par_iter();
        let vertices = vertices.with_min_len(CHUNK).with_max_len(CHUNK);
        vertices.filter(|&j| columns[j]).for_each(spread);
    }
    Some(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_testkit::Rng;

    fn mix(z: u64) -> u64 {
        Rng::new(z).bits()
    }

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
            let Some(runs) = Runs::find(&pattern) else {
                assert!(!is_worth(expected.len(), n));
                continue;
            };
            found += 1;
            assert_eq!(runs.first()[..runs.len()], expected);
            assert_eq!(runs.first()[runs.len()], n as u32);
            for (c, &v) in expected.iter().enumerate() {
                let below = (c..expected.len()).filter(|&r| full[expected[r] as usize][v as usize]);
                let range = runs.col_ptr()[c] as usize..runs.col_ptr()[c + 1] as usize;
                let column = &runs.row_idx()[range.clone()];
                assert!(column.iter().map(|&r| r as usize).eq(below));
                for (&r, &place) in column.iter().zip(&runs.places()[range]) {
                    assert_eq!(
                        pattern.rows(v as usize)[place as usize],
                        expected[r as usize]
                    );
                }
            }
        }
        assert!(found > 200, "{found}");
    }
}
