//! The quotient graph against the elimination graph it stands for, kept as bit sets, step by step.

use tamarack_sparse::Pattern;
use tamarack_testkit::Rng;

use super::amd::Amd;
use super::dense::DenseLimits;
use super::lists::{DegreeLists, NONE};
use super::mmd::Mmd;
use super::observer::Observer;
use super::quotient::{IS_ELEMENT, QuotientGraph};
use super::selection::{Selection, key_of_fill};
use crate::workspace::Workspace;

/// Pattern of a graph given as bit sets of neighbors.
fn pattern(adjacent: &[u64]) -> Pattern {
    let n = adjacent.len();
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    for (j, &bits) in adjacent.iter().enumerate() {
        rows.push(j as u32);
        rows.extend((j as u32 + 1..n as u32).filter(|&i| bits >> i & 1 == 1));
        ptr.push(rows.len() as u64);
    }
    Pattern::lower(n, &ptr, &rows).unwrap()
}

/// A random graph on up to 40 vertices: sparse, dense, clustered or with twins.
fn random_graph(seed: u64) -> Vec<u64> {
    let mut r = Rng::new(seed);
    let n = r.below(40) + 1;
    let mut adjacent = vec![0u64; n];
    let mut join = |a: usize, b: usize| {
        if a != b {
            adjacent[a] |= 1 << b;
            adjacent[b] |= 1 << a;
        }
    };
    let density = [1, 2, 4, n][r.below(4)];
    let edges = r.below(density * n + 1);
    let span = if r.below(2) == 0 { n } else { n / 4 + 1 };
    for _ in 0..edges {
        let a = r.below(n);
        let b = (a + r.below(span)) % n;
        join(a, b);
    }
    if r.below(3) == 0 && n > 2 {
        // Make a few vertices twins of others.
        for _ in 0..n / 3 {
            let (a, b) = (r.below(n), r.below(n));
            for c in 0..n {
                if c != a && c != b && adjacent[a] >> c & 1 == 1 {
                    adjacent[b] |= 1 << c;
                    adjacent[c] |= 1 << b;
                }
            }
        }
    }
    adjacent
}

/// Follows the elimination in the true graph.
struct Checker {
    /// Neighbors in the elimination graph.
    adjacent: Vec<u64>,
    alive: u64,
    /// Vertices at and above it are never eliminated.
    halo: usize,
    exact: bool,
    /// How far above the least degree a pivot may be.
    delta: u32,
    selection: Selection,
    nnz_l: u64,
    steps: usize,
}

impl Checker {
    fn new(adjacent: &[u64]) -> Self {
        let n = adjacent.len();
        let mut new = Self {
            adjacent: adjacent.to_vec(),
            alive: u64::MAX >> (64 - n),
            halo: n,
            exact: false,
            delta: 0,
            selection: Selection::Degree,
            nnz_l: 0,
            steps: 0,
        };
        new.eliminate_isolated();
        new
    }

    /// What has no neighbors is eliminated without a word.
    fn eliminate_isolated(&mut self) {
        for v in 0..self.adjacent.len() {
            if self.alive >> v & 1 == 1 && self.adjacent[v] & self.alive == 0 {
                self.alive &= !(1 << v);
                self.nnz_l += 1;
            }
        }
    }

    /// The node that stands for vertex `x`; itself, where it was set aside.
    fn root(q: &QuotientGraph, mut x: u32) -> u32 {
        while q.nodes[x as usize].weight == 0 && q.nodes[x as usize].start != u64::from(NONE) {
            x = q.nodes[x as usize].start as u32;
        }
        x
    }

    /// Vertices that node `i` stands for.
    fn members(q: &QuotientGraph, i: u32) -> u64 {
        (0..q.n() as u32)
            .filter(|&x| Self::root(q, x) == i)
            .fold(0, |set, x| set | 1 << x)
    }

    /// True neighbors of a set outside of it.
    fn neighbors(&self, set: u64) -> u64 {
        (0..self.adjacent.len())
            .filter(|&v| set >> v & 1 == 1)
            .fold(0, |all, v| all | self.adjacent[v])
            & self.alive
            & !set
    }

    /// Ordered pairs of a set that are no neighbors.
    fn missing(&self, set: u64) -> i64 {
        (0..self.adjacent.len())
            .filter(|&v| set >> v & 1 == 1)
            .map(|v| i64::from((set & !self.adjacent[v] & !(1 << v)).count_ones()))
            .sum()
    }

