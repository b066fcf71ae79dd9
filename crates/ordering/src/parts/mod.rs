//! Minimum fill of a large plane in a few parts, by as many threads.
//!
//! Of a grid of squares minimum fill makes what a dissection does if it begins at corners, and much more where there are none, as on a disc or
//! a torus: of equal variables the first is eliminated, and nothing tells them apart. Graphs of few neighbors have thin levels in a
//! breadth-first search (George and Liu 1978), and parts between these have corners: they are cut into about [`PARTS`]. Others are cut in two
//! along a line of their numbers ([`line`]), where it is narrow. What is not connected is cut component by component ([`apart`]), what is
//! long in two alone, for minimum degree as well ([`order_halves`]). None of it depends on the number of threads. Each part is ordered with
//! the separators around it as its halo (Pellegrini, Roman, Amestoy 2000), and separators come last. Linear in the edges but for minimum fill itself;
//! `docs/decisions/0018-fill-in-parts.md` has what it gains.

mod apart;
mod level;
mod line;
mod pattern;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::error::OrderingError;
use crate::mindeg::{Amd, AmdOptions, DenseLimits, MAX_ORDER, Selection};
use crate::nd::{Components, NdOptions, Numbers, Weighted, atomics};
use crate::stop::Stop;
use crate::workspace::Workspace;
use level::{Cut, SEPARATOR};
use line::{last_neighbor, narrow_line};
pub(crate) use pattern::order_pattern;

/// Parts of a graph, about. More cost squares operations, and one thread time.
const PARTS: usize = 4;

/// Vertices of a part at least, about.
const LEAST: usize = if cfg!(test) { 256 } else { 1 << 16 };

/// Fewer neighbors of a vertex, on average, has a grid of squares (4), whose levels are thin. In meshes of triangles (6) they are thick:
/// `ng_squarehole_p1` takes 1.3 times the operations in parts between them.
const FEW_NEIGHBORS: usize = 5;

/// Whether graphs of `n` vertices are cut for these options.
fn is_for(n: usize, options: &AmdOptions) -> bool {
    let is_large = (2 * LEAST..=MAX_ORDER).contains(&n);
    is_large && options.selection == Selection::MeanFill
}

/// Whether a graph of `n` vertices with so many stored neighbors is probably cut. `last` has the largest neighbor of each vertex, or itself.
fn may_be_cut(n: usize, neighbors: usize, options: &AmdOptions, last: impl Fn(u32) -> u32) -> bool {
    let has_line = || narrow_line(n, n as u64, |_| 1, last, &NdOptions::default()).is_some();
    is_for(n, options) && (has_thin_levels(n, neighbors) || has_line())
}

/// The same of the graph itself.
pub(crate) fn may_cut(graph: &Weighted, options: &AmdOptions) -> bool {
    let last = |v| last_neighbor(graph, v);
    may_be_cut(graph.n(), graph.adjacency.len(), options, last)
}

fn has_thin_levels(n: usize, neighbors: usize) -> bool {
    neighbors < FEW_NEIGHBORS * n
}

/// Orders `list`, which has all vertices of `graph`, if it is cut; else nothing happens, and the answer is false. Neighbors should be near each
/// other in the list.
pub(crate) fn order(
    graph: &Weighted,
    list: &mut [u32],
    options: &AmdOptions,
    stop: Stop<'_>,
) -> Result<bool, OrderingError> {
    renumbered(graph, list, |graph, list, _| {
        let n = graph.n();
        let parts = Parts::new(graph, options, stop);
        let cut = match parts.by_levels {
            true => match Components::of(graph, 2 * LEAST - 1, n) {
                Some(components) => return parts.order_apart(components, list),
                None => level::cut(graph, &parts.marks, list, &parts.dissection, 0),
            },
            false => line::cut(graph, &parts.marks, list, &parts.dissection),
        };
        parts.order_cut(list, cut)
    })
}

/// The same in two halves of a graph that is long and has an `end` here, whatever its size and the selection; not if it is none.
pub(crate) fn order_halves(
    graph: &Weighted,
    list: &mut [u32],
    end: u32,
    options: &AmdOptions,
    stop: Stop<'_>,
) -> Result<bool, OrderingError> {
    renumbered(graph, list, |graph, list, number| {
        let parts = Parts::new(graph, options, stop);
        let cut = level::halve(graph, &parts.marks, list, &parts.dissection, number(end));
        parts.order_cut(list, cut)
    })
}

/// Has a graph ordered whose vertices are numbered as they stand in a list: neighbors that are far from each other would be a miss of the caches
/// each time. `ordered` is called with the graph, the list of its vertices, and the numbers of those of the first.
fn renumbered(
    graph: &Weighted,
    list: &mut [u32],
    ordered: impl FnOnce(&Weighted, &mut [u32], &dyn Fn(u32) -> u32) -> Result<bool, OrderingError>,
) -> Result<bool, OrderingError> {
    if list.is_sorted() {
        return ordered(graph, list, &|v| v);
    }
    let renumbered = graph.renumbered(list);
    let mut found: Vec<u32> = (0..graph.n() as u32).collect();
    let number = |v| list.iter().position(|&u| u == v).unwrap_or(0) as u32;
    let is_cut = ordered(&renumbered, &mut found, &number)?;
    if is_cut {
        found.iter_mut().for_each(|k| *k = list[*k as usize]);
        list.copy_from_slice(&found);
    }
    Ok(is_cut)
}

