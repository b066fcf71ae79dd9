//! Bundle adjustments: points of few cameras each.

use std::collections::BTreeSet;

use tamarack_sparse::{Pattern, Permutation};
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};
use tamarack_testkit::{Rng, pattern_of_edges};

use super::networks::flops;
use super::*;
use crate::nd::leaf::LeafSpace;
use crate::nd::spokes::Spokes;
use crate::{AmdOptions, MergedGraph, Method, Selection, Workspace, order};

/// Cameras in a ring, and points that two to six neighboring ones see; so many unknowns for each. Cameras come first.
fn ring(cameras: usize, points: usize, [of_camera, of_point]: [usize; 2]) -> Pattern {
    let mut random = Rng::new(3);
    let mut blocks = Vec::new();
    for p in 0..points {
        let home = p * cameras / points;
        for _ in 0..2 + random.below(5) {
            blocks.push((cameras + p, (home + random.below(12)) % cameras));
        }
    }
    let first = |v: usize| match v.checked_sub(cameras) {
        Some(point) => cameras * of_camera + point * of_point,
        None => v * of_camera,
    };
    let unknowns = |v: usize| first(v)..first(v + 1);
    let own = (0..cameras + points).map(|v| (v, v));
    let edges = (blocks.into_iter().chain(own))
        .flat_map(|(a, b)| unknowns(a).flat_map(move |i| unknowns(b).map(move |j| (i, j))));
    let edges: Vec<(usize, usize)> = edges.collect();
    pattern_of_edges(first(cameras + points), &edges)
}

fn methods() -> [Method; 3] {
    [
        Method::Amd(AmdOptions::default()),
        Method::Amd(Selection::MeanFill.into()),
        Method::NestedDissection(NdOptions::default()),
    ]
}

/// The graph of a pattern, twins and all.
fn weighted_by_one(pattern: &Pattern) -> Weighted {
    let graph = Graph::from_pattern(pattern).unwrap();
    Weighted::new(graph, vec![1; pattern.n()])
}

/// Operations where points are eliminated one by one, by whichever selection.
fn one_by_one(pattern: &Pattern) -> f64 {
    let graph = weighted_by_one(pattern);
    let of = |selection: Selection| {
        let mut list: Vec<u32> = (0..pattern.n() as u32).collect();
        let mut space = LeafSpace::default();
        (space.order_by(&graph, &mut list, Stop::NEVER, &selection.into())).unwrap();
        space.operations()
    };
    of(Selection::Degree).min(of(Selection::MeanFill))
}

#[test]
fn operations_of_pivots_are_those_of_the_factor() {
    for pattern in [
        grid(8, 1),
        grid(5, 3),
        random(300, 20, 7),
        ring(20, 900, [2, 1]),
    ] {
        let graph = weighted_by_one(&pattern);
        for selection in [Selection::Degree, Selection::MeanFill] {
            let mut list: Vec<u32> = (0..pattern.n() as u32).collect();
            let mut space = LeafSpace::default();
            (space.order_by(&graph, &mut list, Stop::NEVER, &selection.into())).unwrap();
            let order = Permutation::from_elimination_order(&list).unwrap();
            let shared = pattern.clone().shared();
            let draft = SymbolicDraft::new(&shared, &order, &SymbolicOptions::default()).unwrap();
            assert_eq!(space.operations(), draft.flops() as f64);
        }
    }
}

#[test]
fn lists_of_hubs_are_not_read_for_every_point() {
    // A camera sees 400 points: too few for it to be set aside, and its list is read with each of them.
    for (pattern, is_merged) in [
        (ring(200, 20_000, [1, 1]), false),
        (ring(200, 20_000, [6, 3]), true),
    ] {
        let graph = MergedGraph::new(&pattern).unwrap();
        for selection in [Selection::Degree, Selection::MeanFill] {
            let options = AmdOptions {
                most_reads: Some(8),
                dense: -1.0,
                ..selection.into()
            };
            let found = graph.minimum_degree(&options, Stop::NEVER).unwrap();
            assert_eq!(found.len(), pattern.n());
            if !is_merged {
                let method = Method::Amd(options);
                assert!(order(&pattern, &method, &mut Workspace::new()).is_ok());
            }
        }
    }
}

