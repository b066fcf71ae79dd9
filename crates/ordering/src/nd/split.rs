//! A graph cut in two along a separator.

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::bisect::Separation;
use crate::nd::buckets::Counted;
use crate::nd::graph::{CHUNK, Weighted, chunk_sums};
use crate::nd::large::places;
use crate::nd::{LARGE, Space};

/// Splits `graph` and puts `list` into the order left, right, separator; returns the graphs of the
/// sides and the number of vertices on the left. `space.list` has the vertices of `graph` in that order.
pub(super) fn split(
    graph: &Weighted,
    separation: &Separation,
    list: &mut [u32],
    space: &mut Space,
) -> ([Weighted; 2], usize) {
    let n = graph.n();
    let starts = if n < LARGE {
        space.sort(&separation.side)
    } else {
        space.sort_in_chunks(&separation.side)
    };
    let mut parts = [0, 1].map(|_| space.graphs.pop().unwrap_or_default());
    let extract = |s: usize, part: &mut Weighted| {
        let (local, side) = (&space.local, &separation.side);
        let own = &space.list[starts[s]..starts[s + 1]];
        let start = starts[s] as u32;
        let place = |u: u32| match side[u as usize] == s as u8 {
            true => local[u as usize] - start,
            false => NONE,
        };
        // All neighbors stay but those in the separator, which is small.
        let counts = || {
            let mut counts = chunk_sums(own, |v| graph.neighbors(v).len());
            let lost = separation.separator.iter();
            let lost = lost.flat_map(|&v| graph.neighbors(v)).map(|&u| place(u));
            for at in lost.filter(|&at| at != NONE) {
                counts[at as usize / CHUNK] -= 1;
            }
            counts
        };
        graph.extract_counted(part, own, &place, counts);
    };
    let [left, right] = &mut parts;
    if n < LARGE {
        extract(0, left);
        extract(1, right);
    } else {
        rayon::join(|| extract(0, left), || extract(1, right));
    }
    space.moved.clear();
    if n < LARGE {
        space
            .moved
            .extend(space.list.iter().map(|&k| list[k as usize]));
    } else {
        let places = space.list.par_iter().with_min_len(LARGE);
        space.moved.par_extend(places.map(|&k| list[k as usize]));
    }
    list.copy_from_slice(&space.moved);
    (parts, starts[1])
}

impl Space {
    /// Gives back what the lists of a large graph take: those of its parts are far shorter.
    pub(super) fn drop_lists(&mut self) {
        (self.list, self.local, self.moved) = Default::default();
    }

    /// Fills `list` with the vertices of side 0, side 1 and the separator, and `local` with their places
    /// in it; returns where each begins, and the end.
    fn sort(&mut self, side: &[u8]) -> [usize; 4] {
        let mut counts = [0; 3];
        side.iter().for_each(|&s| counts[s as usize] += 1);
        let starts = [0, counts[0], counts[0] + counts[1], side.len()];
        let mut next = starts;
        self.list.resize(side.len(), 0);
        self.local.clear();
        let places = side.iter().enumerate().map(|(v, &s)| {
            let at = &mut next[s as usize];
            self.list[*at] = v as u32;
            *at += 1;
            *at as u32 - 1
        });
        self.local.extend(places);
        starts
    }

    /// The same by all threads.
    fn sort_in_chunks(&mut self, side: &[u8]) -> [usize; 4] {
        let counted = Counted::new(side.len(), 3, |v| u32::from(side[v]));
        let totals = counted.totals();
        let ends = [totals[0], totals[0] + totals[1]];
        self.list = counted.sorted(vec![0, ends[0], ends[1]], side.len());
        self.local = places(&self.list, side.len());
        [0, ends[0] as usize, ends[1] as usize, side.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::nd::board::SEPARATOR;
    use tamarack_sparse::models::Model;

    #[test]
    fn parts_of_many_chunks_are_the_subgraphs() {
        // Both sides have more than two chunks.
        let matrix = "p2d5_300".parse::<Model>().unwrap();
        let matrix = matrix.generate::<f64>().unwrap();
        let n = matrix.n();
        let graph = Graph::from_pattern(matrix.pattern()).unwrap();
        let graph = Weighted::new(graph, vec![1; n]);
        let side: Vec<u8> = (0..n)
            .map(|v| match (v % 300).cmp(&140) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => SEPARATOR,
                std::cmp::Ordering::Greater => 1,
            })
            .collect();
        let of = |s: u8| (0..n as u32).filter(|&v| side[v as usize] == s).collect();
        let lists: [Vec<u32>; 3] = [0, 1, SEPARATOR].map(of);
        let separation = Separation {
            weight: [0, 1, 2].map(|s: usize| lists[s].len() as u64),
            separator: lists[2].clone(),
            side,
        };
        let mut list: Vec<u32> = (0..n as u32).map(|v| v + 7).collect();
        let (parts, left) = split(&graph, &separation, &mut list, &mut Space::default());
        assert_eq!(left, lists[0].len());
        let moved: Vec<u32> = lists.concat().iter().map(|v| v + 7).collect();
        assert_eq!(list, moved);
        for (part, own) in parts.iter().zip(&lists) {
            assert!(own.len() > 2 * CHUNK);
            assert_eq!((part.n(), part.total), (own.len(), own.len() as u64));
            for (k, &v) in (0..).zip(own) {
                let inside = graph.neighbors(v).iter();
                let inside = inside.filter_map(|u| own.binary_search(u).ok());
                assert!(inside.eq(part.neighbors(k).iter().map(|&u| u as usize)));
            }
        }
    }
}
