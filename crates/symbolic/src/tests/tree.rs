//! The elimination tree, its postorder, and the stack.

use super::naive;
use tamarack_testkit::{Rng, random_permutation};

use super::random::random_pattern;
use tamarack_sparse::Runs;

use crate::etree::elimination_tree;
use crate::factor::NONE;
use crate::nodes::Nodes;
use crate::permuted::LowerRows;
use crate::postorder::{Postordered, subtree_sizes};
use crate::stack::{stack_peak, update_entries};
use crate::{SymbolicFactor, SymbolicOptions};

#[test]
fn trees_are_first_rows_and_postorders_make_ranges() {
    let [alone, pool] = [1, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    });
    let mut compared = 0;
    for seed in 0..2000 {
        let mut random = Rng::new(seed);
        let a = random_pattern(&mut random, if seed % 10 == 0 { 60 } else { 24 });
        let order = random_permutation(a.n(), random.bits());
        let runs = Runs::find(&a);
        let nodes = Nodes::find(&a, runs.as_ref(), &order);
        let rows = LowerRows::new(&a, runs.as_ref(), &nodes);
        let tree = alone.install(|| elimination_tree(&rows));
        let in_pieces = pool.install(|| elimination_tree(&rows));
        assert_eq!(
            (&in_pieces.parent, &in_pieces.size),
            (&tree.parent, &tree.size)
        );
        if !nodes.is_unit() {
            continue;
        }
        let truth: Vec<u32> = naive::dense_fill(&a, &order)
            .iter()
            .map(|c| c.first().copied().unwrap_or(NONE))
            .collect();
        assert_eq!(tree.parent, truth);
        assert_eq!(tree.size, subtree_sizes(&tree.parent));

        let post = Postordered::new(&tree, &nodes);
        assert_eq!(post.size, subtree_sizes(&post.parent));
        for (j, &p) in post.parent.iter().enumerate() {
            assert_eq!(post.label[post.rank[j] as usize] as usize, j);
            let above = match tree.parent[post.rank[j] as usize] {
                NONE => NONE,
                above => post.label[above as usize],
            };
            assert_eq!(p, above);
            let in_range = |k: u32| k > j as u32 && j as u32 + post.size[k as usize] > k;
            assert!(p == NONE || in_range(p), "{j} outside its parent's range");
        }
        compared += 1;
    }
    assert!(compared > 1000, "{compared}");
}

/// Least `Σ earlier updates + peak` over all orders of the children, by trying them.
fn best_peak(children: &mut [(u64, u64)], fixed: usize, own: u64) -> u64 {
    if fixed == children.len() {
        return stack_peak(children.iter().copied(), own);
    }
    let mut best = u64::MAX;
    for k in fixed..children.len() {
        children.swap(fixed, k);
        best = best.min(best_peak(children, fixed + 1, own));
        children.swap(fixed, k);
    }
    best
}

#[test]
fn no_order_of_children_needs_less_stack() {
    let (mut compared, mut wide) = (0, 0);
    for seed in 0..1500 {
        let mut random = Rng::new(seed);
        let a = random_pattern(&mut random, 40);
        let order = random_permutation(a.n(), random.bits());
        let options = SymbolicOptions {
            amalgamation: None,
            ..SymbolicOptions::default()
        };
        let f = SymbolicFactor::analyze(&a, &order, &options).unwrap();
        let peak = f.subtree_stack_peak();
        for s in 0..f.supernodes() {
            let children = f.children(s);
            if children.len() > 7 {
                wide += 1;
                continue;
            }
            let update = |s: usize| update_entries(f.nupd(s) as u32);
            let mut pairs: Vec<(u64, u64)> = children
                .iter()
                .map(|&c| (update(c as usize), peak[c as usize]))
                .collect();
            assert_eq!(peak[s], best_peak(&mut pairs, 0, update(s)));
            compared += usize::from(children.len() > 1);
        }
    }
    assert!(compared > 1000 && wide < compared);
}
