//! Separators that are levels of a breadth-first search (George and Liu 1978).
//!
//! On the grids of finite differences, where neighbors are few, the spheres of the search are
//! diagonal planes: they cut a cube with three quarters of the vertices of an axis-parallel plane, and the
//! corner off a square with less than a side's. Local refinement never finds them, since every
//! plane that is tilted a little has as many vertices. On other graphs levels are thick; they
//! are looked at only where vertices have few neighbors, and taken only where they are thinner. One
//! search from a vertex at the end, which is found on a coarser graph; time linear in the edges.

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::NdOptions;
use crate::nd::bisect::{Level, Separation};
use crate::nd::board::SEPARATOR;
use crate::nd::graph::Weighted;
use crate::nd::tree::{at_level, small_level};

/// Most neighbors of a vertex on average where levels are looked at: 6 in a grid of volumes.
const MOST_NEIGHBORS: usize = 6;

/// Whether levels may be thin.
pub(crate) fn may_be_thin(graph: &Weighted) -> bool {
    graph.adjacency.len() <= MOST_NEIGHBORS * graph.n()
}

/// The best level of the search from an end of `graph`, if it is connected, and its cost. The end is found on a
/// coarser one of its `levels`.
pub(crate) fn best_level(
    graph: &Weighted,
    levels: &[Level],
    options: &NdOptions,
) -> Option<(f64, Separation)> {
    let mut depth = Vec::new();
    let mut queue = Vec::new();
    let end = end(graph, levels, &mut depth, &mut queue)?;
    search(graph, end, &mut depth, &mut queue);
    if queue.len() < graph.n() {
        return None;
    }
    let goal = options.goal(graph.total);
    let (mut best, mut cost) = (None, f64::INFINITY);
    let mut before = 0;
    let mut k = 0;
    while k < queue.len() {
        let level = depth[queue[k] as usize];
        let from = k;
        let mut own = 0;
        while k < queue.len() && depth[queue[k] as usize] == level {
            own += u64::from(graph.weights[queue[k] as usize]);
            k += 1;
        }
        let weight = [before, graph.total - before - own, own];
        if goal.cost(&weight) < cost && options.is_worth(&weight) {
            cost = goal.cost(&weight);
            best = Some((weight, from..k));
        }
        before += own;
    }
    let (weight, range) = best?;
    let mut side = vec![0u8; graph.n()];
    let mut separator = queue[range.clone()].to_vec();
    separator.sort_unstable();
    for &v in &separator {
        side[v as usize] = SEPARATOR;
    }
    for &v in &queue[range.end..] {
        side[v as usize] = 1;
    }
    let separation = Separation {
        side,
        weight,
        separator,
    };
    Some((cost, separation))
}

/// A vertex at the end of `graph`: of those that the last vertex of a search on a coarse level stands for, one with fewest
/// neighbors.
fn end(
    graph: &Weighted,
    levels: &[Level],
    depth: &mut Vec<u32>,
    queue: &mut Vec<u32>,
) -> Option<u32> {
    let at = small_level(graph, levels);
    search(at_level(graph, levels, at), 0, depth, queue);
    let mut members = vec![*queue.last()?];
    for level in levels[..at].iter().rev() {
        let map = level.map.par_iter().enumerate().with_min_len(1 << 14);
        let of_members = map.filter(|(_, c)| members.contains(c));
        members = of_members.map(|(v, _)| v as u32).collect();
    }
    members
        .into_iter()
        .min_by_key(|&v| graph.neighbors(v).len())
}

/// Breadth-first search from `start`: distances, [`NONE`] where there is no path, and the vertices in
/// the order in which they are reached.
fn search(graph: &Weighted, start: u32, depth: &mut Vec<u32>, queue: &mut Vec<u32>) {
    depth.clear();
    depth.resize(graph.n(), NONE);
    queue.clear();
    queue.reserve(graph.n());
    queue.push(start);
    depth[start as usize] = 0;
    let mut k = 0;
    while let Some(&v) = queue.get(k) {
        k += 1;
        let next = depth[v as usize] + 1;
        for &u in graph.neighbors(v) {
            if depth[u as usize] == NONE {
                depth[u as usize] = next;
                queue.push(u);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::graph::Graph;
    use crate::nd::Dissection;
    use tamarack_sparse::models::Model;

    fn graph(model: &str) -> Weighted {
        let model: Model = model.parse().unwrap();
        let matrix = model.generate::<f64>().unwrap();
        let graph = Graph::from_pattern(matrix.pattern()).unwrap();
        Weighted::new(graph, vec![1; matrix.n()])
    }

    #[test]
    fn a_diagonal_plane_cuts_a_grid_of_volumes() {
        let cube = graph("p3d7_20");
        assert!(may_be_thin(&cube));
        let options = NdOptions::default();
        let (cost, s) = best_level(&cube, &[], &options).unwrap();
        // An axis-parallel plane has 400 vertices.
        assert!(cost < 310.0, "{cost}");
        let stop = AtomicBool::new(false);
        let dissection = Dissection::new(&cube, &options, &stop).unwrap();
        let levels = dissection.hierarchy(&cube, 3);
        assert!(levels.len() > 1);
        let (from_coarse, _) = best_level(&cube, &levels, &options).unwrap();
        assert!(from_coarse < 310.0, "{from_coarse}");
        assert_eq!(s.weight.iter().sum::<u64>(), cube.total);
        assert_eq!(s.weight[2] as usize, s.separator.len());
        for v in 0..cube.n() as u32 {
            let own = s.side[v as usize];
            assert_eq!(own == SEPARATOR, s.separator.binary_search(&v).is_ok());
            let across = |&&u: &&u32| own + s.side[u as usize] == 1 && own != s.side[u as usize];
            assert_eq!(cube.neighbors(v).iter().find(across), None);
        }
    }

    #[test]
    fn no_levels_where_neighbors_are_many_or_there_is_no_path() {
        assert!(!may_be_thin(&graph("p3d27_10")));
        let mut two = graph("p2d5_10");
        let n = two.n() as u32;
        let more: Vec<u32> = two.adjacency.iter().map(|&u| u + n).collect();
        let ends: Vec<u64> = two.offsets[1..]
            .iter()
            .map(|e| e + more.len() as u64)
            .collect();
        two.adjacency.extend(more);
        two.offsets.extend(ends);
        two.weights.extend(vec![1; n as usize]);
        two.total *= 2;
        assert!(best_level(&two, &[], &NdOptions::default()).is_none());
    }
}
