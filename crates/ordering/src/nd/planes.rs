//! Dissection along planes, where it is known where unknowns are (George 1973; Heath and Raghavan 1995).
//!
//! A piece is cut in the middle, across an axis along which it is long; the lighter of both sides' boundaries is
//! the separator, improved by moves as any other. No hierarchy is built: half the time of a dissection by the graph
//! alone, at about its flops on `p2d9_700`, `p3d27_50` and `el3d_30`, but twice on `p3d7_60`, whose thin planes
//! are diagonal. Time `O(n log² n)` plus the edges for each level.

use rayon::prelude::*;

use crate::error::OrderingError;
use crate::guide::Coordinates;
use crate::nd::bisect::Separation;
use crate::nd::board::SEPARATOR;
use crate::nd::graph::Weighted;
use crate::nd::options::{FINE, QUICK, UNEVEN};
use crate::nd::{Dissection, LARGE, Space};

/// Axes along which a piece has this share of its largest extent are tried.
const LONG: f64 = 0.5;

/// Where the vertices are.
pub(crate) struct Points {
    /// For each axis, the coordinate of each vertex.
    axes: Vec<Vec<f64>>,
}

impl Points {
    /// Of vertices that stand for `unknowns`.
    pub(crate) fn new(places: &Coordinates, unknowns: &[u32]) -> Self {
        let mut axes = vec![Vec::with_capacity(unknowns.len()); places.dimensions()];
        for &unknown in unknowns {
            for (axis, x) in axes.iter_mut().zip(places.of(unknown)) {
                axis.push(x);
            }
        }
        Self { axes }
    }

    /// The axes along which the vertices `list` extend far enough.
    fn long_axes(&self, list: &[u32]) -> impl Iterator<Item = &[f64]> {
        let extent = |axis: &[f64]| {
            let values = || list.iter().map(|&v| axis[v as usize]);
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        };
        let extents: Vec<f64> = self.axes.par_iter().map(|axis| extent(axis)).collect();
        let longest = extents.iter().copied().fold(0.0, f64::max);
        let axes = self.axes.iter().zip(extents);
        axes.filter(move |&(_, own)| own > 0.0 && own >= LONG * longest)
            .map(|(axis, _)| &axis[..])
    }
}

impl Dissection<'_> {
    /// Orders `list`, which holds all vertices of the graph.
    pub(super) fn run_by_planes(
        &self,
        points: &Points,
        list: &mut [u32],
    ) -> Result<(), OrderingError> {
        let mut space = self.take_space();
        let mut graph = space.graphs.pop().unwrap_or_default();
        self.graph.extract(&mut graph, list, |u| u);
        self.dissect_by_planes(points, graph, list, &mut space)
    }

    /// Orders the piece `list` whose graph is `graph`: vertex `v` there is `list[v]` here.
    fn dissect_by_planes(
        &self,
        points: &Points,
        graph: Weighted,
        list: &mut [u32],
        space: &mut Space,
    ) -> Result<(), OrderingError> {
        self.go_on()?;
        if graph.n() <= self.options.leaf {
            space.graphs.push(graph);
            return space.leaf.order(self.graph, list, self.stop);
        }
        let options = self.options.priced(UNEVEN);
        let goal = options.goal(graph.total);
        let cuts = points.long_axes(list).map(|axis| cut(&graph, list, axis));
        let best = cuts.min_by(|a, b| goal.cost(&a.weight).total_cmp(&goal.cost(&b.weight)));
        let separation = best.map(|mut best| {
            let patience = if graph.n() < LARGE { QUICK } else { FINE };
            let bisector = &mut space.bisector;
            bisector.improve(&graph, &options, patience, &mut best);
            best
        });
        let is_good = |s: &Separation| self.options.is_worth(graph.n(), &s.weight);
        match separation.filter(is_good) {
            Some(separation) => {
                self.dissect_sides(graph, separation, list, space, |_, graph, list, space| {
                    self.dissect_by_planes(points, graph, list, space)
                })
            }
            // All in one place, or too entangled for a plane.
            None => self.dissect_half(graph, None, list, self.options.seed),
        }
    }
}

