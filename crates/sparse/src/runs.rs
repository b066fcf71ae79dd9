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

/// Runs are worth finding where there are at most so many for each unknown,
const WORTH: f64 = 0.9;

/// or where they have at most one edge for so many entries: sixty parameters that every unknown depends on are few unknowns and
/// nearly all entries.
const WORTH_EDGES: usize = 2;

/// Entries that are looked at to tell what the edges would be.
const SAMPLES: usize = 256;

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
        let are_few = are_few(first.len(), n);
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
        if !are_few && entries > pattern.row_idx().len() / WORTH_EDGES {
            return None;
        }
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

    /// The same of one run: its part of [`row_idx`](Self::row_idx).
    pub fn rows(&self, run: usize) -> &[u32] {
        &self.rows[self.col_ptr[run] as usize..self.col_ptr[run + 1] as usize]
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

fn are_few(runs: usize, n: usize) -> bool {
    runs as f64 <= WORTH * n as f64
}

/// Whether so many unknowns that follow a twin would be worth it, if they were all of those that `follows` names: mostly there are
/// none. Otherwise some entries are looked at, a few more than will do being let through.
fn may_be_worth(pattern: &Pattern, twins: usize, follows: impl Fn(usize) -> bool) -> bool {
    let are_few = are_few(pattern.n() - twins, pattern.n());
    if are_few || twins == 0 {
        return are_few;
    }
    let (col_ptr, row_idx) = (pattern.col_ptr(), pattern.row_idx());
    let step = row_idx.len().div_ceil(SAMPLES);
    let samples = (0..row_idx.len()).step_by(step);
    let is_edge = |&at: &usize| {
        let column = || col_ptr.partition_point(|&start| start <= at as u64) - 1;
        !follows(row_idx[at] as usize) && !follows(column())
    };
    let edges = samples.clone().filter(is_edge).count();
    (edges - edges / 8) * WORTH_EDGES <= samples.len()
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
        // Mostly a first glance says it.
        let may_follow = |v: usize| v > 0 && pattern.may_continue(v);
        let twins = (0..n).map(|v| usize::from(may_follow(v))).sum();
        if !may_be_worth(pattern, twins, may_follow) {
            return None;
        }
        (0..n).map(unlike).collect()
    } else {
        let vertices = (0..n).into_par_iter();
        let vertices = vertices.with_min_len(CHUNK).with_max_len(CHUNK);
        vertices.map(unlike).collect()
    };
    let twins = columns.iter().filter(|&&own| !own).count();
    if !may_be_worth(pattern, twins, |v| !columns[v]) {
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
        let (mut found, mut by_edges) = (0, 0);
        for seed in 0..400 {
            // Nodes of one to three unknowns, or of one but for the last that meets all, and a few entries that break twins apart.
            let mut node = Vec::new();
            let has_border = seed % 4 == 0;
            let nodes = if has_border { 80 } else { 12 };
            for k in 0..nodes {
                let size = match has_border {
                    true if k + 1 < nodes => 1,
                    true => 1 + mix(seed) % 9,
                    false => 1 + mix(seed ^ k << 32) % 3,
                };
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
                    let meet = match has_border {
                        true => *own + 1 == nodes,
                        false => mix(seed ^ own << 8 ^ other << 16).is_multiple_of(4),
                    };
                    if own == other || meet {
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
            let is_edge = |i: &u32, j: u32| expected.contains(i) && expected.contains(&j);
            let edges_of = |j: u32| {
                pattern
                    .rows(j as usize)
                    .iter()
                    .filter(move |i| is_edge(i, j))
            };
            let edges: usize = (0..n as u32).map(|j| edges_of(j).count()).sum();
            let Some(runs) = Runs::find(&pattern) else {
                assert!(!are_few(expected.len(), n));
                assert!(edges * WORTH_EDGES > rows.len());
                continue;
            };
            found += 1;
            if !are_few(expected.len(), n) {
                assert!(edges * WORTH_EDGES <= rows.len());
                by_edges += 1;
            }
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
        assert!(by_edges > 20, "{by_edges}");
    }
}
