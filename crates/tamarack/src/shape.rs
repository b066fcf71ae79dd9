//! A graph in numbers: how long its dissection will take, and what it is worth.
//!
//! They say beforehand which orderings are worth starting, as does what the graph [looks](look) like.

mod look;

pub(crate) use look::{Look, Seen};

use tamarack_ordering::MergedGraph;
use tamarack_sparse::Pattern;

use crate::choice::MACHINE;

/// Seconds of a dissection on one thread for a vertex and for a stored neighbor of the graph without twins, on the machine that orderings
/// are judged for ([`MACHINE`]). By 0.55 times this formula and measured on a core that is 1.8 times as fast
/// (AMD EPYC): `p3d7_60` 0.79 and 0.79, `p3d27_50` 0.61 and 0.62, `shell_200x160` 0.44 and 0.34, `el3d_30`
/// 0.14 and 0.12, `rgg_200000` 0.81 and 0.75, `ng_shaft_e1` 0.13 and 0.14.
const VERTEX_SECS: f64 = 6.0e-6;
const NEIGHBOR_SECS: f64 = 1.2e-7;

/// Threads make all but the first seconds of a dissection faster by their number to this power.
const ALONE_SECS: f64 = 0.03;
const SPEEDUP: f64 = 0.8;

/// Vertices from which minimum fill takes 0.9 to 1.16 times as long as minimum degree and is nearly always better. Of fewer without twins it
/// takes up to 1.8 times as long, which is mostly more than it saves (run `fill-1`).
const MANY_VERTICES: f64 = 131_072.0;

/// Of each predicted second of the factorization after minimum degree, what is spent to see whether minimum fill is better: it saves a
/// fifth on average.
const FILL_SAVES: f64 = 0.1;

/// The same in networks that are not dissected ([`Look::Wide`]): there it saves a third. Where a dissection is tried as well all three together take 1.1 to
/// 1.4 times as long as without minimum fill, of random graphs of 6,000 to 30,000 vertices (no lines kept).
const FILL_SAVES_IN_NETWORKS: f64 = 1.0 / 3.0;

/// Seconds of minimum fill on one thread, as those of a dissection: an estimate to a factor of two. By this formula and measured (as above):
/// `p2d5_1000` 0.32 and 0.26, `p2d9_700` 0.22 and 0.12, `rgg_200000` 0.11 and 0.17, `ng_cubemcyl_p2` 0.18 and 0.24.
const FILL_VERTEX_SECS: f64 = 3.6e-7;
const FILL_NEIGHBOR_SECS: f64 = 5.4e-8;

/// Of each predicted second that a factorization after minimum degree takes beyond one of a plane with that middle level, what is spent to see
/// whether minimum fill is better: grids in their natural order are luck for minimum degree (run `unlucky-1`).
const UNLUCKY: f64 = 2.0;

/// Columns that are looked at to tell how many unknowns share a node, and where there are few entries.
const SAMPLE: usize = 4096;
const FEW_SAMPLE: usize = 512;

/// Entries from which it is worth looking, and merging twins first.
const MANY: f64 = 200_000.0;

/// Seconds that a dissection is worth for each predicted second of the factorization after minimum degree: solves and the rest of the analysis become
/// cheaper with it, and first factorizations take up to three times what is predicted.
const SAVED: f64 = 1.4;

/// The same in solids of so many vertices and more, where a dissection saves half of the operations and more: 1100 of them over the vertices to the power
/// 3/2 in a cube of 27,000 vertices, 560 in a plate of four layers, 1 to 160 in planes, shells and circuits (no lines kept).
const SAVED_OF_SOLIDS: f64 = 2.5;
const SOLID_VERTICES: f64 = 10_000.0;
const PLANE_OPERATIONS: f64 = 300.0;

/// The same in networks, by their levels ([`Look::Wide`]), where a dissection leads to the solution in 1.5 to 4.4 times minimum fill's time (run
/// `scattered-1`).
const SAVED_OF_NETWORKS: f64 = 0.5;

/// Entries saved for each unknown from which merging twins takes less time than it saves: 8 in plane pose graphs, where two of three
/// unknowns are twins and it takes longer; 27 and more in solids, shells and other pose graphs.
const MERGED: f64 = 10.0;

/// Neighbors of a vertex, on average, below which there are hardly more edges than in a tree (2) or a grid of squares (4; one of triangles
/// has 6).
const SPARSE: f64 = 5.0;

