//! Coarsening by heavy-edge matching (Karypis and Kumar 1998).
//!
//! Vertices are visited in their own order, which keeps memory accesses local; each takes the free
//! neighbor of best rating `w² / weight` (Holtgrewe, Sanders, Schulz 2010). Its list is read from a
//! place that the seed decides, so that a mesh does not shrink in one direction only. Vertices left
//! over are matched with another one that has the same best neighbor, which is what makes stars
//! shrink. Time linear in the edges.
//!
//! A large graph is matched in blocks of consecutive vertices at the same time, each within itself, and
//! what is left over by one thread; blocks do not depend on the number of threads. Contraction
//! is a prefix sum, then lists block by block.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tamarack_sparse::concatenated;
use tamarack_sparse::memory::zeroed;

use crate::mindeg::NONE;
use crate::nd::buckets::{atomics, values};
use crate::nd::graph::Weighted;
use crate::nd::random::mix;

/// Graphs with fewer vertices are matched by one thread, in one block.
const LARGE: usize = 20_000;

/// Graphs with fewer vertices are contracted by one thread.
const MIDDLE: usize = 3000;

/// Blocks of a large graph: enough for 16 threads, and thicker than a few planes of a grid, as no
/// edge between blocks is matched at first.
const BLOCKS: usize = 32;

/// Memory of the coarsening.
#[derive(Default)]
pub(crate) struct Coarsener {
    mate: Vec<u32>,
    /// The vertex last left over at each vertex that rejected it.
    waiting: Vec<u32>,
    /// First member of each coarse vertex.
    first: Vec<u32>,
    /// Where in the current list the edge to each coarse vertex stands, counted from the list's
    /// start; valid if that entry names the vertex.
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
        self.number(graph.n(), map);
        coarse.clear();
        coarse.total = graph.total;
        let contraction = Contraction {
            graph,
            mate: &self.mate,
            first: &self.first,
            map,
        };
        if graph.n() < MIDDLE || rayon::current_num_threads() == 1 {
            contraction.write(0..self.first.len(), &mut self.slot, coarse);
        } else {
            contraction.write_in_blocks(coarse);
        }
    }

    fn match_vertices(&mut self, graph: &Weighted, heaviest: u64, seed: u64) {
        let n = graph.n();
        let heaviest = heaviest.min(u64::from(u32::MAX)) as u32;
        self.mate.clear();
        self.mate.resize(n, NONE);
        let salt = mix(seed) as u32 | 1;
        let rating = Rating {
            graph,
            heaviest,
            salt,
        };
        let block = if n < LARGE { n } else { n.div_ceil(BLOCKS) };
        let blocks = self.mate.par_chunks_mut(block.max(1)).with_max_len(1);
        let numbered = blocks.enumerate();
        numbered.for_each(|(k, mate)| rating.match_block((k * block) as u32, mate));
        let left = self.left(n);
        if block < n {
            rating.match_some(0, left.iter().copied(), &mut self.mate);
        }
        if left.iter().any(|&v| self.mate[v as usize] == NONE) {
            self.match_rest(&rating, &left);
        }
    }

    /// The vertices without a mate, increasing.
    fn left(&self, n: usize) -> Vec<u32> {
        let vertices = (0..n as u32).into_par_iter().with_min_len(LARGE);
        let left = vertices.filter(|&v| self.mate[v as usize] == NONE);
        left.collect()
    }

    /// Matches those of `left` that are left over in pairs that hang on the same vertex.
    fn match_rest(&mut self, rating: &Rating<'_>, left: &[u32]) {
        let n = rating.graph.n();
        let heaviest = rating.heaviest;
        let unlimited = Rating {
            heaviest: u32::MAX,
            ..*rating
        };
        self.waiting.clear();
        self.waiting.resize(n, NONE);
        for &v in left {
            if self.mate[v as usize] != NONE {
                continue;
            }
            let Some(hub) = unlimited.best_neighbor(v, |_| true) else {
                continue;
            };
            let other = std::mem::replace(&mut self.waiting[hub as usize], v);
            let weight = |x: u32| rating.graph.weights[x as usize];
            if other != NONE && weight(v).saturating_add(weight(other)) <= heaviest {
                self.mate[v as usize] = other;
                self.mate[other as usize] = v;
                self.waiting[hub as usize] = NONE;
            }
        }
    }

    /// Numbers the coarse vertices in the order of their first members.
    fn number(&mut self, n: usize, map: &mut Vec<u32>) {
        self.first.clear();
        if n >= LARGE {
            self.number_in_blocks(n, map);
            return;
        }
        map.clear();
        map.resize(n, 0);
        for v in 0..n as u32 {
            let m = self.mate[v as usize];
            if m != NONE && m < v {
                map[v as usize] = map[m as usize];
            } else {
                map[v as usize] = self.first.len() as u32;
                self.first.push(v);
            }
        }
    }

    /// The same, block by block: first members are found, then both members of each pair numbered.
    fn number_in_blocks(&mut self, n: usize, map: &mut Vec<u32>) {
        let block = n.div_ceil(BLOCKS);
        let mates = self.mate.par_chunks(block).enumerate();
        let firsts: Vec<Vec<u32>> = mates
            .map(|(k, mates)| {
                let from = (k * block) as u32;
                // `NONE` is larger than any vertex.
                let vertices = (from..).zip(mates).filter(|&(v, &m)| m > v);
                vertices.map(|(v, _)| v).collect()
            })
            .collect();
        let lists: Vec<&[u32]> = firsts.iter().map(Vec::as_slice).collect();
        self.first = concatenated(&lists);
        let numbers = atomics(n);
        let first = self.first.par_iter().enumerate().with_min_len(4096);
        first.for_each(|(c, &v)| {
            numbers[v as usize].store(c as u32, Relaxed);
            let m = self.mate[v as usize];
            if m != NONE {
                numbers[m as usize].store(c as u32, Relaxed);
            }
        });
        *map = values(numbers);
    }
}

