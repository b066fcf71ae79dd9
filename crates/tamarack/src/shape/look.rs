//! Whether a graph is like a plane, a solid or a network.
//!
//! That is told by the middle [level](crate::levels) of a breadth-first search: one or two searches, linear in the entries; and of a solid by
//! a [piece](crate::piece) of it.

use tamarack_ordering::MergedGraph;

use super::{SAVED, SAVED_OF_SOLIDS, SOLID_VERTICES, Shape};
use crate::choice::MACHINE;
use crate::levels::{Level, Search};
use crate::piece;

/// Operations after minimum degree over the cube of the middle level, on planes: 8 to 21.
const OPERATIONS: f64 = 20.0;
const LEAST_OPERATIONS: f64 = 8.0;
const USUAL_OPERATIONS: f64 = 12.0;

/// The middle level over the square root of the vertices: 1 to 2.5 in planes, shells and meshes of parts like them, 4.7 and more in solids of
/// 64,000 vertices.
const THICK: f64 = 3.0;

/// A graph is long that has so many times as many levels as vertices in the middle one: a strip, a beam, a pipe. A square of four neighbors
/// has twice as many (run `long-1`).
const LONG: f64 = 4.0;

/// One vertex in so many may be elsewhere.
const ELSEWHERE: usize = 8;

/// The middle level over the vertices to the power 2/3, from a far vertex, where there are 26 neighbors: 1.6 in cubes, 2.5 in periodic ones, 3.1 in a mesh of
/// quadratic elements, less in longer solids. About as the square root of the neighbors: 0.75 and 1.5 of six, 1.6 and 2.1 of fourteen, 1.2 to 1.7 among points
/// joined to the nearest. More says that levels grow as in a network: 2.1 to 4.6 in communities, small worlds and planes with links across, of six to eight
/// neighbors (no lines kept).
const WIDEST: f64 = 3.6;

/// Seconds that a dissection is worth for each that the factorization takes after minimum fill, as a piece says: from 0.4 to 0.5 of its own seconds on
/// both lead to the solution as soon, in cubes of 36,000 and 47,000 and among 60,000 points joined to the nearest 8; with the nearest 5 or 6 it has 0.2 at most.
/// Where it is open a dissection is better for later factorizations (no lines kept).
const SAVED_OF_PIECES: f64 = 4.0;

/// Neighbors of a vertex in a cube of 27 points.
const CUBE_DEGREE: f64 = 26.0;

/// Fewer levels say nothing: in networks where everything is near everything.
const LEAST_LEVELS: usize = 15;

/// What the levels of a graph say, and the seconds of a factorization after minimum degree, were it a plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) look: Look,
    pub(crate) plane_secs: f64,
}

/// How a graph looks by its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// So narrow that a factorization after minimum degree takes less than the dissection.
    Narrow,
    /// So thick, and with so much to do, that the dissection pays, whatever minimum degree may find.
    Thick,
    /// As thick, but there is so little to do that minimum fill is enough, as a piece of it says.
    Light,
    /// So long, seen from vertex `end`, that it is ordered in two halves: what joins them costs hardly anything, and they have a thread each.
    Long {
        end: u32,
    },
    /// So wide that it is a network, in which a dissection hardly ever pays.
    Wide,
    Unclear,
}

impl Seen {
    /// Seconds of a factorization after minimum degree, were it a plane like most.
    pub(crate) fn usual_plane_secs(&self) -> f64 {
        USUAL_OPERATIONS / OPERATIONS * self.plane_secs
    }
}

/// Whether there are so many times as many levels as vertices in the middle one.
fn is_long(level: Level, times: f64) -> bool {
    level.count > 0 && level.count as f64 >= times * level.width as f64
}

