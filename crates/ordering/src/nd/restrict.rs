//! The coarse hierarchy of a part of a graph, from that of the graph.
//!
//! What stays of a coarse vertex is its share of the part. Its neighbors are those of before that have a share too:
//! some edges may have no counterpart in the part, which makes a separator of the coarser graph larger
//! than it need be, never too small. So nothing is matched or contracted anew. Time linear in the
//! edges, each level read once.

use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use tamarack_sparse::concatenated;

use crate::mindeg::NONE;
use crate::nd::bisect::Level;
use crate::nd::buckets::{atomics, values};

/// Vertices that one thread looks at, at least.
const CHUNK: usize = 1 << 14;

/// A part of a graph on its way to coarser levels.
struct Part<'a> {
    /// Its vertices on the level reached, as numbered in the whole, increasing.
    vertices: Cow<'a, [u32]>,
    weights: Cow<'a, [u32]>,
    /// Its own levels.
    levels: Vec<Level>,
}

/// The levels below the two subgraphs on `lists` (increasing) with vertices of these `weights`, from those of the whole, of each
/// down to the first with less than `few` of its vertices. Levels of the whole are given back one by one.
pub(crate) fn restrict(
    levels: Vec<Level>,
    lists: [&[u32]; 2],
    weights: [&[u32]; 2],
    few: [usize; 2],
) -> [Vec<Level>; 2] {
    let [mut a, mut b] = [0, 1].map(|s| Part {
        vertices: lists[s].into(),
        weights: weights[s].into(),
        levels: Vec::new(),
    });
    for level in levels {
        rayon::join(|| a.coarsen(&level, few[0]), || b.coarsen(&level, few[1]));
    }
    [a.levels, b.levels]
}

impl Part<'_> {
    /// Goes on to `level`, unless it has less than `few` vertices already.
    fn coarsen(&mut self, level: &Level, few: usize) {
        if self.vertices.len() < few {
            return;
        }
        let shares = shares(level, &self.vertices, &self.weights);
        let kept = nonzero(&shares);
        let mut place = vec![NONE; shares.len()];
        for (k, &c) in kept.iter().enumerate() {
            place[c as usize] = k as u32;
        }
        let mut next = Level {
            map: (self.vertices.par_iter().with_min_len(CHUNK))
                .map(|&v| place[level.map[v as usize] as usize])
                .collect(),
            ..Level::default()
        };
        level
            .graph
            .extract(&mut next.graph, &kept, |u| place[u as usize]);
        let weights: Vec<u32> = kept.iter().map(|&c| shares[c as usize]).collect();
        next.graph.total = weights.iter().map(|&w| u64::from(w)).sum();
        next.graph.weights.copy_from_slice(&weights);
        self.weights = weights.into();
        self.vertices = kept.into();
        self.levels.push(next);
    }
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
    use crate::nd::graph::Weighted;
    use crate::nd::{Dissection, NdOptions};
    use tamarack_sparse::models::Model;

    #[test]
    fn a_part_keeps_its_share_of_every_level() {
        let matrix = "p2d9_120".parse::<Model>().unwrap();
        let matrix = matrix.generate::<f64>().unwrap();
        let graph = Graph::from_pattern(matrix.pattern()).unwrap();
        let graph = Weighted::new(graph, vec![2; matrix.n()]);
        let options = NdOptions::default();
        let dissection = Dissection::new(&graph, &options, crate::Stop::NEVER).unwrap();
        let levels = dissection.hierarchy(&graph, 7);
        let list: Vec<u32> = (0..graph.n() as u32).filter(|v| v % 120 < 50).collect();
        let mut fine = Weighted::default();
        graph.extract(&mut fine, &list, |u| {
            list.binary_search(&u).map_or(NONE, |k| k as u32)
        });
        let weights = vec![2; list.len()];
        let count = levels.len();
        let [found, none] = restrict(levels, [&list, &[]], [&weights, &[]], [2000; 2]);
        assert!(none.is_empty());
        assert!(found.len() > 1 && found.len() <= count);
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