/// The cut across `axis` that leaves about half of the weight on each side, between two places.
fn cut(graph: &Weighted, list: &[u32], axis: &[f64]) -> Separation {
    let n = graph.n();
    let at = |v: u32| axis[list[v as usize] as usize];
    let mut order: Vec<u32> = (0..n as u32).collect();
    let before = |&a: &u32, &b: &u32| at(a).total_cmp(&at(b)).then(a.cmp(&b));
    if n < LARGE {
        order.sort_unstable_by(before);
    } else {
        order.par_sort_unstable_by(before);
    }
    // Of the borders between two places, the one that is nearest to the middle.
    let (mut half, mut nearest, mut weight) = (0, u64::MAX, 0u64);
    for (k, &v) in order.iter().enumerate() {
        let off = (2 * weight).abs_diff(graph.total);
        if off < nearest && k > 0 && at(order[k - 1]) < at(v) {
            (half, nearest) = (k, off);
        }
        weight += u64::from(graph.weights[v as usize]);
    }
    let mut side = vec![1u8; n];
    order[..half].iter().for_each(|&v| side[v as usize] = 0);
    separate(graph, side)
}

/// The separation whose separator is the lighter boundary of two sides.
fn separate(graph: &Weighted, mut side: Vec<u8>) -> Separation {
    let on_border = |&v: &u32| {
        let own = side[v as usize];
        graph.neighbors(v).iter().any(|&u| side[u as usize] != own)
    };
    let border: Vec<u32> = (0..graph.n() as u32)
        .into_par_iter()
        .with_min_len(LARGE)
        .filter(on_border)
        .collect();
    let mut weight = [0u64; 3];
    let mut borders = [0u64; 2];
    for (&own, &w) in side.iter().zip(&graph.weights) {
        weight[own as usize] += u64::from(w);
    }
    for &v in &border {
        borders[side[v as usize] as usize] += u64::from(graph.weights[v as usize]);
    }
    let taken = u8::from(borders[1] < borders[0]);
    let mut separator = border;
    separator.retain(|&v| side[v as usize] == taken);
    for &v in &separator {
        side[v as usize] = SEPARATOR;
    }
    weight[taken as usize] -= borders[taken as usize];
    weight[2] = borders[taken as usize];
    Separation {
        side,
        weight,
        separator,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tamarack_sparse::models::Model;
    use tamarack_sparse::{Pattern, Permutation};
    use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

    use super::*;
    use crate::{Method, Workspace, order};

    fn model(name: &str) -> Arc<Pattern> {
        let a = name.parse::<Model>().unwrap().generate::<f64>().unwrap();
        a.pattern().clone()
    }

    /// Places of a cube's grid points, each with so many unknowns.
    fn cube(n: usize, unknowns: usize) -> Coordinates {
        let points: Vec<[f64; 3]> = (0..n * n * n)
            .map(|v| [v % n, v / n % n, v / n / n].map(|k| k as f64))
            .collect();
        Coordinates::from_points(&points, unknowns).unwrap()
    }

    fn flops(p: &Arc<Pattern>, order: &Permutation) -> f64 {
        let options = SymbolicOptions {
            amalgamation: None,
            ..SymbolicOptions::default()
        };
        let factor = SymbolicFactor::analyze(p, order, &options).unwrap();
        factor.stats().flops as f64
    }

    #[test]
    fn planes_are_good_on_grids() {
        // 1.25 times what a dissection of the graph took when planes were new; it has become better since.
        for (name, n, most) in [("p3d7_18", 18, 1.32e8), ("p3d27_16", 16, 1.25e8)] {
            let p = model(name);
            let places = Method::Coordinates(cube(n, 1));
            let found = order(&p, &places, &mut Workspace::new()).unwrap();
            let flops = flops(&p, &found);
            assert!(flops < most, "{name}: {flops}");
        }
    }

    #[test]
    fn useless_places_give_an_order_all_the_same() {
        let p = model("p3d7_10");
        let one_place = Coordinates::from_columns(1000, vec![1.0; 2000]).unwrap();
        let noise: Vec<f64> = (0..1000u32)
            .map(|v| f64::from(v.wrapping_mul(0x9E37_79B1) >> 8))
            .collect();
        let noise = Coordinates::from_columns(1000, noise).unwrap();
        for places in [one_place, noise] {
            let found = order(&p, &Method::Coordinates(places), &mut Workspace::new()).unwrap();
            assert_eq!(found.len(), 1000);
        }
    }

    #[test]
    fn the_order_does_not_depend_on_the_threads() {
        let (p, places) = (model("p3d7_40"), Method::Coordinates(cube(40, 1)));
        let orders = [1, 2, 16].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| order(&p, &places, &mut Workspace::new()))
                .unwrap()
        });
        assert_eq!(orders[0], orders[1]);
        assert_eq!(orders[0], orders[2]);
    }

    #[test]
    fn places_of_too_few_unknowns_are_an_error() {
        let places = Method::Coordinates(cube(9, 1));
        let error = order(&model("p3d7_10"), &places, &mut Workspace::new()).unwrap_err();
        assert!(error.to_string().contains("729"), "{error}");
    }
}
