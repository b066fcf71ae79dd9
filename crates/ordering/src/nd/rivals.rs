//! Rival separators for graphs like planes.
//!
//! Coarse vertices are blobs: a line across a coarse plane has about as many whichever way it goes. On the graph itself a line that is
//! tilted may have many more vertices than a straight one (a fifth more at a tilt of one to five, where each vertex has eight neighbors), and
//! moves of single vertices never straighten it. So the first separator of a large part of a plane has rivals, each from
//! coarser graphs of its own, and all that are not much worse on the small level, where they cost little, are refined up to the
//! graph, which says who wins. Where a level of a search is taken instead (`levels`) nobody rivals it.

use rayon::prelude::*;

use crate::nd::Dissection;
use crate::nd::bisect::Level;
use crate::nd::graph::Weighted;
use crate::nd::growing::Growing;
use crate::nd::large::is_like_a_plane;
use crate::nd::random::mix;
use crate::nd::tree::{Root, Start, at_level};

/// Rivals of a separator. Three instead of two take some percent more time, for no fewer operations.
const RIVALS: u64 = 2;

/// Parts of at least one in so many vertices of the whole component have rivals: each halving of a plane leaves less to gain, and costs as much.
/// With 32 there are half a percent fewer operations, for five percent of the time.
const PARTS: usize = 16;

/// Parts of fewer vertices have none: in graphs of some thousand, rivals take a third more time.
const LEAST: usize = 8000;

/// Separators that cost up to so many times as much as the best one of the small level are looked at on the graph.
const CLOSE: f64 = 1.1;

impl Dissection<'_> {
    /// The first separator `root` of `graph`, whose coarser versions are `levels`, or the best of its rivals, if that is better.
    pub(super) fn best_of_rivals(
        &self,
        graph: &Weighted,
        levels: &[Level],
        root: Root,
        seed: u64,
    ) -> Root {
        let small = at_level(graph, levels, root.at);
        let is_large = graph.n() >= LEAST.max(self.n / PARTS);
        if !is_large || !is_like_a_plane(root.small, small) {
            return root;
        }
        let rivals = (1..=RIVALS).into_par_iter();
        let rivals = rivals.map(|k| self.rival(small, graph.n(), mix(seed ^ mix(k))));
        let mut rivals: Vec<(f64, Growing)> = rivals.collect();
        let costs = rivals.iter().map(|rival| rival.0);
        let least = costs.fold(root.small, f64::min);
        rivals.retain(|rival| rival.0 <= CLOSE * least);
        let raised = rivals.into_par_iter().map(|(cost, tree)| {
            let at = root.at;
            self.raised(graph, levels, Start { at, cost, tree })
        });
        let raised: Vec<Root> = raised.collect();
        let better = |a: Root, b: Root| if b.cost < a.cost { b } else { a };
        raised.into_iter().fold(root, better)
    }

    /// A separator of `small`, a coarser version of a graph of `n` vertices, by coarser graphs that no other one has.
    fn rival(&self, small: &Weighted, n: usize, seed: u64) -> (f64, Growing) {
        let levels = self.hierarchy(small, seed);
        let mut tree = Growing::new(at_level(small, &levels, levels.len()), n, seed);
        for at in (0..=levels.len()).rev() {
            self.raise(small, &levels, at, &mut tree);
        }
        let cost = match tree.divided[1] {
            true => self.root_cost(small, &tree),
            false => f64::INFINITY,
        };
        (cost, tree)
    }
}
