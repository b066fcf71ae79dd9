//! Graphs that are not connected: each component as if it were alone.

use super::networks::flops;
use super::{grid, mix, pattern, random};
use crate::Stop;
use crate::nd::{MergedGraph, NdOptions};
use crate::{Method, Workspace, order};
use tamarack_sparse::Pattern;

fn dissection() -> Method {
    Method::NestedDissection(NdOptions::default())
}

fn elimination_order(pattern: &Pattern) -> Vec<u32> {
    let found = order(pattern, &dissection(), &mut Workspace::new()).unwrap();
    found.user_of_elim().to_vec()
}

/// The patterns side by side: unknown `k` of the i-th is `numbers[i][k]` of `n`, others have no neighbors.
fn beside(n: usize, patterns: &[&Pattern], numbers: &[Vec<u32>]) -> Pattern {
    let mut edges = Vec::new();
    for (pattern, number) in patterns.iter().zip(numbers) {
        for j in 0..pattern.n() {
            let below = &pattern.rows(j)[1..];
            edges.extend(below.iter().map(|&i| (number[j], number[i as usize])));
        }
    }
    tamarack_testkit::pattern_of_edges(n, &edges)
}

/// Asserts that the unknowns with these numbers come in the order in which they come alone.
fn assert_alone(found: &[u32], alone: &Pattern, numbers: &[u32]) {
    let alone = elimination_order(alone);
    let expected = alone.iter().map(|&k| numbers[k as usize]);
    let own = found.iter().filter(|v| numbers.binary_search(v).is_ok());
    assert!(own.copied().eq(expected));
}

#[test]
fn identity_rows_change_nothing() {
    // Rows of a boundary that are kept, the first one first; in a plane as in a solid.
    let planes = pattern(3600, |i, j| i == j + 60 || (i == j + 1 && i % 60 != 0));
    for (inner, step) in [(grid(18, 1), 7), (grid(11, 1), 9), (planes, 20)] {
        let n = (inner.n() + 2) * step / (step - 1) + 1;
        let numbers = (0..n as u32).filter(|v| !v.is_multiple_of(step as u32));
        let numbers: Vec<u32> = numbers.take(inner.n()).collect();
        let all = beside(n, &[&inner], std::slice::from_ref(&numbers));
        assert_alone(&elimination_order(&all), &inner, &numbers);
        let lone = (n - inner.n()) as f64;
        let [with, alone] = [&all, &inner].map(|p| flops(p, &dissection()));
        assert!(with <= alone + 2.0 * lone, "{with:e} for {alone:e}");
    }
}

#[test]
fn bodies_are_dissected_one_by_one() {
    // Two large ones whose numbers are mixed, one of a few pieces, one of three unknowns a node, and many small ones.
    let bodies = [grid(18, 1), grid(16, 1), grid(9, 1), grid(7, 3), grid(3, 1)];
    let small = vec![&bodies[4]; 40];
    let patterns: Vec<&Pattern> = bodies[..4].iter().chain(small).collect();
    let sizes = patterns.iter().map(|p| p.n());
    let owners = sizes.enumerate().flat_map(|(k, n)| vec![k; n]);
    let mut owners: Vec<(u64, usize)> = owners.map(|k| (0, k)).collect();
    (0..).zip(&mut owners).for_each(|(v, own)| own.0 = mix(v));
    owners.sort_unstable();
    let mut numbers = vec![Vec::new(); patterns.len()];
    for (v, &(_, k)) in (0..).zip(&owners) {
        numbers[k].push(v);
    }
    let all = beside(owners.len(), &patterns, &numbers);
    let found = elimination_order(&all);
    for (alone, numbers) in bodies.iter().zip(&numbers).take(4) {
        assert_alone(&found, alone, numbers);
    }
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..all.n() as u32));
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    for threads in [1, 9] {
        let again = pool(threads).unwrap().install(|| elimination_order(&all));
        assert_eq!(again, found);
    }
}

#[test]
fn unknowns_without_neighbors_come_first() {
    let inner = grid(8, 1);
    let numbers: Vec<u32> = (0..inner.n() as u32).collect();
    let all = beside(2000, &[&inner], std::slice::from_ref(&numbers));
    let found = elimination_order(&all);
    assert!(found[..2000 - inner.n()].iter().copied().eq(512..2000));
    assert_alone(&found, &inner, &numbers);
}

#[test]
fn what_is_not_cut_is_told_if_asked() {
    let if_cut = |pattern: &Pattern| {
        let graph = MergedGraph::new(pattern).unwrap();
        let options = NdOptions::default();
        let found = graph.dissect_if_cut(&options, Stop::NEVER);
        found.unwrap().map(|found| found.user_of_elim().to_vec())
    };
    // A network of two sizes, the larger one with others beside it, and what is a leaf at once.
    let networks = [600, 3000].map(|n| random(n, 40_000 / u64::from(n), 1));
    let numbers = |n: u32, first: u32| (first..first + n).collect::<Vec<u32>>();
    let lone = beside(3100, &[&networks[1]], &[numbers(3000, 7)]);
    for network in [&networks[0], &networks[1], &lone, &grid(5, 1)] {
        assert_eq!(if_cut(network), None);
    }
    let body = grid(12, 1);
    let numbers = [numbers(3000, 0), numbers(body.n() as u32, 3000)];
    let both = beside(3000 + body.n(), &[&networks[1], &body], &numbers);
    for cut in [&body, &grid(7, 3), &both] {
        assert_eq!(if_cut(cut), Some(elimination_order(cut)));
    }
}
