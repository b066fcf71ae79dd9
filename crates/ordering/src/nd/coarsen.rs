//! Coarsening by heavy-edge matching (Karypis and Kumar 1998).
//!
//! Vertices are visited in their own order, which keeps memory accesses local; each takes the free
//! neighbor of best rating `w² / weight` (Holtgrewe, Sanders, Schulz 2010). Its list is read from a
//! place that the seed decides, so that a mesh does not shrink in one direction only. Vertices left
//! over are matched with another one that has the same best neighbor, which is what makes stars
//! shrink. Time linear in the edges.

use crate::mindeg::NONE;
use crate::nd::graph::Weighted;
use crate::nd::random::mix;

/// Memory of the coarsening.
#[derive(Default)]
pub(crate) struct Coarsener {
    mate: Vec<u32>,
    /// The vertex last left over at each vertex that rejected it.
    waiting: Vec<u32>,
    /// First member of each coarse vertex.
    first: Vec<u32>,
    /// Where in the current list the edge to each coarse vertex stands, counted from the list's
    /// start in `coarse.adjacency`; valid if that entry names the vertex.
    slot: Vec<u32>,
}

impl Coarsener {
    /// Makes `coarse` a coarser version of `graph` and `map` the coarse vertex of every vertex.
    /// No coarse vertex of several is heavier than `heaviest`.
    pub(crate) fn coarsen(
        &mut self,
        graph: &Weighted,
        heaviest: u64,
        seed: u64,
        coarse: &mut Weighted,
        map: &mut Vec<u32>,
    ) {
        self.match_vertices(graph, heaviest, seed);
        self.contract(graph, coarse, map);
    }

    fn match_vertices(&mut self, graph: &Weighted, heaviest: u64, seed: u64) {
        let n = graph.n();
        let heaviest = heaviest.min(u64::from(u32::MAX)) as u32;
        self.mate.clear();
        self.mate.resize(n, NONE);
        let salt = mix(seed) as u32 | 1;
        let mut left_over = false;
        for v in 0..n as u32 {
            if self.mate[v as usize] != NONE {
                continue;
            }
            match best_neighbor(graph, v, heaviest, salt, |u| self.mate[u as usize] == NONE) {
                Some(u) => {
                    self.mate[v as usize] = u;
                    self.mate[u as usize] = v;
                }
                None => left_over = true,
            }
        }
        if left_over {
            self.match_rest(graph, heaviest, salt);
        }
    }

    /// Matches those left over in pairs that hang on the same vertex.
    fn match_rest(&mut self, graph: &Weighted, heaviest: u32, salt: u32) {
        let n = graph.n();
        self.waiting.clear();
        self.waiting.resize(n, NONE);
        for v in 0..n as u32 {
            if self.mate[v as usize] != NONE {
                continue;
            }
            let Some(hub) = best_neighbor(graph, v, u32::MAX, salt, |_| true) else {
                continue;
            };
            let other = std::mem::replace(&mut self.waiting[hub as usize], v);
            let weight = |x: u32| graph.weights[x as usize];
            if other != NONE && weight(v).saturating_add(weight(other)) <= heaviest {
                self.mate[v as usize] = other;
                self.mate[other as usize] = v;
                self.waiting[hub as usize] = NONE;
            }
        }
    }

    /// Contracts matched pairs; coarse vertices keep the order of their first members.
    fn contract(&mut self, graph: &Weighted, coarse: &mut Weighted, map: &mut Vec<u32>) {
        let n = graph.n();
        map.clear();
        map.resize(n, 0);
        self.first.clear();
        for v in 0..n as u32 {
            let m = self.mate[v as usize];
            if m != NONE && m < v {
                map[v as usize] = map[m as usize];
            } else {
                map[v as usize] = self.first.len() as u32;
                self.first.push(v);
            }
        }
        coarse.clear();
        coarse.total = graph.total;
        coarse.offsets.reserve(self.first.len());
        coarse.weights.reserve(self.first.len());
        self.slot.clear();
        self.slot.resize(self.first.len(), 0);
        for (c, &v) in self.first.iter().enumerate() {
            let start = coarse.adjacency.len();
            let m = self.mate[v as usize];
            let mut weight = graph.weights[v as usize];
            gather(graph, v, c as u32, map, start, coarse, &mut self.slot);
            if m != NONE {
                weight += graph.weights[m as usize];
                gather(graph, m, c as u32, map, start, coarse, &mut self.slot);
            }
            coarse.weights.push(weight);
            coarse.offsets.push(coarse.adjacency.len() as u64);
        }
    }
}

/// Adds the edges of `v` to the list of coarse vertex `c`, which begins at `start`.
#[inline]
fn gather(
    graph: &Weighted,
    v: u32,
    c: u32,
    map: &[u32],
    start: usize,
    coarse: &mut Weighted,
    slot: &mut [u32],
) {
    let weights = graph.edge_weights(v);
    for (k, &u) in graph.neighbors(v).iter().enumerate() {
        let d = map[u as usize];
        if d == c {
            continue;
        }
        let w = weights.get(k).copied().unwrap_or(1);
        let at = start + slot[d as usize] as usize;
        if coarse.adjacency.get(at) == Some(&d) {
            coarse.edge_weights[at] = coarse.edge_weights[at].saturating_add(w);
        } else {
            slot[d as usize] = (coarse.adjacency.len() - start) as u32;
            coarse.adjacency.push(d);
            coarse.edge_weights.push(w);
        }
    }
}

/// The neighbor of `v` with the best rating among those that are `free` and light enough.
#[inline]
fn best_neighbor(
    graph: &Weighted,
    v: u32,
    heaviest: u32,
    salt: u32,
    free: impl Fn(u32) -> bool,
) -> Option<u32> {
    let list = graph.neighbors(v);
    let room = heaviest.saturating_sub(graph.weights[v as usize]);
    let weights = graph.edge_weights(v);
    let hash = (v ^ salt.rotate_left(16)).wrapping_mul(0x9E37_79B1) ^ salt;
    let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85EB_CA6B);
    let turn = ((u64::from(hash) * list.len() as u64) >> 32) as usize;
    let (mut best, mut rating) = (None, 0.0f32);
    for k in (turn..list.len()).chain(0..turn) {
        let u = list[k];
        if !free(u) {
            continue;
        }
        let weight = graph.weights[u as usize];
        if weight > room {
            continue;
        }
        let w = weights.get(k).copied().unwrap_or(1) as f32;
        let own = w * w / weight as f32;
        if own > rating {
            (best, rating) = (Some(u), own);
        }
    }
    best
}
