//! The adjacency graph of a symmetric matrix: both triangles, without the diagonal.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;
use tamarack_sparse::Pattern;

use crate::error::{OrderingError, refill};

/// Patterns of so many entries are worth several threads.
const LARGE: usize = 50_000;

/// Columns that one thread takes at a time.
const CHUNK: usize = 1024;

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
    /// Graph of a pattern; vertices in user order. Time and memory linear in its entries; with several
    /// threads, which read columns at the same time, lists are sorted afterwards.
    pub fn from_pattern(pattern: &Pattern) -> Result<Self, OrderingError> {
        Self::from_lower(Lower::of(pattern))
    }

    /// The same for a lower triangle.
    pub(crate) fn from_lower(lower: Lower<'_>) -> Result<Self, OrderingError> {
        if rayon::current_num_threads() > 1 && lower.row_idx.len() >= LARGE {
            Self::in_parallel(lower)
        } else {
            Self::in_order(lower)
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

    /// By all threads: a row's neighbors before it come in any order and are sorted.
    fn in_parallel(pattern: Lower<'_>) -> Result<Self, OrderingError> {
        let n = pattern.n();
        let before = atomic_counters(n)?;
        let columns = (0..n).into_par_iter().with_min_len(CHUNK);
        columns.for_each(|j| {
            for &i in &pattern.rows(j)[1..] {
                before[i as usize].fetch_add(1, Relaxed);
            }
        });
        let mut offsets = Vec::new();
        refill(&mut offsets, n + 1, 0u64)?;
        for j in 0..n {
            // What was counted becomes what is still to come.
            let own = pattern.rows(j).len() as u64 - 1;
            offsets[j + 1] = offsets[j] + u64::from(before[j].load(Relaxed)) + own;
        }
        let adjacency = atomic_counters(offsets[n] as usize)?;
        let columns = (0..n).into_par_iter().with_min_len(CHUNK);
        columns.for_each(|j| {
            let below = &pattern.rows(j)[1..];
            for &i in below {
                let at = offsets[i as usize] + u64::from(before[i as usize].fetch_sub(1, Relaxed));
                adjacency[at as usize - 1].store(j as u32, Relaxed);
            }
            let from = offsets[j + 1] as usize - below.len();
            for (slot, &i) in adjacency[from..].iter().zip(below) {
                slot.store(i, Relaxed);
            }
        });
        let mut adjacency: Vec<u32> = adjacency.into_iter().map(AtomicU32::into_inner).collect();
        let mut rest = &mut adjacency[..];
        let mut blocks = Vec::new();
        for from in (0..n).step_by(CHUNK) {
            let to = n.min(from + CHUNK);
            let len = (offsets[to] - offsets[from]) as usize;
            let (block, after) = std::mem::take(&mut rest).split_at_mut(len);
            blocks.push((from..to, block));
            rest = after;
        }
        blocks.into_par_iter().for_each(|(vertices, block)| {
            let start = offsets[vertices.start];
            for v in vertices {
                let from = (offsets[v] - start) as usize;
                let to = (offsets[v + 1] - start) as usize + 1 - pattern.rows(v).len();
                block[from..to].sort_unstable();
            }
        });
        Ok(Self { offsets, adjacency })
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

/// Zeros that threads count and write in.
fn atomic_counters(len: usize) -> Result<Vec<AtomicU32>, OrderingError> {
    let mut counters = Vec::new();
    refill(&mut counters, len, 0u32)?;
    // In place: both have the same size.
    Ok(counters.into_iter().map(AtomicU32::new).collect())
}

#[cfg(test)]
mod tests {
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
        let many = pool
            .unwrap()
            .install(|| Graph::in_parallel(Lower::of(&p)))
            .unwrap();
        assert!(one == many);
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
