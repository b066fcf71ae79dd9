//! Structures, counts, supernodes and the entry map equal naive elimination.

use std::sync::Arc;

use std::collections::BTreeSet;

use tamarack_sparse::{ElimIdx, Pattern, Permutation, Runs, UserIdx};
use tamarack_testkit::{Rng, pattern_of_edges, random_permutation};

use super::naive;
use super::random::{blocks, bundle, dissected, grid, random_pattern};
use crate::{AmalgamationOptions, SymbolicError, SymbolicFactor, SymbolicOptions};

const CASES: u64 = 3000;
const EXACT: SymbolicOptions = SymbolicOptions {
    amalgamation: None,
    sorted_columns: true,
};

/// Merges eagerly, so that small random patterns exercise it.
fn eager() -> SymbolicOptions {
    SymbolicOptions {
        amalgamation: Some(AmalgamationOptions {
            small_zero_fraction: 0.9,
            max_zero_fraction: 0.9,
            ..AmalgamationOptions::default()
        }),
        sorted_columns: true,
    }
}

fn below(f: &SymbolicFactor, j: usize) -> BTreeSet<u32> {
    let rows: Vec<u32> = f.column_rows(j).collect();
    assert!(rows.windows(2).all(|w| w[0] < w[1]));
    assert_eq!((rows[0], rows.len()), (j as u32, f.column_count(j)));
    rows.into_iter().skip(1).collect()
}

/// The final order but for the columns of each supernode, which stand as they were given.
fn columns_as_given(f: &SymbolicFactor, order: &Permutation) -> Permutation {
    let mut users = f.permutation().user_of_elim().to_vec();
    for s in 0..f.supernodes() {
        users[f.columns(s)].sort_unstable_by_key(|&user| order.elim(UserIdx(user)));
    }
    Permutation::from_elimination_order(&users).unwrap()
}

/// The runs of twins that the unknowns are of, as they are eliminated: twins may change places.
fn runs_in_order(a: &Pattern, order: &Permutation) -> Vec<usize> {
    let runs = Runs::find(a);
    let run = |&user: &u32| match &runs {
        Some(runs) => runs.first().partition_point(|&first| first <= user),
        None => user as usize,
    };
    order.user_of_elim().iter().map(run).collect()
}

fn check_exact(a: &Pattern, f: &SymbolicFactor, order: &Permutation) {
    let given = columns_as_given(f, order);
    let truth = naive::fill(a, &given);
    for (j, rows) in truth.iter().enumerate() {
        let s = f.owner(j);
        assert_eq!(f.supernode_of_column()[j] as usize, s);
        assert_eq!(rows.len() + 1, f.column_count(j), "column {j}");
        let outside = rows.range(f.columns(s).end as u32..);
        let user = |&row: &u32| given.user(ElimIdx(row));
        let outside = outside.map(|row| f.permutation().elim(user(row)).0);
        assert_eq!(
            outside.collect::<BTreeSet<u32>>(),
            f.rows(s).iter().copied().collect()
        );
    }
    assert_eq!(&f.super_ptr[..f.supernodes()], naive::fundamental(&truth));
    assert_eq!(f.stats().nnz_l, f.stats().nnz_l_stored);
    assert_eq!(f.stats().flops, f.stats().flops_stored);
}

