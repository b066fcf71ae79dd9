use tamarack_sparse::Pattern;
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};
use tamarack_testkit::{Rng, pattern_of_edges};

use super::*;
use crate::graph::Graph;
use crate::mindeg::NONE;
use crate::{Method, order as order_by};

/// Neighbors to the right and below of the places of a square that are `there`; in a closed one those at the ends are neighbors, too.
fn grid(side: u32, closed: bool, mut there: impl FnMut(u32, u32) -> bool) -> Pattern {
    let mut number = vec![NONE; (side * side) as usize];
    let mut n = 0;
    for v in 0..side * side {
        if there(v / side, v % side) {
            number[v as usize] = n;
            n += 1;
        }
    }
    let place = |x: u32, y: u32| number[(x % side * side + y % side) as usize];
    let mut edges = Vec::new();
    for (x, y) in (0..side * side).map(|v| (v / side, v % side)) {
        for (a, b) in [(x + 1, y), (x, y + 1)] {
            let both = [place(x, y), place(a, b)];
            if (closed || a < side && b < side) && both[0] != NONE && both[1] != NONE {
                edges.push((both[0], both[1]));
            }
        }
    }
    pattern_of_edges(n as usize, &edges)
}

fn disc(side: u32) -> Pattern {
    let from_middle = |x: u32| (f64::from(x) + 0.5 - f64::from(side) / 2.0).powi(2);
    let radius = f64::from(side) / 2.0;
    grid(side, false, |x, y| {
        from_middle(x) + from_middle(y) < radius * radius
    })
}

fn with_holes(side: u32, seed: u64) -> Pattern {
    let mut random = Rng::new(seed);
    grid(side, false, |_, _| !random.chance(0.1))
}

fn weighted(pattern: &Pattern, seed: u64) -> Weighted {
    let mut random = Rng::new(seed);
    let weights = (0..pattern.n()).map(|_| 1 + random.below(3) as u32);
    Weighted::new(Graph::from_pattern(pattern).unwrap(), weights.collect())
}

fn marks(n: usize) -> Vec<AtomicU8> {
    (0..n).map(|_| AtomicU8::new(0)).collect()
}

/// The pieces of the first cut along levels; none if there is no cut.
fn pieces(graph: &Weighted) -> Option<[Vec<u32>; 3]> {
    let options = NdOptions::default();
    pieces_by(graph, |marks, list| {
        level::cut(graph, marks, list, &options, 0)
    })
}

fn pieces_by(
    graph: &Weighted,
    cut: impl Fn(&[AtomicU8], &mut [u32]) -> Option<Cut>,
) -> Option<[Vec<u32>; 3]> {
    let n = graph.n();
    let marks = marks(n);
    let mut list: Vec<u32> = (0..n as u32).collect();
    let cut = cut(&marks, &mut list)?;
    let mut rest = &list[..];
    let pieces = cut.sizes.map(|size| {
        let (piece, behind) = rest.split_at(size);
        rest = behind;
        assert!(piece.is_sorted());
        piece.to_vec()
    });
    for (v, mark) in marks.iter().enumerate() {
        let is_marked = mark.load(Relaxed) == SEPARATOR;
        assert_eq!(rest.contains(&(v as u32)), is_marked);
    }
    Some(pieces)
}

fn assert_apart(graph: &Weighted, pieces: &[Vec<u32>]) {
    let mut piece_of = vec![NONE; graph.n()];
    for (k, piece) in (0..).zip(pieces) {
        piece.iter().for_each(|&v| piece_of[v as usize] = k);
    }
    for v in (0..graph.n() as u32).filter(|&v| piece_of[v as usize] != NONE) {
        for &u in graph.neighbors(v) {
            let other = piece_of[u as usize];
            assert!(other == NONE || other == piece_of[v as usize]);
        }
    }
}

