//! Twins: vertices with the same closed neighborhood, merged before anything else (Ashcraft 1995).
//!
//! Unknowns of one mesh node are such twins: with three of them the graph shrinks nine times. Twins
//! are neighbors of each other, so that each vertex looks at its own list only; equal sums of hashed
//! neighbors announce them, and lists are compared entry by entry before anything is merged.

use std::ops::Range;

use rayon::prelude::*;

use crate::graph::Graph;
use crate::mindeg::{DenseLimits, NONE};
use crate::nd::graph::Weighted;

/// Parts of the compressed graph that are written at the same time.
const BLOCKS: usize = 64;

/// A graph whose twins are merged, and who they were.
pub(crate) struct Compressed {
    pub(crate) graph: Weighted,
    /// Members of compressed vertex `c`: `members[member_ptr[c]..member_ptr[c + 1]]`. Both are empty
    /// where every vertex stands for itself.
    pub(crate) member_ptr: Vec<u32>,
    pub(crate) members: Vec<u32>,
    /// Vertices left out because they have too many neighbors.
    pub(crate) dense: Vec<u32>,
}

impl Compressed {
    /// The vertices that compressed vertex `c` stands for.
    pub(crate) fn members_of<'a>(&'a self, c: &'a u32) -> &'a [u32] {
        let at = *c as usize;
        match self.member_ptr.get(at..at + 2) {
            Some(range) => &self.members[range[0] as usize..range[1] as usize],
            None => std::slice::from_ref(c),
        }
    }
}

/// Merges twins; leaves out vertices with very many neighbors by weight. `weights` has one entry for each vertex. Vertices keep the order of
/// their first members.
pub(crate) fn compress(graph: Graph, weights: Vec<u32>, limits: DenseLimits) -> Compressed {
    let n = graph.n();
    let dense = dense(&graph, &weights, limits);
    let (class, count) = classes(&graph, &dense);
    if count == n {
        return Compressed {
            graph: Weighted::new(graph, weights),
            member_ptr: Vec::new(),
            members: Vec::new(),
            dense,
        };
    }
    contract_classes(&graph, &weights, &class, count, dense)
}

/// The vertices with very many neighbors, increasing.
fn dense(graph: &Graph, weights: &[u32], limits: DenseLimits) -> Vec<u32> {
    let heaviest = u64::from(weights.iter().copied().max().unwrap_or(1));
    let many = |&v: &u32| limits.may_exceed(graph.degree(v) as u64 * heaviest + heaviest - 1);
    let vertices = (0..graph.n() as u32).into_par_iter().with_min_len(512);
    let of_many = vertices.filter(many).map(|v| {
        let neighbors = graph.neighbors(v).iter();
        let degree: u64 = neighbors.map(|&u| u64::from(weights[u as usize])).sum();
        // Of an unknown, those that it shares the vertex with are neighbors, too.
        (v, degree + u64::from(weights[v as usize]) - 1)
    });
    let of_many: Vec<(u32, u64)> = of_many.collect();
    let limit = limits.of(of_many
        .iter()
        .map(|&(v, degree)| (degree, weights[v as usize])));
    let above = of_many.iter().filter(|v| v.1 > limit);
    above.map(|v| v.0).collect()
}

/// The class of each vertex (`NONE`: dense), and their number.
///
/// Twins are each other's neighbors and their relation is transitive, so that the first of a class
/// is the first twin in the list of each: all vertices can look for it at the same time.
fn classes(graph: &Graph, dense: &[u32]) -> (Vec<u32>, usize) {
    let n = graph.n();
    let spread = |v: u32| {
        (v.wrapping_add(1))
            .wrapping_mul(0x9E37_79B1)
            .rotate_left(11)
    };
    let vertices = || (0..n as u32).into_par_iter().with_min_len(512);
    let keys: Vec<u32> = vertices()
        .map(|v| {
            let list = graph.neighbors(v).iter();
            list.fold(spread(v), |sum, &u| sum.wrapping_add(spread(u)))
        })
        .collect();
    let first_twin = |v: u32| {
        let own = keys[v as usize];
        let before = graph.neighbors(v).iter().take_while(|&&u| u < v);
        let mut alike = before.filter(|&&u| keys[u as usize] == own);
        alike.find(|&&u| are_twins(graph, v, u)).map_or(v, |&u| u)
    };
    let mut class: Vec<u32> = vertices().map(first_twin).collect();
    dense.iter().for_each(|&v| class[v as usize] = NONE);
    let classes = class.par_iter().enumerate().with_min_len(512);
    if classes.all(|(v, &c)| c as usize == v) {
        return (class, n);
    }
    let mut count = 0u32;
    for v in 0..n {
        if class[v] == NONE {
            continue;
        }
        if class[v] as usize == v {
            class[v] = count;
            count += 1;
        } else {
            class[v] = class[class[v] as usize];
        }
    }
    (class, count as usize)
}

/// Whether neighbors `v` and `u` have the same closed neighborhood; lists are sorted.
fn are_twins(graph: &Graph, v: u32, u: u32) -> bool {
    let (a, b) = (graph.neighbors(v), graph.neighbors(u));
    a.len() == b.len()
        && a.iter()
            .filter(|&&x| x != u)
            .eq(b.iter().filter(|&&x| x != v))
}

fn contract_classes(
    graph: &Graph,
    weights: &[u32],
    class: &[u32],
    count: usize,
    dense: Vec<u32>,
) -> Compressed {
    let mut member_ptr = vec![0u32; count + 1];
    for &c in class.iter().filter(|&&c| c != NONE) {
        member_ptr[c as usize + 1] += 1;
    }
    for c in 0..count {
        member_ptr[c + 1] += member_ptr[c];
    }
    let mut next = member_ptr.clone();
    let mut members = vec![0u32; member_ptr[count] as usize];
    for (v, &c) in class.iter().enumerate() {
        if c != NONE {
            members[next[c as usize] as usize] = v as u32;
            next[c as usize] += 1;
        }
    }
    let mut out = Weighted::default();
    out.clear();
    let block = count.div_ceil(BLOCKS).max(1);
    let parts: Vec<Weighted> = (0..count.div_ceil(block))
        .into_par_iter()
        .map(|k| {
            let range = k * block..count.min((k + 1) * block);
            contract_range(graph, weights, class, &member_ptr, &members, range)
        })
        .collect();
    out.total = parts.iter().map(|part| part.total).sum();
    out.append(parts);
    Compressed {
        graph: out,
        member_ptr,
        members,
        dense,
    }
}

/// Some of the compressed vertices with their lists.
fn contract_range(
    graph: &Graph,
    weights: &[u32],
    class: &[u32],
    member_ptr: &[u32],
    members: &[u32],
    range: Range<usize>,
) -> Weighted {
    let mut part = Weighted::default();
    part.clear();
    let mut list: Vec<u32> = Vec::new();
    for c in range {
        let own = member_ptr[c] as usize..member_ptr[c + 1] as usize;
        let weight = members[own.clone()]
            .iter()
            .map(|&v| weights[v as usize])
            .sum();
        part.weights.push(weight);
        part.total += u64::from(weight);
        // All members have the neighbors of the first; twins among these stand for one.
        let neighbors = graph.neighbors(members[own.start]).iter();
        list.clear();
        list.extend(neighbors.map(|&u| class[u as usize]));
        list.sort_unstable();
        list.dedup();
        let others = list.iter().filter(|&&d| d != NONE && d != c as u32);
        part.adjacency.extend(others);
        part.offsets.push(part.adjacency.len() as u64);
    }
    part
}