/// What holds with and without amalgamation.
fn check_invariants(a: &Pattern, f: &SymbolicFactor, order: &Permutation) {
    let stats = f.stats();
    let given = naive::fill(a, &columns_as_given(f, order));
    let counts: Vec<u128> = given.iter().map(|c| c.len() as u128 + 1).collect();
    assert_eq!(u128::from(stats.nnz_l), counts.iter().sum());
    assert_eq!(stats.flops, counts.iter().map(|c| c * c).sum());
    let truth = naive::fill(a, f.permutation());
    let (mut stored, mut flops) = (0, 0);
    for (j, rows) in truth.iter().enumerate() {
        assert!(below(f, j).is_superset(rows));
        stored += f.column_count(j) as u64;
        flops += (f.column_count(j) as u128).pow(2);
    }
    assert_eq!((stats.nnz_l_stored, stats.flops_stored), (stored, flops));
    for s in 0..f.supernodes() {
        // No row is stored that no column of the supernode needs.
        let needed: BTreeSet<u32> = f.columns(s).flat_map(|j| truth[j].clone()).collect();
        assert!(f.rows(s).iter().all(|r| needed.contains(r)));
        assert_eq!(f.parent(s), f.rows(s).first().map(|&r| f.owner(r as usize)));
        let front = |p: usize| -> Vec<u32> {
            let pivots = f.columns(p).map(|j| j as u32);
            pivots.chain(f.rows(p).iter().copied()).collect()
        };
        if let Some(p) = f.parent(s) {
            let above = front(p);
            let found: Vec<u32> = f.relative(s).iter().map(|&k| above[k as usize]).collect();
            assert_eq!(found, f.rows(s));
            assert!(f.children(p).contains(&(s as u32)));
        }
        let mut end = s;
        for &c in f.children(s).iter().rev() {
            assert_eq!((c as usize + 1, f.parent(c as usize)), (end, Some(s)));
            end = f.subtree_first()[c as usize] as usize;
        }
        check_entries(a, f, s, &front(s));
    }
    let total: u128 = (0..f.supernodes()).map(|s| f.front_flops(s)).sum();
    let sums = f.subtree_flops();
    let roots = (0..f.supernodes()).filter(|&s| f.parent(s).is_none());
    assert_eq!(roots.map(|s| sums[s]).sum::<u128>(), total);
    assert_eq!(total, stats.flops_stored);
    let entries = (0..f.n()).flat_map(|j| f.entries(j));
    let mut sources: Vec<u64> = entries.map(|(src, _)| src).collect();
    sources.sort_unstable();
    assert!(sources.iter().copied().eq(0..a.nnz_lower()));
}

fn check_entries(a: &Pattern, f: &SymbolicFactor, s: usize, front: &[u32]) {
    for j in f.columns(s) {
        let rows: Vec<u32> = f.entries(j).map(|(_, row)| row).collect();
        assert!(rows.windows(2).all(|w| w[0] < w[1]));
        for (src, row) in f.entries(j) {
            let column = a.col_ptr().partition_point(|&p| p <= src) - 1;
            let (i, k) = (a.row_idx()[src as usize], column as u32);
            let ends = [i, k].map(|u| f.permutation().elim(UserIdx(u)).0);
            let here = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            assert_eq!(here, (j as u32, front[row as usize]));
        }
    }
}

#[test]
fn equals_naive_elimination_on_random_patterns() {
    // Within a pool, as it costs less than to enter one over and over.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
    pool.build().unwrap().install(naive_elimination);
}

fn naive_elimination() {
    let mut merged = 0;
    for seed in 0..CASES {
        let mut random = Rng::new(seed);
        let (a, order) = if seed % 3 == 0 {
            blocks(&mut random, 12)
        } else if seed % 7 == 0 {
            let (points, unknowns, kinds) = (random.below(12), 1 + random.below(3), 3);
            let (a, order, _) = bundle(&mut random, points, unknowns as u32, kinds);
            (a, order)
        } else {
            let a = random_pattern(&mut random, if seed % 50 == 0 { 90 } else { 24 });
            let order = random_permutation(a.n(), random.bits());
            (a, order)
        };
        if a.n() < 30 {
            assert_eq!(naive::fill(&a, &order), naive::dense_fill(&a, &order));
        }
        let nnz_l: usize = naive::fill(&a, &order).iter().map(|c| c.len() + 1).sum();
        let exact = SymbolicFactor::analyze(&a, &order, &EXACT).unwrap();
        assert_eq!(exact.stats().nnz_l, nnz_l as u64, "seed {seed}");
        check_exact(&a, &exact, &order);
        check_invariants(&a, &exact, &order);
        let as_given = SymbolicOptions {
            sorted_columns: false,
            ..EXACT
        };
        for options in [SymbolicOptions::default(), eager(), as_given] {
            let f = SymbolicFactor::analyze(&a, &order, &options).unwrap();
            check_invariants(&a, &f, &order);
            assert_eq!(f.stats().nnz_l, exact.stats().nnz_l);
            assert_eq!(f, SymbolicFactor::analyze(&a, &order, &options).unwrap());
            merged += usize::from(f.supernodes() < exact.supernodes());
            assert!(f.supernodes() <= exact.supernodes());
            let given = columns_as_given(&f, &order);
            let kept = runs_in_order(&a, &given) == runs_in_order(&a, f.permutation());
            assert!(options.sorted_columns || kept, "seed {seed}");
        }
    }
    assert!(merged as u64 > CASES / 2, "amalgamation ran {merged} times");
}

