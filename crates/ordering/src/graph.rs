//! The adjacency graph of a symmetric matrix: both triangles, without the diagonal.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;
use tamarack_sparse::{Pattern, Runs};

use crate::error::{OrderingError, refill, reserve};
use crate::mindeg::NONE;

/// Patterns of so many entries are worth several threads.
const LARGE: usize = 50_000;

/// Vertices whose lists one thread lays out at a time.
const CHUNK: usize = 1024;

/// Ranges of columns at most: each has a counter for every row it may reach.
const RANGES: usize = 16;

/// An undirected graph without loops, in compressed adjacency lists.
///
/// Every edge is stored at both ends. Lists built from a [`Pattern`] are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Length n + 1, from 0.
    offsets: Vec<u64>,
    /// Length `offsets[n]`.
    adjacency: Vec<u32>,
}

/// The lower triangle of a symmetric pattern with its diagonal, by columns whose rows increase.
#[derive(Clone, Copy)]
pub(crate) struct Lower<'a> {
    /// Offsets into `row_idx`, length n + 1.
    pub(crate) col_ptr: &'a [u64],
    /// Rows of all columns, the diagonal first.
    pub(crate) row_idx: &'a [u32],
}

impl<'a> Lower<'a> {
    /// That of a pattern.
    pub(crate) fn of(pattern: &'a Pattern) -> Self {
        Self {
            col_ptr: pattern.col_ptr(),
            row_idx: pattern.row_idx(),
        }
    }

    /// That of the graph of runs.
    pub(crate) fn of_runs(runs: &'a Runs) -> Self {
        Self {
            col_ptr: runs.col_ptr(),
            row_idx: runs.row_idx(),
        }
    }

    /// Rows of column `j`, `j` itself first.
    #[inline]
    pub(crate) fn rows(&self, j: usize) -> &'a [u32] {
        &self.row_idx[self.col_ptr[j] as usize..self.col_ptr[j + 1] as usize]
    }

    fn n(&self) -> usize {
        self.col_ptr.len() - 1
    }
}

impl Default for Graph {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            adjacency: Vec::new(),
        }
    }
}

impl Graph {
    /// Graph of a pattern; vertices in user order. Time and memory linear in its entries.
    ///
    /// # Errors
    /// [`OrderingError::OutOfMemory`].
    pub fn from_pattern(pattern: &Pattern) -> Result<Self, OrderingError> {
        Self::from_lower(Lower::of(pattern))
    }

    /// The same for a lower triangle.
    pub(crate) fn from_lower(lower: Lower<'_>) -> Result<Self, OrderingError> {
        if lower.row_idx.len() < LARGE {
            return Self::in_order(lower); // to ask for the number of threads starts them
        }
        match rayon::current_num_threads() {
            0..2 => Self::in_order(lower),
            threads => Self::in_ranges(lower, threads.min(RANGES)),
        }
    }

