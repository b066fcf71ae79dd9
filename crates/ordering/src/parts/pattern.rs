//! A whole pattern in parts, without the unknowns that have very many neighbors.

use std::sync::atomic::AtomicBool;

use tamarack_sparse::Pattern;

use super::{is_for, may_be_cut, may_cut, order as order_graph};
use crate::error::{OrderingError, refill};
use crate::graph::Graph;
use crate::mindeg::{AmdOptions, is_fringed};
use crate::nd::Weighted;
use crate::near;

/// Orders a pattern in parts, if it can be cut, and has no fringe that is worth going first; else nothing happens, and the answer is false. What has
/// very many neighbors comes last, as in minimum fill of the whole.
pub(crate) fn order_pattern(
    pattern: &Pattern,
    options: &AmdOptions,
    stop: &AtomicBool,
    order: &mut Vec<u32>,
) -> Result<bool, OrderingError> {
    let n = pattern.n();
    let last = |j: u32| pattern.rows(j as usize).last().copied().unwrap_or(j);
    let may_be = || may_be_cut(n, pattern.nnz_full() as usize - n, options, last);
    if !is_for(n, options) {
        return Ok(false);
    }
    let limits = options.dense_limits(pattern);
    let degrees = degrees(pattern)?;
    let limit = limits.of(degrees.iter().map(|&degree| (degree.into(), 1)));
    let has_dense = degrees.iter().any(|&degree| u64::from(degree) > limit);
    if !has_dense && !may_be() {
        return Ok(false);
    }
    let (graph, dense) = Graph::from_pattern(pattern)?.without_dense(limit);
    let n = graph.n();
    let neighbors = |v: u32| graph.neighbors(v);
    let degrees = || (0..n as u32).map(|v| neighbors(v).len());
    if is_fringed(n, degrees()) || degrees().any(|degree| limits.may_exceed(degree as u64)) {
        return Ok(false);
    }
    if near::is_scattered(n, neighbors) {
        near::reversed_search(n, neighbors, u64::MAX, order, |_, _, _| ())?;
    } else {
        refill(order, n, 0)?;
        order.iter_mut().zip(0..).for_each(|(to, v)| *to = v);
    }
    let graph = Weighted::new(graph, vec![1; n]);
    let is_cut =
        (!has_dense || may_cut(&graph, options)) && order_graph(&graph, order, options, stop)?;
    if is_cut && has_dense {
        let left = (0..pattern.n() as u32).filter(|v| dense.binary_search(v).is_err());
        let left: Vec<u32> = left.collect();
        order.iter_mut().for_each(|v| *v = left[*v as usize]);
        order.extend_from_slice(&dense);
    }
    Ok(is_cut)
}

/// The number of neighbors of each unknown.
fn degrees(pattern: &Pattern) -> Result<Vec<u32>, OrderingError> {
    let mut degrees = Vec::new();
    refill(&mut degrees, pattern.n(), 0u32)?;
    for j in 0..pattern.n() {
        let below = &pattern.rows(j)[1..];
        degrees[j] += below.len() as u32;
        below.iter().for_each(|&i| degrees[i as usize] += 1);
    }
    Ok(degrees)
}
