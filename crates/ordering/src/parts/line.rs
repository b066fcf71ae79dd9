//! A graph cut between two of its numbers.
//!
//! Meshes that are numbered line by line, or region by region, have narrow places: few vertices of smaller numbers have a neighbor of a larger
//! one. Where such a line cuts grids of nine points in two, minimum fill has 0.80 to 1.13 of the operations (run `parts-2`). Linear in the vertices.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::nd::{NdOptions, Weighted};
use crate::parts::level::{Cut, SEPARATOR};

/// A line costs less than so many times the square root of the vertices: that of a square is 1. Of levels in a scattered mesh, 1.5 to 1.9, halves
/// take a fifth to a half more operations.
const NARROW: f64 = 1.1;

/// The first number behind the best line, if it is narrow enough; of `n` vertices of weight `total`, with the weight and the `last` neighbor of
/// each, which may be itself.
pub(super) fn narrow_line(
    n: usize,
    total: u64,
    weight: impl Fn(u32) -> u32,
    last: impl Fn(u32) -> u32,
    options: &NdOptions,
) -> Option<u32> {
    // What a vertex with this last neighbor adds to the line no more.
    let mut ends = vec![0u64; n];
    let goal = options.goal(total);
    let (mut before, mut own) = (0, 0);
    let (mut best, mut cost) = (None, NARROW * total as f64 / (n as f64).sqrt());
    for v in 0..n as u32 {
        // The line before v: what is smaller and has a neighbor from here on.
        let weights = [before - own, total - before, own];
        if goal.cost(&weights) < cost && options.halves(n, &weights) {
            cost = goal.cost(&weights);
            best = Some(v);
        }
        let of_v = u64::from(weight(v));
        before += of_v;
        own -= ends[v as usize];
        let end = last(v);
        if end > v {
            own += of_v;
            ends[end as usize] += of_v;
        }
    }
    best
}

/// Puts the vertices into the order left, right, separator, if there is a narrow line, and marks the latter, as
/// [`level::cut`](super::level::cut) does, with nothing behind.
pub(super) fn cut(
    graph: &Weighted,
    marks: &[AtomicU8],
    list: &mut [u32],
    options: &NdOptions,
) -> Option<Cut> {
    let n = graph.n();
    let weight = |v: u32| graph.weights[v as usize];
    let last = |v: u32| last_neighbor(graph, v);
    let line = narrow_line(n, graph.total, weight, last, options)?;
    let (separator, left): (Vec<u32>, Vec<u32>) = (0..line).partition(|&v| last(v) >= line);
    for &v in &separator {
        marks[v as usize].store(SEPARATOR, Relaxed);
    }
    let vertices = left.iter().copied().chain(line..n as u32);
    let vertices = vertices.chain(separator.iter().copied());
    list.iter_mut().zip(vertices).for_each(|(to, v)| *to = v);
    Some(Cut {
        sizes: [left.len(), n - line as usize, 0],
        is_last: true,
    })
}

/// The largest of the neighbors of a vertex and itself.
pub(super) fn last_neighbor(graph: &Weighted, v: u32) -> u32 {
    graph.neighbors(v).iter().copied().fold(v, u32::max)
}
