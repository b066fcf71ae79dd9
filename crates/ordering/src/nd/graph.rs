//! Weighted graphs for multilevel methods.

use rayon::prelude::*;

use crate::graph::Graph;

/// Vertices whose lists one thread reads at a time.
const CHUNK: usize = 1 << 14;

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

    /// Appends `parts`, each of which has consecutive vertices and lists the neighbors by their
    /// final numbers.
    pub(crate) fn append(&mut self, parts: Vec<Weighted>) {
        for part in &parts {
            let before = self.offsets.last().copied().unwrap_or(0);
            self.offsets
                .extend(part.offsets[1..].iter().map(|&end| before + end));
            self.weights.extend_from_slice(&part.weights);
        }
        let lists = |of: fn(&Weighted) -> &[u32]| -> Vec<u32> {
            let lists: Vec<&[u32]> = parts.iter().map(of).collect();
            concatenated(&lists)
        };
        self.adjacency = lists(|part| &part.adjacency);
        self.edge_weights = lists(|part| &part.edge_weights);
    }

    /// Makes `part` the subgraph on `vertices`; `place(u)` is the number in it of a vertex that
    /// belongs to it. Long lists are read in chunks at the same time.
    pub(crate) fn extract(
        &self,
        part: &mut Weighted,
        vertices: &[u32],
        place: impl Fn(u32) -> Option<u32> + Sync,
    ) {
        part.clear();
        if vertices.len() < 2 * CHUNK {
            return self.extract_chunk(part, vertices, &place);
        }
        let chunks = vertices.par_chunks(CHUNK).map(|chunk| {
            let mut own = Weighted::default();
            own.clear();
            self.extract_chunk(&mut own, chunk, &place);
            own
        });
        let chunks: Vec<Weighted> = chunks.collect();
        part.total = chunks.iter().map(|chunk| chunk.total).sum();
        part.append(chunks);
    }

    /// Appends `vertices`.
    fn extract_chunk(
        &self,
        part: &mut Weighted,
        vertices: &[u32],
        place: &impl Fn(u32) -> Option<u32>,
    ) {
        part.offsets.reserve(vertices.len());
        part.weights.reserve(vertices.len());
        let most = vertices.iter().map(|&v| self.neighbors(v).len()).sum();
        part.adjacency.reserve(most);
        if !self.edge_weights.is_empty() {
            part.edge_weights.reserve(most);
        }
        for &v in vertices {
            let range = self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize;
            if self.edge_weights.is_empty() {
                let inside = self.adjacency[range].iter().filter_map(|&u| place(u));
                part.adjacency.extend(inside);
            } else {
                for p in range {
                    if let Some(u) = place(self.adjacency[p]) {
                        part.adjacency.push(u);
                        part.edge_weights.push(self.edge_weights[p]);
                    }
                }
            }
            part.offsets.push(part.adjacency.len() as u64);
            let weight = self.weights[v as usize];
            part.weights.push(weight);
            part.total += u64::from(weight);
        }
    }
}

/// The parts one after the other, copied at the same time.
pub(crate) fn concatenated(parts: &[&[u32]]) -> Vec<u32> {
    let mut whole = vec![0; parts.iter().map(|part| part.len()).sum()];
    let mut rest = &mut whole[..];
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, after) = std::mem::take(&mut rest).split_at_mut(part.len());
        places.push(place);
        rest = after;
    }
    let pairs = places.into_par_iter().zip(parts);
    pairs.for_each(|(place, part)| place.copy_from_slice(part));
    whole
}
