//! Minimum degree or fill of a whole graph of vertices that may stand for several unknowns.

use tamarack_sparse::Pattern;

use crate::error::OrderingError;
use crate::graph::Graph;
use crate::mindeg::{AmdOptions, Selection};
use crate::nd::graph::Weighted;
use crate::nd::leaf::LeafSpace;
use crate::nd::spokes::Spokes;
use crate::near;
use crate::parts;
use crate::stop::Stop;

/// The vertices of a graph in an order of minimum degree or fill; whatever the options say of many neighbors, none is set aside.
pub(super) fn by_degree(
    graph: &Weighted,
    options: &AmdOptions,
    stop: Stop<'_>,
) -> Result<Vec<u32>, OrderingError> {
    if let Some(spokes) = Spokes::of(graph)? {
        let left = better_of_both(&spokes.graph, options, stop)?;
        return spokes.order(&left);
    }
    let mut list = near_list(graph)?;
    let in_parts = parts::may_cut(graph, options) && parts::order(graph, &mut list, options, stop)?;
    if !in_parts {
        LeafSpace::default().order_by(graph, &mut list, stop, options)?;
    }
    Ok(list)
}

/// The same of a long graph in halves, seen from an `end`; none where no level is narrow. Spokes do not go first.
pub(super) fn in_halves(
    graph: &Weighted,
    end: u32,
    options: &AmdOptions,
    stop: Stop<'_>,
) -> Result<Option<Vec<u32>>, OrderingError> {
    let mut list = near_list(graph)?;
    let is_cut = parts::order_halves(graph, &mut list, end, options, stop)?;
    Ok(is_cut.then_some(list))
}

/// Orders a pattern without its unknowns of more neighbors than `limit`, which come last, if it has [spokes](Spokes); else nothing happens, and
/// the answer is false.
pub(crate) fn order_spokes(
    pattern: &Pattern,
    limit: u64,
    options: &AmdOptions,
    stop: Stop<'_>,
    order: &mut Vec<u32>,
) -> Result<bool, OrderingError> {
    let (graph, dense) = Graph::from_pattern(pattern)?.without_dense(limit);
    let n = graph.n();
    let graph = Weighted::new(graph, vec![1; n]);
    let Some(spokes) = Spokes::of(&graph)? else {
        return Ok(false);
    };
    let hubs = better_of_both(&spokes.graph, options, stop)?;
    *order = spokes.order(&hubs)?;
    if !dense.is_empty() {
        let left = (0..pattern.n() as u32).filter(|v| dense.binary_search(v).is_err());
        let left: Vec<u32> = left.collect();
        order.iter_mut().for_each(|v| *v = left[*v as usize]);
        order.extend_from_slice(&dense);
    }
    Ok(true)
}

/// The order of a graph of hubs by either selection that leads to fewer operations; of equals, by that of the options. The graph has a small part
/// of the vertices and most of the operations: by degree, those of a ring of cameras are eliminated here and there, at 1.4 times the
/// operations of minimum fill (no lines kept), which goes on where it is.
fn better_of_both(
    graph: &Weighted,
    options: &AmdOptions,
    stop: Stop<'_>,
) -> Result<Vec<u32>, OrderingError> {
    let mut space = LeafSpace::default();
    let mut list = near_list(graph)?;
    let mut other_list = list.clone();
    space.order_by(graph, &mut list, stop, options)?;
    let operations = space.operations();
    let other = AmdOptions {
        selection: match options.selection {
            Selection::Degree => Selection::MeanFill,
            Selection::MeanFill => Selection::Degree,
        },
        ..options.clone()
    };
    match space.order_by(graph, &mut other_list, stop, &other) {
        Err(OrderingError::Stopped) if !stop.is_set() => Ok(list), // it takes too long
        Err(error) => Err(error),
        Ok(()) if space.operations() < operations => Ok(other_list),
        Ok(()) => Ok(list),
    }
}

/// The vertices as minimum degree should meet them: neighbors near each other.
fn near_list(graph: &Weighted) -> Result<Vec<u32>, OrderingError> {
    let n = graph.n();
    let mut list: Vec<u32> = (0..n as u32).collect();
    let neighbors = |v: u32| graph.neighbors(v);
    if near::is_scattered(n, neighbors) {
        near::reversed_search(n, neighbors, u64::MAX, &mut list, |_, _, _| ())?;
    }
    Ok(list)
}
