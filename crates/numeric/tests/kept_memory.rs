//! A factor in memory that others had before, in a process of its own: nobody else takes what is given back here.

mod common;

use std::sync::Arc;

use common::{cube, plan};
use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team};
use tamarack_store::Arena;

/// Not a number everywhere, given back. A second block of that size is what was left by the first.
fn leave_nan(len: u64) {
    for round in 0..2 {
        let mut left = Arena::<f64>::new(len).unwrap();
        assert!(round == 0 || left.as_slice().iter().all(|x| x.is_nan()));
        left.as_mut_slice().fill(f64::NAN);
    }
}

#[test]
fn what_others_left_changes_no_bit() {
    let ((a, order), block) = (cube(16), 32);
    let mut first = None;
    for threads in [1, 3] {
        let plan = plan(&a, &order, threads, block);
        let factor = || {
            let (team, options) = (Team::shared(threads), FactorOptions::default());
            NumericFactor::factorize(Arc::clone(&plan), team, &a, &options, &Control::default())
                .unwrap()
        };
        // In memory that nobody had, whatever the number of threads.
        let new = &*first.get_or_insert_with(factor);
        leave_nan(plan.packed_len());
        leave_nan(plan.arena_len());
        let kept = factor();
        for s in 0..kept.symbolic().supernodes() {
            let (layout, new, kept) = (plan.panel_layout(s), new.panel(s), kept.panel(s));
            let entries = (0..layout.cols()).flat_map(|j| (j..layout.rows()).map(move |i| (i, j)));
            for k in entries.map(|(i, j)| layout.index(i, j)) {
                assert_eq!(new[k].to_bits(), kept[k].to_bits(), "{threads} threads");
            }
        }
    }
}
