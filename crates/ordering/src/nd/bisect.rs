//! Multilevel vertex bisection: coarsen, separate the coarsest graph, project and refine
//! (Hendrickson and Rothberg 1998).

use rayon::prelude::*;

use crate::mindeg::NONE;
use crate::nd::NdOptions;
use crate::nd::board::{SEPARATOR, Sides};
use crate::nd::coarsen::Coarsener;
use crate::nd::graph::Weighted;
use crate::nd::random::mix;
use crate::nd::refine::{Patience, Refiner, Task};

/// A partition into two sides and a separator; no edge joins the sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Separation {
    /// 0, 1 or [`SEPARATOR`] for each vertex.
    pub(crate) side: Vec<u8>,
    /// Weight of the two sides and of the separator.
    pub(crate) weight: [u64; 3],
    /// The separator's vertices.
    pub(crate) separator: Vec<u32>,
}

impl Separation {
    /// The same of a part of the graph, to which the separator belongs: its vertices, increasing.
    pub(crate) fn of_part(&self, vertices: &[u32]) -> Separation {
        let own = vertices.par_iter().with_min_len(1 << 14);
        let side: Vec<u8> = own.map(|&v| self.side[v as usize]).collect();
        let places = (0..side.len() as u32).into_par_iter().with_min_len(1 << 14);
        Separation {
            separator: places.filter(|&k| side[k as usize] == SEPARATOR).collect(),
            weight: self.weight,
            side,
        }
    }
}

/// A coarser graph, with the map from the vertices of the one before.
#[derive(Default)]
pub(crate) struct Level {
    pub(crate) graph: Weighted,
    pub(crate) map: Vec<u32>,
}

impl Level {
    /// From the graph above to the level `next` below this one.
    pub(crate) fn passed_over(self, next: Level) -> Level {
        let map = self.map.par_iter().with_min_len(1 << 14);
        Level {
            map: map.map(|&c| next.map[c as usize]).collect(),
            graph: next.graph,
        }
    }
}

/// Memory of bisections, reused.
#[derive(Default)]
pub(crate) struct Bisector {
    pub(crate) refiner: Refiner,
    coarsener: Coarsener,
    /// Not in use.
    levels: Vec<Level>,
    separations: Vec<Separation>,
    slots: Vec<u32>,
    scratch: Vec<u8>,
    queue: Vec<u32>,
}

impl Bisector {
    /// A small separator of `graph` that leaves two sides of about the same weight; time near
    /// linear in its edges.
    pub(crate) fn bisect(
        &mut self,
        graph: &Weighted,
        options: &NdOptions,
        patience: Patience,
        seed: u64,
    ) -> Separation {
        self.make_room(graph.n());
        let mut levels = self.hierarchy(graph, options, seed);
        let mut s = self.initial(coarsest(&levels, graph), options, patience, seed);
        while let Some(level) = levels.pop() {
            let fine = coarsest(&levels, graph);
            self.project(&level.map, &mut s);
            self.levels.push(level);
            self.improve(fine, options, patience, &mut s);
        }
        self.refiner.left.clear();
        s
    }

    /// Improves a separation of `graph`.
    pub(crate) fn improve(
        &mut self,
        graph: &Weighted,
        options: &NdOptions,
        patience: Patience,
        s: &mut Separation,
    ) {
        self.make_room(graph.n());
        let mut task = Task {
            graph,
            board: Sides {
                side: &mut s.side,
                slots: &mut self.slots,
            },
            separator: &mut s.separator,
            weight: &mut s.weight,
            goal: options.goal(graph.total),
        };
        self.refiner.refine(&mut task, patience);
        self.refiner.left.clear();
    }

    fn make_room(&mut self, n: usize) {
        if self.slots.len() < n {
            self.slots.resize(n, NONE);
        }
    }

    /// Gives back the memory of a separation.
    pub(crate) fn recycle(&mut self, separation: Separation) {
        self.separations.push(separation);
    }

    /// Coarser and coarser graphs below `graph`.
    fn hierarchy(&mut self, graph: &Weighted, options: &NdOptions, seed: u64) -> Vec<Level> {
        let heaviest = (1.5 * graph.total as f64 / options.coarsest as f64).max(1.0) as u64;
        let mut levels: Vec<Level> = Vec::new();
        loop {
            let last = coarsest(&levels, graph);
            if last.n() <= options.coarsest {
                return levels;
            }
            let mut next = self.levels.pop().unwrap_or_default();
            let seed = mix(seed.wrapping_add(levels.len() as u64));
            self.coarsener
                .coarsen(last, heaviest, seed, &mut next.graph, &mut next.map);
            if next.graph.n() as f64 > 0.95 * last.n() as f64 {
                self.levels.push(next);
                return levels;
            }
            levels.push(next);
        }
    }

