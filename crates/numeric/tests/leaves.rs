//! Leaves whose update matrices are never made, below small fronts and large ones.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{entries, factorize, product_error};
use tamarack_dense::BlockColumns;
use tamarack_numeric::{Control, FactorError};
use tamarack_sparse::{Permutation, UserIdx};
use tamarack_testkit::{Rng, bundle_adjustment, model, pattern_of_edges, spd_with_pattern};

/// Cameras in one band and in many, below fronts that are eliminated in one piece, in steps, and by several members.
#[test]
fn products_of_leaves_are_their_updates() {
    for (cameras, points, block) in [(9, 400, 64), (30, 900, 16), (75, 1500, 64), (300, 2000, 48)] {
        let (a, order) = bundle_adjustment(cameras, points, cameras as u64);
        let reference = factorize(&a, &order, 1, block).unwrap();
        let plan = reference.plan();
        let supernodes = 0..reference.symbolic().supernodes();
        let implicit = supernodes.filter(|&s| plan.update_is_implicit(s));
        let implicit: Vec<usize> = implicit.collect();
        assert!(
            2 * implicit.len() > points / 3,
            "{} of {points}",
            implicit.len()
        );
        let made = |&s: &usize| BlockColumns::update(reference.symbolic().nupd(s), block).len();
        let spared: usize = implicit.iter().map(made).sum();
        let own = plan.arena_len() - plan.factor_len();
        assert!(spared as u64 > own, "{spared} numbers, {own} of others");
        let error = product_error(&a, &reference);
        assert!(error < 1e-14, "{cameras} cameras: {error:e}");
        let single = factorize(&a.cast::<f32>(), &order, 2, block).unwrap();
        let pairs = || entries(&single).into_iter().zip(entries(&reference));
        let largest = pairs().map(|(_, (.., l))| l.abs()).fold(0.0, f64::max);
        let off = pairs()
            .map(|((.., x), (.., l))| (x - l).abs())
            .fold(0.0, f64::max);
        assert!(off < 1e-5 * largest, "{cameras} cameras: {off:e}");
        for threads in [2, 3, 8] {
            let mut f = factorize(&a, &order, threads, block).unwrap();
            for again in [false, true] {
                if again {
                    f.refactorize(&a, &Control::default()).unwrap();
                }
                assert!(entries(&f) == entries(&reference), "{threads} threads");
            }
        }
    }
}

/// Cameras on a closed way: leaves are added up in fronts without pivots, some of them large, which several members work on.
#[test]
fn sums_of_leaves_are_the_same_for_any_number_of_threads() {
    let a = model("adjust_150x6000");
    let order: Vec<usize> = (6 * 150..a.n()).chain(0..6 * 150).collect();
    let order = Permutation::from_elimination_order(&order).unwrap();
    let reference = factorize(&a, &order, 1, 64).unwrap();
    let symbolic = reference.symbolic();
    let sums = (0..symbolic.supernodes()).filter(|&s| symbolic.npiv(s) == 0);
    let largest = sums.map(|s| symbolic.nupd(s)).max();
    assert!(largest > Some(400), "{largest:?}");
    assert!(product_error(&a, &reference) < 1e-14);
    for threads in [2, 3, 8] {
        let f = factorize(&a, &order, threads, 64).unwrap();
        assert!(entries(&f) == entries(&reference), "{threads} threads");
    }
}

/// A pivot that is positive but for what leaves take from it is found where it is, and so is a bad one of a leaf.
#[test]
fn bad_pivots_are_found_where_they_are() {
    let (good, order) = bundle_adjustment(40, 800, 3);
    for (column, value) in [(5, 1e-6), (6 * 40 + 3 * 700 + 1, -1.0)] {
        let mut values = good.values().to_vec();
        values[good.pattern().range(column).start] = value;
        let bad = good.with_values(values).unwrap();
        let [one, four] = [1, 4].map(|threads| match factorize(&bad, &order, threads, 64) {
            Err(FactorError::NotPositiveDefinite(report)) => report,
            other => panic!("column {column}: {other:?}"),
        });
        assert_eq!(one, four);
        assert_eq!(one.column, UserIdx(column as u32));
    }
}

/// More visits to bands than there is room for at a time: leaves with a dozen rows anywhere.
#[test]
fn leaves_come_in_batches() {
    let (leaves, others) = (5000, 700);
    let mut random = Rng::new(7);
    let mut edges = Vec::new();
    for leaf in 0..leaves {
        let mut rows = BTreeSet::new();
        while rows.len() < 12 {
            rows.insert(leaves + random.below(others));
        }
        edges.extend(rows.into_iter().map(|row| (leaf as u32, row as u32)));
    }
    let pattern = pattern_of_edges(leaves + others, &edges);
    let a = spd_with_pattern(Arc::new(pattern), 3);
    let order = Permutation::identity(a.n());
    let reference = factorize(&a, &order, 1, 64).unwrap();
    let plan = reference.plan();
    let supernodes = 0..reference.symbolic().supernodes();
    let implicit = supernodes.filter(|&s| plan.update_is_implicit(s)).count();
    // A leaf's rows are in seven of the sixteen bands or more, in the mean.
    assert!(plan.leaf_visits() < 7 * implicit, "{implicit} leaves");
    let error = product_error(&a, &reference);
    assert!(error < 1e-14, "{error:e}");
    for threads in [2, 3, 8] {
        let f = factorize(&a, &order, threads, 64).unwrap();
        assert!(entries(&f) == entries(&reference), "{threads} threads");
    }
}
