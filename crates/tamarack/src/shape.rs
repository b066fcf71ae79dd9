//! What a graph looks like at a glance: how long its dissection will take, and whether it is like a plane.
//!
//! Both say beforehand which orderings are worth starting. The levels of a breadth-first search (George and Liu 1978)
//! cut a graph: the middle one is about as large as its separator, in a plane or in a solid. One or two searches,
//! linear in the entries.

use tamarack_ordering::{Graph, OrderingError};
use tamarack_plan::Machine;
use tamarack_sparse::Pattern;

/// Seconds of a dissection on one thread for a vertex and for a stored neighbor of the graph without
/// twins. Seconds by this formula, and measured (2.5 GHz, AVX-512) times the 0.85 that it has become faster by since: `p2d5_1000` 4.9
/// and 3.9, `p3d27_64` 3.0 and 2.1, `p3d7_60` 1.2 and 1.3, `qp_CONT_300` 0.7 and 0.4; where neighbors are far apart in the user's order it takes
/// longer: `z88_b19_piston` 0.5 and 0.5, `ng_cubemcyl_p2` 2.0 and 2.9, `ng_shaft_e1` 0.22 and 0.3.
const VERTEX_SECS: f64 = 3.8e-6;
const NEIGHBOR_SECS: f64 = 2.8e-7;

/// Threads make all but the first seconds of a dissection faster by their number to this power: two do by 1.1 to 2.1.
const ALONE_SECS: f64 = 0.03;
const SPEEDUP: f64 = 0.8;

/// Columns that are looked at to tell how many unknowns share a node.
const SAMPLE: usize = 4096;

/// Entries from which twins are merged first.
const MANY: f64 = 200_000.0;

/// Operations after minimum degree over the power 3/2 of the nodes and the cube of their unknowns: 14 to 28 on grids of
/// planes and on shells, 130 to 530 on machine parts, 1600 and more on cubes.
const SOLID: f64 = 300.0;

/// Seconds that a dissection saves for each predicted second after minimum degree: of the measured ones, which are
/// up to twice as many, none to a third on planes and about seven tenths in solids.
const SAVED_ON_PLANES: f64 = 0.45;
const SAVED_IN_SOLIDS: f64 = 1.1;

/// Operations after minimum degree over the cube of the middle level, on planes: 8 to 21.
const OPERATIONS: f64 = 20.0;

/// Levels on either side of the middle one among which the smallest is taken.
const AROUND: usize = 2;

/// The graph of a pattern without twins, in numbers.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Unknowns that share a node, on average.
    share: f64,
    /// Nodes, and stored neighbors of all of them.
    nodes: f64,
    neighbors: f64,
}

impl Shape {
    /// From a sample of the columns.
    pub(crate) fn of(pattern: &Pattern) -> Self {
        let share = unknowns_per_node(pattern);
        Self {
            share,
            nodes: pattern.n() as f64 / share,
            neighbors: pattern.nnz_full() as f64 / (share * share),
        }
    }

    /// Whether it is worth merging twins before anything else: minimum degree of a ninth of the edges is done in a
    /// third of the time. Small graphs are done in no time.
    pub(crate) fn has_twins(&self) -> bool {
        self.share >= 1.3 && self.neighbors * self.share * self.share >= MANY
    }

    /// Stored neighbors of all nodes.
    pub(crate) fn neighbors(&self) -> f64 {
        self.neighbors
    }

    /// Whether there are hardly more edges than in a tree: networks, whose levels say nothing.
    pub(crate) fn is_like_a_tree(&self) -> bool {
        self.neighbors < 4.0 * self.nodes
    }

    /// About what a nested dissection takes, in seconds.
    pub(crate) fn dissection_secs(&self, threads: usize) -> f64 {
        let secs = VERTEX_SECS * self.nodes + NEIGHBOR_SECS * self.neighbors;
        let alone = secs.min(ALONE_SECS);
        alone + (secs - alone) / (threads.max(1) as f64).powf(SPEEDUP)
    }

    /// About what a dissection saves of a factorization of so many operations and predicted seconds, in seconds.
    pub(crate) fn saved_secs(&self, flops: f64, predicted_secs: f64) -> f64 {
        let plane = self.share.powi(3) * self.nodes.powf(1.5);
        match flops < SOLID * plane {
            true => SAVED_ON_PLANES * predicted_secs,
            false => SAVED_IN_SOLIDS * predicted_secs,
        }
    }
}

/// Whether the levels of `pattern` are so narrow that a factorization after minimum degree, were it a plane, takes
/// less than `secs` by the rates of `machine`.
pub(crate) fn is_narrow(
    pattern: &Pattern,
    machine: &Machine,
    secs: f64,
) -> Result<bool, OrderingError> {
    let graph = Graph::from_pattern(pattern)?;
    let flop_secs = OPERATIONS * machine.f64.per_flop_secs / machine.threads.max(1) as f64;
    let most = secs / flop_secs;
    let cube = |width: usize| (width as f64).powi(3);
    let mut search = Search::new(graph.n());
    let (mut sum, mut widest, mut last) = (0.0, 0, 0);
    for start in 0..graph.n() as u32 {
        if search.seen[start as usize] {
            continue;
        }
        let width = search.middle_level(&graph, start);
        sum += cube(width);
        if width > widest {
            (widest, last) = (width, search.last());
        }
    }
    if sum <= most || sum - cube(widest) > most {
        return Ok(sum <= most);
    }
    // From a far vertex: levels are narrower than from one in the middle.
    let width = Search::new(graph.n()).middle_level(&graph, last);
    Ok(sum - cube(widest) + cube(width) <= most)
}