    /// The fill of a pivot by mean fill is at most what it was taken for.
    fn check_fill(&self, q: &QuotientGraph, me: u32, bound: u32) {
        let members = Self::members(q, me);
        let fill = self.missing(self.neighbors(members));
        let key = key_of_fill(fill, members.count_ones());
        assert!(key <= bound, "the fill of {me} is {fill}");
    }

    fn check_degree(&self, q: &QuotientGraph, i: u32) -> u32 {
        let node = &q.nodes[i as usize];
        let members = Self::members(q, i);
        assert_eq!(members.count_ones() as i32, node.weight);
        let neighbors = self.neighbors(members);
        for v in (0..self.adjacent.len()).filter(|&v| members >> v & 1 == 1) {
            let closed = self.adjacent[v] & self.alive | 1 << v;
            assert_eq!(closed, neighbors | members, "{v} is not like {i}");
        }
        let degree = neighbors.count_ones();
        if self.exact || node.elements <= 2 {
            assert_eq!(node.degree, degree, "degree of {i}");
        } else {
            assert!(node.degree >= degree, "degree of {i} is no upper bound");
        }
        degree
    }
}

impl Observer for Checker {
    fn pivot(&mut self, q: &QuotientGraph, lists: &DegreeLists, me: u32) {
        assert!((me as usize) < self.halo);
        let chosen = q.nodes[me as usize].degree;
        self.check_degree(q, me);
        let mut least = chosen;
        for i in 0..q.n() as u32 {
            if lists.contains(i) {
                self.check_degree(q, i);
                least = least.min(q.nodes[i as usize].degree);
            }
        }
        match self.selection {
            Selection::Degree => assert!(chosen <= least + self.delta, "{chosen} is not least"),
            Selection::MeanFill => self.check_fill(q, me, lists.key_of_last()),
        }
    }

    fn formed(&mut self, q: &QuotientGraph, _lists: &DegreeLists, me: u32) {
        let group = Self::members(q, me) & self.alive;
        let outside = self.neighbors(group);
        let node = &q.nodes[me as usize];
        assert_eq!(node.elements, IS_ELEMENT);
        // A leaf's weight stays negated.
        assert_eq!(node.weight.unsigned_abs(), group.count_ones());
        let list = q.list(me).iter();
        let found = list.fold(0, |set, &i| set | Self::members(q, i));
        assert_eq!(found, outside, "list of element {me}");
        assert_eq!(node.degree, outside.count_ones());
        for v in (0..self.adjacent.len()).filter(|&v| outside >> v & 1 == 1) {
            self.adjacent[v] |= outside & !(1 << v);
        }
        self.alive &= !group;
        let (p, u) = (
            u64::from(group.count_ones()),
            u64::from(outside.count_ones()),
        );
        self.nnz_l += p * (p + 1) / 2 + p * u;
        self.steps += 1;
    }
}

/// nnz(L) by naive elimination in the given order.
fn naive_fill(adjacent: &[u64], order: &[u32]) -> u64 {
    let mut adjacent = adjacent.to_vec();
    let mut alive = u64::MAX >> (64 - adjacent.len());
    let mut nnz = 0;
    for &k in order {
        assert_eq!(alive >> k & 1, 1, "{k} occurs twice");
        alive &= !(1 << k);
        let outside = adjacent[k as usize] & alive;
        nnz += 1 + u64::from(outside.count_ones());
        for (v, set) in adjacent.iter_mut().enumerate() {
            if outside >> v & 1 == 1 {
                *set |= outside & !(1 << v);
            }
        }
    }
    nnz
}

/// Whether every subtree of the elimination tree of the given order is a range that ends with its root.
fn is_postorder(adjacent: &[u64], order: &[u32]) -> bool {
    let mut adjacent = adjacent.to_vec();
    let place = |v: u32| order.iter().position(|&k| k == v).unwrap();
    let n = order.len();
    let (mut parent, mut size) = (vec![n; n], vec![1; n]);
    for (j, &k) in order.iter().enumerate() {
        let later = order[j + 1..].iter().fold(0, |set, &v| set | 1u64 << v);
        let outside = adjacent[k as usize] & later;
        for (v, set) in adjacent.iter_mut().enumerate() {
            if outside >> v & 1 == 1 {
                *set |= outside & !(1 << v);
            }
        }
        let above = (0..n as u32).filter(|&v| outside >> v & 1 == 1);
        if let Some(p) = above.map(place).min() {
            parent[j] = p;
            size[p] += size[j];
        }
    }
    (0..n).all(|j| (j + 1 - size[j]..j).all(|k| parent[k] <= j))
}

