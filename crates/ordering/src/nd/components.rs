//! The connected components of a graph.
//!
//! Boundary conditions kept as identity rows make unknowns without neighbors, several bodies a graph in pieces. Whoever cuts such a graph as
//! one finds separators of nothing, or levels that end with a component: each is better ordered alone. Linear in the edges
//! but for the trees' depths; a graph in an order of its own, such as a grid's, is one tree at once.

use tamarack_sparse::memory::{with_room, zeroed};

use crate::nd::graph::Weighted;

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
        let (mut before, lone) = joined(graph)?;
        // First vertices come before the others of their components, so `before` can be made the number of each vertex's first one on the way.
        let mut counts = zeroed(n);
        for v in 0..n as u32 {
            let first = before[before[v as usize] as usize];
            before[v as usize] = first;
            counts[first as usize] += 1u32;
        }
        let mut parts: Vec<Part> = Vec::new();
        // Where the last part of small components stands among them.
        let mut open = None;
        // Number of each vertex's part, from 1, or 0 of those without neighbors: of the first ones in `counts`.
        for first in 0..n as u32 {
            if before[first as usize] != first {
                continue;
            }
            let count = counts[first as usize] as usize;
            if count == 1 {
                counts[first as usize] = 0;
                continue;
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
            counts[first as usize] = at as u32 + 1;
        }
        let mut labels = before;
        for label in &mut labels {
            *label = counts[*label as usize];
        }
        (n > 1).then(|| Self {
            list: sort(&labels, lone, &parts),
            lone,
            parts,
        })
    }
}

/// For each vertex one of its component that does not come after it, itself only for the first; and how many have no neighbors. None if the graph
/// is connected: mostly that is known before the end.
///
/// Trees are joined by edges, the first vertex of each at its root (Galler and Fischer 1964).
fn joined(graph: &Weighted) -> Option<(Vec<u32>, usize)> {
    let n = graph.n() as u32;
    let (mut before, mut lone, mut trees) = (with_room(graph.n()), 0, 0);
    for v in 0..n {
        let list = graph.neighbors(v);
        lone += usize::from(list.is_empty());
        let earlier = list.iter().find(|u| **u < v);
        trees += usize::from(earlier.is_none());
        before.push(earlier.map_or(v, |&u| before[u as usize]));
    }
    for v in 0..n {
        if trees <= 1 {
            return None;
        }
        for &u in graph.neighbors(v).iter().filter(|u| **u < v) {
            let [a, b] = [root(&mut before, u), root(&mut before, v)];
            before[a.max(b) as usize] = a.min(b);
            trees -= usize::from(a != b);
        }
    }
    (trees > 1).then_some((before, lone))
}

/// The root of the tree that a vertex is in; the way there becomes half as long.
fn root(before: &mut [u32], mut v: u32) -> u32 {
    while before[v as usize] != v {
        let next = before[before[v as usize] as usize];
        before[v as usize] = next;
        v = next;
    }
    v
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
    use crate::mindeg::NONE;
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

    /// A cycle whose vertices are numbered in any order is connected; two of them are two parts, each of one's vertices.
    #[test]
    fn rings_in_any_order_are_found_whole() {
        for seed in 0..50 {
            let mut random = Rng::new(seed);
            let n = 3 + random.below(60) as u32;
            let mut order: Vec<u32> = (0..2 * n).collect();
            for k in (1..order.len()).rev() {
                order.swap(k, random.below(k + 1));
            }
            let ring = |list: &[u32]| -> Vec<(u32, u32)> {
                let next = list.iter().cycle().skip(1);
                list.iter().copied().zip(next.copied()).collect()
            };
            assert!(Components::of(&graph(2 * n as usize, &ring(&order)), 0, 0).is_none());
            let halves = order.split_at(n as usize);
            let both = [ring(halves.0), ring(halves.1)].concat();
            let found = Components::of(&graph(2 * n as usize, &both), 0, 0).unwrap();
            let sizes: Vec<usize> = found.parts.iter().map(|part| part.len).collect();
            assert_eq!((found.lone, sizes), (0, vec![n as usize; 2]));
            let mut first: Vec<u32> = [halves.0, halves.1]
                .into_iter()
                .find(|half| half.contains(&0))
                .unwrap()
                .to_vec();
            first.sort_unstable();
            assert_eq!(found.list[..n as usize], first);
        }
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