/// What a matching goes by.
#[derive(Clone, Copy)]
struct Rating<'a> {
    graph: &'a Weighted,
    heaviest: u32,
    salt: u32,
}

impl Rating<'_> {
    /// Matches free vertices of a block with each other; `mate` is the block's, which begins at
    /// vertex `from`.
    fn match_block(&self, from: u32, mate: &mut [u32]) {
        self.match_some(from, from..from + mate.len() as u32, mate);
    }

    /// The same for some of its vertices.
    fn match_some(&self, from: u32, vertices: impl Iterator<Item = u32>, mate: &mut [u32]) {
        for v in vertices {
            let k = (v - from) as usize;
            if mate[k] != NONE {
                continue;
            }
            let free = |u: u32| mate.get(u.wrapping_sub(from) as usize) == Some(&NONE);
            if let Some(u) = self.best_neighbor(v, free) {
                mate[k] = u;
                mate[(u - from) as usize] = v;
            }
        }
    }

    /// The neighbor of `v` with the best rating among those that are `free` and light enough.
    #[inline]
    fn best_neighbor(&self, v: u32, free: impl Fn(u32) -> bool) -> Option<u32> {
        let (graph, salt) = (self.graph, self.salt);
        let list = graph.neighbors(v);
        let room = self.heaviest.saturating_sub(graph.weights[v as usize]);
        let weights = graph.edge_weights(v);
        let hash = (v ^ salt.rotate_left(16)).wrapping_mul(0x9E37_79B1) ^ salt;
        let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85EB_CA6B);
        let turn = ((u64::from(hash) * list.len() as u64) >> 32) as usize;
        let (mut best, mut rating) = (None, 0.0f32);
        for range in [turn..list.len(), 0..turn] {
            for k in range {
                let u = list[k];
                if !free(u) {
                    continue;
                }
                let weight = graph.weights[u as usize];
                if weight > room {
                    continue;
                }
                let own = match weights.get(k) {
                    Some(&w) => (w as f32) * (w as f32) / weight as f32,
                    // Nothing is better than 1 here.
                    None if weight == 1 => return Some(u),
                    None => 1.0 / weight as f32,
                };
                if own > rating {
                    (best, rating) = (Some(u), own);
                }
            }
        }
        best
    }
}

/// A matching about to be contracted.
struct Contraction<'a> {
    graph: &'a Weighted,
    mate: &'a [u32],
    /// First member of each coarse vertex.
    first: &'a [u32],
    /// Coarse vertex of every vertex.
    map: &'a [u32],
}