#[test]
fn a_long_way_of_cameras_may_have_points() {
    let graph = MergedGraph::new(&ring(600, 30_000, [1, 1])).unwrap();
    assert!(graph.may_have_points());
    // Without points it is a strip.
    let cameras: Vec<(u32, u32)> = (0..6000)
        .flat_map(|i| (1..4).map(move |k| (i, (i + k) % 6000)))
        .collect();
    let graph = MergedGraph::new(&pattern_of_edges(6000, &cameras)).unwrap();
    assert!(!graph.may_have_points());
    let halves = graph.minimum_degree_in_halves(0, &AmdOptions::default(), Stop::NEVER);
    assert_eq!(halves.unwrap().unwrap().len(), 6000);
}

#[test]
fn points_first_lead_to_no_more_operations() {
    let pattern = ring(60, 6000, [1, 1]);
    let most = 1.02 * one_by_one(&pattern);
    for method in methods() {
        let found = flops(&pattern, &method);
        // A ring is dissected across, at somewhat more than minimum fill going around.
        let most = match method {
            Method::NestedDissection(_) => 1.2 * most,
            _ => most,
        };
        assert!(found <= most, "{method}: {found:e}, {most:e}");
    }
}

#[test]
fn points_come_before_cameras_whatever_the_threads() {
    let (cameras, points) = (200, 20_000);
    let pattern = ring(cameras, points, [6, 3]);
    let by_threads = |threads: usize, method: &Method| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let ordered = || match method {
            Method::Amd(options) => {
                let graph = MergedGraph::new(&pattern).unwrap();
                graph.minimum_degree(options, Stop::NEVER).unwrap()
            }
            _ => order(&pattern, method, &mut Workspace::new()).unwrap(),
        };
        pool.build().unwrap().install(ordered)
    };
    for method in methods() {
        let [one, two] = [1, 2].map(|threads| by_threads(threads, &method));
        assert_eq!(one, two, "{method}");
        // Each point stands before all cameras that see it.
        let place = one.elim_of_user();
        for camera in 0..6 * cameras {
            let seen = pattern.rows(camera).iter().map(|&i| i as usize);
            let mut seen = seen.filter(|&i| i >= 6 * cameras);
            assert!(seen.all(|point| place[point] < place[camera]), "{method}");
        }
    }
}

/// The graph of what is left, by pairs of each spoke.
fn left_by_pairs(graph: &Weighted, spokes: &[u32]) -> BTreeSet<(u32, u32)> {
    let is_spoke = |v: &u32| spokes.contains(v);
    let mut edges = BTreeSet::new();
    for v in 0..graph.n() as u32 {
        let list = graph.neighbors(v);
        if is_spoke(&v) {
            for &a in list {
                edges.extend(list.iter().filter(|&&b| a != b).map(|&b| (a, b)));
            }
        } else {
            let hubs = list.iter().filter(|u| !is_spoke(u));
            edges.extend(hubs.map(|&u| (v, u)));
        }
    }
    edges
}

#[test]
fn hubs_that_share_a_spoke_become_neighbors() {
    let mut random = Rng::new(8);
    let (hubs, n) = (9u32, 1200);
    let mut edges = vec![(0, 1), (3, 7), (n - 1, n - 2), (n - 1, 4)];
    for v in hubs..n - 2 {
        for _ in 0..random.below(5) {
            edges.push((random.below(hubs as usize) as u32, v));
        }
    }
    edges.push((2, n - 2));
    let graph = Graph::from_pattern(&pattern_of_edges(n as usize, &edges)).unwrap();
    let weights: Vec<u32> = (0..n).map(|v| 1 + u32::from(v < hubs)).collect();
    let graph = Weighted::new(graph, weights);
    let spokes = Spokes::of(&graph).unwrap().unwrap();
    let left = spokes.graph.clone();
    let last: Vec<u32> = (0..left.n() as u32).rev().collect();
    let order = spokes.order(&last).unwrap();
    // Hubs, vertices without neighbors, and the two that are each other's.
    let lone = |v: &u32| graph.neighbors(*v).is_empty();
    let others: Vec<u32> = (0..n)
        .filter(|v| *v < hubs || *v >= n - 2 || lone(v))
        .collect();
    let gone: Vec<u32> = (0..n).filter(|v| !others.contains(v)).collect();
    let mut found = BTreeSet::new();
    for (v, &name) in (0..).zip(&others) {
        assert_eq!(left.weights[v as usize], graph.weights[name as usize]);
        found.extend((left.neighbors(v).iter()).map(|&u| (name, others[u as usize])));
    }
    assert_eq!(found, left_by_pairs(&graph, &gone));
    let mut place = vec![0; n as usize];
    (0..).zip(&order).for_each(|(k, &v)| place[v as usize] = k);
    for &v in &gone {
        let mut hubs = graph.neighbors(v).iter();
        assert!(hubs.all(|&u| place[v as usize] < place[u as usize]));
    }
    let of_others = order.iter().filter(|v| others.contains(v));
    assert!(of_others.eq(others.iter().rev()));
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), n as usize);
}

