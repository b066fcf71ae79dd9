//! Separators that are levels of a breadth-first search (George and Liu 1978).
//!
//! On the grids of finite differences, where neighbors are few, the spheres of the search are
//! diagonal planes: they cut a cube with three quarters of the vertices of an axis-parallel plane, and the
//! corner off a square with less than a side's. Local refinement never finds them, since every
//! plane that is tilted a little has as many vertices. On other graphs levels are thick; they
//! are looked at only where vertices have few neighbors, and taken only where they are thinner. One
//! search from a vertex at the end, which is found on a coarser graph, until all that is left is too little to be a side; time linear
//! in the edges.

use std::ops::Range;

use rayon::prelude::*;
use tamarack_sparse::memory::zeroed;

use crate::nd::NdOptions;
use crate::nd::bisect::{Level, Separation};
use crate::nd::board::SEPARATOR;
use crate::nd::graph::Weighted;
use crate::nd::large::{is_like_a_plane, over_root};
use crate::nd::tree::{at_level, small_level};

/// Most neighbors of a vertex on average where levels are looked at: 6 in a grid of volumes.
const MOST_NEIGHBORS: usize = 6;

/// A level further on is taken for the next separator if it has less than so many times the square root of the vertices behind the
/// first: the opposite corner of a square is cut off by 0.6 to 1 times the root. Where a search goes around a ring both ways, each of its
/// levels is two cuts, 1.5 to 2 times the root together; half of a ring wants one.
const BEHIND: f64 = 1.2;

/// Vertices whose lists are looked up together: they stand far apart, and one after the other each would be waited for.
const TOGETHER: usize = 32;

/// Whether levels may be thin.
pub(crate) fn may_be_thin(graph: &Weighted) -> bool {
    graph.adjacency.len() <= MOST_NEIGHBORS * graph.n()
}

/// Writes the neighbors of a level of a search behind it in the queue, those for which `is_new`, and returns where they end. Each is written, and
/// counted if it is new, so that there is no branch to guess: the queue has one place more than there are vertices.
pub(crate) fn reach_neighbors(
    graph: &Weighted,
    queue: &mut [u32],
    level: Range<usize>,
    mut is_new: impl FnMut(u32) -> bool,
) -> usize {
    let (mut from, end) = (level.start, level.end);
    let mut count = end;
    while from < end {
        let together = TOGETHER.min(end - from);
        let mut lists = [&[][..]; TOGETHER];
        for (list, &v) in lists.iter_mut().zip(&queue[from..from + together]) {
            *list = graph.neighbors(v);
        }
        // Read before they are wanted, all at once.
        let first = lists.iter().filter_map(|list| list.first());
        std::hint::black_box(first.fold(0, |a, b| a ^ b));
        for &u in lists[..together].iter().copied().flatten() {
            queue[count] = u;
            count += usize::from(is_new(u));
        }
        from += together;
    }
    count
}

/// A search: who has been reached, and in what order.
#[derive(Default)]
struct Search {
    /// 1 for vertices that have been reached.
    reached: Vec<u8>,
    /// The vertices in the order in which they are reached, then one place that is not used.
    queue: Vec<u32>,
    /// Number of vertices in the queue.
    count: usize,
}

/// A separation by a level of a search.
pub(crate) struct Cut {
    pub(crate) cost: f64,
    pub(crate) separation: Separation,
    /// How a level further on separates what is behind that one, where it costs no more and the graph is like a plane: the opposite corner
    /// of a square. The weights are of that part, sides of all vertices, of no meaning for those outside of it.
    pub(crate) behind: Option<Separation>,
}

/// The best level of the search from an end of `graph`, if it is connected but for less than a side. The end is found on a
/// coarser one of its `levels`.
pub(crate) fn best_level(graph: &Weighted, levels: &[Level], options: &NdOptions) -> Option<Cut> {
    let mut search = Search::default();
    let end = end(graph, levels, &mut search)?;
    let goal = options.goal(graph.total);
    let (mut best, mut cost) = (None, f64::INFINITY);
    let (mut before, mut from) = (0, 0);
    let mut ended_early = false;
    // What is before each level, and the level.
    let mut passed = Vec::new();
    search.run(graph, end, |level| {
        let own = graph.weight_of(level);
        let weight = [before, graph.total - before - own, own];
        let to = from + level.len();
        if goal.cost(&weight) < cost && options.halves(graph.n(), &weight) {
            cost = goal.cost(&weight);
            best = Some((weight, from..to));
            passed.clear();
        } else {
            passed.push((weight, from..to));
        }
        before += own;
        from = to;
        // The levels behind have no less before them, which alone costs that much.
        ended_early = goal.cost(&[before, graph.total - before, 0]) >= cost;
        !ended_early
    });
    if search.count < graph.n() && !ended_early {
        return None;
    }
    let (weight, range) = best?;
    let behind = match is_like_a_plane(cost, graph) {
        true => level_behind(passed, graph.n(), weight, cost, options),
        false => None,
    };
    Some(Cut {
        cost,
        separation: separation(&search, weight, range),
        behind: behind.map(|(weight, level)| separation(&search, weight, level)),
    })
}