    /// By one thread.
    fn in_order(pattern: Lower<'_>) -> Result<Self, OrderingError> {
        let n = pattern.n();
        let mut offsets = Vec::new();
        refill(&mut offsets, n + 1, 0u64)?;
        for j in 0..n {
            let below = &pattern.rows(j)[1..];
            offsets[j + 1] += below.len() as u64;
            for &i in below {
                offsets[i as usize + 1] += 1;
            }
        }
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }
        let mut adjacency = Vec::new();
        refill(&mut adjacency, offsets[n] as usize, 0u32)?;
        let mut next = offsets.clone();
        // Column j gives j to its rows before their own columns come: every list ends up sorted.
        for j in 0..n {
            let below = &pattern.rows(j)[1..];
            for &i in below {
                adjacency[next[i as usize] as usize] = j as u32;
                next[i as usize] += 1;
            }
            let at = next[j] as usize;
            adjacency[at..at + below.len()].copy_from_slice(below);
        }
        Ok(Self { offsets, adjacency })
    }

    /// By several threads: each counts, then writes, what a range of columns gives to their rows. Ranges have their turn one after the
    /// other in every list, so that lists are sorted.
    fn in_ranges(lower: Lower<'_>, ranges: usize) -> Result<Self, OrderingError> {
        let n = lower.n();
        let given = ranges_of(lower, ranges).into_par_iter();
        let given: Vec<Given> = given
            .map(|columns| Given::count(lower, columns))
            .collect::<Result<_, _>>()?;
        let mut offsets = Vec::new();
        refill(&mut offsets, n + 1, 0u64)?;
        let vertices = offsets[1..].par_chunks_mut(CHUNK).enumerate();
        vertices.for_each(|(k, lens)| {
            for (v, len) in (k * CHUNK..).zip(lens) {
                let mut before = 0;
                for of in given.iter().filter_map(|g| g.of(v)) {
                    let count = of.load(Relaxed);
                    of.store(before, Relaxed);
                    before += count;
                }
                *len = u64::from(before) + lower.rows(v).len() as u64 - 1;
            }
        });
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }
        let adjacency = atomic_counters(offsets[n] as usize)?;
        given.into_par_iter().for_each(|given| {
            for j in given.columns.clone() {
                let below = &lower.rows(j)[1..];
                for &i in below {
                    let at = offsets[i as usize] + u64::from(given.next(i as usize));
                    adjacency[at as usize].store(j as u32, Relaxed);
                }
                let from = offsets[j + 1] as usize - below.len();
                for (slot, &i) in adjacency[from..].iter().zip(below) {
                    slot.store(i, Relaxed);
                }
            }
        });
        let adjacency = adjacency.into_iter().map(AtomicU32::into_inner).collect();
        Ok(Self { offsets, adjacency })
    }

    /// What is left without the vertices of more neighbors than `limit`; and who these are, increasing. Others have numbers in the same order.
    pub(crate) fn without_dense(mut self, limit: u64) -> (Self, Vec<u32>) {
        let vertices = 0..self.n() as u32;
        let dense = vertices.filter(|&v| self.degree(v) as u64 > limit);
        let dense: Vec<u32> = dense.collect();
        if dense.is_empty() {
            return (self, dense);
        }
        let mut number = vec![0; self.n()];
        dense.iter().for_each(|&v| number[v as usize] = NONE);
        let left = number.iter_mut().filter(|number| **number != NONE);
        left.zip(0..).for_each(|(number, k)| *number = k);
        let (mut vertices, mut count, mut end) = (0, 0, 0);
        for v in 0..number.len() {
            // Read before it is written over.
            let list = end..self.offsets[v + 1] as usize;
            end = list.end;
            if number[v] == NONE {
                continue;
            }
            for at in list {
                let neighbor = number[self.adjacency[at] as usize];
                self.adjacency[count] = neighbor;
                count += usize::from(neighbor != NONE);
            }
            vertices += 1;
            self.offsets[vertices] = count as u64;
        }
        self.offsets.truncate(vertices + 1);
        self.adjacency.truncate(count);
        (self, dense)
    }

    /// Offsets (length n + 1, from 0) and adjacency.
    pub(crate) fn into_parts(self) -> (Vec<u64>, Vec<u32>) {
        (self.offsets, self.adjacency)
    }

    /// Number of vertices.
    pub fn n(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of stored neighbors: twice the edges.
    pub fn nnz(&self) -> usize {
        self.adjacency.len()
    }

    /// Neighbors of vertex `v`.
    pub fn neighbors(&self, v: u32) -> &[u32] {
        let v = v as usize;
        &self.adjacency[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Number of neighbors of vertex `v`.
    pub fn degree(&self, v: u32) -> usize {
        self.neighbors(v).len()
    }
}

/// What a range of columns gives to its rows. One thread at a time counts; then all lay out the lists.
struct Given {
    columns: Range<usize>,
    /// For every row from the first of `columns` to the last that one of them has: how many of them do, then where in the row's list
    /// the next one goes.
    counts: Vec<AtomicU32>,
}

impl Given {
    fn count(lower: Lower<'_>, columns: Range<usize>) -> Result<Self, OrderingError> {
        let last = columns.clone().filter_map(|j| lower.rows(j).last());
        let end = last.max().map_or(columns.end, |&last| last as usize + 1);
        let given = Self {
            counts: atomic_counters(end - columns.start)?,
            columns,
        };
        for j in given.columns.clone() {
            for &i in &lower.rows(j)[1..] {
                given.next(i as usize);
            }
        }
        Ok(given)
    }

    /// The number of row `i`, if there may be one.
    #[inline]
    fn of(&self, i: usize) -> Option<&AtomicU32> {
        self.counts.get(i.wrapping_sub(self.columns.start))
    }

    /// The number of row `i`, which becomes one more.
    #[inline]
    fn next(&self, i: usize) -> u32 {
        let count = &self.counts[i - self.columns.start];
        let before = count.load(Relaxed);
        count.store(before + 1, Relaxed);
        before
    }
}

/// The columns in so many ranges with about as many entries each.
fn ranges_of(lower: Lower<'_>, ranges: usize) -> Vec<Range<usize>> {
    let (n, entries) = (lower.n(), lower.row_idx.len());
    let cut = |k: usize| match k {
        0 => 0,
        k if k == ranges => n,
        k => (lower.col_ptr).partition_point(|&p| p < (entries * k / ranges) as u64),
    };
    (0..ranges)
        .map(|k| cut(k).min(n)..cut(k + 1).min(n))
        .collect()
}

/// Zeros that threads count and write in.
fn atomic_counters(len: usize) -> Result<Vec<AtomicU32>, OrderingError> {
    let mut counters = Vec::new();
    reserve(&mut counters, len)?;
    // By all threads: the system clears a page when it is first touched.
    let zeros = (0..len).into_par_iter().with_min_len(1 << 16);
    counters.par_extend(zeros.map(|_| AtomicU32::new(0)));
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use tamarack_testkit::{Family, random_pattern};

    use super::*;

    #[test]
    fn threads_find_the_same_lists() {
        // Column j has a handful of rows anywhere below it, and row n - 1 is dense.
        let n = 20_000u32;
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for j in 0..n {
            let mut column: Vec<u32> = (0..5u32)
                .map(|k| j + 1 + (j.wrapping_mul(2_654_435_761).rotate_left(7 * k) % n))
                .filter(|&i| i < n)
                .chain([j, n - 1])
                .collect();
            column.sort_unstable();
            column.dedup();
            rows.extend(column);
            ptr.push(rows.len() as u64);
        }
        let p = Pattern::lower(n as usize, &ptr, &rows).unwrap();
        let one = Graph::in_order(Lower::of(&p)).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build();
        let pool = pool.unwrap();
        for ranges in [1, 2, 5, RANGES] {
            let many = pool.install(|| Graph::in_ranges(Lower::of(&p), ranges));
            assert!(one == many.unwrap(), "{ranges} ranges");
        }
    }

    #[test]
    fn what_is_left_without_dense_vertices() {
        for (family, seed) in Family::ALL
            .iter()
            .flat_map(|f| (0..20).map(move |seed| (*f, seed)))
        {
            let p = random_pattern(family, 30, seed);
            let g = Graph::from_pattern(&p).unwrap();
            for limit in [0, 2, 4, 6, 30] {
                let (left, dense) = g.clone().without_dense(limit);
                let is_dense = |v: &u32| g.degree(*v) as u64 > limit;
                let (expected, others): (Vec<u32>, Vec<u32>) = (0..30).partition(is_dense);
                assert_eq!((dense, left.n()), (expected, others.len()));
                for (k, &v) in (0..).zip(&others) {
                    let neighbors = g.neighbors(v).iter().filter(|v| !is_dense(v));
                    let found = left.neighbors(k).iter().map(|&k| &others[k as usize]);
                    assert!(found.eq(neighbors));
                }
            }
        }
    }

    #[test]
    fn both_triangles_sorted_without_diagonal() {
        let p = Pattern::lower(4, &[0, 3, 4, 6, 7], &[0, 1, 3, 1, 2, 3, 3]).unwrap();
        let g = Graph::from_pattern(&p).unwrap();
        let lists: Vec<&[u32]> = (0..4).map(|v| g.neighbors(v)).collect();
        assert_eq!(lists, [&[1, 3][..], &[0], &[3], &[0, 2]]);
        assert_eq!((g.n(), g.nnz(), g.degree(3)), (4, 6, 2));
    }
}
