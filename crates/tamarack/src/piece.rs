//! What a piece of a solid says of the whole.
//!
//! The levels of a search say how wide a solid is, which is not how much there is to do: points joined to their nearest ones are as
//! wide as a cube, and have a tenth of its operations. So minimum fill orders a ball of vertices, and the operations of the whole follow from how
//! they grow in all solids.

use std::sync::Arc;

use tamarack_ordering::{AmdOptions, MergedGraph, Method, Selection, Workspace, order};
use tamarack_plan::{Precision, predicted_secs};
use tamarack_sparse::Pattern;
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};

use crate::choice::MACHINE;

/// Vertices of a piece: ordered and analyzed in 1 to 3 ms, where dissections of solids take 80 and more. Estimates by twice and four times as many are no better.
const VERTICES: usize = 1000;

/// Operations after minimum fill grow as the vertices of a solid to this power.
const GROWTH: f64 = 2.2;

/// The whole over what a ball of [`VERTICES`] leads to by that power: 0.9 to 1.6 in cubes of 7 and 27 points and among points joined to the nearest 5 to
/// 16, of 27,000 to 200,000 vertices (no lines kept).
const SHORT: f64 = 1.3;

/// Predicted seconds of a factorization after minimum fill of a graph whose largest component is a solid of `connected` vertices, each of which
/// stands for `share` unknowns, by the ball around `center`; none where there are fewer vertices than in a ball. Other components count as much of it.
pub(crate) fn estimated_secs(
    graph: &MergedGraph,
    center: u32,
    connected: usize,
    share: f64,
) -> Option<f64> {
    let pattern = Arc::new(ball(graph, center)?);
    let fill = Method::Amd(AmdOptions::from(Selection::MeanFill));
    let permutation = order(&pattern, &fill, &mut Workspace::new()).ok()?;
    let draft = SymbolicDraft::new(&pattern, &permutation, &SymbolicOptions::default()).ok()?;
    let flop_secs = MACHINE.f64.per_flop_secs / MACHINE.threads as f64;
    let solids = graph.n() as f64 / connected as f64;
    let times = connected as f64 / VERTICES as f64;
    let flops = draft.flops() as f64;
    // What takes time beside operations grows as the vertices do.
    let others = predicted_secs(draft.front_sizes(), &MACHINE, Precision::F64) - flops * flop_secs;
    let flops = SHORT * flops * solids * times.powf(GROWTH) * share.powi(3);
    Some(flops * flop_secs + others * solids * times * share)
}

/// The vertices that are nearest to `center`, and the edges between them.
fn ball(graph: &MergedGraph, center: u32) -> Option<Pattern> {
    /// No number in the ball.
    const OUTSIDE: u32 = u32::MAX;
    let mut number = vec![OUTSIDE; graph.n()];
    let mut list = vec![center];
    number[center as usize] = 0;
    let mut k = 0;
    while list.len() < VERTICES {
        for &u in graph.neighbors(*list.get(k)?) {
            if list.len() < VERTICES && number[u as usize] == OUTSIDE {
                number[u as usize] = list.len() as u32;
                list.push(u);
            }
        }
        k += 1;
    }
    let (mut col_ptr, mut row_idx) = (vec![0], Vec::new());
    for (j, &v) in (0..).zip(&list) {
        let from = row_idx.len();
        let inside = graph.neighbors(v).iter().map(|&u| number[u as usize]);
        row_idx.push(j);
        row_idx.extend(inside.filter(|&i| i != OUTSIDE && i > j));
        row_idx[from..].sort_unstable();
        col_ptr.push(row_idx.len() as u64);
    }
    Pattern::lower(VERTICES, &col_ptr, &row_idx).ok()
}

#[cfg(test)]
mod tests {
    use tamarack_sparse::models::Model;

    use super::*;

    #[test]
    fn a_ball_has_the_nearest_vertices_and_their_edges() {
        let model: Model = "p3d7_24".parse().unwrap();
        let graph = MergedGraph::new(model.generate::<f64>().unwrap().pattern()).unwrap();
        // The ball |x| + |y| + |z| <= 8 has 833 vertices, 258 of them on its surface; the next one has 1159. Each vertex inside has three edges of its own, by
        // one in each direction, and each beyond the surface hangs on it.
        let center = 12 * (24 * 24 + 24 + 1);
        let inner = ball(&graph, center).unwrap();
        assert_eq!(inner.n(), VERTICES);
        let edges = inner.nnz_lower() as usize - VERTICES;
        let (inside, outside) = (833 - 258, VERTICES - 833);
        assert!(
            edges > 3 * inside + outside && edges < 3 * VERTICES,
            "{edges}"
        );
    }

    #[test]
    fn a_graph_that_is_too_small_says_nothing() {
        let model: Model = "p3d7_9".parse().unwrap();
        let graph = MergedGraph::new(model.generate::<f64>().unwrap().pattern()).unwrap();
        assert!(estimated_secs(&graph, 0, graph.n(), 1.0).is_none());
    }
}