fn final_order(ws: &Workspace) -> Vec<u32> {
    let mut order = vec![NONE; ws.quotient.n()];
    ws.quotient
        .elimination_order(&mut order, &mut Default::default())
        .unwrap();
    order
}

/// Runs one algorithm on thousands of graphs, the same workspace for all.
fn check_all(seeds: std::ops::Range<u64>, run: impl Fn(&mut Workspace, &mut Checker)) {
    let mut ws = Workspace::new();
    let mut steps = 0;
    for seed in seeds {
        let graph = random_graph(seed);
        ws.quotient.load(&pattern(&graph)).unwrap();
        let mut checker = Checker::new(&graph);
        run(&mut ws, &mut checker);
        let order = final_order(&ws);
        assert_eq!(checker.alive, 0);
        assert_eq!(naive_fill(&graph, &order), checker.nnz_l, "seed {seed}");
        // Small graphs are not brought into postorder.
        let mut plain = vec![NONE; graph.len()];
        let q = &ws.quotient;
        q.any_elimination_order(&mut plain, &mut Default::default())
            .unwrap();
        assert_eq!(naive_fill(&graph, &plain), checker.nnz_l, "seed {seed}");
        let mut pivots = plain.iter().filter(|i| q.pivots.contains(i));
        assert!(q.pivots.iter().all(|me| pivots.next() == Some(me)));
        if checker.exact {
            assert!(is_postorder(&graph, &order), "seed {seed}");
        }
        steps += checker.steps;
    }
    assert!(steps > 10_000);
}

#[test]
fn md_eliminates_a_variable_of_least_exact_degree() {
    check_all(0..3000, |ws, checker| {
        checker.exact = true;
        Mmd::new(ws, None).run(DenseLimits::NONE, checker).unwrap();
    });
}

#[test]
fn mmd_stays_within_its_tolerance() {
    for delta in [0, 1, 3] {
        check_all(0..2000, |ws, checker| {
            (checker.exact, checker.delta) = (true, delta);
            Mmd::new(ws, Some(delta))
                .run(DenseLimits::NONE, checker)
                .unwrap();
        });
    }
}

#[test]
fn amd_bounds_the_degree_from_above_and_is_exact_with_two_elements() {
    for aggressive in [true, false] {
        check_all(0..3000, |ws, checker| {
            let n = ws.quotient.n() as u32;
            Amd::new(ws, n, aggressive)
                .run(DenseLimits::NONE, checker)
                .unwrap();
        });
    }
}

#[test]
fn what_is_set_aside_is_no_neighbor_any_more() {
    // Sixteen at most, of more than sixteen neighbors.
    let limits = DenseLimits::new(40, 0, 0.0);
    let mut ws = Workspace::new();
    let mut found = [0; 4];
    for seed in 0..12_000 {
        let graph = random_graph(seed);
        let n = graph.len();
        ws.quotient.load(&pattern(&graph)).unwrap();
        let mut checker = Checker::new(&graph);
        let way = seed as usize % 4;
        if way == 3 {
            Amd::new(&mut ws, n as u32, true).eliminate_fringe(&mut checker);
            checker.eliminate_isolated();
        }
        let is_dense = |&v: &usize| checker.neighbors(1 << v).count_ones() > 16;
        let alive = (0..n).filter(|&v| checker.alive >> v & 1 == 1);
        let dense = alive.filter(is_dense).fold(0u64, |set, v| set | 1 << v);
        let aside = if dense.count_ones() > 16 { 0 } else { dense };
        checker.alive &= !aside;
        checker.eliminate_isolated();
        match way {
            0 => Mmd::new(&mut ws, None).run(limits, &mut checker),
            1 => {
                checker.selection = Selection::MeanFill;
                let fill = Amd::new(&mut ws, n as u32, true).by(Selection::MeanFill);
                { fill }.run(limits, &mut checker)
            }
            _ => Amd::new(&mut ws, n as u32, true).run(limits, &mut checker),
        }
        .unwrap();
        assert_eq!(checker.alive, 0, "seed {seed}");
        let order = final_order(&ws);
        let last = &order[n - aside.count_ones() as usize..];
        assert_eq!(last.iter().fold(0, |set, &v| set | 1 << v), aside);
        found[way] += usize::from(aside != 0);
    }
    assert!(found.iter().all(|&found| found > 50), "{found:?}");
}

