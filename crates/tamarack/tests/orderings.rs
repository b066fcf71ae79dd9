//! Patterns on which an ordering rule that is right elsewhere would cost a multiple.

use std::sync::Arc;

use tamarack::{Analysis, Duplicates, Method, Options, Ordering, Pattern, Selection, Triplets};
use tamarack_testkit::Rng;

/// A pattern with these entries below the diagonal.
fn pattern(n: u32, entries: impl Iterator<Item = (u32, u32)>) -> Arc<Pattern> {
    let mut triplets = Triplets::new(n as usize).unwrap();
    (0..n).for_each(|i| triplets.push(i, i, 1.0).unwrap());
    entries.for_each(|(i, j)| triplets.push(i.max(j), i.min(j), 1.0).unwrap());
    let a = triplets.into_symmetric(Duplicates::Sum).unwrap();
    a.pattern().clone()
}

fn flops(pattern: &Arc<Pattern>, ordering: Ordering) -> f64 {
    let mut options = Options::default();
    options.ordering = ordering;
    options.threads = Some(2);
    let analysis = Analysis::new(pattern, &options).unwrap();
    analysis.symbolic().stats().flops as f64
}

#[test]
fn rows_that_are_all_dense_are_ordered_like_any_others() {
    // Every row has more entries than ten times the root of the order.
    let (n, width) = (1500, 220u32);
    let band = |place: fn(u32) -> u32| {
        let pairs = (0..n).flat_map(|i: u32| (i.saturating_sub(width)..i).map(move |j| (i, j)));
        pattern(n, pairs.map(|(i, j)| (place(i), place(j))))
    };
    let best = flops(&band(|i| i), Method::Natural.into());
    let shuffled = band(|i| (i * 1009) % 1500);
    for method in [
        Method::Amd(Default::default()),
        Method::NestedDissection(Default::default()),
    ] {
        let found = flops(&shuffled, method.clone().into());
        assert!(
            found < 2.5 * best,
            "{}: {found:e}, not {best:e}",
            method.name()
        );
    }
    assert!(flops(&shuffled, Ordering::Auto) < 1.5 * best);
}

/// Points that see five cameras each. These have fewer neighbors than rows that any number of are set aside from.
fn points_and_cameras(points: u32, cameras: u32) -> Arc<Pattern> {
    let seen =
        |p: u32| (0..5).map(move |k| (p * (2 * k + 3) + p / 100 * (k + 1) + 17 * k) % cameras);
    pattern(
        points + cameras,
        (0..points).flat_map(|p| seen(p).map(move |c| (points + c, p))),
    )
}

/// The same, and each point is a neighbor of the next as well.
fn path_and_cameras(points: u32, cameras: u32) -> Arc<Pattern> {
    let seen =
        |p: u32| (0..3).map(move |k| points + (p * (2 * k + 3) + p / 100 + 17 * k) % cameras);
    let others = move |p: u32| seen(p).chain((p > 0).then(|| p - 1));
    pattern(
        points + cameras,
        (0..points).flat_map(|p| others(p).map(move |i| (i, p))),
    )
}

#[test]
fn minimum_degree_is_given_up_where_long_lists_are_read_for_every_pivot() {
    // Too many cameras to be set aside.
    let a = path_and_cameras(20_000, 250);
    let analysis = Analysis::new(&a, &Options::default()).unwrap();
    assert_eq!(analysis.ordering(), "nd");
    // Asked for by name it is done, and no better.
    let (found, by_degree) = (
        analysis.symbolic().stats().flops as f64,
        flops(&a, Method::Amd(Default::default()).into()),
    );
    assert!(found < 1.3 * by_degree, "{found:e}, {by_degree:e}");
}

#[test]
fn so_is_minimum_fill_of_many() {
    let a = path_and_cameras(140_000, 400);
    let analysis = Analysis::new(&a, &Options::default()).unwrap();
    assert_eq!(analysis.ordering(), "nd");
}

#[test]
fn points_go_before_many_cameras_by_minimum_degree() {
    let a = points_and_cameras(20_000, 250);
    let analysis = Analysis::new(&a, &Options::default()).unwrap();
    assert_eq!(analysis.ordering(), "amd");
    let found = analysis.symbolic().stats().flops as f64;
    for method in [
        Method::NestedDissection(Default::default()),
        Method::Amd(Selection::MeanFill.into()),
    ] {
        let other = flops(&a, method.into());
        assert!(found < 1.01 * other, "{found:e}, {other:e}");
    }
}

#[test]
fn what_few_are_shared_by_all_is_set_aside() {
    let a = points_and_cameras(20_000, 100);
    let by_threads = |threads: usize| {
        let mut options = Options::default();
        options.threads = Some(threads);
        Analysis::new(&a, &options).unwrap()
    };
    let [analysis, others] = [1, 3].map(by_threads);
    assert_eq!(analysis.ordering(), "amd");
    let order = |analysis: &Analysis| analysis.symbolic().permutation().clone();
    assert_eq!(order(&analysis), order(&others));
    let by_dissection = flops(&a, Method::NestedDissection(Default::default()).into());
    let found = analysis.symbolic().stats().flops as f64;
    assert!(found < 1.01 * by_dissection, "{found:e}, {by_dissection:e}");
}

#[test]
fn where_nothing_can_be_dissected_minimum_fill_is_tried_too() {
    let n = 6000;
    let mut random = Rng::new(1);
    let mut edges = Vec::new();
    for i in 0..n {
        edges.extend((0..6).map(|_| (i, random.below(n as usize) as u32)));
    }
    let a = pattern(n, edges.into_iter().filter(|(i, j)| i != j));
    let analysis = Analysis::new(&a, &Options::default()).unwrap();
    assert_eq!(analysis.ordering(), "amf");
    let by_degree = flops(&a, Method::Amd(Default::default()).into());
    let found = analysis.symbolic().stats().flops as f64;
    assert!(found < by_degree, "{found:e}, {by_degree:e}");
}
