//! The parts of nested dissection against what they promise.

mod apart;
mod networks;
mod shapes;
mod spokes;

use super::bisect::{Bisector, Separation};
use super::board::Sides;
use super::coarsen::Coarsener;
use super::compress::{Compressed, compress};
use super::graph::Weighted;
use super::heap::GainHeap;
use super::options::{QUICK, THOROUGH};
use super::random::mix;
use super::refine::{Refiner, Task};
use super::*;
use crate::mindeg::DenseLimits;
use crate::mindeg::NONE;
use crate::nd::board::SEPARATOR;
use tamarack_sparse::Pattern;

/// Lower triangle of the graph on `n` vertices in which `joined(i, j)`, `i > j`, are neighbors.
fn pattern(n: u32, joined: impl Fn(u32, u32) -> bool) -> Pattern {
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    for j in 0..n {
        rows.push(j);
        rows.extend((j + 1..n).filter(|&i| joined(i, j)));
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n as usize, &ptr, &rows).unwrap()
}

/// m × m × m grid, 7-point, `dof` unknowns per point.
fn grid(m: u32, dof: u32) -> Pattern {
    let at = move |v: u32| [v / dof % m, v / dof / m % m, v / dof / m / m];
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    let n = m * m * m * dof;
    for j in 0..n {
        let reach = (j / dof + m * m + 1) * dof;
        rows.extend((j..reach.min(n)).filter(|&i| {
            let distance = |k: usize| at(i)[k].abs_diff(at(j)[k]);
            distance(0) + distance(1) + distance(2) <= 1
        }));
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n as usize, &ptr, &rows).unwrap()
}

fn random(n: u32, per_mille: u64, seed: u64) -> Pattern {
    pattern(n, |i, j| {
        mix(seed ^ u64::from(i) << 32 ^ u64::from(j)) % 1000 < per_mille
    })
}

/// Twins merged, every vertex of weight 1, none too dense.
fn unit(graph: Graph) -> Compressed {
    let weights = vec![1; graph.n()];
    compress(graph, weights, DenseLimits::NONE)
}

fn weighted(p: &Pattern) -> Weighted {
    unit(Graph::from_pattern(p).unwrap()).graph
}

fn check(graph: &Weighted, s: &Separation) {
    let mut weight = [0; 3];
    for v in 0..graph.n() as u32 {
        let side = s.side[v as usize];
        weight[side as usize] += u64::from(graph.weights[v as usize]);
        assert_eq!(side == SEPARATOR, s.separator.contains(&v));
        for &u in graph.neighbors(v) {
            assert!(
                side == SEPARATOR || s.side[u as usize] == SEPARATOR || s.side[u as usize] == side
            );
        }
    }
    assert_eq!(weight, s.weight);
}

#[test]
fn twins_are_merged() {
    let graph = Graph::from_pattern(&grid(6, 3)).unwrap();
    let c = unit(graph);
    assert_eq!((c.graph.n(), c.graph.total), (216, 648));
    assert!(c.graph.weights.iter().all(|&w| w == 3));
    assert_eq!(c.graph.adjacency.len(), 2 * 3 * 6 * 6 * 5);
    for k in 0..216 {
        assert_eq!(
            &c.members[3 * k..3 * k + 3],
            [0, 1, 2].map(|d| 3 * k as u32 + d)
        );
    }
}

#[test]
fn graphs_without_twins_stay_as_they_are() {
    let graph = Graph::from_pattern(&grid(5, 1)).unwrap();
    let c = unit(graph.clone());
    assert!(c.members.is_empty() && c.dense.is_empty());
    assert_eq!((c.graph.offsets, c.graph.adjacency), graph.into_parts());
}

/// Edges of `v` with their weights.
fn edges(graph: &Weighted, v: u32) -> Vec<(u32, u32)> {
    let weights = graph.edge_weights(v).iter().copied();
    let weights = weights.chain(std::iter::repeat(1));
    graph.neighbors(v).iter().copied().zip(weights).collect()
}

#[test]
fn coarsening_keeps_weights_and_cut() {
    let mut coarsener = Coarsener::default();
    let (mut coarse, mut map) = (Weighted::default(), Vec::new());
    for seed in 0..50 {
        let fine = weighted(&random(200, 5 * (seed % 20), seed));
        coarsener.coarsen(&fine, 3, seed, &mut coarse, &mut map);
        assert_eq!(coarse.total, fine.total);
        let sum: u64 = coarse.weights.iter().map(|&w| u64::from(w)).sum();
        assert_eq!(sum, fine.total);
        assert!(coarse.weights.iter().all(|&w| w <= 3));
        let crossing: u64 = (0..fine.n() as u32)
            .flat_map(|v| edges(&fine, v).into_iter().map(move |(u, w)| (v, u, w)))
            .filter(|&(v, u, _)| map[v as usize] != map[u as usize])
            .map(|(.., w)| u64::from(w))
            .sum();
        let kept = coarse.edge_weights.iter().map(|&w| u64::from(w));
        assert_eq!(kept.sum::<u64>(), crossing);
        for c in 0..coarse.n() as u32 {
            for (d, w) in edges(&coarse, c) {
                assert!(edges(&coarse, d).contains(&(c, w)));
            }
        }
    }
}