#[test]
fn minimum_fill_goes_by_an_upper_bound() {
    for aggressive in [true, false] {
        check_all(0..3000, |ws, checker| {
            checker.selection = Selection::MeanFill;
            let n = ws.quotient.n() as u32;
            let mut elimination = Amd::new(ws, n, aggressive).by(Selection::MeanFill);
            elimination.run(DenseLimits::NONE, checker).unwrap();
        });
    }
}

#[test]
fn amd_eliminates_trees_and_chains_beforehand() {
    let mut before = 0;
    let hubs = std::cell::Cell::new(0);
    for aggressive in [true, false] {
        let seen = std::cell::Cell::new(0);
        check_all(0..3000, |ws, checker| {
            let n = ws.quotient.n() as u32;
            let mut amd = Amd::new(ws, n, aggressive);
            amd.eliminate_fringe(checker);
            seen.set(seen.get() + checker.steps);
            for v in (0..n as usize).filter(|&v| checker.alive >> v & 1 == 1) {
                // As many as it had, and no chain is left but beside a hub.
                let degree = checker.check_degree(amd.q, v as u32);
                let lists = checker.adjacent[v] & checker.alive | 1 << v;
                let in_lists = (0..n as usize).filter(|&j| lists >> j & 1 == 1);
                let longest = in_lists.map(|j| amd.q.list(j as u32).len()).max();
                let by_hub = degree == 2 && longest > Some(8);
                hubs.set(hubs.get() + u32::from(by_hub));
                assert!(degree == 0 || degree > 2 || by_hub);
            }
            checker.eliminate_isolated();
            amd.run(DenseLimits::NONE, checker).unwrap();
        });
        before += seen.get();
    }
    assert!(before > 10_000 && hubs.get() > 10, "{before} {hubs:?}");
}

#[test]
fn grids_have_no_fringe_and_chains_are_one() {
    let has_fringe = |width: usize, height: usize| {
        let n = width * height;
        let joined = |i: usize, j: usize| {
            let (a, b) = (i.min(j), i.max(j));
            (a + 1 == b && b % width != 0) || a + width == b
        };
        let neighbors = |i: usize| {
            (0..n)
                .filter(|&j| joined(i, j))
                .fold(0, |set, j| set | 1 << j)
        };
        let graph: Vec<u64> = (0..n).map(neighbors).collect();
        let mut ws = Workspace::new();
        ws.quotient.load(&pattern(&graph)).unwrap();
        Amd::new(&mut ws, n as u32, true).has_fringe()
    };
    assert!(!has_fringe(8, 8) && !has_fringe(6, 7));
    assert!(has_fringe(20, 1) && has_fringe(1, 40));
}

#[test]
fn a_halo_stays_and_counts() {
    let mut ws = Workspace::new();
    for seed in 0..3000 {
        let graph = random_graph(seed);
        let halo = graph.len() - graph.len() / 3;
        ws.quotient.load(&pattern(&graph)).unwrap();
        let mut checker = Checker::new(&graph);
        checker.halo = halo;
        Amd::new(&mut ws, halo as u32, true)
            .run(DenseLimits::NONE, &mut checker)
            .unwrap();
        assert_eq!(checker.alive & (u64::MAX >> (64 - halo)), 0);
        let order = final_order(&ws);
        assert!(order[..halo].iter().all(|&i| (i as usize) < halo));
    }
}

#[test]
fn a_store_without_elbow_room_gives_the_same_order() {
    for seed in 0..500 {
        let p = pattern(&random_graph(seed));
        let orders = [0, 1].map(|tight| {
            let mut ws = Workspace::new();
            ws.quotient.load(&p).unwrap();
            if tight == 1 {
                let room = ws.quotient.free + ws.quotient.n();
                ws.quotient.store.truncate(room);
            }
            let n = p.n() as u32;
            Amd::new(&mut ws, n, true)
                .run(DenseLimits::NONE, &mut ())
                .unwrap();
            final_order(&ws)
        });
        assert_eq!(orders[0], orders[1]);
    }
}

#[test]
fn marks_survive_the_end_of_their_range() {
    for seed in 0..500 {
        let p = pattern(&random_graph(seed));
        let orders = [2, u32::MAX - 300].map(|stamp| {
            let mut ws = Workspace::new();
            ws.quotient.load(&p).unwrap();
            ws.quotient.stamp = stamp;
            let n = p.n() as u32;
            Amd::new(&mut ws, n, true)
                .run(DenseLimits::NONE, &mut ())
                .unwrap();
            final_order(&ws)
        });
        assert_eq!(orders[0], orders[1]);
    }
}