#[test]
fn a_line_is_the_narrowest_place_between_numbers() {
    let options = NdOptions::default();
    let mut lines = 0;
    for seed in 0..40 {
        for pattern in [with_holes(40, seed), disc(30 + seed as u32)] {
            let graph = weighted(&pattern, seed);
            let n = graph.n() as u32;
            let of = |v: u32| u64::from(graph.weights[v as usize]);
            let cost = |line: u32| {
                let crosses = |v: &u32| last_neighbor(&graph, *v) >= line;
                let own: u64 = (0..line).filter(crosses).map(of).sum();
                let before: u64 = (0..line).map(of).sum();
                let weights = [before - own, graph.total - before, own];
                let is_cut = options.halves(n as usize, &weights);
                is_cut.then(|| options.goal(graph.total).cost(&weights))
            };
            let least = (0..n).filter_map(cost).fold(f64::INFINITY, f64::min);
            let weight = |v: u32| graph.weights[v as usize];
            let last = |v: u32| last_neighbor(&graph, v);
            let line = narrow_line(n as usize, graph.total, weight, last, &options);
            let pieces = pieces_by(&graph, |marks, list| {
                line::cut(&graph, marks, list, &options)
            });
            assert_eq!(line.is_some(), pieces.is_some());
            if let (Some(line), Some(pieces)) = (line, pieces) {
                assert_eq!(cost(line), Some(least));
                assert_apart(&graph, &pieces);
                lines += 1;
            } else {
                assert!(least * f64::from(n).sqrt() > 1.05 * graph.total as f64);
            }
        }
    }
    assert!(lines > 20, "{lines}");
}

#[test]
fn a_renumbered_graph_is_the_same() {
    let graph = weighted(&with_holes(300, 1), 1);
    let n = graph.n() as u32;
    assert!(n > 4 << 14, "several chunks");
    let list = tamarack_testkit::random_permutation(n as usize, 1);
    let (vertex, number) = (list.user_of_elim(), list.elim_of_user());
    let found = graph.renumbered(vertex);
    assert_eq!((found.n(), found.total), (graph.n(), graph.total));
    for (k, &v) in (0..).zip(vertex) {
        assert_eq!(found.weights[k as usize], graph.weights[v as usize]);
        let neighbors = graph.neighbors(v).iter().map(|&u| number[u as usize]);
        assert!(found.neighbors(k).iter().copied().eq(neighbors));
    }
}

#[test]
fn no_edge_joins_two_pieces() {
    let mut cuts = 0;
    for seed in 0..40 {
        for pattern in [
            with_holes(40, seed),
            disc(30 + seed as u32),
            grid(33, true, |_, _| true),
        ] {
            let graph = weighted(&pattern, seed);
            let Some(pieces) = pieces(&graph) else {
                continue;
            };
            assert_apart(&graph, &pieces);
            cuts += 1;
        }
    }
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn a_square_loses_two_corners_and_a_torus_none() {
    let unweighted = |closed| {
        let graph = Graph::from_pattern(&grid(40, closed, |_, _| true)).unwrap();
        Weighted::new(graph, vec![1; 1600])
    };
    let square = unweighted(false);
    let [left, middle, right] = pieces(&square).unwrap().map(|piece| piece.len());
    assert!(left > 250 && right > 250 && middle > left.max(right));
    let torus = unweighted(true);
    let [left, middle, right] = pieces(&torus).unwrap().map(|piece| piece.len());
    assert!(right == 0 && left > 300 && middle > 1000);
}

#[test]
fn a_strip_is_cut_in_two_alone() {
    let strip = grid(300, false, |_, y| y < 9);
    let graph = Weighted::new(Graph::from_pattern(&strip).unwrap(), vec![1; 2700]);
    let [left, middle, right] = pieces(&graph).unwrap();
    assert_apart(&graph, &[left.clone(), middle.clone()]);
    assert!(right.is_empty() && left.len() > 1200 && middle.len() > 1200);
    // Halves would be large enough for another cut: what is eliminated last of each is next to the separator, not in its own middle.
    let mut list: Vec<u32> = (0..2700).collect();
    let options = AmdOptions::from(Selection::MeanFill);
    assert_eq!(order(&graph, &mut list, &options, Stop::NEVER), Ok(true));
    let level = |v: u32| v / 9 + v % 9;
    let own = level(list[2699]);
    for half in list[..2700 - 9].chunk_by(|&a, &b| (level(a) < own) == (level(b) < own)) {
        let last = &half[half.len() - 9..];
        assert!(
            last.iter().all(|&v| level(v).abs_diff(own) < 40),
            "{last:?}"
        );
    }
    // Begun in the middle, a search goes both ways: its levels are thin all the same.
    let from_middle = || {
        let options = NdOptions::default();
        pieces_by(&graph, |marks, list| {
            level::halve(&graph, marks, list, &options, 1350)
        })
    };
    assert!(from_middle().is_some());
    let square = Weighted::new(
        Graph::from_pattern(&disc(60)).unwrap(),
        vec![1; disc(60).n()],
    );
    let options = NdOptions::default();
    let halved =
        |marks: &[AtomicU8], list: &mut [u32]| level::halve(&square, marks, list, &options, 0);
    assert_eq!(pieces_by(&square, halved), None);
}

#[test]
fn halves_of_what_is_long_are_ordered_alike_by_any_threads() {
    let strip = grid(300, false, |_, y| y < 9);
    let graph = weighted(&strip, 3);
    for selection in [Selection::Degree, Selection::MeanFill] {
        let options = AmdOptions::from(selection);
        let found = [1, 4].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            // Numbers in another order, so that the graph is renumbered.
            let mut list: Vec<u32> = (0..2700).rev().collect();
            let ordered = || order_halves(&graph, &mut list, 0, &options, Stop::NEVER);
            assert_eq!(pool.build().unwrap().install(ordered), Ok(true));
            list
        });
        assert_eq!(found[0], found[1]);
        // The separator comes last, a level of the search from the corner; before it one side and then the other.
        let (halves, separator) = found[0].split_at(2700 - 9);
        let level = |v: u32| v / 9 + v % 9;
        let own = level(separator[0]);
        assert!(separator.iter().all(|&v| level(v) == own));
        let turns = halves
            .windows(2)
            .filter(|w| (level(w[0]) < own) != (level(w[1]) < own));
        assert_eq!(turns.count(), 1);
        let mut sorted = found[0].clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..2700));
    }
}

