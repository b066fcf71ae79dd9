//! What a dissection tree will cost, before it is finished.
//!
//! The front of a separator has the separator's vertices as pivots and the vertices of higher
//! separators that touch its subtree as rows below: its operations are a sum of squares. Pieces that
//! are not divided yet count as fronts too, with as many pivots as a separator of a compact piece with
//! that boundary would have.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::nd::graph::Weighted;

/// Boundary of a compact piece over its separator: 4 for a square, 6 for a cube.
const BOUNDARY: f64 = 5.0;

/// Operations of all fronts of a tree; time linear in the edges of the separators.
pub(crate) fn predicted_flops(graph: &Weighted, labels: &[AtomicU32], divided: &[bool]) -> f64 {
    let nodes = divided.len();
    let mut own = vec![0u64; nodes];
    let mut boundary = vec![0u64; nodes];
    // The last separator vertex that was counted in each node's boundary.
    let mut seen = vec![u32::MAX; nodes];
    for v in 0..graph.n() as u32 {
        let label = labels[v as usize].load(Relaxed);
        let weight = u64::from(graph.weights[v as usize]);
        own[label as usize] += weight;
        if !divided[label as usize] {
            continue;
        }
        for &u in graph.neighbors(v) {
            // Up from below, to this separator's node.
            let mut node = labels[u as usize].load(Relaxed);
            while node > label && seen[node as usize] != v {
                seen[node as usize] = v;
                boundary[node as usize] += weight;
                node /= 2;
            }
        }
    }
    let front = |t: usize| {
        let below = boundary[t] as f64;
        let pivots = if divided[t] {
            own[t] as f64
        } else {
            below / BOUNDARY
        };
        (below + pivots).powi(3) - below.powi(3)
    };
    (1..nodes).filter(|&t| own[t] > 0).map(front).sum()
}