#[test]
fn points_that_the_same_cameras_see_share_fronts() {
    let mut shared = 0;
    for seed in 0..300 {
        let mut random = Rng::new(seed);
        let unknowns = 1 + random.below(3);
        let (a, order, seen_by) = bundle(&mut random, 30, unknowns as u32, 6);
        let f = SymbolicFactor::analyze(&a, &order, &SymbolicOptions::default()).unwrap();
        check_invariants(&a, &f, &order);
        let point = |j: usize| f.permutation().user(ElimIdx(j as u32)).get() / unknowns;
        for s in 0..f.supernodes() {
            let mut points: Vec<usize> = f.columns(s).map(point).collect();
            points.dedup();
            // With cameras are whichever points are worth it.
            let sets: Option<Vec<_>> = points.iter().map(|&p| seen_by.get(p)).collect();
            if let Some(sets) = sets.filter(|sets| sets.len() > 1) {
                assert!(sets.iter().all(|&set| set == sets[0]));
                shared += sets.len();
            }
        }
    }
    assert!(shared > 2000, "{shared} points share fronts");
}

#[test]
fn many_equal_siblings_come_in_the_users_order() {
    for seed in 0..20 {
        // Points too large to share a front.
        let (a, order, _) = bundle(&mut Rng::new(seed), 20, 9, 1);
        let f = SymbolicFactor::analyze(&a, &order, &SymbolicOptions::default()).unwrap();
        check_invariants(&a, &f, &order);
        let fronts = (0..f.supernodes()).filter(|&s| f.children(s).is_empty());
        let first = fronts.map(|s| f.permutation().user_of_elim()[f.columns(s).start]);
        let first: Vec<u32> = first.collect();
        assert!(first.len() >= 20 && first.is_sorted(), "{first:?}");
    }
}

#[test]
fn merging_bounds_the_zeros_and_shrinks_the_tree() {
    let a = grid(40, 40);
    let order = random_permutation(a.n(), 1);
    let f = SymbolicFactor::analyze(&a, &order, &SymbolicOptions::default()).unwrap();
    check_invariants(&a, &f, &order);
    let s = f.stats();
    assert!(f.supernodes() as u64 * 2 < s.fundamental_supernodes);
    assert!(s.nnz_l_stored as f64 <= 1.3 * s.nnz_l as f64);
}

/// Fronts of a few columns merge all at once; what they may store in vain is bounded all the same, front by front.
#[test]
fn merged_supernodes_keep_to_their_zeros() {
    let options = SymbolicOptions::default();
    let caps = options.amalgamation.unwrap();
    let (mut merged, mut full) = (0, 0);
    for seed in 0..CASES {
        let mut random = Rng::new(seed);
        let a = random_pattern(&mut random, 40);
        let order = random_permutation(a.n(), random.bits());
        let exact = SymbolicFactor::analyze(&a, &order, &EXACT).unwrap();
        let f = SymbolicFactor::analyze(&a, &order, &options).unwrap();
        // A column has as many entries in any postorder, but for those of its supernode, which may change places.
        let mut needed = vec![0; f.supernodes()];
        for s in 0..exact.supernodes() {
            let first = ElimIdx(exact.columns(s).start as u32);
            let user = exact.permutation().user(first);
            needed[f.owner(f.permutation().elim(user).0 as usize)] += exact.panel_entries(s);
        }
        for (s, needed) in needed.into_iter().enumerate() {
            let (stored, few) = (f.panel_entries(s), f.npiv(s) <= caps.small_columns as usize);
            let share = if few {
                caps.small_zero_fraction
            } else {
                caps.max_zero_fraction
            };
            assert!(stored >= needed, "seed {seed}");
            assert!(
                (stored - needed) as f64 <= share * stored as f64,
                "seed {seed}"
            );
            merged += usize::from(stored > needed);
            full += usize::from(stored == needed);
        }
    }
    assert!(merged > 1000 && full > 1000, "{merged} {full}");
}

