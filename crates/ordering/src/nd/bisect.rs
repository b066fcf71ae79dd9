//! Multilevel vertex bisection: coarsen, separate the coarsest graph, project and refine.

use crate::nd::NdOptions;
use crate::nd::coarsen::coarsen;
use crate::nd::graph::Weighted;
use crate::nd::random::mix;
use crate::nd::refine::{Refiner, SEPARATOR, Separation};

/// Levels of coarsening before the multilevel search is run several times, and above how many
/// vertices it is: the coarse graph is so much smaller that the tries cost less than the rest.
const COMMON_LEVELS: usize = 4;
const SEVERAL: usize = 5000;

/// A small, balanced vertex separator of `graph`; time near linear in its edges.
pub(crate) fn bisect(
    graph: &Weighted,
    options: &NdOptions,
    refiner: &mut Refiner,
    seed: u64,
) -> Separation {
    if graph.n() < SEVERAL {
        return multilevel(graph, options, refiner, seed);
    }
    let limit = side_limit(graph, options);
    let common = Hierarchy::new(graph, options, COMMON_LEVELS, seed);
    let coarse = common.coarsest(graph);
    let mut best: Option<Separation> = None;
    for k in 0..options.tries.max(1) {
        let found = multilevel(coarse, options, refiner, mix(seed ^ u64::from(k) << 32));
        if best
            .as_ref()
            .is_none_or(|b| found.cost(limit) < b.cost(limit))
        {
            best = Some(found);
        }
    }
    common.project(graph, best.unwrap_or_default(), options, refiner)
}

/// One run from `graph` down to the coarsest graph and back.
fn multilevel(
    graph: &Weighted,
    options: &NdOptions,
    refiner: &mut Refiner,
    seed: u64,
) -> Separation {
    let hierarchy = Hierarchy::new(graph, options, usize::MAX, seed);
    let separation = initial(hierarchy.coarsest(graph), options, refiner, seed);
    hierarchy.project(graph, separation, options, refiner)
}

/// Largest weight of a side.
fn side_limit(graph: &Weighted, options: &NdOptions) -> u64 {
    (graph.total as f64 * 0.5 * options.imbalance) as u64
}

/// Coarser and coarser graphs, each with the map from the vertices of the one before.
struct Hierarchy(Vec<(Weighted, Vec<u32>)>);

impl Hierarchy {
    /// At most `levels` levels below `graph`; fewer where it is small or does not shrink.
    fn new(graph: &Weighted, options: &NdOptions, levels: usize, seed: u64) -> Self {
        let heaviest = (1.5 * graph.total as f64 / options.coarsest as f64).max(1.0) as u64;
        let mut hierarchy = Self(Vec::new());
        while hierarchy.0.len() < levels {
            let last = hierarchy.coarsest(graph);
            if last.n() <= options.coarsest {
                break;
            }
            let (coarse, map) = coarsen(last, heaviest, mix(seed + hierarchy.0.len() as u64));
            if coarse.n() as f64 > 0.95 * last.n() as f64 {
                break;
            }
            hierarchy.0.push((coarse, map));
        }
        hierarchy
    }

    fn coarsest<'a>(&'a self, graph: &'a Weighted) -> &'a Weighted {
        self.0.last().map_or(graph, |(coarse, _)| coarse)
    }

    /// Takes a separation of the coarsest graph up to `graph`, refining it on every level.
    fn project(
        mut self,
        graph: &Weighted,
        mut separation: Separation,
        options: &NdOptions,
        refiner: &mut Refiner,
    ) -> Separation {
        let limit = side_limit(graph, options);
        while let Some((_, map)) = self.0.pop() {
            let fine = self.coarsest(graph);
            let side = map.iter().map(|&c| separation.side[c as usize]).collect();
            separation = Separation::new(fine, side);
            refiner.refine(fine, &mut separation, limit, options.passes);
        }
        separation
    }
}

/// The best of several separations grown breadth-first from random vertices.
fn initial(graph: &Weighted, options: &NdOptions, refiner: &mut Refiner, seed: u64) -> Separation {
    let limit = side_limit(graph, options);
    let mut best: Option<Separation> = None;
    for k in 0..options.starts.max(1) {
        let start = (mix(seed ^ mix(u64::from(k))) % graph.n().max(1) as u64) as u32;
        let mut separation = Separation::new(graph, grow(graph, start));
        refiner.refine(graph, &mut separation, limit, options.passes);
        if best
            .as_ref()
            .is_none_or(|b| separation.cost(limit) < b.cost(limit))
        {
            best = Some(separation);
        }
    }
    best.unwrap_or_default()
}

/// Sides from a breadth-first search that stops at half of the weight; the vertices of the rest
/// that touch it are the separator.
fn grow(graph: &Weighted, start: u32) -> Vec<u8> {
    let n = graph.n();
    let mut side = vec![1u8; n];
    let mut queue = Vec::with_capacity(n);
    let (mut weight, mut k) = (0, 0);
    let mut reached = vec![false; n];
    let mut roots = (0..n as u32).map(|v| ((u64::from(start) + u64::from(v)) % n as u64) as u32);
    while 2 * weight < graph.total {
        if k == queue.len() {
            let Some(root) = roots.find(|&v| !reached[v as usize]) else {
                break;
            };
            reached[root as usize] = true;
            queue.push(root);
        }
        let v = queue[k];
        k += 1;
        side[v as usize] = 0;
        weight += u64::from(graph.weights[v as usize]);
        for &u in graph.neighbors(v) {
            if !std::mem::replace(&mut reached[u as usize], true) {
                queue.push(u);
            }
        }
    }
    // What was reached and not taken is just the outer boundary.
    for &v in &queue[k..] {
        side[v as usize] = SEPARATOR;
    }
    side
}