#[test]
fn what_has_no_hubs_or_would_fill_in_stays() {
    let is_cut = |pattern: &Pattern| {
        let graph = weighted(pattern);
        Spokes::of(&graph).unwrap().is_some()
    };
    assert!(is_cut(&ring(100, 20_000, [1, 1])));
    // Cameras that see few points; a grid.
    assert!(!is_cut(&ring(1000, 4000, [1, 1])));
    assert!(!is_cut(&grid(12, 1)));
    // Hubs that are neighbors of most others then.
    let mut random = Rng::new(5);
    let (hubs, spokes) = (2000, 6000);
    let mut edges = Vec::new();
    for spoke in hubs..hubs + spokes {
        edges.extend((0..28).map(|_| (random.below(hubs), spoke)));
    }
    assert!(!is_cut(&pattern_of_edges(hubs + spokes, &edges)));
    // A path beside hubs: its vertices are neighbors of each other.
    let mut path: Vec<(usize, usize)> = (10..9999).map(|v| (v, v + 1)).collect();
    path.extend((10..10_000).map(|v| (v % 10, v)));
    assert!(!is_cut(&pattern_of_edges(10_000, &path)));
}

#[test]
fn spokes_of_heavy_hubs_do_not_go_first() {
    // With hubs of many unknowns a spoke has more neighbors than they have: minimum degree would begin with hubs.
    let (hubs, spokes) = (40u32, 2600u32);
    let edges: Vec<(u32, u32)> = (0..spokes)
        .flat_map(|p| (0..4).map(move |k| ((p + 7 * k) % hubs, hubs + p)))
        .collect();
    let graph = Graph::from_pattern(&pattern_of_edges((hubs + spokes) as usize, &edges)).unwrap();
    let of_weight = |heavy: u32| {
        let weights = (0..hubs + spokes).map(|v| if v < hubs { heavy } else { 1 });
        let graph = Weighted::new(graph.clone(), weights.collect());
        Spokes::of(&graph).unwrap().is_some()
    };
    assert!(of_weight(6));
    assert!(!of_weight(100));
}

#[test]
fn spokes_that_alone_join_two_hubs_stay_where_they_are_few() {
    let (cameras, points) = (100u32, 9000u32);
    let left = |links: u32| {
        let mut edges = Vec::new();
        for p in 0..points {
            // Three neighboring cameras, or for links two anywhere that no other point joins.
            let seen = |k: u32| match p < links {
                true => (p + k * (10 + p / cameras)) % cameras,
                false => (p + k) % cameras,
            };
            let count = if p < links { 2 } else { 3 };
            edges.extend((0..count).map(|k| (seen(k), cameras + p)));
        }
        let pattern = pattern_of_edges((cameras + points) as usize, &edges);
        let graph = weighted_by_one(&pattern);
        let spokes = Spokes::of(&graph).unwrap().unwrap();
        let left = spokes.graph.n() as u32;
        let last: Vec<u32> = (0..left).collect();
        let mut order = spokes.order(&last).unwrap();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..cameras + points));
        left - cameras
    };
    assert_eq!(left(0), 0);
    assert_eq!(left(7), 7);
    assert_eq!(left(60), 60);
    // As many as the pairs of neighboring cameras: they are the rule.
    assert_eq!(left(200), 0);
}
