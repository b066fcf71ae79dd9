//! Large pieces: from the graph to pieces that fit the cache, by all threads.

use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::error::OrderingError;
use crate::mindeg::NONE;
use crate::nd::Dissection;
use crate::nd::apart::apart;
use crate::nd::bisect::{Level, Separation};
use crate::nd::buckets::{Counted, atomics, values};
use crate::nd::graph::{CHUNK, Weighted};
use crate::nd::levels::{best_level, may_be_thin};
use crate::nd::random::mix;
use crate::nd::restrict::restrict;
use crate::nd::split::split;
use crate::nd::tree::{PASSED, Root, Tree, Tries};

/// Pieces of so many times `piece` vertices are cut by finished separators, if they are thin or like a plane. With
/// 8 there are 60 % more flops in cubes of 14³ and 10 to 15 % more in small planes, with 4 half as many again in cubes of 12³, with 2 some percent
/// more in planes.
const ALONE: usize = 3;

/// A level is taken if it costs at most so many times as much as the separator it replaces: it is straight, and its parts are cut
/// more easily. 2 % of flops on grids, against 0.95.
const STRAIGHT: f64 = 1.04;

/// Where levels cost more than so many times as much, the graph is no grid, though its vertices have few neighbors; it may be a
/// mesh of triangles, which is like a plane.
const THICK: f64 = 2.0;

/// A graph is like a plane if its separator has less than so many times the square root of its vertices.
const PLANE: f64 = 2.0;

/// Whether a separator of this cost shows that `graph` is like a plane.
pub(super) fn is_like_a_plane(cost: f64, graph: &Weighted) -> bool {
    over_root(cost, graph.n() as f64, graph.total as f64) < PLANE
}

/// Vertices of a separator of this cost over the square root of those of the graph, `n` of weight `total`.
pub(super) fn over_root(cost: f64, n: f64, total: f64) -> f64 {
    cost * n.sqrt() / total
}

/// A piece on the way from its tree to the pieces of the tree.
struct Descent<'a> {
    graph: Cow<'a, Weighted>,
    seed: u64,
    /// Whether each node of the tree is divided.
    divided: Vec<bool>,
    /// Where the subtree of each node ends in `arranged`.
    bounds: Vec<u32>,
    /// The vertices in the order of the tree.
    arranged: Vec<u32>,
    /// Where in `arranged` each vertex stands.
    place: Vec<u32>,
}