/// Neighbors of a vertex, on average, from which a graph is probably none of a plane.
const DENSE: f64 = 16.0;

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
        let nodes = pattern.n() as f64 / share;
        Self {
            share,
            nodes,
            // A node is no neighbor of itself.
            neighbors: pattern.nnz_full() as f64 / (share * share) - nodes,
        }
    }

    /// That of the graph of `unknowns` unknowns itself.
    pub(crate) fn exactly(unknowns: usize, graph: &MergedGraph) -> Self {
        Self {
            share: unknowns as f64 / graph.n().max(1) as f64,
            nodes: graph.n() as f64,
            neighbors: graph.nnz() as f64,
        }
    }

    /// Whether it is worth merging twins before anything else: minimum degree of a ninth of the edges is done in a
    /// third of the time. Small graphs are done in no time.
    pub(crate) fn has_twins(&self) -> bool {
        let saved = (self.neighbors / self.nodes + 1.0) * (self.share - 1.0 / self.share);
        saved >= MERGED && self.is_large()
    }

    /// Whether there is enough to be ordered to look at it first. Not where there are hardly more edges than in a tree: in networks, whose
    /// levels say nothing, and grids whose minimum degree is done soon.
    pub(crate) fn is_worth_a_look(&self) -> bool {
        self.is_large() && !self.is_sparse()
    }

    fn is_sparse(&self) -> bool {
        self.neighbors < SPARSE * self.nodes
    }

    /// Whether a look at it probably says that minimum degree is in vain: better look before it is begun.
    pub(crate) fn is_dense(&self) -> bool {
        self.neighbors > DENSE * self.nodes
    }

    fn is_large(&self) -> bool {
        (self.neighbors + self.nodes) * self.share * self.share >= MANY
    }

    /// About what a nested dissection takes, in seconds.
    pub(crate) fn dissection_secs(&self) -> f64 {
        let secs = VERTEX_SECS * self.nodes + NEIGHBOR_SECS * self.neighbors;
        let alone = secs.min(ALONE_SECS);
        alone + (secs - alone) / (MACHINE.threads as f64).powf(SPEEDUP)
    }

    /// Whether a dissection saves more than it takes, of a factorization of so many predicted seconds, whatever the graph is.
    pub(crate) fn is_worth_dissecting(&self, predicted_secs: f64) -> bool {
        SAVED * predicted_secs > self.dissection_secs()
    }

    /// The same by its operations: a dissection saves more where there are more than in planes.
    pub(crate) fn is_worth_dissecting_as_solid(&self, predicted_secs: f64, flops: u128) -> bool {
        let in_plane = PLANE_OPERATIONS * self.share.powi(3) * self.nodes.powf(1.5);
        let is_solid = self.nodes >= SOLID_VERTICES && flops as f64 > in_plane;
        is_solid && SAVED_OF_SOLIDS * predicted_secs > self.dissection_secs()
    }

    /// The same in a network.
    pub(crate) fn is_worth_dissecting_as_network(&self, predicted_secs: f64) -> bool {
        SAVED_OF_NETWORKS * predicted_secs > self.dissection_secs()
    }

    /// Whether there are so many vertices that minimum fill is worth more than minimum degree, even if unknowns do not share them.
    pub(crate) fn has_many_vertices(&self) -> bool {
        self.nodes >= MANY_VERTICES
    }

    /// Whether minimum fill is worth trying after minimum degree, which led to a factorization of so many predicted seconds.
    pub(crate) fn is_worth_filling_too(&self, predicted_secs: f64) -> bool {
        FILL_SAVES * predicted_secs > self.fill_secs()
    }

    /// The same where that is not much for the factorization, but for what the graph's levels say of it.
    pub(crate) fn is_unlucky(&self, predicted_secs: f64, seen: &Seen) -> bool {
        let spent = match seen.look {
            Look::Narrow => UNLUCKY * (predicted_secs - seen.usual_plane_secs()),
            // Else it has been tried.
            Look::Wide if !self.is_worth_filling_too(predicted_secs) => {
                FILL_SAVES_IN_NETWORKS * predicted_secs
            }
            _ => return false,
        };
        spent > self.fill_secs()
    }

    /// About what minimum fill takes, in seconds.
    fn fill_secs(&self) -> f64 {
        FILL_VERTEX_SECS * self.nodes + FILL_NEIGHBOR_SECS * self.neighbors
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
    let sample = match (pattern.nnz_full() as f64) < MANY {
        true => FEW_SAMPLE,
        false => SAMPLE,
    };
    let mut step = (pairs / sample).max(1);
    while [2, 3, 5, 7]
        .iter()
        .any(|factor| step.is_multiple_of(*factor))
    {
        step += 1;
    }
    let sample = (0..pairs).step_by(step);
    let count = sample.len();
    let twins = sample.filter(|&j| pattern.continues(j + 1));
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
}
