//! The coarse hierarchy of a part of a graph, from that of the graph.
//!
//! What stays of a coarse vertex is its share of the part. Its neighbors are those of before that have a share too:
//! some edges may have no counterpart in the part, which makes a separator of the coarser graph larger
//! than it need be, never too small. So nothing is matched or contracted anew. Time linear in the
//! edges, each level read once.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::Level;
use crate::nd::buckets::{atomics, values};
use crate::nd::graph::{Weighted, concatenated};

/// Vertices that one thread looks at, at least.
const CHUNK: usize = 1 << 14;

/// The levels below the subgraph of `graph` on `list` (increasing), whose own are `levels`, down to the first
/// with less than `few` vertices.
pub(crate) fn restrict(graph: &Weighted, levels: &[Level], list: &[u32], few: usize) -> Vec<Level> {
    let mut vertices = list.to_vec();
    let mut weights: Vec<u32> = (list.par_iter().with_min_len(CHUNK))
        .map(|&v| graph.weights[v as usize])
        .collect();
    let mut restricted: Vec<Level> = Vec::new();
    for level in levels {
        if vertices.len() < few {
            break;
        }
        let shares = shares(level, &vertices, &weights);
        let kept = nonzero(&shares);
        let mut place = vec![NONE; shares.len()];
        for (k, &c) in kept.iter().enumerate() {
            place[c as usize] = k as u32;
        }
        let mut next = Level {
            map: (vertices.par_iter().with_min_len(CHUNK))
                .map(|&v| place[level.map[v as usize] as usize])
                .collect(),
            ..Level::default()
        };
        level.graph.extract(&mut next.graph, &kept, |u| {
            let at = place[u as usize];
            (at != NONE).then_some(at)
        });
        weights = kept.iter().map(|&c| shares[c as usize]).collect();
        next.graph.total = weights.iter().map(|&w| u64::from(w)).sum();
        next.graph.weights.copy_from_slice(&weights);
        vertices = kept;
        restricted.push(next);
    }
    restricted
}

/// Weight of each coarse vertex's members among `vertices`.
fn shares(level: &Level, vertices: &[u32], weights: &[u32]) -> Vec<u32> {
    let shares = atomics(level.graph.n());
    let members = (vertices.par_iter().zip(weights)).with_min_len(CHUNK);
    members.for_each(|(&v, &weight)| {
        shares[level.map[v as usize] as usize].fetch_add(weight, Relaxed);
    });
    values(shares)
}

/// Where a list is not zero, increasing.
fn nonzero(list: &[u32]) -> Vec<u32> {
    let chunks = list.par_chunks(CHUNK).enumerate();
    let found: Vec<Vec<u32>> = chunks
        .map(|(k, chunk)| {
            let from = (k * CHUNK) as u32;
            let places = (from..).zip(chunk).filter(|&(_, &share)| share > 0);
            places.map(|(c, _)| c).collect()
        })
        .collect();
    let found: Vec<&[u32]> = found.iter().map(Vec::as_slice).collect();
    concatenated(&found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::nd::{Dissection, NdOptions};
    use std::sync::atomic::AtomicBool;
    use tamarack_sparse::models::Model;

    #[test]
    fn a_part_keeps_its_share_of_every_level() {
        let matrix = "p2d9_120".parse::<Model>().unwrap();
        let matrix = matrix.generate::<f64>().unwrap();
        let graph = Graph::from_pattern(matrix.pattern()).unwrap();
        let graph = Weighted::new(graph, vec![2; matrix.n()]);
        let (options, stop) = (NdOptions::default(), AtomicBool::new(false));
        let dissection = Dissection::new(&graph, &options, &stop).unwrap();
        let levels = dissection.hierarchy(&graph, 7);
        let list: Vec<u32> = (0..graph.n() as u32).filter(|v| v % 120 < 50).collect();
        let mut fine = Weighted::default();
        graph.extract(&mut fine, &list, |u| {
            list.binary_search(&u).ok().map(|k| k as u32)
        });
        let found = restrict(&graph, &levels, &list, 2000);
        assert!(found.len() > 1 && found.len() <= levels.len());
        assert!(found.last().unwrap().graph.n() < 2000);
        for level in &found {
            let coarse = &level.graph;
            assert_eq!(level.map.len(), fine.n());
            assert_eq!(coarse.total, fine.total);
            let mut sums = vec![0; coarse.n()];
            for v in 0..fine.n() as u32 {
                let c = level.map[v as usize];
                sums[c as usize] += fine.weights[v as usize];
                for &u in fine.neighbors(v) {
                    let d = level.map[u as usize];
                    assert!(c == d || coarse.neighbors(c).contains(&d));
                }
            }
            assert_eq!(sums, coarse.weights);
            fine = coarse.clone();
        }
    }
}