#[test]
fn the_heap_is_a_priority_queue() {
    let (mut side, mut slots) = ([], vec![NONE; 100]);
    let mut board = Sides {
        side: &mut side,
        slots: &mut slots,
    };
    let mut heap = GainHeap::default();
    let mut gains = vec![None; 100];
    for step in 0..20_000u64 {
        let r = mix(step);
        let (v, gain) = ((r % 100) as usize, (r >> 8) as i32 % 50);
        match (r >> 20) % 3 {
            0 if gains[v].is_none() => {
                heap.push(&mut board, v as u32, gain);
                gains[v] = Some(gain);
            }
            1 => {
                heap.remove(&mut board, v as u32);
                gains[v] = None;
            }
            _ => {
                heap.add(&mut board, v as u32, gain - 25);
                gains[v] = gains[v].map(|g| g + gain - 25);
            }
        }
        let best = gains.iter().flatten().max().copied();
        assert_eq!(heap.peek().and_then(|v| gains[v as usize]), best);
    }
}

#[test]
fn refinement_improves_and_keeps_the_sides_apart() {
    let mut refiner = Refiner::default();
    let mut better = 0;
    for seed in 0..300 {
        let graph = weighted(&random(60, 10 + 10 * (seed % 10), seed));
        let sides = (0..graph.n() as u64).map(|v| (mix(v ^ seed << 20) % 2) as u8);
        let mut s = Separation {
            side: sides.collect(),
            ..Separation::default()
        };
        for v in 0..graph.n() as u32 {
            let across = 1 - s.side[v as usize].min(1);
            let mut list = graph.neighbors(v).iter();
            if list.any(|&u| s.side[u as usize] == across) {
                s.side[v as usize] = SEPARATOR;
                s.separator.push(v);
            }
            s.weight[s.side[v as usize] as usize] += u64::from(graph.weights[v as usize]);
        }
        check(&graph, &s);
        let goal = NdOptions::default().goal(graph.total);
        let before = goal.cost(&s.weight);
        let mut slots = vec![NONE; graph.n()];
        let mut task = Task {
            graph: &graph,
            board: Sides {
                side: &mut s.side,
                slots: &mut slots,
            },
            separator: &mut s.separator,
            weight: &mut s.weight,
            goal,
        };
        if seed % 2 == 0 {
            refiner.refine(&mut task, THOROUGH);
            assert!(goal.cost(&s.weight) <= before);
        } else {
            refiner.settle(&mut task);
        }
        assert!(slots.iter().all(|&slot| slot == NONE));
        check(&graph, &s);
        better += usize::from(goal.cost(&s.weight) < before);
    }
    assert!(better > 100, "{better}");
}

#[test]
fn a_grid_is_cut_by_a_plane() {
    let graph = weighted(&grid(16, 1));
    let s = Bisector::default().bisect(&graph, &NdOptions::default(), QUICK, 1);
    check(&graph, &s);
    assert!(s.weight[2] <= 300, "{:?}", s.weight);
}

#[test]
fn settled_vertices_join_the_nearer_side() {
    // A strip of 8 x 40; the separator is 20 columns thick, the sides are what is left of it.
    let (rows, columns) = (8u32, 40u32);
    let p = pattern(rows * columns, |i, j| {
        let (a, b) = ([i % columns, i / columns], [j % columns, j / columns]);
        a[0].abs_diff(b[0]) + a[1].abs_diff(b[1]) == 1
    });
    let graph = weighted(&p);
    let column = |v: u32| v % columns;
    let mut s = Separation::default();
    for v in 0..rows * columns {
        let side = match column(v) {
            0..10 => 0,
            10..30 => SEPARATOR,
            _ => 1,
        };
        s.side.push(side);
        s.weight[side as usize] += 1;
        if side == SEPARATOR {
            s.separator.push(v);
        }
    }
    let mut slots = vec![NONE; graph.n()];
    Refiner::default().settle(&mut Task {
        graph: &graph,
        board: Sides {
            side: &mut s.side,
            slots: &mut slots,
        },
        separator: &mut s.separator,
        weight: &mut s.weight,
        goal: NdOptions::default().goal(graph.total),
    });
    check(&graph, &s);
    assert!(s.separator.iter().all(|&v| (18..22).contains(&column(v))));
    assert!(s.weight[2] <= 2 * u64::from(rows));
}