/// Of the levels `passed` behind one of this `cost` that leaves `weight`, in a part of `n` vertices: the best separator of what is behind that one, and what
/// it leaves there; none that costs more, or is long.
pub(crate) fn level_behind(
    passed: Vec<([u64; 3], Range<usize>)>,
    n: usize,
    weight: [u64; 3],
    cost: f64,
    options: &NdOptions,
) -> Option<([u64; 3], Range<usize>)> {
    let [first, rest, own] = weight;
    let goal = options.goal(rest);
    let left = n as f64 * rest as f64 / (first + rest + own) as f64;
    let is_short = |own| own <= cost && over_root(own, left, rest as f64) < BEHIND;
    passed
        .into_iter()
        .map(|([before, after, of_level], level)| ([before - first - own, after, of_level], level))
        .filter(|(weight, _)| options.halves(n, weight))
        .map(|(weight, level)| (goal.cost(&weight), weight, level))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|&(cost, ..)| is_short(cost))
        .map(|(_, weight, level)| (weight, level))
}

/// The separation by the vertices in this part of a search's queue. Those behind stand on side 1, reached or not.
fn separation(search: &Search, weight: [u64; 3], level: Range<usize>) -> Separation {
    let mut side = vec![1; search.reached.len()];
    for &v in &search.queue[..level.start] {
        side[v as usize] = 0;
    }
    let mut separator = search.queue[level].to_vec();
    separator.sort_unstable();
    for &v in &separator {
        side[v as usize] = SEPARATOR;
    }
    Separation {
        side,
        weight,
        separator,
    }
}

/// A vertex at the end of `graph`: of those that the last vertex of a search on a coarse level stands for, one with fewest
/// neighbors.
fn end(graph: &Weighted, levels: &[Level], search: &mut Search) -> Option<u32> {
    let at = small_level(graph, levels);
    search.run(at_level(graph, levels, at), 0, |_| true);
    let mut members = vec![search.last()?];
    for level in levels[..at].iter().rev() {
        let map = level.map.par_iter().enumerate().with_min_len(1 << 14);
        let of_members = map.filter(|(_, c)| members.contains(c));
        members = of_members.map(|(v, _)| v as u32).collect();
    }
    members
        .into_iter()
        .min_by_key(|&v| graph.neighbors(v).len())
}

impl Search {
    /// Goes through the component of `start`, breadth first, as long as it is to `go_on` after each level.
    fn run(&mut self, graph: &Weighted, start: u32, mut go_on: impl FnMut(&[u32]) -> bool) {
        let n = graph.n();
        self.reached = zeroed(n);
        self.queue = zeroed(n + 1);
        let (reached, queue) = (&mut self.reached[..], &mut self.queue[..]);
        queue[0] = start;
        reached[start as usize] = 1;
        let (mut from, mut count) = (0, 1);
        while from < count && go_on(&queue[from..count]) {
            let level = from..count;
            from = count;
            count = reach_neighbors(graph, queue, level, |u| {
                std::mem::replace(&mut reached[u as usize], 1) == 0
            });
        }
        self.count = count;
    }

    fn last(&self) -> Option<u32> {
        self.queue[..self.count].last().copied()
    }
}

#[cfg(test)]
mod tests {
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
        let cut = best_level(&cube, &[], &options).unwrap();
        let (cost, s) = (cut.cost, cut.separation);
        // An axis-parallel plane has 400 vertices.
        assert!(cost < 310.0, "{cost}");
        let dissection = Dissection::new(&cube, &options, crate::Stop::NEVER).unwrap();
        let levels = dissection.hierarchy(&cube, 3);
        assert!(levels.len() > 1);
        let from_coarse = best_level(&cube, &levels, &options).unwrap().cost;
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
    fn one_search_cuts_two_corners_off_a_square() {
        let square = graph("p2d5_40");
        let cut = best_level(&square, &[], &NdOptions::default()).unwrap();
        let (first, behind) = (cut.separation, cut.behind.unwrap());
        let of = |s: u8| (0..1600u32).filter(move |&v| first.side[v as usize] == s);
        let part: Vec<u32> = of(1).collect();
        let second = behind.of_part(&part);
        for (side, weight) in (0..).zip(second.weight) {
            let own = second.side.iter().filter(|&&own| own == side);
            assert_eq!(own.count() as u64, weight);
        }
        assert_eq!(second.separator.len() as u64, second.weight[2]);
        assert_eq!(second.weight.iter().sum::<u64>(), first.weight[1]);
        assert!(second.weight[1] > 300 && second.weight[0] > second.weight[1]);
        for (&v, &own) in part.iter().zip(&second.side) {
            for u in square.neighbors(v) {
                let other = part.binary_search(u).map_or(SEPARATOR, |k| second.side[k]);
                assert!(own == SEPARATOR || other == SEPARATOR || own == other);
            }
        }
    }

    #[test]
    fn a_lone_vertex_stands_behind_the_level() {
        let mut square = graph("p2d5_20");
        square.offsets.push(square.adjacency.len() as u64);
        square.weights.push(1);
        square.total += 1;
        let cut = best_level(&square, &[], &NdOptions::default()).unwrap();
        let (cost, s) = (cut.cost, cut.separation);
        assert!(cost < 25.0, "{cost}");
        assert_eq!(s.side[400], 1);
        for (side, weight) in (0..).zip(s.weight) {
            let own = s.side.iter().filter(|&&own| own == side);
            assert_eq!(own.count() as u64, weight);
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