#[test]
fn what_has_no_thin_level_stays_whole() {
    let edges = |n: u32, of: fn(u32) -> u32| (1..n).map(|i| (of(i), i)).collect::<Vec<_>>();
    let halves = (0..1000u32).filter(|i| i % 500 != 0).map(|i| (i - 1, i));
    let patterns = [
        pattern_of_edges(1000, &edges(1000, |_| 0)),
        pattern_of_edges(1000, &halves.collect::<Vec<_>>()),
        pattern_of_edges::<u32>(1000, &[]),
        tamarack_testkit::model("p3d7_12")
            .pattern()
            .as_ref()
            .clone(),
    ];
    for pattern in patterns {
        let graph = weighted(&pattern, 1);
        assert_eq!(pieces(&graph), None);
        let mut list: Vec<u32> = (0..graph.n() as u32).rev().collect();
        let (before, options) = (list.clone(), AmdOptions::from(Selection::MeanFill));
        assert_eq!(order(&graph, &mut list, &options, Stop::NEVER), Ok(false));
        assert_eq!(list, before);
    }
}

#[test]
fn all_vertices_are_ordered_alike_by_any_threads() {
    let options = AmdOptions::from(Selection::MeanFill);
    for pattern in [with_holes(70, 1), disc(61), grid(50, true, |_, _| true)] {
        let graph = weighted(&pattern, 2);
        let found = [1, 4].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut list: Vec<u32> = (0..graph.n() as u32).rev().collect();
            let ordered = || order(&graph, &mut list, &options, Stop::NEVER);
            assert_eq!(pool.build().unwrap().install(ordered), Ok(true));
            list
        });
        assert_eq!(found[0], found[1]);
        let mut sorted = found[0].clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..graph.n() as u32));
        let stopped = std::sync::atomic::AtomicBool::new(true);
        let mut list: Vec<u32> = (0..graph.n() as u32).collect();
        let result = order(&graph, &mut list, &options, (&stopped).into());
        assert_eq!(result, Err(OrderingError::Stopped));
    }
}

#[test]
fn parts_have_corners_where_there_were_none() {
    let pattern = grid(100, true, |_, _| true).shared();
    let method = Method::Amd(Selection::MeanFill.into());
    let found = order_by(&pattern, &method, &mut Workspace::new()).unwrap();
    let draft = SymbolicDraft::new(&pattern, &found, &SymbolicOptions::default()).unwrap();
    // As a whole 4.3e7.
    assert!(draft.flops() < 30_000_000, "{}", draft.flops());
}