#[test]
fn predicted_flops_are_those_of_the_fronts() {
    // A path of 7: vertex 3 is the root's separator, 1 and 5 those of the halves.
    let p = pattern(7, |i, j| i == j + 1);
    let labels = [4, 2, 5, 1, 6, 3, 7].map(std::sync::atomic::AtomicU32::new);
    let mut divided = vec![false; 8];
    divided[1..4].fill(true);
    let found = predict::predicted_flops(&weighted(&p), &labels, &divided);
    // Fronts of the separators: 1 pivot; 1 row below for the halves. Pieces: boundaries 1, 2, 2, 1.
    let front = |below: f64, pivots: f64| (below + pivots).powi(3) - below.powi(3);
    let separators = front(0.0, 1.0) + 2.0 * front(1.0, 1.0);
    let pieces = 2.0 * front(1.0, 0.2) + 2.0 * front(2.0, 0.4);
    assert!((found - separators - pieces).abs() < 1e-9, "{found}");
}

#[test]
fn the_order_does_not_depend_on_the_threads() {
    for p in [grid(22, 1), grid(40, 1), grid(9, 3), random(3000, 1, 5)] {
        let orders = [1, 2, 16].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut list = Vec::new();
            let options = NdOptions::default();
            pool.install(|| order(&p, &options, By::Graph, Stop::NEVER, &mut list))
                .unwrap();
            list
        });
        assert_eq!(orders[0], orders[1]);
        assert_eq!(orders[0], orders[2]);
    }
}

#[test]
fn every_vertex_comes_once() {
    let options = NdOptions {
        leaf: 4,
        piece: 10,
        coarsest: 8,
        ..NdOptions::default()
    };
    for seed in 0..200 {
        let n = 1 + (mix(seed) % 120) as u32;
        let p = random(n, mix(seed + 1) % 100, seed);
        let mut list = Vec::new();
        order(&p, &options, By::Graph, Stop::NEVER, &mut list).unwrap();
        list.sort_unstable();
        assert!(list.iter().copied().eq(0..n), "seed {seed}");
    }
}

#[test]
fn pieces_that_are_cut_alone_may_have_any_shape() {
    for piece in [10, 1, 0] {
        any_shape(&NdOptions {
            leaf: 4,
            piece,
            coarsest: 8,
            ..NdOptions::default()
        });
    }
}

fn any_shape(options: &NdOptions) {
    let square = |i: u32, j: u32| i == j + 30 || (i == j + 1 && !i.is_multiple_of(30));
    let shapes = [
        pattern(400, |_, _| false),
        pattern(400, |i, j| i == j + 1),
        pattern(400, |_, j| j == 0),
        pattern(900, square),
        pattern(900, |i, j| square(i, j) && !(j < 450 && i >= 450)),
        pattern(900, |i, j| square(i, j) || i == j + 31),
        pattern(400, |i, j| (i + j) % 97 == 0),
    ];
    for (k, p) in shapes.iter().enumerate() {
        let orders = [1, 9].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut list = Vec::new();
            let pool = pool.build().unwrap();
            pool.install(|| order(p, options, By::Graph, Stop::NEVER, &mut list))
                .unwrap();
            list
        });
        assert_eq!(orders[0], orders[1], "shape {k}");
        let mut list = orders[0].clone();
        list.sort_unstable();
        assert!(list.iter().copied().eq(0..p.n() as u32), "shape {k}");
    }
}

#[test]
fn a_dissection_ends_soon_after_it_is_stopped() {
    let p = grid(22, 1);
    let stop = AtomicBool::new(true);
    let mut list = Vec::new();
    let stopped = order(
        &p,
        &NdOptions::default(),
        By::Graph,
        (&stop).into(),
        &mut list,
    );
    assert_eq!(stopped, Err(OrderingError::Stopped));
    // At any time: whatever was under way, nothing but this comes out, or the whole order.
    for micros in (0..40_000).step_by(2_000) {
        let stop = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_micros(micros));
                stop.store(true, Relaxed);
            });
            order(
                &p,
                &NdOptions::default(),
                By::Graph,
                (&stop).into(),
                &mut list,
            )
        });
        match result {
            Ok(()) => assert_eq!(list.len(), p.n()),
            Err(error) => assert_eq!(error, OrderingError::Stopped),
        }
    }
}
