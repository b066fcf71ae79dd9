//! Every method on awkward patterns, through the public interface.

use tamarack_sparse::models::Model;
use tamarack_sparse::{Pattern, Permutation};
use tamarack_testkit::Rng;

use crate::{AmdOptions, Method, OrderingError, Workspace, order};

/// Lower triangle of the graph on `n` vertices with the given edges.
fn pattern(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Pattern {
    let mut columns: Vec<Vec<u32>> = (0..n).map(|j| vec![j]).collect();
    for (a, b) in edges {
        columns[a.min(b) as usize].push(a.max(b));
    }
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    for mut column in columns {
        column.sort_unstable();
        column.dedup();
        rows.append(&mut column);
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n as usize, &ptr, &rows).unwrap()
}

fn awkward() -> Vec<(&'static str, Pattern)> {
    let grid = |n: u32| {
        (0..n * n)
            .flat_map(move |v| [(v, v + 1, v % n + 1 < n), (v, v + n, v / n + 1 < n)])
            .filter(|e| e.2)
            .map(|e| (e.0, e.1))
    };
    vec![
        ("empty", pattern(0, [])),
        ("one", pattern(1, [])),
        ("two", pattern(2, [(0, 1)])),
        ("diagonal", pattern(50, [])),
        ("star", pattern(5000, (1..5000).map(|i| (0, i)))),
        (
            "star, center last",
            pattern(5000, (0..4999).map(|i| (i, 4999))),
        ),
        ("path", pattern(3000, (1..3000).map(|i| (i - 1, i)))),
        ("ring", pattern(999, (0..999).map(|i| (i, (i + 1) % 999)))),
        (
            "complete",
            pattern(120, (0..120).flat_map(|i| (0..i).map(move |j| (i, j)))),
        ),
        (
            "bipartite",
            pattern(200, (0..100).flat_map(|i| (100..200).map(move |j| (i, j)))),
        ),
        (
            "cliques",
            pattern(
                400,
                (0..400).flat_map(|i| (i / 20 * 20..i).map(move |j| (i, j))),
            ),
        ),
        ("grid", pattern(2500, grid(50))),
        ("grid and dense rows", {
            let dense = [2500, 2501, 2502];
            pattern(
                2503,
                grid(50).chain(
                    dense
                        .into_iter()
                        .flat_map(|d| (0..2500).map(move |i| (i, d))),
                ),
            )
        }),
    ]
}

fn methods() -> impl Iterator<Item = Method> {
    Method::NAMES.split(", ").map(|name| name.parse().unwrap())
}

/// nnz(L), by row subtrees.
fn fill(pattern: &Pattern, permutation: &Permutation) -> u64 {
    let (n, to_elim) = (pattern.n(), permutation.elim_of_user());
    let mut rows = vec![Vec::new(); n];
    for j in 0..n {
        for &i in &pattern.rows(j)[1..] {
            let (a, b) = (to_elim[i as usize], to_elim[j]);
            rows[a.max(b) as usize].push(a.min(b) as usize);
        }
    }
    let (mut parent, mut mark) = (vec![usize::MAX; n], vec![usize::MAX; n]);
    let mut nnz = n as u64;
    for i in 0..n {
        mark[i] = i;
        for &start in &rows[i] {
            let mut j = start;
            while mark[j] != i {
                mark[j] = i;
                nnz += 1;
                if parent[j] == usize::MAX {
                    parent[j] = i;
                }
                j = parent[j];
            }
        }
    }
    nnz
}

#[test]
fn every_method_orders_awkward_graphs() {
    let mut ws = Workspace::new();
    for (name, p) in awkward() {
        for method in methods() {
            let first = order(&p, &method, &mut ws).unwrap();
            assert_eq!(first.len(), p.n(), "{name}, {method}");
            let again = order(&p, &method, &mut Workspace::new()).unwrap();
            assert_eq!(first, again, "{name}, {method}: the workspace shows");
        }
    }
}

#[test]
fn minimum_degree_finds_the_orders_without_fill() {
    let mut ws = Workspace::new();
    let none = [
        "empty",
        "one",
        "two",
        "diagonal",
        "star",
        "star, center last",
        "path",
        "complete",
        "cliques",
    ];
    for (name, p) in awkward()
        .into_iter()
        .filter(|(name, _)| none.contains(name))
    {
        for method in methods().filter(|m| !matches!(m.name(), "natural" | "rcm" | "nd")) {
            let permutation = order(&p, &method, &mut ws).unwrap();
            assert_eq!(fill(&p, &permutation), p.nnz_lower(), "{name}, {method}");
        }
    }
}

#[test]
fn dense_rows_are_set_aside() {
    let (_, p) = awkward().pop().unwrap();
    let grid = "p2d5_50".parse::<Model>().unwrap().generate::<f64>();
    let grid = grid.unwrap().pattern().clone();
    for name in ["amd", "amf", "md", "mmd"] {
        let method: Method = name.parse().unwrap();
        let permutation = order(&p, &method, &mut Workspace::new()).unwrap();
        for dense in 2500..2503 {
            assert!(permutation.elim_of_user()[dense] >= 2500, "{name}");
        }
        // They add an entry to each row, and hardly change others.
        let alone = order(&grid, &method, &mut Workspace::new()).unwrap();
        let [with, without] = [(&p, &permutation), (&grid, &alone)].map(|(p, q)| fill(p, q));
        let expected = without + 3 * 2500 + 6;
        assert!(
            20 * with.abs_diff(expected) < expected,
            "{name}: {with} {expected}"
        );
    }
}

#[test]
fn leaves_of_a_hub_are_not_read_by_all_its_triangles() {
    // When its leaves are gone, the hub has too few neighbors to be set aside.
    let (leaves, triangles) = (20_000, 600);
    let corner = |k: u32| leaves + 1 + k;
    let ends = (1..=leaves).map(|leaf| (0, leaf));
    let rims = (0..triangles).map(|k| (corner(2 * k), corner(2 * k + 1)));
    let spokes = (0..2 * triangles).map(|k| (0, corner(k)));
    let hub = pattern(leaves + 1 + 2 * triangles, ends.chain(spokes).chain(rims));
    let few_reads = AmdOptions {
        most_reads: Some(16),
        ..AmdOptions::default()
    };
    let permutation = order(&hub, &Method::Amd(few_reads), &mut Workspace::default()).unwrap();
    assert_eq!(fill(&hub, &permutation), hub.nnz_lower());
}

#[test]
fn orders_without_fill_stay() {
    let band = |n: u32| (0..n).flat_map(move |j| (j + 1..n.min(j + 4)).map(move |i| (j, i)));
    let arrow = (0..99).map(|j| (j, 99));
    // Of each vertex of a tree the one that is half as far from the root, which is last.
    let tree = (0..99).map(|j| (j, 99 - (99 - j) / 2));
    let all: [Vec<(u32, u32)>; 3] = [band(100).collect(), arrow.collect(), tree.collect()];
    for edges in all {
        let perfect = pattern(100, edges.iter().copied());
        let order_of = |p: &Pattern| order(p, &Method::default(), &mut Workspace::new()).unwrap();
        assert_eq!(order_of(&perfect), Permutation::identity(100));
        assert_eq!(fill(&perfect, &order_of(&perfect)), perfect.nnz_lower());
        // The other way round there may be fill, but not in the order that is found.
        let turned = pattern(100, edges.iter().map(|&(a, b)| (99 - a, 99 - b)));
        assert_eq!(fill(&turned, &order_of(&turned)), turned.nnz_lower());
    }
}

#[test]
fn a_hub_is_not_read_by_all_that_have_it_first() {
    // Leaves of a hub and of the last vertex fill nothing in, and each would read all others of the hub to see that: 12 s.
    let n = 400_000;
    let (hub, last) = (n / 2, n - 1);
    let leaves = (0..hub).flat_map(|v| [(v, hub), (v, last)]);
    let others = (hub + 1..n).map(|v| (hub, v));
    let pattern = pattern(n, leaves.chain(others));
    let order = order(&pattern, &Method::default(), &mut Workspace::new()).unwrap();
    assert_eq!(fill(&pattern, &order), pattern.nnz_lower());
}

#[test]
fn minimum_fill_leads_to_less_on_the_whole() {
    let mut sums = [0; 2];
    for model in ["p2d5_100", "p2d9_60", "p3d7_14", "p3d27_10", "rgg_4000"] {
        let a = model.parse::<Model>().unwrap().generate::<f64>().unwrap();
        for (sum, name) in sums.iter_mut().zip(["amd", "amf"]) {
            let method: Method = name.parse().unwrap();
            let order = order(a.pattern(), &method, &mut Workspace::new()).unwrap();
            *sum += fill(a.pattern(), &order);
        }
    }
    assert!(100 * sums[1] <= 96 * sums[0], "{sums:?}");
}

#[test]
fn numbers_at_random_cost_a_grid_little() {
    let grid = "p2d5_40".parse::<Model>().unwrap().generate::<f64>();
    let grid = grid.unwrap().pattern().clone();
    let fill_of = |number: &[u32]| {
        let edges = (0..grid.n()).flat_map(|j| {
            let below = grid.rows(j)[1..].iter();
            below.map(move |&i| (number[j], number[i as usize]))
        });
        let pattern = pattern(grid.n() as u32, edges);
        let order = order(&pattern, &Method::default(), &mut Workspace::new()).unwrap();
        fill(&pattern, &order)
    };
    let natural: Vec<u32> = (0..grid.n() as u32).collect();
    let least = fill_of(&natural);
    for seed in 0..5 {
        let (mut random, mut number) = (Rng::new(seed), natural.clone());
        for k in (1..number.len()).rev() {
            number.swap(k, random.below(k + 1));
        }
        let fill = fill_of(&number);
        assert!(100 * fill <= 115 * least, "{fill} {least}");
    }
}

#[test]
fn a_second_order_reuses_the_workspace() {
    let (_, p) = awkward().pop().unwrap();
    for method in methods() {
        let mut ws = Workspace::new();
        order(&p, &method, &mut ws).unwrap();
        let before = addresses(&ws);
        order(&p, &method, &mut ws).unwrap();
        assert_eq!(before, addresses(&ws), "{method}");
    }
}

#[test]
fn names_round_trip() {
    for method in methods() {
        assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
    }
    let error = "colamd".parse::<Method>().unwrap_err();
    assert!(matches!(error, OrderingError::UnknownMethod { .. }));
    assert!(error.to_string().contains("amd"));
}

/// Addresses of the workspace's arrays: they stay where nothing was allocated anew.
fn addresses(ws: &Workspace) -> Vec<usize> {
    vec![
        ws.quotient.nodes.as_ptr() as usize,
        ws.quotient.store.as_ptr() as usize,
        ws.quotient.pivots.as_ptr() as usize,
        ws.order.as_ptr() as usize,
        ws.scratch[0].as_ptr() as usize,
        ws.scratch[1].as_ptr() as usize,
        ws.scratch[2].as_ptr() as usize,
    ]
}