impl Contraction<'_> {
    /// The coarse vertices in blocks, at the same time, then put together.
    fn write_in_blocks(&self, coarse: &mut Weighted) {
        let count = self.first.len();
        let block = count.div_ceil(BLOCKS).max(1);
        let slots: Mutex<Vec<Vec<u32>>> = Mutex::default();
        let lock = || slots.lock().unwrap_or_else(PoisonError::into_inner);
        let parts: Vec<Weighted> = (0..count.div_ceil(block))
            .into_par_iter()
            .with_max_len(1)
            .map(|k| {
                let mut slot = lock().pop().unwrap_or_default();
                let mut part = Weighted::default();
                part.clear();
                let range = k * block..count.min((k + 1) * block);
                self.write(range, &mut slot, &mut part);
                lock().push(slot);
                part
            })
            .collect();
        drop(slots);
        coarse.append(parts);
    }

    /// Appends a range of coarse vertices to `out`.
    fn write(&self, range: Range<usize>, slot: &mut Vec<u32>, out: &mut Weighted) {
        if slot.len() < self.first.len() {
            // Zeros fresh from the system: few of them are ever looked at.
            *slot = Vec::new();
            *slot = zeroed(self.first.len());
        }
        let members = |c: usize| {
            let v = self.first[c];
            (v, self.mate[v as usize])
        };
        let degree = |v: u32| match v {
            NONE => 0,
            v => self.graph.neighbors(v).len(),
        };
        let most: usize = (range.clone().map(members))
            .map(|(v, m)| degree(v) + degree(m))
            .sum();
        out.adjacency.clear();
        out.edge_weights.clear();
        // Half of the edges is what mostly stays.
        grow(out, most / 2);
        out.offsets.reserve(range.len());
        out.weights.reserve(range.len());
        let mut end = 0;
        for c in range {
            let (v, m) = members(c);
            let room = end + degree(v) + degree(m);
            if room > out.adjacency.len() {
                grow(out, room + most / 8);
            }
            let mut list = List {
                adjacency: &mut out.adjacency[end..],
                weights: &mut out.edge_weights[end..],
                len: 0,
            };
            let mut weight = self.graph.weights[v as usize];
            self.gather(v, c as u32, slot, &mut list);
            if m != NONE {
                weight += self.graph.weights[m as usize];
                self.gather(m, c as u32, slot, &mut list);
            }
            end += list.len;
            out.weights.push(weight);
            out.offsets.push(end as u64);
        }
        out.adjacency.truncate(end);
        out.edge_weights.truncate(end);
    }

    /// Adds the edges of `v` to the list of coarse vertex `c`.
    #[inline]
    fn gather(&self, v: u32, c: u32, slot: &mut [u32], list: &mut List<'_>) {
        let neighbors = self.graph.neighbors(v).iter();
        if self.graph.edge_weights.is_empty() {
            neighbors.for_each(|&u| list.add(self.map[u as usize], 1, c, slot));
        } else {
            let edges = neighbors.zip(self.graph.edge_weights(v));
            edges.for_each(|(&u, &w)| list.add(self.map[u as usize], w, c, slot));
        }
    }
}

/// Makes room for `entries` neighbors in all. What is not written yet is no vertex.
fn grow(out: &mut Weighted, entries: usize) {
    let more = entries - out.adjacency.len();
    out.adjacency.reserve_exact(more);
    out.edge_weights.reserve_exact(more);
    out.adjacency.resize(entries, NONE);
    out.edge_weights.resize(entries, 0);
}

/// The neighbors of a coarse vertex being written.
struct List<'a> {
    /// [`NONE`] from `len` on.
    adjacency: &'a mut [u32],
    weights: &'a mut [u32],
    len: usize,
}

impl List<'_> {
    /// Adds an edge of weight `w` to coarse vertex `d`, unless that is the list's own, `c`. `slot` has the place in the
    /// list for those that are in it, anything for others.
    #[inline]
    fn add(&mut self, d: u32, w: u32, c: u32, slot: &mut [u32]) {
        if d == c {
            return;
        }
        let own = &mut slot[d as usize];
        if self.adjacency.get(*own as usize) == Some(&d) {
            let sum = &mut self.weights[*own as usize];
            *sum = sum.saturating_add(w);
        } else {
            *own = self.len as u32;
            self.adjacency[self.len] = d;
            self.weights[self.len] = w;
            self.len += 1;
        }
    }
}
