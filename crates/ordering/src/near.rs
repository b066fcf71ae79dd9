//! Vertices renumbered before a minimum degree, so that neighbors are near each other.
//!
//! Of the variables of least degree it takes the one that was listed last, so the numbers that vertices have decide where an elimination
//! goes on. Those of a grid, line by line, serve it best: after a breadth-first search `p2d9_700` takes 2.4 times the operations.
//! Those of mesh generators jump, which is worse than any search, and each list is a miss of the caches: then vertices are numbered in the
//! order of a search, reversed, as Cuthill and McKee's is (George and Liu 1981). `ng_squarehole_p1` takes 0.70 times the operations then,
//! `rgg_200000` 0.75, `circuit_500000` as many; with the search the order takes 0.75 to 0.95 of the time (run `near-1`). Linear in the entries.

use crate::error::{OrderingError, refill, reserve};
use crate::mindeg::{NONE, prefetch};

/// Vertices from which on it is worth it: fewer are in a cache however they are numbered.
const MANY: usize = if cfg!(test) { 64 } else { 1 << 14 };

/// Vertices that are asked for their neighbors.
const SAMPLE: usize = 1024;

/// Neighbors are far from each other if less than so many such distances reach across all numbers.
const ACROSS: usize = 8;

/// About so many neighbors of one vertex count, that none outweighs all others.
const FEW: usize = 64;

/// A vertex that so many of these have for a far neighbor says nothing: it is far from most, whatever the numbers. Others are met once.
const HUB: usize = 8;

/// Whether most neighbors are far from each other by their numbers; of a graph of `n` vertices whose lists have every edge once or twice. Of
/// random numbers 0.77 are, of grids none, of meshes as generators number them 0.54 to 0.95, of closed ways of robots up to 0.43.
pub(crate) fn is_scattered<'a>(n: usize, neighbors: impl Fn(u32) -> &'a [u32]) -> bool {
    if n < MANY {
        return false;
    }
    let (mut far, mut near) = (Vec::new(), 0);
    // Odd, so that lines of a grid are met at different places.
    for v in (0..n as u32).step_by((n / SAMPLE) | 1) {
        let list = neighbors(v);
        for &u in list.iter().step_by(list.len() / FEW + 1) {
            match u.abs_diff(v) as usize > n / ACROSS {
                true => far.push(u),
                false => near += 1,
            }
        }
    }
    if far.len() <= near {
        return false;
    }
    far.sort_unstable();
    let ends = far.chunk_by(|a, b| a == b).map(<[u32]>::len);
    ends.filter(|&count| count < HUB).sum::<usize>() > near
}

/// Writes the vertices in the reversed order of a breadth-first search to `order`, and calls `found` with the place of each, its neighbors
/// and the places of all vertices, among which theirs are known then. Those of more neighbors than `most` are passed over, and come last: by a
/// vertex that is near all others every vertex would be.
pub(crate) fn reversed_search<'a>(
    n: usize,
    neighbors: impl Fn(u32) -> &'a [u32],
    most: u64,
    order: &mut Vec<u32>,
    mut found: impl FnMut(u32, &[u32], &[u32]),
) -> Result<(), OrderingError> {
    let mut place = Vec::new();
    refill(&mut place, n, NONE)?;
    order.clear();
    reserve(order, n)?;
    let reach = |v: u32, place: &mut [u32], order: &mut Vec<u32>| {
        let place = &mut place[v as usize];
        if *place == NONE {
            order.push(v);
            *place = (n - order.len()) as u32;
        }
    };
    let is_dense = |v: &u32| neighbors(*v).len() as u64 > most;
    let vertices = 0..n as u32;
    let dense = vertices.filter(is_dense);
    dense.for_each(|v| reach(v, &mut place, order));
    let count = order.len();
    let mut next = count;
    for start in 0..n as u32 {
        reach(start, &mut place, order);
        while let Some(&v) = order.get(next) {
            if let Some(&later) = order.get(next + AHEAD) {
                prefetch(neighbors(later), 0);
            }
            if let Some(&soon) = order.get(next + AHEAD / 4) {
                let soon = neighbors(soon).iter();
                soon.for_each(|&u| prefetch(&place, u as usize));
            }
            let list = neighbors(v);
            list.iter().for_each(|&u| reach(u, &mut place, order));
            next += 1;
            found((n - next) as u32, list, &place);
        }
    }
    for (k, &v) in order[..count].iter().enumerate() {
        found((n - 1 - k) as u32, neighbors(v), &place);
    }
    order.reverse();
    Ok(())
}

