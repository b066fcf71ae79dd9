//! Weighted graphs for multilevel methods.

use rayon::prelude::*;
use tamarack_sparse::concatenated;
use tamarack_sparse::memory::zeroed;

use crate::graph::Graph;
use crate::mindeg::NONE;

/// Vertices whose lists one thread reads at a time.
pub(crate) const CHUNK: usize = 1 << 14;

/// An undirected graph with weights; every edge is stored at both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted {
    /// Offsets, length n + 1.
    pub(crate) offsets: Vec<u64>,
    /// Neighbors.
    pub(crate) adjacency: Vec<u32>,
    /// Weight of each stored neighbor's edge; empty where all are 1.
    pub(crate) edge_weights: Vec<u32>,
    /// Unknowns that each vertex stands for, length n.
    pub(crate) weights: Vec<u32>,
    /// Σ weights.
    pub(crate) total: u64,
}

impl Weighted {
    /// Vertices of these weights, every edge of weight 1.
    pub(crate) fn new(graph: Graph, weights: Vec<u32>) -> Self {
        let (offsets, adjacency) = graph.into_parts();
        Self {
            offsets,
            adjacency,
            edge_weights: Vec::new(),
            total: weights.iter().map(|&w| u64::from(w)).sum(),
            weights,
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.weights.len()
    }

    #[inline]
    pub(crate) fn neighbors(&self, v: u32) -> &[u32] {
        let v = v as usize;
        &self.adjacency[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Σ weights of some vertices, which are not read where all are 1.
    #[inline]
    pub(crate) fn weight_of(&self, vertices: &[u32]) -> u64 {
        if self.total == self.n() as u64 {
            return vertices.len() as u64;
        }
        let weights = vertices.iter().map(|&v| self.weights[v as usize]);
        weights.map(u64::from).sum()
    }

    pub(crate) fn neighbors_mut(&mut self, v: u32) -> &mut [u32] {
        let v = v as usize;
        &mut self.adjacency[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Weights of the edges of `v`, in the order of its neighbors; empty where all are 1.
    #[inline]
    pub(crate) fn edge_weights(&self, v: u32) -> &[u32] {
        if self.edge_weights.is_empty() {
            return &[];
        }
        let v = v as usize;
        &self.edge_weights[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Makes it a graph without vertices whose memory is kept.
    pub(crate) fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.adjacency.clear();
        self.edge_weights.clear();
        self.weights.clear();
        self.total = 0;
    }

    /// Gives back the memory that its lists do not need.
    pub(crate) fn shrink(&mut self) {
        self.adjacency.shrink_to_fit();
        self.edge_weights.shrink_to_fit();
    }

    /// Makes room for `n` vertices with `entries` neighbors, with weights of edges where `weighted`, in an empty graph.
    fn resize(&mut self, n: usize, entries: usize, weighted: bool) {
        resize(&mut self.offsets, n + 1);
        resize(&mut self.weights, n);
        resize(&mut self.adjacency, entries);
        resize(&mut self.edge_weights, if weighted { entries } else { 0 });
    }

    /// Appends `parts`, each of which has consecutive vertices and lists the neighbors by their
    /// final numbers.
    pub(crate) fn append(&mut self, mut parts: Vec<Weighted>) {
        for part in &parts {
            let before = self.offsets.last().copied().unwrap_or(0);
            self.offsets
                .extend(part.offsets[1..].iter().map(|&end| before + end));
            self.weights.extend_from_slice(&part.weights);
        }
        let mut joined = |of: fn(&mut Weighted) -> &mut Vec<u32>| {
            let lists = parts.iter_mut().map(|part| std::mem::take(of(part)));
            concatenated(&lists.collect::<Vec<_>>())
        };
        self.adjacency = joined(|part| &mut part.adjacency);
        self.edge_weights = joined(|part| &mut part.edge_weights);
    }

    /// The same graph with its vertices in the order of `list`, edges of weight 1.
    pub(crate) fn renumbered(&self, list: &[u32]) -> Self {
        let mut number = zeroed(self.n());
        for (k, &v) in (0..).zip(list) {
            number[v as usize] = k;
        }
        let parts = list.par_chunks(CHUNK).map(|chunk| {
            let mut part = Self::default();
            part.clear();
            for &v in chunk {
                let neighbors = self.neighbors(v).iter();
                part.adjacency
                    .extend(neighbors.map(|&u| number[u as usize]));
                part.offsets.push(part.adjacency.len() as u64);
                part.weights.push(self.weights[v as usize]);
            }
            part
        });
        let mut graph = Self::default();
        graph.clear();
        graph.append(parts.collect());
        graph.total = self.total;
        graph
    }

    /// Makes `part` the subgraph on `vertices`; `place(u)` is the number in it of a vertex that
    /// belongs to it, and [`NONE`] for others. Long lists are counted, then written, in chunks at the same time.
    pub(crate) fn extract(
        &self,
        part: &mut Weighted,
        vertices: &[u32],
        place: impl Fn(u32) -> u32 + Sync,
    ) {
        let inside = |v: u32| {
            let list = self.neighbors(v).iter();
            list.map(|&u| usize::from(place(u) != NONE)).sum::<usize>()
        };
        self.extract_counted(part, vertices, &place, || chunk_sums(vertices, inside));
    }

    /// The same where it costs less to say how many neighbors stay of every chunk of [`CHUNK`] vertices; asked for long lists only.
    pub(crate) fn extract_counted(
        &self,
        part: &mut Weighted,
        vertices: &[u32],
        place: &(impl Fn(u32) -> u32 + Sync),
        counts: impl FnOnce() -> Vec<usize>,
    ) {
        part.clear();
        let weighted = !self.edge_weights.is_empty();
        if vertices.len() < 2 * CHUNK {
            let most = vertices.iter().map(|&v| self.neighbors(v).len()).sum();
            part.resize(vertices.len(), most, weighted);
            let (entries, total) = self.write(vertices, place, part.lists(), 0);
            part.adjacency.truncate(entries);
            part.edge_weights.truncate(entries);
            part.total = total;
            return;
        }
        let counts = counts();
        part.resize(vertices.len(), counts.iter().sum(), weighted);
        let mut rest = part.lists();
        let mut before = 0;
        let mut tasks = Vec::with_capacity(counts.len());
        for (chunk, &count) in vertices.chunks(CHUNK).zip(&counts) {
            tasks.push((chunk, rest.split_off(chunk.len(), count), before));
            before += count as u64;
        }
        let tasks = tasks.into_par_iter();
        let totals = tasks.map(|(chunk, lists, before)| self.write(chunk, place, lists, before).1);
        part.total = totals.sum();
    }

    fn lists(&mut self) -> Lists<'_> {
        Lists {
            ends: &mut self.offsets[1..],
            weights: &mut self.weights,
            adjacency: &mut self.adjacency,
            edge_weights: &mut self.edge_weights,
        }
    }

    /// Writes `vertices` with those of their neighbors that have a place; `before` is the number of those written before.
    /// Returns how many neighbors there are, and the weight of the vertices.
    fn write(
        &self,
        vertices: &[u32],
        place: &impl Fn(u32) -> u32,
        lists: Lists<'_>,
        before: u64,
    ) -> (usize, u64) {
        let (mut k, mut total) = (0, 0);
        let Lists {
            adjacency,
            edge_weights,
            ..
        } = lists;
        let heads = lists.ends.iter_mut().zip(lists.weights);
        for (&v, (end, weight)) in vertices.iter().zip(heads) {
            let list = self.neighbors(v);
            if self.edge_weights.is_empty() {
                for &u in list {
                    let at = place(u);
                    if at != NONE {
                        adjacency[k] = at;
                        k += 1;
                    }
                }
            } else {
                for (&u, &w) in list.iter().zip(self.edge_weights(v)) {
                    let at = place(u);
                    if at != NONE {
                        adjacency[k] = at;
                        edge_weights[k] = w;
                        k += 1;
                    }
                }
            }
            *end = before + k as u64;
            *weight = self.weights[v as usize];
            total += u64::from(*weight);
        }
        (k, total)
    }
}

/// Where consecutive vertices of a graph are written.
struct Lists<'a> {
    /// Where the list of each ends.
    ends: &'a mut [u64],
    weights: &'a mut [u32],
    adjacency: &'a mut [u32],
    /// Empty where all are 1.
    edge_weights: &'a mut [u32],
}

impl<'a> Lists<'a> {
    /// The first `n` vertices with `entries` neighbors, which are no longer part of these.
    fn split_off(&mut self, n: usize, entries: usize) -> Lists<'a> {
        fn first<'a, T>(list: &mut &'a mut [T], len: usize) -> &'a mut [T] {
            let (own, rest) = std::mem::take(list).split_at_mut(len);
            *list = rest;
            own
        }
        let weighted = entries.min(self.edge_weights.len());
        Lists {
            ends: first(&mut self.ends, n),
            weights: first(&mut self.weights, n),
            adjacency: first(&mut self.adjacency, entries),
            edge_weights: first(&mut self.edge_weights, weighted),
        }
    }
}

/// Makes a list of zeros so long; what is kept of it has no meaning. Zeros fresh from the system cost less than zeros written.
fn resize<T: Copy + Default>(list: &mut Vec<T>, len: usize) {
    if list.capacity() < len {
        *list = Vec::new();
        *list = zeroed(len);
    } else {
        list.resize(len, T::default());
    }
}

/// Sums over chunks of [`CHUNK`] vertices, at the same time.
pub(crate) fn chunk_sums(vertices: &[u32], of: impl Fn(u32) -> usize + Sync) -> Vec<usize> {
    let chunks = vertices.par_chunks(CHUNK);
    let sums = chunks.map(|chunk| chunk.iter().map(|&v| of(v)).sum());
    sums.collect()
}