    /// Takes sides from coarse vertices to those they stand for.
    fn project(&mut self, map: &[u32], s: &mut Separation) {
        self.scratch.clear();
        s.separator.clear();
        for (v, &c) in map.iter().enumerate() {
            let side = s.side[c as usize];
            self.scratch.push(side);
            if side == SEPARATOR {
                s.separator.push(v as u32);
            }
        }
        std::mem::swap(&mut s.side, &mut self.scratch);
    }

    /// The best of several separations. Every other one comes from a breadth-first search from the
    /// end of the graph, which cuts what is long across; the others grow greedily from anywhere.
    fn initial(
        &mut self,
        graph: &Weighted,
        options: &NdOptions,
        patience: Patience,
        seed: u64,
    ) -> Separation {
        let goal = options.goal(graph.total);
        let mut best = self.separations.pop().unwrap_or_default();
        best.side.clear();
        let mut trial = self.separations.pop().unwrap_or_default();
        for k in 0..options.starts.max(1) {
            let start = (mix(seed ^ mix(u64::from(k))) % graph.n().max(1) as u64) as u32;
            trial.side.clear();
            trial.side.resize(graph.n(), 1);
            let mut task = Task {
                graph,
                board: Sides {
                    side: &mut trial.side,
                    slots: &mut self.slots,
                },
                separator: &mut trial.separator,
                weight: &mut trial.weight,
                goal,
            };
            if k % 2 == 0 {
                let (queue, reached) = (&mut self.queue, &mut self.scratch);
                let far = last_reached(graph, start, queue, reached);
                last_reached(graph, far, queue, reached);
                take_half(&mut task, queue);
            } else {
                self.refiner.grow(&mut task, start);
            }
            self.refiner.refine(&mut task, patience);
            if best.side.is_empty() || goal.cost(&trial.weight) < goal.cost(&best.weight) {
                std::mem::swap(&mut best, &mut trial);
            }
        }
        self.separations.push(trial);
        best
    }
}

fn coarsest<'a>(levels: &'a [Level], graph: &'a Weighted) -> &'a Weighted {
    levels.last().map_or(graph, |level| &level.graph)
}

/// Breadth-first search from `start`, then from other components' first vertices: fills `queue` and
/// returns the last vertex of the component of `start`.
fn last_reached(graph: &Weighted, start: u32, queue: &mut Vec<u32>, reached: &mut Vec<u8>) -> u32 {
    let n = graph.n();
    reached.clear();
    reached.resize(n, 0);
    queue.clear();
    let (mut k, mut last) = (0, start);
    for root in std::iter::once(start).chain(0..n as u32) {
        if std::mem::replace(&mut reached[root as usize], 1) == 1 {
            continue;
        }
        queue.push(root);
        while k < queue.len() {
            for &u in graph.neighbors(queue[k]) {
                if std::mem::replace(&mut reached[u as usize], 1) == 0 {
                    queue.push(u);
                }
            }
            k += 1;
        }
        if root == start {
            last = queue[k - 1];
        }
        if k == n {
            break;
        }
    }
    last
}

/// Side 0 is the first half of `queue`, the separator what of the rest touches it.
fn take_half(task: &mut Task<Sides>, queue: &[u32]) {
    let (graph, side, weight) = (task.graph, &mut *task.board.side, &mut *task.weight);
    task.separator.clear();
    *weight = [0, graph.total, 0];
    for &v in queue {
        let own = u64::from(graph.weights[v as usize]);
        if 2 * (weight[0] + own) > graph.total {
            break;
        }
        side[v as usize] = 0;
        weight[0] += own;
        weight[1] -= own;
    }
    for &v in queue {
        if side[v as usize] == 1 && graph.neighbors(v).iter().any(|&u| side[u as usize] == 0) {
            side[v as usize] = SEPARATOR;
            task.separator.push(v);
            let own = u64::from(graph.weights[v as usize]);
            weight[1] -= own;
            weight[2] += own;
        }
    }
}
