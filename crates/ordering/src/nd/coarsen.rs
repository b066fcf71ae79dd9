//! Coarsening by heavy-edge matching (Karypis and Kumar 1998).
//!
//! Vertices are visited in their own order, which keeps memory accesses local; each takes the free
//! neighbor of best rating `w² / weight` (Holtgrewe, Sanders, Schulz 2010), ties broken by a hash
//! of the seed, so that a mesh does not shrink in one direction only. Vertices left over are matched
//! with another one that has the same best neighbor, which is what makes stars shrink.

use crate::mindeg::NONE;
use crate::nd::graph::Weighted;
use crate::nd::random::mix;

/// The coarser graph, and the coarse vertex of every vertex of `graph`.
///
/// No vertex grows beyond `limit`. One vertex fewer in coarse graph per matched pair.
pub(crate) fn coarsen(graph: &Weighted, limit: u64, seed: u64) -> (Weighted, Vec<u32>) {
    let n = graph.n();
    let mut mate = vec![NONE; n];
    let mut left = Vec::new();
    for v in 0..n as u32 {
        if mate[v as usize] != NONE {
            continue;
        }
        match best_neighbor(graph, v, limit, seed, |u| mate[u as usize] == NONE) {
            Some(u) => {
                mate[v as usize] = u;
                mate[u as usize] = v;
            }
            None => left.push(v),
        }
    }
    if left.len() > n / 4 {
        let mut waiting = vec![NONE; n];
        for v in left {
            let Some(hub) = best_neighbor(graph, v, u64::MAX, 0, |_| true) else {
                continue;
            };
            let other = std::mem::replace(&mut waiting[hub as usize], v);
            let weight = |x: u32| u64::from(graph.weights[x as usize]);
            if mate[v as usize] == NONE && other != NONE && weight(v) + weight(other) <= limit {
                mate[v as usize] = other;
                mate[other as usize] = v;
                waiting[hub as usize] = NONE;
            }
        }
    }
    contract(graph, &mate)
}

/// The neighbor of `v` with the best rating among those that are `free` and light enough.
fn best_neighbor(
    graph: &Weighted,
    v: u32,
    limit: u64,
    seed: u64,
    free: impl Fn(u32) -> bool,
) -> Option<u32> {
    let room = limit.saturating_sub(u64::from(graph.weights[v as usize]));
    let mut best = (0.0f32, 0u32, None);
    for (u, w) in graph.edges(v) {
        let weight = graph.weights[u as usize];
        if !free(u) || u64::from(weight) > room {
            continue;
        }
        let rating = w as f32 * w as f32 / weight as f32;
        if rating < best.0 {
            continue;
        }
        let tie = mix(seed ^ u64::from(u) << 32 ^ u64::from(v)) as u32;
        if rating > best.0 || tie >= best.1 {
            best = (rating, tie, Some(u));
        }
    }
    best.2
}

/// Contracts matched pairs; coarse vertices keep the order of their first members.
fn contract(graph: &Weighted, mate: &[u32]) -> (Weighted, Vec<u32>) {
    let n = graph.n();
    let mut coarse_of = vec![NONE; n];
    let mut first = Vec::with_capacity(n);
    for v in 0..n as u32 {
        let m = mate[v as usize];
        if m != NONE && m < v {
            coarse_of[v as usize] = coarse_of[m as usize];
        } else {
            coarse_of[v as usize] = first.len() as u32;
            first.push(v);
        }
    }
    let mut coarse = Weighted {
        total: graph.total,
        offsets: Vec::with_capacity(first.len() + 1),
        weights: Vec::with_capacity(first.len()),
        adjacency: Vec::with_capacity(graph.adjacency.len()),
        edge_weights: Vec::with_capacity(graph.adjacency.len()),
    };
    coarse.offsets.push(0);
    // Where the edge to each coarse vertex stands, if at or after the current list's start.
    let mut slot = vec![usize::MAX; first.len()];
    for (c, &v) in first.iter().enumerate() {
        let start = coarse.adjacency.len();
        let mut weight = 0;
        let m = mate[v as usize];
        for x in [v, m] {
            if x == NONE {
                continue;
            }
            weight += graph.weights[x as usize];
            for (u, w) in graph.edges(x) {
                let d = coarse_of[u as usize];
                if d as usize == c {
                    continue;
                }
                let at = slot[d as usize];
                if at != usize::MAX && at >= start {
                    coarse.edge_weights[at] = coarse.edge_weights[at].saturating_add(w);
                } else {
                    slot[d as usize] = coarse.adjacency.len();
                    coarse.adjacency.push(d);
                    coarse.edge_weights.push(w);
                }
            }
        }
        coarse.weights.push(weight);
        coarse.offsets.push(coarse.adjacency.len());
    }
    (coarse, coarse_of)
}