#[test]
fn small_matrices_by_hand() {
    let none = pattern_of_edges::<u32>(0, &[]).shared();
    let order = random_permutation(0, 0);
    let f = SymbolicFactor::analyze(&none, &order, &SymbolicOptions::default()).unwrap();
    assert_eq!((f.n(), f.supernodes(), f.stats().nnz_l), (0, 0, 0));

    // An arrow that points the right way has no fill; the other way it is full.
    let arrow = pattern_of_edges(4, &[(3u32, 0), (3, 1), (3, 2)]).shared();
    let natural = Permutation::from_elimination_order(&[0, 1, 2, 3]).unwrap();
    let f = SymbolicFactor::analyze(&arrow, &natural, &EXACT).unwrap();
    assert_eq!((f.stats().nnz_l, f.stats().flops), (7, 13));
    assert_eq!(f.permutation().user(ElimIdx(3)), UserIdx(3));
    let reverse = Permutation::from_elimination_order(&[3, 2, 1, 0]).unwrap();
    let f = SymbolicFactor::analyze(&arrow, &reverse, &EXACT).unwrap();
    assert_eq!(
        (f.stats().nnz_l, f.stats().flops, f.supernodes()),
        (10, 30, 1)
    );
}

#[test]
fn threads_do_not_change_the_result() {
    let analyze = |a: &Arc<Pattern>, order: &Permutation, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let options = SymbolicOptions::default();
        let work = || SymbolicFactor::analyze(a, order, &options).unwrap();
        pool.build().unwrap().install(work)
    };
    let solid: tamarack_sparse::models::Model = "el3d_24".parse().unwrap();
    let solid = solid.generate::<f64>().unwrap();
    let natural: Vec<u32> = (0..solid.n() as u32).collect();
    let natural = Permutation::from_elimination_order(&natural).unwrap();
    let plane = grid(210, 190);
    let (points, points_first, _) = bundle(&mut Rng::new(3), 30_000, 3, 40);
    let cases = [
        (plane, dissected(210, 190)),
        (solid.pattern().clone(), natural),
        (points, points_first),
    ];
    for (a, order) in cases {
        let alone = analyze(&a, &order, 1);
        for threads in [2, 3, 8] {
            assert!(analyze(&a, &order, threads) == alone, "{threads} threads");
        }
    }
}

/// Runs of consecutive rows, where `order` numbers them.
fn runs(f: &SymbolicFactor, order: &Permutation) -> usize {
    let of = |s: usize| {
        let place = |&row: &u32| order.elim(f.permutation().user(ElimIdx(row))).0;
        let rows: BTreeSet<u32> = f.rows(s).iter().map(place).collect();
        rows.iter()
            .filter(|&&row| row == 0 || !rows.contains(&(row - 1)))
            .count()
    };
    (0..f.supernodes()).map(of).sum()
}

#[test]
fn rows_stand_in_longer_runs_whatever_the_order_of_a_separator() {
    let (a, order) = (grid(60, 60), dissected(60, 60));
    let f = SymbolicFactor::analyze(&a, &order, &EXACT).unwrap();
    let mut users = f.permutation().user_of_elim().to_vec();
    for s in 0..f.supernodes() {
        let columns = &mut users[f.columns(s)];
        let shuffled = random_permutation(columns.len(), s as u64);
        let old = columns.to_vec();
        columns
            .iter_mut()
            .zip(shuffled.user_of_elim())
            .for_each(|(to, &k)| *to = old[k as usize]);
    }
    let order = Permutation::from_elimination_order(&users).unwrap();
    let f = SymbolicFactor::analyze(&a, &order, &EXACT).unwrap();
    check_exact(&a, &f, &order);
    let [as_given, now] = [&columns_as_given(&f, &order), f.permutation()].map(|o| runs(&f, o));
    assert!(4 * now < 3 * as_given, "{now} runs, {as_given} as given");
}

#[test]
fn refuses_an_ordering_of_another_length() {
    let a = grid(3, 3);
    let found = SymbolicFactor::analyze(&a, &random_permutation(8, 1), &EXACT).unwrap_err();
    assert_eq!(found, SymbolicError::OrderingLength { ordering: 8, n: 9 });
}

#[test]
fn a_long_path_and_a_wide_star_need_no_recursion() {
    let n = 200_000;
    let path: Vec<(u32, u32)> = (1..n).map(|i| (i, i - 1)).collect();
    let star: Vec<(u32, u32)> = (0..n - 1).map(|i| (n - 1, i)).collect();
    let natural: Vec<u32> = (0..n).collect();
    let natural = Permutation::from_elimination_order(&natural).unwrap();
    for edges in [path, star] {
        let a = pattern_of_edges(n as usize, &edges).shared();
        let f = SymbolicFactor::analyze(&a, &natural, &SymbolicOptions::default()).unwrap();
        assert_eq!(f.stats().nnz_l, 2 * u64::from(n) - 1);
    }
}