impl Shape {
    /// Looks at the levels of the `graph` with this shape. What counts are operations.
    pub(crate) fn look(&self, graph: &MergedGraph) -> Seen {
        let mut search = Search::new(graph.n());
        let (mut sum, mut widest) = (0.0, Level::default());
        for start in 0..graph.n() as u32 {
            if !search.has_seen(start) {
                let level = search.middle_level(graph, start);
                sum += self.plane_secs(level.width);
                if level.width > widest.width {
                    widest = level;
                }
            }
        }
        let dissection_secs = self.dissection_secs();
        let narrow = |plane_secs| Seen {
            look: Look::Narrow,
            plane_secs,
        };
        // What a dissection saves more in a solid.
        let more = match self.nodes >= SOLID_VERTICES {
            true => SAVED_OF_SOLIDS / SAVED,
            false => 1.0,
        };
        let is_narrow = more * sum <= dissection_secs;
        let long = |level: Level| {
            let look = Look::Long { end: widest.last };
            let plane_secs = sum;
            let is_most = ELSEWHERE * (graph.n() - level.reached) <= graph.n();
            // Points of cameras on a long way go first, and halves do not know that.
            let is_long = is_most && is_long(level, LONG) && !graph.may_have_points();
            is_long.then_some(Seen { look, plane_secs })
        };
        if let Some(seen) = long(widest) {
            return seen;
        }
        // From a vertex in the middle levels are twice as wide, and half as many.
        if is_narrow && !is_long(widest, LONG / 4.0) {
            return narrow(sum);
        }
        // From a far vertex: levels are narrower than from one in the middle.
        let mut search = Search::new(graph.n());
        let far = search.middle_level(graph, widest.last);
        if let Some(seen) = long(far) {
            return seen;
        }
        if is_narrow {
            return narrow(sum);
        }
        let others = sum - self.plane_secs(widest.width);
        let plane_secs = others + self.plane_secs(far.width);
        let is_solid = |width: usize| width as f64 > THICK * (far.reached as f64).sqrt();
        let more = if is_solid(far.width) { more } else { 1.0 };
        if more * plane_secs <= dissection_secs {
            return narrow(plane_secs);
        }
        let connected = match search.connected_share(graph) {
            most if most >= 0.5 => far.width,
            share => (share * far.width as f64) as usize,
        };
        if connected as f64 > self.widest_of_solids(far.reached) {
            let look = Look::Wide;
            return Seen { look, plane_secs };
        }
        let least = SAVED * LEAST_OPERATIONS / OPERATIONS;
        let pays = least * (others + self.plane_secs(connected)) > dissection_secs;
        let is_thick = far.count >= LEAST_LEVELS && (is_solid(connected) || pays);
        let look = match is_thick {
            true if self.is_hard(graph, far) => Look::Thick,
            true => Look::Light,
            false => Look::Unclear,
        };
        Seen { look, plane_secs }
    }

    /// Whether the dissection of a solid, or of several, pays by what a piece of the one with this middle level says.
    fn is_hard(&self, graph: &MergedGraph, level: Level) -> bool {
        let pays = |whole_secs: f64| SAVED_OF_PIECES * whole_secs > self.dissection_secs();
        piece::estimated_secs(graph, level.middle, level.reached, self.share).is_none_or(pays)
    }

    /// Vertices of the middle level of a solid with so many, at most. Where steps go farther it has more layers.
    fn widest_of_solids(&self, vertices: usize) -> f64 {
        let layers = (self.neighbors / self.nodes / CUBE_DEGREE).sqrt();
        WIDEST * layers * (vertices as f64).powf(2.0 / 3.0)
    }