/// A graph on the way into parts.
struct Parts<'a> {
    graph: &'a Weighted,
    options: &'a AmdOptions,
    /// What a good cut is.
    dissection: NdOptions,
    /// Whether parts are cut once more.
    by_levels: bool,
    stop: Stop<'a>,
    /// Who stands in separators, and how often the others were searched.
    marks: Vec<AtomicU8>,
    /// Place of each vertex in its part, once that is ordered.
    numbers: Vec<AtomicU32>,
    /// Spaces not in use.
    spaces: Mutex<Vec<Space>>,
}

/// Cuts, one within the other.
#[derive(Clone, Copy)]
struct Cuts {
    /// Vertices of the component that was cut first.
    n: usize,
    /// How many, [`LAST`] where there are to be no others.
    count: u8,
}

/// More cuts than there ever are.
const LAST: u8 = u8::MAX;

impl<'a> Parts<'a> {
    fn new(graph: &'a Weighted, options: &'a AmdOptions, stop: Stop<'a>) -> Self {
        let n = graph.n();
        let mut marks = Vec::new();
        marks.resize_with(n, || AtomicU8::new(0));
        Self {
            graph,
            options,
            dissection: NdOptions::default(),
            by_levels: has_thin_levels(n, graph.adjacency.len()),
            stop,
            marks,
            numbers: atomics(n),
            spaces: Mutex::default(),
        }
    }

    /// Orders the parts that the first cut of a whole has left in `list`, if there is one.
    fn order_cut(&self, list: &mut [u32], cut: Option<Cut>) -> Result<bool, OrderingError> {
        let Some(cut) = cut else {
            return Ok(false);
        };
        let count = if cut.is_last { LAST } else { 1 };
        let n = list.len();
        self.order_pieces(list, cut.sizes, Cuts { n, count })?;
        Ok(true)
    }

    /// Orders the parts of these sizes that `list` begins with, which so many cuts have made.
    fn order_pieces(
        &self,
        list: &mut [u32],
        [left, middle, right]: [usize; 3],
        cuts: Cuts,
    ) -> Result<(), OrderingError> {
        let (left, rest) = list.split_at_mut(left);
        let (middle, rest) = rest.split_at_mut(middle);
        let right = &mut rest[..right];
        let outer = || {
            let (a, b) = rayon::join(
                || self.order_part(left, cuts),
                || self.order_part(right, cuts),
            );
            a.and(b)
        };
        // The middle may be cut once more.
        let (a, b) = rayon::join(|| self.order_part(middle, cuts), outer);
        a.and(b)
    }

    /// Orders a part, which is cut if it is still large.
    fn order_part(&self, list: &mut [u32], cuts: Cuts) -> Result<(), OrderingError> {
        let Cuts { n, count } = cuts;
        // Half as large again as the parts that are wanted.
        if self.by_levels
            && count != LAST
            && list.len() >= (n / PARTS * 3 / 2).max(2 * LEAST)
            && !self.stop.is_set()
            && let Some(cut) = level::cut(self.graph, &self.marks, list, &self.dissection, count)
        {
            let count = count + 1;
            return self.order_pieces(list, cut.sizes, Cuts { n, count });
        }
        self.eliminate(list)
    }

    /// Orders a part by minimum fill.
    fn eliminate(&self, list: &mut [u32]) -> Result<(), OrderingError> {
        if list.is_empty() {
            return Ok(());
        }
        if self.stop.is_set() {
            return Err(OrderingError::Stopped);
        }
        let lock = || self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        let space = lock().pop();
        let mut space = space.unwrap_or_default();
        let result = space.eliminate(self, list);
        lock().push(space);
        result
    }
}

/// Memory of one thread.
#[derive(Default)]
struct Space {
    ws: Workspace,
    /// The part, then its halo.
    vertices: Vec<u32>,
    /// The halo, and numbers there.
    halo: Vec<u32>,
    in_halo: Numbers,
}

impl Space {
    /// Orders a part in place.
    fn eliminate(&mut self, parts: &Parts<'_>, list: &mut [u32]) -> Result<(), OrderingError> {
        let Self {
            ws,
            vertices,
            halo,
            in_halo,
        } = self;
        let own = list.len() as u32;
        for (number, &v) in (0..).zip(&*list) {
            parts.numbers[v as usize].store(number, Relaxed);
        }
        vertices.clear();
        vertices.extend_from_slice(list);
        halo.clear();
        in_halo.clear(list.len().isqrt(), parts.graph.n());
        ws.quotient
            .load_piece(parts.graph, list, vertices, |u, vertices| {
                if parts.marks[u as usize].load(Relaxed) != SEPARATOR {
                    return parts.numbers[u as usize].load(Relaxed);
                }
                let known = halo.len();
                let number = own + in_halo.find(u, halo);
                vertices.extend_from_slice(&halo[known..]);
                number
            })?;
        Amd::new(ws, own, parts.options.aggressive)
            .by(parts.options.selection)
            .until(parts.stop)
            .within(parts.options.most_reads)
            .run(DenseLimits::NONE, &mut ())?;
        ws.order.clear();
        ws.order.resize(vertices.len(), 0);
        ws.quotient
            .elimination_order(&mut ws.order, &mut ws.scratch)?;
        for (slot, &k) in list.iter_mut().zip(&ws.order) {
            *slot = vertices[k as usize];
        }
        Ok(())
    }
}
