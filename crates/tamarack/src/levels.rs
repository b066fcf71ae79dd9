//! The levels of a breadth-first search (George and Liu 1978).
//!
//! They cut a graph: the middle one is about as large as its separator, in a plane or in a solid. A search is linear in
//! the entries.

use std::ops::Range;

use tamarack_ordering::MergedGraph;

/// Levels on either side of the middle one among which the smallest is taken.
const AROUND: usize = 2;

/// The middle level of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    /// Vertices of the smallest level about the one in which half of the vertices are reached.
    pub(crate) width: usize,
    /// Levels of the search, and vertices in them.
    pub(crate) count: usize,
    pub(crate) reached: usize,
    /// The vertex reached when half of them are, and the last one.
    pub(crate) middle: u32,
    pub(crate) last: u32,
}

/// A breadth-first search, component by component.
pub(crate) struct Search {
    seen: Vec<bool>,
    /// The vertices of the component in the order in which they are reached.
    queue: Vec<u32>,
    /// Where each of its levels ends.
    ends: Vec<usize>,
}

impl Search {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            seen: vec![false; n],
            queue: Vec::with_capacity(n),
            ends: Vec::new(),
        }
    }

    /// Whether a search has come to vertex `v`.
    pub(crate) fn has_seen(&self, v: u32) -> bool {
        self.seen[v as usize]
    }

    /// Searches from `start`; no level in a graph without vertices.
    pub(crate) fn middle_level(&mut self, graph: &MergedGraph, start: u32) -> Level {
        self.queue.clear();
        self.ends.clear();
        if graph.n() == 0 {
            return Level::default();
        }
        self.queue.push(start);
        self.seen[start as usize] = true;
        let mut k = 0;
        while k < self.queue.len() {
            let end = self.queue.len();
            while k < end {
                for &u in graph.neighbors(self.queue[k]) {
                    if !std::mem::replace(&mut self.seen[u as usize], true) {
                        self.queue.push(u);
                    }
                }
                k += 1;
            }
            self.ends.push(end);
        }
        let widths = self
            .middle()
            .map(|level| self.ends[level] - self.begin(level));
        Level {
            width: widths.min().unwrap_or(0),
            count: self.ends.len(),
            reached: self.queue.len(),
            middle: self.queue[self.queue.len() / 2],
            last: self.queue.last().copied().unwrap_or(start),
        }
    }

    /// The levels about the one in which half of the vertices are reached.
    fn middle(&self) -> Range<usize> {
        let half = self.queue.len() / 2;
        let middle = self.ends.partition_point(|&end| end <= half);
        middle.saturating_sub(AROUND)..self.ends.len().min(middle + AROUND + 1)
    }

    /// Where a level begins among the vertices.
    fn begin(&self, level: usize) -> usize {
        level.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// The share of the vertices in the middle levels of the last search that the largest of their components has: all of them in a
    /// plane or a solid. Where many arms leave a core, or rings have links across, a level is wide because it has many pieces,
    /// and separators are small.
    pub(crate) fn connected_share(mut self, graph: &MergedGraph) -> f64 {
        let middle = self.middle();
        let vertices = self.queue[self.begin(middle.start)..self.begin(middle.end)].to_vec();
        for &v in &vertices {
            self.seen[v as usize] = false;
        }
        let mut largest = 0u32;
        for &start in &vertices {
            let mut size = 0;
            self.queue.clear();
            if !std::mem::replace(&mut self.seen[start as usize], true) {
                self.queue.push(start);
            }
            while let Some(v) = self.queue.pop() {
                size += 1;
                for &u in graph.neighbors(v) {
                    if !std::mem::replace(&mut self.seen[u as usize], true) {
                        self.queue.push(u);
                    }
                }
            }
            largest = largest.max(size);
        }
        f64::from(largest) / vertices.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use tamarack_sparse::models::Model;

    use super::*;

    #[test]
    fn the_middle_level_of_a_grid_is_its_diagonal() {
        let model: Model = "p2d5_30".parse().unwrap();
        let a = model.generate::<f64>().unwrap();
        let graph = MergedGraph::new(a.pattern()).unwrap();
        let mut search = Search::new(graph.n());
        // Diagonals of 28 to 30 vertices are about the middle.
        let expected = Level {
            width: 28,
            count: 59,
            reached: 900,
            middle: 464,
            last: 899,
        };
        assert_eq!(search.middle_level(&graph, 0), expected);
        assert!(search.seen.iter().all(|&seen| seen));
    }
}
