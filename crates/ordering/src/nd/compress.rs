//! Twins: vertices with the same closed neighborhood, merged before anything else (Ashcraft 1995).
//!
//! Unknowns of one mesh node are such twins: with three of them the graph shrinks nine times. Twins
//! are neighbors of each other, so that each vertex looks at its own list only; equal sums of hashed
//! neighbors announce them, and lists are compared entry by entry before anything is merged.

use crate::graph::Graph;
use crate::mindeg::NONE;
use crate::nd::graph::Weighted;

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

/// Merges twins; leaves out vertices with more than `dense_limit` neighbors. Vertices keep the order
/// of their first members.
pub(crate) fn compress(graph: Graph, dense_limit: usize) -> Compressed {
    let n = graph.n();
    let (class, count, dense) = classes(&graph, dense_limit);
    if count == n {
        return Compressed {
            graph: Weighted::unit(graph),
            member_ptr: Vec::new(),
            members: Vec::new(),
            dense,
        };
    }
    contract_classes(&graph, &class, count, dense)
}

/// The class of each vertex (`NONE`: dense), their number, and the dense vertices.
fn classes(graph: &Graph, dense_limit: usize) -> (Vec<u32>, usize, Vec<u32>) {
    let n = graph.n();
    let spread = |v: u32| {
        (v.wrapping_add(1))
            .wrapping_mul(0x9E37_79B1)
            .rotate_left(11)
    };
    let keys: Vec<u32> = (0..n as u32)
        .map(|v| {
            let list = graph.neighbors(v).iter();
            list.fold(spread(v), |sum, &u| sum.wrapping_add(spread(u)))
        })
        .collect();
    let mut class = vec![NONE; n];
    let mut dense = Vec::new();
    let mut count = 0u32;
    for v in 0..n as u32 {
        let list = graph.neighbors(v);
        if list.len() > dense_limit {
            dense.push(v);
            continue;
        }
        if class[v as usize] != NONE {
            continue;
        }
        class[v as usize] = count;
        // Twins before `v` have had their turn.
        let after = list.partition_point(|&u| u < v);
        for &u in &list[after..] {
            if keys[u as usize] == keys[v as usize]
                && class[u as usize] == NONE
                && are_twins(graph, v, u)
            {
                class[u as usize] = count;
            }
        }
        count += 1;
    }
    (class, count as usize, dense)
}

/// Whether neighbors `v` and `u` have the same closed neighborhood; lists are sorted.
fn are_twins(graph: &Graph, v: u32, u: u32) -> bool {
    let (a, b) = (graph.neighbors(v), graph.neighbors(u));
    a.len() == b.len()
        && a.iter()
            .filter(|&&x| x != u)
            .eq(b.iter().filter(|&&x| x != v))
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
    let mut out = Weighted::default();
    out.clear();
    out.total = members.len() as u64;
    let mut seen = next;
    seen.fill(NONE);
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
        out.offsets.push(out.adjacency.len() as u64);
    }
    Compressed {
        graph: out,
        member_ptr,
        members,
        dense,
    }
}