/// A breadth-first search, component by component.
struct Search {
    seen: Vec<bool>,
    /// The vertices of the component in the order in which they are reached.
    queue: Vec<u32>,
    /// Where each of its levels ends.
    ends: Vec<usize>,
}

impl Search {
    fn new(n: usize) -> Self {
        Self {
            seen: vec![false; n],
            queue: Vec::with_capacity(n),
            ends: Vec::new(),
        }
    }

    /// The vertex reached last.
    fn last(&self) -> u32 {
        self.queue.last().copied().unwrap_or(0)
    }

    /// Searches from `start`: vertices of the smallest level about the one in which half of the vertices are reached.
    fn middle_level(&mut self, graph: &Graph, start: u32) -> usize {
        self.queue.clear();
        self.ends.clear();
        self.queue.push(start);
        self.seen[start as usize] = true;
        let mut k = 0;
        while k < self.queue.len() {
            let end = self.queue.len();
            while k < end {
                for &u in graph.neighbors(self.queue[k]) {
                    if !std::mem::replace(&mut self.seen[u as usize], true) {
                        self.queue.push(u);
                    }
                }
                k += 1;
            }
            self.ends.push(end);
        }
        let half = self.queue.len() / 2;
        let middle = self.ends.partition_point(|&end| end <= half);
        let levels = middle.saturating_sub(AROUND)..self.ends.len().min(middle + AROUND + 1);
        let begin = |level: usize| level.checked_sub(1).map_or(0, |l| self.ends[l]);
        let widths = levels.map(|level| self.ends[level] - begin(level));
        widths.min().unwrap_or(0)
    }
}

/// How many unknowns share a node, on average: neighbors in the user's order whose columns agree are
/// counted among some columns of the whole.
fn unknowns_per_node(pattern: &Pattern) -> f64 {
    let pairs = pattern.n().saturating_sub(1);
    if pairs == 0 {
        return 1.0;
    }
    // A step that has no factor in common with the unknowns of a node, for it would meet the same ones of each.
    let mut step = (pairs / SAMPLE).max(1);
    while [2, 3, 5, 7]
        .iter()
        .any(|factor| step.is_multiple_of(*factor))
    {
        step += 1;
    }
    let sample = (0..pairs).step_by(step);
    let count = sample.len();
    let twins = sample.filter(|&j| pattern.rows(j).get(1..) == Some(pattern.rows(j + 1)));
    count as f64 / (count - twins.count()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_sparse::models::Model;

    fn pattern(name: &str) -> std::sync::Arc<Pattern> {
        let model: Model = name.parse().unwrap();
        model.generate::<f64>().unwrap().pattern().clone()
    }

    #[test]
    fn unknowns_of_a_node_are_recognized() {
        assert!((unknowns_per_node(&pattern("el3d_8")) - 3.0).abs() < 0.2);
        assert!(unknowns_per_node(&pattern("p2d5_40")) < 1.1);
        assert_eq!(unknowns_per_node(&pattern("p2d5_1")), 1.0);
        // Every third of the pairs would be inside of a node.
        let share = unknowns_per_node(&pattern("el3d_16"));
        assert!((share - 3.0).abs() < 0.2, "{share}");
        assert!(Shape::of(&pattern("el3d_16")).has_twins());
        assert!(!Shape::of(&pattern("el3d_4")).has_twins());
        assert!(!Shape::of(&pattern("p3d7_8")).has_twins());
    }

    #[test]
    fn the_middle_level_of_a_grid_is_its_diagonal() {
        let graph = Graph::from_pattern(&pattern("p2d5_30")).unwrap();
        let mut search = Search::new(graph.n());
        // Diagonals of 28 to 30 vertices are about the middle.
        assert_eq!(search.middle_level(&graph, 0), 28);
        assert_eq!(search.last(), 899);
        assert!(search.seen.iter().all(|&seen| seen));
    }

    #[test]
    fn planes_are_narrow_and_solids_are_not() {
        let narrow = |name: &str| {
            let a = pattern(name);
            let machine = Machine::default();
            is_narrow(&a, &machine, Shape::of(&a).dissection_secs(1)).unwrap()
        };
        assert!(narrow("p2d5_200") && narrow("p2d9_150"));
        assert!(!narrow("p3d7_40") && !narrow("p3d27_24"));
    }

    #[test]
    fn components_are_searched_one_by_one() {
        // Diagonal: as many components as vertices, each of one level.
        let ptr: Vec<u64> = (0..=50).collect();
        let rows: Vec<u32> = (0..50).collect();
        let diagonal = Pattern::lower(50, &ptr, &rows).unwrap();
        let secs = |vertices: f64| OPERATIONS * Machine::default().f64.per_flop_secs * vertices;
        let narrow = |most| is_narrow(&diagonal, &Machine::default(), most).unwrap();
        assert!(narrow(secs(50.5)) && !narrow(secs(48.5)));
        let empty = Pattern::lower::<u64, u32>(0, &[0], &[]).unwrap();
        assert!(is_narrow(&empty, &Machine::default(), 0.0).unwrap());
    }
}
