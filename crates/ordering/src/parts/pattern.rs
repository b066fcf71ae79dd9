//! A whole pattern in parts, without the unknowns that have very many neighbors.

use tamarack_sparse::Pattern;

use super::{is_for, may_be_cut, may_cut, order as order_graph};
use crate::error::{OrderingError, refill};
use crate::graph::Graph;
use crate::mindeg::{AmdOptions, is_fringed};
use crate::nd::Weighted;
use crate::near;
use crate::stop::Stop;

/// Orders a pattern in parts, if it can be cut, and has no fringe that is worth going first; else nothing happens, and the answer is false. What has
/// very many neighbors comes last, as in minimum fill of the whole.
pub(crate) fn order_pattern(
    pattern: &Pattern,
    options: &AmdOptions,
    stop: Stop<'_>,
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
    // Asked before the graph is built, which is in vain for what has a fringe.
    let left = match has_dense {
        true => degrees_without(pattern, &degrees, limit),
        false => degrees,
    };
    if has_fringe(&left) || left.iter().any(|&degree| limits.may_exceed(degree.into())) {
        return Ok(false);
    }
    let (graph, dense) = Graph::from_pattern(pattern)?.without_dense(limit);
    let n = graph.n();
    let neighbors = |v: u32| graph.neighbors(v);
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
pub(super) fn degrees(pattern: &Pattern) -> Result<Vec<u32>, OrderingError> {
    let mut degrees = Vec::new();
    refill(&mut degrees, pattern.n(), 0u32)?;
    for j in 0..pattern.n() {
        let below = &pattern.rows(j)[1..];
        degrees[j] += below.len() as u32;
        below.iter().for_each(|&i| degrees[i as usize] += 1);
    }
    Ok(degrees)
}

/// The number of neighbors that are left of each unknown without those of more than `limit`, which are left out themselves.
pub(super) fn degrees_without(pattern: &Pattern, degrees: &[u32], limit: u64) -> Vec<u32> {
    let is_dense = |v: u32| u64::from(degrees[v as usize]) > limit;
    let mut left = degrees.to_vec();
    for j in 0..pattern.n() as u32 {
        let of_dense = is_dense(j);
        for &i in &pattern.rows(j as usize)[1..] {
            left[i as usize] -= u32::from(of_dense);
            left[j as usize] -= u32::from(is_dense(i));
        }
    }
    let mut own = degrees.iter();
    left.retain(|_| own.next().is_some_and(|&degree| u64::from(degree) <= limit));
    left
}

/// Whether trees and chains are worth going first. Unknowns without neighbors say nothing of that.
fn has_fringe(degrees: &[u32]) -> bool {
    let joined = || degrees.iter().filter(|degree| **degree > 0);
    is_fringed(joined().count(), joined().map(|&degree| degree as usize))
}