/// Vertices ahead of that in work: their lists are anywhere, and so are what these name.
const AHEAD: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use tamarack_sparse::models::Model;
    use tamarack_testkit::Rng;

    /// A grid's graph, its vertices numbered at random if asked.
    fn grid(shuffled: bool) -> Vec<Vec<u32>> {
        let a = "p2d5_30".parse::<Model>().unwrap().generate::<f64>();
        let graph = Graph::from_pattern(a.unwrap().pattern()).unwrap();
        let n = graph.n();
        let mut number: Vec<u32> = (0..n as u32).collect();
        let mut random = Rng::new(7);
        for k in (1..n).rev().filter(|_| shuffled) {
            number.swap(k, random.below(k + 1));
        }
        let mut lists = vec![Vec::new(); n];
        for v in 0..n as u32 {
            let list = graph.neighbors(v).iter().map(|&u| number[u as usize]);
            lists[number[v as usize] as usize] = list.collect();
        }
        lists
    }

    #[test]
    fn numbers_of_a_grid_stay_and_random_ones_do_not() {
        for shuffled in [false, true] {
            let lists = grid(shuffled);
            let scattered = is_scattered(lists.len(), |v| &lists[v as usize]);
            assert_eq!(scattered, shuffled);
        }
    }

    #[test]
    fn neighbors_of_all_do_not_make_numbers_scattered() {
        for shuffled in [false, true] {
            let mut lists = grid(shuffled);
            let n = lists.len();
            for hub in 0..9 {
                lists.iter_mut().for_each(|list| list.push(n as u32 + hub));
            }
            lists.resize(n + 9, (0..n as u32).collect());
            let scattered = is_scattered(lists.len(), |v| &lists[v as usize]);
            assert_eq!(scattered, shuffled);
        }
    }

    #[test]
    fn a_search_brings_neighbors_together() {
        let lists = grid(true);
        let n = lists.len();
        let (mut order, mut distance, mut seen) = (Vec::new(), 0, vec![0; n]);
        let found = |number: u32, list: &[u32], place: &[u32]| {
            seen[number as usize] += list.len();
            for &u in list {
                distance = distance.max(place[u as usize].abs_diff(number));
            }
        };
        reversed_search(n, |v| &lists[v as usize], u64::MAX, &mut order, found).unwrap();
        for (&v, seen) in order.iter().zip(seen) {
            assert_eq!(lists[v as usize].len(), seen);
        }
        // Two levels of a search of 30 × 30 vertices.
        assert!(distance <= 60, "{distance}");
        assert_eq!(order[n - 1], 0);
    }

    #[test]
    fn a_search_goes_around_what_is_near_all() {
        let mut lists = grid(true);
        let n = lists.len();
        lists.iter_mut().for_each(|list| list.push(n as u32));
        lists.push((0..n as u32).collect());
        let (mut order, mut distance, mut seen) = (Vec::new(), 0, vec![0; n + 1]);
        let found = |number: u32, list: &[u32], place: &[u32]| {
            seen[number as usize] += list.len();
            let others = list.iter().map(|&u| place[u as usize]);
            for other in others.filter(|&other| other.max(number) < n as u32) {
                distance = distance.max(other.abs_diff(number));
            }
        };
        reversed_search(n + 1, |v| &lists[v as usize], 100, &mut order, found).unwrap();
        for (&v, seen) in order.iter().zip(seen) {
            assert_eq!(lists[v as usize].len(), seen);
        }
        assert!(distance <= 60, "{distance}");
        assert_eq!(order[n], n as u32);
    }
}
