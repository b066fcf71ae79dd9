//! Networks: leaves, chains, and no good separators.

use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};

use super::mix;
use crate::nd::NdOptions;
use crate::{AmdOptions, Method, Workspace, order};
use tamarack_sparse::Pattern;

/// A ring of unknowns joined to the second next as well, with some links anywhere for each, and a leaf at some.
fn small_world(ring: u32, links: u32, has_leaf: impl Fn(u32) -> bool) -> Pattern {
    let leaves: Vec<u32> = (0..ring).filter(|&i| has_leaf(i)).collect();
    let n = ring + leaves.len() as u32;
    let mut lists: Vec<Vec<u32>> = (0..n).map(|v| vec![v]).collect();
    let mut join = |a: u32, b: u32| lists[a.min(b) as usize].push(a.max(b));
    for i in 0..ring {
        for k in 0..links {
            join(i, (mix(u64::from(links * i + k)) % u64::from(ring)) as u32);
        }
        join(i, (i + 1) % ring);
        join(i, (i + 2) % ring);
    }
    for (&i, leaf) in leaves.iter().zip(ring..) {
        join(i, leaf);
    }
    let mut ptr = vec![0u64];
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
        ptr.push(ptr[ptr.len() - 1] + list.len() as u64);
    }
    Pattern::lower(lists.len(), &ptr, &lists.concat()).unwrap()
}

/// Random links, each cut by none to three unknowns: nothing but chains between the vertices.
fn chains(vertices: u32, links: u32) -> Pattern {
    let mut edges = Vec::new();
    let mut n = vertices;
    for k in 0..links {
        let [a, b] = [0, 1].map(|end| (mix(u64::from(2 * k + end)) % u64::from(vertices)) as u32);
        let mut last = a;
        for _ in 0..mix(u64::from(k) << 32) % 4 {
            edges.push((n, last));
            last = n;
            n += 1;
        }
        edges.push((b, last));
    }
    edges.retain(|(a, b)| a != b);
    tamarack_testkit::pattern_of_edges(n as usize, &edges)
}

fn dissection() -> Method {
    Method::NestedDissection(NdOptions::default())
}

pub(super) fn flops(pattern: &Pattern, method: &Method) -> f64 {
    let pattern = pattern.clone().shared();
    let order = order(&pattern, method, &mut Workspace::new()).unwrap();
    let draft = SymbolicDraft::new(&pattern, &order, &SymbolicOptions::default()).unwrap();
    draft.flops() as f64
}

#[test]
fn networks_are_not_cut_leaf_by_leaf() {
    // On a stack that has no room for thousands of cuts, one within the other; with too few leaves to set them aside.
    let a = small_world(40_000, 1, |i| i % 10 == 0);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(1 << 19);
    let ordered = || order(&a, &dissection(), &mut Workspace::new());
    let order = pool.build().unwrap().install(ordered).unwrap();
    assert_eq!(order.len(), a.n());
}

#[test]
fn networks_without_separators_are_as_cheap_as_by_minimum_degree() {
    let networks = [
        small_world(20_000, 1, |_| false),
        small_world(12_000, 0, |i| i % 2 == 0),
        small_world(12_000, 1, |i| i % 2 == 0),
        chains(12_000, 20_000),
    ];
    for (k, network) in networks.iter().enumerate() {
        let amd = flops(network, &Method::Amd(AmdOptions::default()));
        let nd = flops(network, &dissection());
        assert!(nd < 1.2 * amd, "network {k}: {nd:e} beside {amd:e}");
    }
}