    /// Seconds of a factorization after minimum degree, were it a plane with a level of so many vertices in its middle.
    fn plane_secs(&self, width: usize) -> f64 {
        let unknowns = self.share * width as f64;
        let flop_secs = MACHINE.f64.per_flop_secs / MACHINE.threads as f64;
        OPERATIONS * unknowns.powi(3) * flop_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_sparse::Pattern;
    use tamarack_sparse::models::Model;

    fn pattern(name: &str) -> std::sync::Arc<Pattern> {
        let model: Model = name.parse().unwrap();
        model.generate::<f64>().unwrap().pattern().clone()
    }

    fn merged(name: &str) -> MergedGraph {
        MergedGraph::new(&pattern(name)).unwrap()
    }

    #[test]
    fn planes_and_solids_are_told_apart() {
        let look = |name: &str| {
            let (a, graph) = (pattern(name), merged(name));
            Shape::exactly(a.n(), &graph).look(&graph).look
        };
        assert_eq!(look("p2d5_200"), Look::Narrow);
        assert_eq!(look("p2d9_150"), Look::Narrow);
        assert_eq!(look("p3d7_40"), Look::Thick);
        assert_eq!(look("p3d27_24"), Look::Thick);
        assert_eq!(look("el3d_16"), Look::Thick);
        // Too few levels, or too little to be gained.
        assert_eq!(look("el3d_12"), Look::Unclear);
        assert_eq!(look("el3d_10"), Look::Narrow);
        assert_eq!(look("p3d7_10"), Look::Narrow);
    }

    #[test]
    fn strips_are_long_and_others_are_not() {
        let look = |width: u32, length: u32| {
            let n = width * length;
            let right = |v: u32| (v % width + 1 < width).then_some(v + 1);
            let below = |v: u32| (v + width < n).then_some(v + width);
            let (mut ptr, mut rows) = (vec![0u64], Vec::new());
            for v in 0..n {
                rows.extend([Some(v), right(v), below(v)].into_iter().flatten());
                ptr.push(rows.len() as u64);
            }
            let a = Pattern::lower(n as usize, &ptr, &rows).unwrap();
            let graph = MergedGraph::new(&a).unwrap();
            Shape::exactly(a.n(), &graph).look(&graph).look
        };
        assert!(matches!(look(40, 1000), Look::Long { .. }));
        assert!(matches!(look(1, 2000), Look::Long { .. }));
        assert_eq!(look(200, 400), Look::Narrow);
        // Cameras on a way, and a hundred points between each and the next.
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for p in 0..30_000 {
            rows.extend([p, 30_000 + p / 100, 30_001 + p / 100]);
            ptr.push(rows.len() as u64);
        }
        for camera in 30_000..30_301 {
            rows.push(camera);
            ptr.push(rows.len() as u64);
        }
        let a = Pattern::lower(30_301, &ptr, &rows).unwrap();
        let graph = MergedGraph::new(&a).unwrap();
        let shape = Shape::exactly(a.n(), &graph);
        assert_eq!(shape.look(&graph).look, Look::Narrow);
    }

    /// A ring of vertices, each joined to the next three, and every 37th to one far away.
    fn ring_with_links(n: u32) -> Pattern {
        let far = |i: u32| (i.wrapping_mul(2_654_435_761) >> 7) % n;
        let mut lists = vec![Vec::new(); n as usize];
        let mut join = |a: u32, b: u32| lists[a.min(b) as usize].push(a.max(b));
        for i in 0..n {
            join(i, i);
            (1..=3).for_each(|step| join(i, (i + step) % n));
            if i % 37 == 0 && far(i) != i {
                join(i, far(i));
            }
        }
        let mut ptr = vec![0u64];
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
            ptr.push(ptr[ptr.len() - 1] + list.len() as u64);
        }
        Pattern::lower(n as usize, &ptr, &lists.concat()).unwrap()
    }

    #[test]
    fn a_wide_level_of_many_pieces_is_no_solid() {
        let a = ring_with_links(60_000);
        let graph = MergedGraph::new(&a).unwrap();
        let shape = Shape::exactly(a.n(), &graph);
        assert_eq!(shape.look(&graph).look, Look::Unclear);
    }

    #[test]
    fn components_are_searched_one_by_one() {
        // Diagonal: as many components as vertices, each of one level.
        let ptr: Vec<u64> = (0..=50).collect();
        let rows: Vec<u32> = (0..50).collect();
        let diagonal = Pattern::lower(50, &ptr, &rows).unwrap();
        let empty = Pattern::lower::<u64, u32>(0, &[0], &[]).unwrap();
        for a in [diagonal, empty] {
            let graph = MergedGraph::new(&a).unwrap();
            let shape = Shape::exactly(a.n(), &graph);
            assert_eq!(shape.look(&graph).look, Look::Narrow);
        }
    }
}