#[test]
fn a_torus_with_hubs_is_cut_without_them() {
    let side = 100;
    let torus = grid(side, true, |_, _| true);
    let mut random = Rng::new(5);
    // Each is the first, one in the middle, or the last of the numbers.
    for hub in [0, side * side / 2, side * side] {
        let number = |v: u32| v + u32::from(v >= hub);
        let inside = (0..side * side).flat_map(|j| {
            let below = &torus.rows(j as usize)[1..];
            below.iter().map(move |&i| (number(j), number(i)))
        });
        let to_hub = (0..side * side).filter(|_| random.chance(0.1));
        let edges: Vec<_> = inside.chain(to_hub.map(|v| (number(v), hub))).collect();
        let pattern = pattern_of_edges((side * side + 1) as usize, &edges).shared();
        let method = Method::Amd(Selection::MeanFill.into());
        let found = order_by(&pattern, &method, &mut Workspace::new()).unwrap();
        assert_eq!(found.user_of_elim().last(), Some(&hub));
        let draft = SymbolicDraft::new(&pattern, &found, &SymbolicOptions::default()).unwrap();
        assert!(draft.flops() < 31_000_000, "{}", draft.flops());
    }
}

#[test]
fn degrees_without_hubs_are_those_of_the_graph_without_them() {
    for seed in 0..40 {
        let mut random = Rng::new(seed);
        let mut end = || {
            let most = 5 + random.below(40);
            random.below(most) as u32
        };
        let edges: Vec<_> = (0..100).map(|_| (end(), end())).collect();
        let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a != b).collect();
        let pattern = pattern_of_edges(45, &edges);
        let degrees = pattern::degrees(&pattern).unwrap();
        for limit in [0, 3, 6, 10, 45] {
            let graph = Graph::from_pattern(&pattern).unwrap();
            let (left, _) = graph.without_dense(limit);
            let expected = (0..left.n() as u32).map(|v| left.degree(v) as u32);
            let found = pattern::degrees_without(&pattern, &degrees, limit);
            assert!(found.into_iter().eq(expected));
        }
    }
}

/// These patterns, with an unknown before each whose neighbors are none.
fn behind_lone_ones(patterns: &[&Pattern]) -> Pattern {
    let (mut edges, mut n) = (Vec::new(), 0);
    for pattern in patterns {
        n += 1;
        for j in 0..pattern.n() {
            let below = &pattern.rows(j)[1..];
            edges.extend(below.iter().map(|&i| (n + j as u32, n + i)));
        }
        n += pattern.n() as u32;
    }
    pattern_of_edges(n as usize, &edges)
}

#[test]
fn components_are_cut_one_by_one() {
    let options = AmdOptions::from(Selection::MeanFill);
    let ordered = |pattern: &Pattern, threads| {
        let graph = Weighted::new(Graph::from_pattern(pattern).unwrap(), vec![1; pattern.n()]);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut list: Vec<u32> = (0..graph.n() as u32).collect();
        let ordered = || order(&graph, &mut list, &options, Stop::NEVER);
        assert_eq!(pool.build().unwrap().install(ordered), Ok(true));
        list
    };
    let torus = |side| grid(side, true, |_, _| true);
    // The last is too small to be cut, the one before has thick levels.
    let solid = tamarack_testkit::model("p3d7_12");
    let patterns = [&torus(50), &torus(35), solid.pattern().as_ref(), &torus(20)];
    let all = behind_lone_ones(&patterns);
    let found = ordered(&all, 1);
    assert_eq!(found, ordered(&all, 4));
    let mut first = 1;
    for (k, pattern) in patterns.into_iter().enumerate() {
        let numbers = first..first + pattern.n() as u32;
        first = numbers.end + 1;
        let own: Vec<u32> = (found.iter().filter(|v| numbers.contains(v)))
            .map(|v| v - numbers.start)
            .collect();
        assert_eq!(own.len(), pattern.n());
        if k < 2 {
            assert_eq!(own, ordered(pattern, 2));
        }
    }
}

#[test]
fn lone_unknowns_and_second_bodies_change_no_operations() {
    let torus = grid(100, true, |_, _| true);
    let method = Method::Amd(Selection::MeanFill.into());
    let flops = |pattern: &Pattern| {
        let pattern = pattern.clone().shared();
        let found = order_by(&pattern, &method, &mut Workspace::new()).unwrap();
        let draft = SymbolicDraft::new(&pattern, &found, &SymbolicOptions::default()).unwrap();
        draft.flops()
    };
    let alone = flops(&torus);
    for bodies in [vec![&torus], vec![&torus; 2]] {
        let count = bodies.len() as u128;
        assert_eq!(flops(&behind_lone_ones(&bodies)), count * (alone + 1));
    }
    // More than would be a fringe.
    let none = pattern_of_edges::<u32>(1, &[]);
    let mut bodies = vec![&none; 1000];
    bodies.push(&torus);
    assert_eq!(flops(&behind_lone_ones(&bodies)), alone + 2001);
}
