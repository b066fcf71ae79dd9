//! The adjacency graph of a symmetric matrix: both triangles, without the diagonal.

use tamarack_sparse::Pattern;

use crate::error::{OrderingError, refill};

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
    pub fn from_pattern(pattern: &Pattern) -> Result<Self, OrderingError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_triangles_sorted_without_diagonal() {
        let p = Pattern::lower(4, &[0, 3, 4, 6, 7], &[0, 1, 3, 1, 2, 3, 3]).unwrap();
        let g = Graph::from_pattern(&p).unwrap();
        let lists: Vec<&[u32]> = (0..4).map(|v| g.neighbors(v)).collect();
        assert_eq!(lists, [&[1, 3][..], &[0], &[3], &[0, 2]]);
        assert_eq!((g.n(), g.nnz(), g.degree(3)), (4, 6, 2));
    }
}
