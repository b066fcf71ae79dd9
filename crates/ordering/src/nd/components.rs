//! The connected components of a graph.
//!
//! Boundary conditions kept as identity rows make unknowns without neighbors, several bodies a graph in pieces. Whoever cuts such a graph as
//! one finds separators of nothing, or levels that end with a component: each is better ordered alone. Found by one
//! breadth-first search, linear in the edges.

use tamarack_sparse::memory::zeroed;

use crate::mindeg::NONE;
use crate::nd::graph::Weighted;
use crate::nd::levels::reach_neighbors;

/// The vertices of a graph that is not connected, part by part.
pub(crate) struct Components {
    /// All vertices: those without neighbors, then each part, the parts by their first vertices. Increasing within each.
    pub(crate) list: Vec<u32>,
    /// Vertices without neighbors.
    pub(crate) lone: usize,
    pub(crate) parts: Vec<Part>,
}

/// A component, or several small ones that are worth no task of their own.
pub(crate) struct Part {
    pub(crate) len: usize,
    /// Whether it is one component of more than `few` vertices.
    pub(crate) is_large: bool,
}

impl Components {
    /// The components of `graph`; none if it is connected. Those of at most `few` vertices are taken together, until they have `together` or more.
    pub(crate) fn of(graph: &Weighted, few: usize, together: usize) -> Option<Self> {
        let n = graph.n();
        // Number of each vertex's part, from 1, or 0 of those without neighbors; while its component is searched, NONE.
        let mut labels = zeroed(n);
        let mut queue = zeroed(n + 1);
        let mut parts: Vec<Part> = Vec::new();
        // Where the last part of small components stands among them.
        let mut open = None;
        let mut lone = 0;
        for first in 0..n as u32 {
            if graph.neighbors(first).is_empty() {
                lone += 1;
            } else if labels[first as usize] == 0 {
                let count = reach(graph, &mut labels, &mut queue, first);
                if count == n {
                    return None;
                }
                let is_large = count > few;
                let has_room = |&at: &usize| !is_large && parts[at].len < together;
                let at = open.filter(has_room).unwrap_or(parts.len());
                if at == parts.len() {
                    parts.push(Part { len: 0, is_large });
                }
                if !is_large {
                    open = Some(at);
                }
                parts[at].len += count;
                let component = queue[..count].iter();
                component.for_each(|&v| labels[v as usize] = at as u32 + 1);
            }
        }
        (n > 1).then(|| Self {
            list: sort(&labels, lone, &parts),
            lone,
            parts,
        })
    }
}

/// Writes the component of `first` to the queue, marks it, and returns the number of its vertices.
fn reach(graph: &Weighted, labels: &mut [u32], queue: &mut [u32], first: u32) -> usize {
    queue[0] = first;
    labels[first as usize] = NONE;
    let (mut from, mut count) = (0, 1);
    while from < count {
        let level = from..count;
        from = count;
        count = reach_neighbors(graph, queue, level, |u| {
            std::mem::replace(&mut labels[u as usize], NONE) == 0
        });
    }
    count
}

/// The vertices by label, increasing: so many of label 0, then those of the `parts`.
fn sort(labels: &[u32], lone: usize, parts: &[Part]) -> Vec<u32> {
    let mut next = vec![0, lone];
    let mut end = lone;
    for part in parts {
        end += part.len;
        next.push(end);
    }
    let mut list = zeroed(labels.len());
    for (v, &label) in (0..).zip(labels) {
        let at = &mut next[label as usize];
        list[*at] = v;
        *at += 1;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use tamarack_testkit::{Rng, pattern_of_edges};

    fn graph(n: usize, edges: &[(u32, u32)]) -> Weighted {
        let graph = Graph::from_pattern(&pattern_of_edges(n, edges)).unwrap();
        Weighted::new(graph, vec![1; n])
    }

    /// Paths of these lengths, one after the other.
    fn paths(lengths: &[u32]) -> Weighted {
        let mut edges = Vec::new();
        let mut n = 0;
        for &length in lengths {
            edges.extend((n + 1..n + length).map(|v| (v - 1, v)));
            n += length;
        }
        graph(n as usize, &edges)
    }

    #[test]
    fn a_connected_graph_has_none() {
        for n in 0..5 {
            assert!(Components::of(&paths(&[n]), 2, 4).is_none());
        }
        assert!(Components::of(&paths(&[1, 1]), 2, 4).is_some());
    }

    #[test]
    fn small_ones_are_taken_together() {
        let found = Components::of(&paths(&[1, 2, 5, 2, 1, 2, 2, 6, 2]), 2, 4).unwrap();
        let parts: Vec<(usize, bool)> = (found.parts.iter())
            .map(|part| (part.len, part.is_large))
            .collect();
        let small = |len| (len, false);
        assert_eq!(
            parts,
            [small(4), (5, true), small(4), (6, true), small(2)],
            "of paths {:?}",
            found.list
        );
        assert_eq!(found.lone, 2);
        let lists = [0, 10, 1, 2, 8, 9, 3, 4, 5, 6, 7, 11, 12, 13, 14];
        assert_eq!(found.list[..15], lists);
    }

    #[test]
    fn no_edge_joins_two_parts() {
        for seed in 0..100 {
            let mut random = Rng::new(seed);
            let n = 2 + random.below(200);
            let mut end = || random.below(n) as u32;
            let edges: Vec<_> = (0..n / 2).map(|_| (end(), end())).collect();
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a != b).collect();
            let graph = graph(n, &edges);
            let found = Components::of(&graph, 3, 10).unwrap();
            let mut part_of = vec![NONE; n];
            let (lone, mut rest) = found.list.split_at(found.lone);
            assert!(lone.iter().all(|&v| graph.neighbors(v).is_empty()));
            for (k, part) in (0..).zip(&found.parts) {
                let (own, behind) = rest.split_at(part.len);
                assert!(own.is_sorted());
                own.iter().for_each(|&v| part_of[v as usize] = k);
                rest = behind;
            }
            assert!(rest.is_empty());
            for v in 0..n as u32 {
                let mut list = graph.neighbors(v).iter();
                assert!(list.all(|&u| part_of[u as usize] == part_of[v as usize]));
            }
        }
    }
}
