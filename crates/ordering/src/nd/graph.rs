//! Weighted graphs for multilevel methods, and the compression of twins.

use crate::graph::Graph;
use crate::mindeg::NONE;

/// An undirected graph with weights; every edge is stored at both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted {
    /// Offsets, length n + 1.
    pub(crate) offsets: Vec<usize>,
    /// Neighbors.
    pub(crate) adjacency: Vec<u32>,
    /// Weight of each stored neighbor's edge.
    pub(crate) edge_weights: Vec<u32>,
    /// Unknowns that each vertex stands for, length n.
    pub(crate) weights: Vec<u32>,
    /// Σ weights.
    pub(crate) total: u64,
}

impl Weighted {
    pub(crate) fn n(&self) -> usize {
        self.weights.len()
    }

    pub(crate) fn neighbors(&self, v: u32) -> &[u32] {
        let v = v as usize;
        &self.adjacency[self.offsets[v]..self.offsets[v + 1]]
    }

    /// Neighbors of `v` with the weights of the edges to them.
    pub(crate) fn edges(&self, v: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.offsets[v as usize]..self.offsets[v as usize + 1];
        let weights = self.edge_weights[range.clone()].iter();
        self.adjacency[range].iter().copied().zip(weights.copied())
    }

    /// The subgraphs on the vertices with `side` 0 and 1, with the vertices' numbers in `self`.
    pub(crate) fn split(&self, side: &[u8]) -> [(Weighted, Vec<u32>); 2] {
        let mut local = vec![0u32; self.n()];
        let mut parts: [(Weighted, Vec<u32>); 2] = Default::default();
        let mut entries = [0usize; 2];
        for v in 0..self.n() {
            if let Some((_, ids)) = parts.get_mut(side[v] as usize) {
                local[v] = ids.len() as u32;
                ids.push(v as u32);
                entries[side[v] as usize] += self.offsets[v + 1] - self.offsets[v];
            }
        }
        for (s, (part, ids)) in parts.iter_mut().enumerate() {
            part.offsets.reserve_exact(ids.len() + 1);
            part.weights.reserve_exact(ids.len());
            part.adjacency.reserve_exact(entries[s]);
            part.offsets.push(0);
            for &v in ids.iter() {
                let inside = self
                    .neighbors(v)
                    .iter()
                    .filter(|&&u| side[u as usize] == s as u8);
                part.adjacency.extend(inside.map(|&u| local[u as usize]));
                part.offsets.push(part.adjacency.len());
                part.weights.push(self.weights[v as usize]);
                part.total += u64::from(self.weights[v as usize]);
            }
            part.edge_weights = vec![1; part.adjacency.len()];
        }
        parts
    }
}

/// A graph whose twins are merged, and who they were.
pub(crate) struct Compressed {
    pub(crate) graph: Weighted,
    /// Members of compressed vertex `c`: `members[member_ptr[c]..member_ptr[c + 1]]`.
    pub(crate) member_ptr: Vec<u32>,
    pub(crate) members: Vec<u32>,
    /// Vertices left out because they have too many neighbors.
    pub(crate) dense: Vec<u32>,
}

/// Merges vertices with the same closed neighborhood; leaves out those with more than
/// `dense_limit` neighbors. Vertices keep the order of their first members.
///
/// Unknowns of one mesh node are such twins: with three of them the graph shrinks nine times.
/// Twins are neighbors of each other, so that each vertex looks at its own list only.
pub(crate) fn compress(graph: &Graph, dense_limit: usize) -> Compressed {
    let n = graph.n();
    let is_dense = |v: u32| graph.degree(v) > dense_limit;
    let spread = |v: u32| {
        (u64::from(v) + 1)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(23)
    };
    let keys: Vec<u64> = (0..n as u32)
        .map(|v| {
            let list = graph.neighbors(v).iter();
            list.fold(spread(v), |sum, &u| sum.wrapping_add(spread(u)))
        })
        .collect();
    let mut class = vec![NONE; n];
    let mut dense = Vec::new();
    let mut count = 0u32;
    let mut marks = vec![NONE; n];
    for v in 0..n as u32 {
        if is_dense(v) {
            dense.push(v);
            continue;
        }
        if class[v as usize] != NONE {
            continue;
        }
        class[v as usize] = count;
        let mut marked = false;
        for &u in graph.neighbors(v) {
            let twin = class[u as usize] == NONE
                && keys[u as usize] == keys[v as usize]
                && graph.degree(u) == graph.degree(v);
            if !twin {
                continue;
            }
            if !marked {
                marked = true;
                marks[v as usize] = v;
                graph
                    .neighbors(v)
                    .iter()
                    .for_each(|&w| marks[w as usize] = v);
            }
            if graph.neighbors(u).iter().all(|&w| marks[w as usize] == v) {
                class[u as usize] = count;
            }
        }
        count += 1;
    }
    contract_classes(graph, &class, count as usize, dense)
}

fn contract_classes(graph: &Graph, class: &[u32], count: usize, dense: Vec<u32>) -> Compressed {
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
    let mut out = Weighted {
        total: members.len() as u64,
        ..Weighted::default()
    };
    out.offsets.push(0);
    let mut seen = vec![NONE; count];
    for c in 0..count as u32 {
        let own = member_ptr[c as usize] as usize..member_ptr[c as usize + 1] as usize;
        out.weights.push(own.len() as u32);
        seen[c as usize] = c;
        // All members have the neighbors of the first.
        for &u in graph.neighbors(members[own.start]) {
            let d = class[u as usize];
            if d != NONE && seen[d as usize] != c {
                seen[d as usize] = c;
                out.adjacency.push(d);
            }
        }
        out.offsets.push(out.adjacency.len());
    }
    out.edge_weights = vec![1; out.adjacency.len()];
    Compressed {
        graph: out,
        member_ptr,
        members,
        dense,
    }
}
