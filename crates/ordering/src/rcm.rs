//! Reverse Cuthill–McKee: breadth-first from an end of the graph, neighbors by increasing degree,
//! reversed.
//!
//! George and Liu 1981: the start is a pseudo-peripheral vertex, found by walking to a vertex of
//! least degree in the last level until the number of levels stops growing. Time linear in the
//! edges but for sorting neighbors.

use crate::error::{OrderingError, refill};
use crate::graph::Graph;
use crate::mindeg::NONE;

/// Writes the order to `order` (length n); `queue` holds the levels of one search.
pub(crate) fn order(
    graph: &Graph,
    order: &mut Vec<u32>,
    [seen, queue, _]: &mut [Vec<u32>; 3],
) -> Result<(), OrderingError> {
    let n = graph.n();
    refill(order, n, NONE)?;
    refill(seen, n, NONE)?;
    refill(queue, n, NONE)?;
    let mut search = Search {
        graph,
        seen,
        searches: 0,
    };
    let mut done = 0;
    for v in 0..n as u32 {
        if search.seen[v as usize] != DONE {
            let start = search.peripheral(v, queue);
            done += search.number(start, &mut order[done..]);
        }
    }
    order.reverse();
    Ok(())
}

/// In `seen`: the vertex has its number.
const DONE: u32 = NONE - 1;

struct Search<'a> {
    graph: &'a Graph,
    /// Last search that reached each vertex.
    seen: &'a mut [u32],
    searches: u32,
}

impl Search<'_> {
    /// A vertex far from the others of `v`'s component.
    fn peripheral(&mut self, mut v: u32, queue: &mut [u32]) -> u32 {
        let mut depth = 0;
        loop {
            let (levels, last, end) = self.levels(v, queue);
            if levels <= depth {
                return v;
            }
            depth = levels;
            let far = queue[last..end].iter().copied();
            match far.min_by_key(|&u| self.graph.degree(u)) {
                Some(u) if u != v => v = u,
                _ => return v,
            }
        }
    }

    /// Breadth-first search: number of levels, where in `queue` the last one begins and ends.
    fn levels(&mut self, start: u32, queue: &mut [u32]) -> (usize, usize, usize) {
        // A component takes as many searches as its depth grows; far fewer than 2^32 in all.
        self.searches = (self.searches + 1) % DONE;
        let search = self.searches;
        queue[0] = start;
        self.seen[start as usize] = search;
        let (mut levels, mut first, mut end) = (1, 0, 1);
        loop {
            let last = end;
            for k in first..last {
                for &u in self.graph.neighbors(queue[k]) {
                    if self.seen[u as usize] != search {
                        self.seen[u as usize] = search;
                        queue[end] = u;
                        end += 1;
                    }
                }
            }
            if end == last {
                return (levels, first, end);
            }
            (first, levels) = (last, levels + 1);
        }
    }

    /// Numbers the component of `start` into the front of `order`; returns its size.
    fn number(&mut self, start: u32, order: &mut [u32]) -> usize {
        order[0] = start;
        self.seen[start as usize] = DONE;
        let (mut k, mut end) = (0, 1);
        while k < end {
            let first = end;
            for &u in self.graph.neighbors(order[k]) {
                if self.seen[u as usize] != DONE {
                    self.seen[u as usize] = DONE;
                    order[end] = u;
                    end += 1;
                }
            }
            order[first..end].sort_unstable_by_key(|&u| (self.graph.degree(u), u));
            k += 1;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_sparse::Pattern;

    fn bandwidth_of(pattern: &Pattern) -> usize {
        let mut order_ = Vec::new();
        let graph = Graph::from_pattern(pattern).unwrap();
        order(&graph, &mut order_, &mut Default::default()).unwrap();
        let mut position = vec![usize::MAX; graph.n()];
        for (k, &v) in order_.iter().enumerate() {
            assert_eq!(std::mem::replace(&mut position[v as usize], k), usize::MAX);
        }
        let edges =
            (0..graph.n() as u32).flat_map(|v| graph.neighbors(v).iter().map(move |&u| (v, u)));
        edges
            .map(|(v, u)| position[v as usize].abs_diff(position[u as usize]))
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn a_shuffled_path_gets_bandwidth_one() {
        // 0-3-1-4-2, and 5 alone.
        let p =
            Pattern::lower(6, &[0, 2, 5, 7, 8, 9, 10], &[0, 3, 1, 3, 4, 2, 4, 3, 4, 5]).unwrap();
        assert_eq!(bandwidth_of(&p), 1);
    }

    #[test]
    fn a_grid_gets_its_short_side() {
        // 4 by 30, numbered along the long side.
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for v in 0..120u32 {
            rows.push(v);
            if v % 30 != 29 {
                rows.push(v + 1);
            }
            if v + 30 < 120 {
                rows.push(v + 30);
            }
            ptr.push(rows.len() as u64);
        }
        let p = Pattern::lower(120, &ptr, &rows).unwrap();
        assert!(bandwidth_of(&p) <= 5);
    }
}
