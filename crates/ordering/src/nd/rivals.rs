//! Rival separators for graphs like planes.
//!
//! Coarse vertices are blobs: a line across a coarse plane has about as many whichever way it goes. On the graph itself a line that is
//! tilted may have many more vertices than a straight one (a fifth more at a tilt of one to five, where each vertex has eight neighbors), and
//! moves of single vertices never straighten it. So the first separator of a large part of a plane has rivals, each from
//! coarser graphs of its own, and all that are not much worse on the small level, where they cost little, are refined up to the
//! graph, which says who wins.

use rayon::prelude::*;

use crate::nd::Dissection;
use crate::nd::bisect::Level;
use crate::nd::graph::Weighted;
use crate::nd::growing::Growing;
use crate::nd::large::is_like_a_plane;
use crate::nd::random::mix;
use crate::nd::tree::{Start, at_level};

/// Rivals of a separator. With three or four instead of two a tenth more time goes for nothing.
const RIVALS: u64 = 2;

/// Parts of at least one in so many vertices of the whole graph have rivals: each halving of a plane leaves less to gain, and costs as much.
/// With 32 there are half a percent fewer operations, for five percent of the time.
const PARTS: usize = 16;

/// Parts of fewer vertices have none: in graphs of some thousand, rivals take a third of the time.
const LEAST: usize = 8000;

/// Separators that cost up to so many times as much as the best one of the small level are looked at on the graph.
const CLOSE: f64 = 1.1;

impl Dissection<'_> {
    /// The first separator `start`, or the best of it and its rivals, refined up to `graph`, whose coarser versions are `levels`; and its
    /// cost.
    pub(super) fn raised(
        &self,
        graph: &Weighted,
        levels: &[Level],
        start: Start,
        seed: u64,
    ) -> (f64, Growing) {
        let rivals = self.rivals(graph, levels, &start, seed);
        let raised = |start: Start| {
            let mut tree = start.tree;
            for at in (0..start.at).rev() {
                self.raise(graph, levels, at, &mut tree);
            }
            (self.root_cost(graph, &tree), tree)
        };
        let (first, others) = rayon::join(
            || raised(start),
            || rivals.into_par_iter().map(raised).collect::<Vec<_>>(),
        );
        let better = |a: (f64, Growing), b: (f64, Growing)| if b.0 < a.0 { b } else { a };
        others.into_iter().fold(first, better)
    }

    /// What is to be compared with `start` on `graph`, if anything is.
    fn rivals(&self, graph: &Weighted, levels: &[Level], start: &Start, seed: u64) -> Vec<Start> {
        let small = at_level(graph, levels, start.at);
        let is_large = graph.n() >= LEAST.max(self.graph.n() / PARTS);
        if !is_large || !is_like_a_plane(start.cost, small) {
            return Vec::new();
        }
        let rivals = (1..=RIVALS).into_par_iter().map(|k| {
            let (cost, tree) = self.rival(small, graph.n(), mix(seed ^ mix(k)));
            let at = start.at;
            Start { at, cost, tree }
        });
        let mut rivals: Vec<Start> = rivals.collect();
        let costs = rivals.iter().map(|rival| rival.cost);
        let least = costs.fold(start.cost, f64::min);
        rivals.retain(|rival| rival.cost <= CLOSE * least);
        rivals
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