impl Dissection<'_> {
    /// Orders the large piece `list` whose graph is `graph`: vertex `v` there is `list[v]` here. The best of
    /// `tries` trees is taken, where there is a tree.
    ///
    /// A separator of a grid may wander far when it is refined on the finest graph, for many are as good: a tree
    /// below it would have been in vain. So graphs like planes, and those with few neighbors, are first cut by finished
    /// separators, one by one; both parts keep what is theirs of the coarser graphs.
    pub(super) fn dissect_large(
        &self,
        graph: Cow<'_, Weighted>,
        levels: Option<Vec<Level>>,
        list: &mut [u32],
        tries: u32,
        seed: u64,
    ) -> Result<(), OrderingError> {
        let levels = levels.unwrap_or_else(|| self.hierarchy(&graph, seed));
        self.go_on()?;
        let tries = self.tries(&graph, &levels, tries, seed);
        if let Some((separation, behind)) = self.cut(&graph, &levels, &tries) {
            drop(tries);
            return self.halve(graph, levels, separation, behind, list, seed);
        }
        let Tree { labels, divided } = self.tree(&graph, levels, &tries);
        drop(tries);
        self.go_on()?;
        let (arranged, bounds) = arrange(&labels, &divided);
        let place = places(&arranged, graph.n());
        // The labels are done with: their memory takes the list in its new order.
        let mut globals = labels;
        let moved = globals.par_iter_mut().zip(&arranged).with_min_len(CHUNK);
        moved.for_each(|(global, &v)| *global = list[v as usize]);
        list.copy_from_slice(&globals);
        drop(globals);
        let descent = Descent {
            graph,
            seed,
            divided,
            bounds,
            place,
            arranged,
        };
        self.descend(&descent, 1, list, 0)
    }

    /// Orders both sides of a large piece, side 1 cut by `behind` if it is known how.
    fn halve(
        &self,
        graph: Cow<'_, Weighted>,
        levels: Vec<Level>,
        separation: Separation,
        behind: Option<Separation>,
        list: &mut [u32],
        seed: u64,
    ) -> Result<(), OrderingError> {
        self.go_on()?;
        let n = graph.n();
        let mut space = self.take_space();
        let ([left, right], count) = split(&graph, &separation, list, &mut space);
        drop((graph, separation));
        let (of_left, rest) = space.list.split_at(count);
        let of_right = &rest[..right.n()];
        let behind = behind.map(|behind| behind.of_part(of_right));
        // Some levels of a larger graph have been passed over.
        let keeps = |part: &Weighted| n < PASSED || part.n() >= PASSED;
        let few = |part: &Weighted| match keeps(part) {
            true => 2 * self.piece,
            false => usize::MAX,
        };
        let [left_levels, right_levels] = restrict(
            levels,
            [of_left, of_right],
            [&left.weights, &right.weights],
            [few(&left), few(&right)],
        );
        let left_levels = keeps(&left).then_some(left_levels);
        let right_levels = keeps(&right).then_some(right_levels);
        space.drop_lists();
        self.give_space(space);
        let (left_list, rest) = list.split_at_mut(count);
        let right_list = &mut rest[..right.n()];
        let (a, b) = apart(
            [left.n(), right.n()],
            || self.dissect_half(left, left_levels, left_list, mix(seed ^ 1)),
            || match (right_levels, behind) {
                (Some(levels), Some(behind)) => {
                    let seed = mix(seed ^ 2);
                    self.halve(Cow::Owned(right), levels, behind, None, right_list, seed)
                }
                (levels, _) => self.dissect_half(right, levels, right_list, mix(seed ^ 2)),
            },
        );
        a.and(b)
    }

    /// The separator with which a piece is cut before all others, refined to the end, if it is to be; and that of side 1, if it is known.
    fn cut(
        &self,
        graph: &Weighted,
        levels: &[Level],
        tries: &Tries,
    ) -> Option<(Separation, Option<Separation>)> {
        if graph.n() < ALONE * self.piece {
            return None;
        }
        let is_good = |root: &Root| self.options.halves(graph.n(), &root.tree.weights());
        let best = |root: Root| {
            let best = self.best_of_rivals(graph, levels, root, tries.seed());
            is_good(&best).then(|| (best.tree.into_separation(), None))
        };
        if !may_be_thin(graph) {
            return best(self.root(graph, levels, tries, is_like_a_plane)?);
        }
        let (root, level) = rayon::join(
            || self.root(graph, levels, tries, |_, _| true),
            || best_level(graph, levels, self.options),
        );
        let (level, root) = level.zip(root.filter(is_good))?;
        if level.cost <= STRAIGHT * root.cost {
            return Some((level.separation, level.behind));
        }
        let is_grid = level.cost <= THICK * root.cost;
        (is_grid || is_like_a_plane(root.cost, graph)).then(|| best(root))?
    }

    /// Orders a piece that may be large, whose coarser versions may be known.
    pub(super) fn dissect_half(
        &self,
        graph: Weighted,
        levels: Option<Vec<Level>>,
        list: &mut [u32],
        seed: u64,
    ) -> Result<(), OrderingError> {
        if graph.n() >= 2 * self.piece {
            return self.dissect_large(Cow::Owned(graph), levels, list, 1, seed);
        }
        let mut space = self.take_space();
        let result = self.dissect(graph, list, seed, &mut space);
        self.give_space(space);
        result
    }

    /// Dissects the pieces below node `t`, whose vertices are `list`, at `start` of the whole list.
    fn descend(
        &self,
        descent: &Descent<'_>,
        t: u32,
        list: &mut [u32],
        start: u32,
    ) -> Result<(), OrderingError> {
        let Descent {
            divided, bounds, ..
        } = descent;
        if divided[t as usize] {
            let left = (bounds[2 * t as usize] - start) as usize;
            let right = (bounds[2 * t as usize + 1] - start) as usize;
            let (left_list, rest) = list[..right].split_at_mut(left);
            let (a, b) = rayon::join(
                || self.descend(descent, 2 * t, left_list, start),
                || self.descend(descent, 2 * t + 1, rest, start + left as u32),
            );
            return a.and(b);
        }
        let mut space = self.take_space();
        let mut graph = space.graphs.pop().unwrap_or_default();
        let end = start + list.len() as u32;
        let inside = |u: u32| {
            let at = descent.place[u as usize];
            if (start..end).contains(&at) {
                at - start
            } else {
                NONE
            }
        };
        let own = &descent.arranged[start as usize..end as usize];
        descent.graph.extract(&mut graph, own, inside);
        let seed = mix(descent.seed ^ mix(u64::from(t)));
        let result = self.dissect(graph, list, seed, &mut space);
        self.give_space(space);
        result
    }
}

/// The vertices in the order of the tree: left, right, separator; and where each node's subtree ends.
fn arrange(labels: &[u32], divided: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let counted = Counted::new(labels.len(), divided.len(), |v| labels[v]);
    let count = counted.totals();
    let mut ends = vec![0u32; count.len()];
    let mut starts = vec![0u32; count.len()];
    let mut at = 0;
    place_subtree(divided, &count, 1, &mut at, &mut starts, &mut ends);
    (counted.sorted(starts, at as usize), ends)
}

/// Where in `list` each of its vertices stands; nothing of use for others of the vertices `0..n`.
pub(super) fn places(list: &[u32], n: usize) -> Vec<u32> {
    let places = atomics(n);
    let vertices = list.par_iter().enumerate().with_min_len(1 << 14);
    vertices.for_each(|(k, &v)| places[v as usize].store(k as u32, Relaxed));
    values(places)
}

fn place_subtree(
    divided: &[bool],
    count: &[u32],
    t: u32,
    at: &mut u32,
    next: &mut [u32],
    ends: &mut [u32],
) {
    if divided[t as usize] {
        place_subtree(divided, count, 2 * t, at, next, ends);
        place_subtree(divided, count, 2 * t + 1, at, next, ends);
    }
    next[t as usize] = *at;
    *at += count[t as usize];
    ends[t as usize] = *at;
}
