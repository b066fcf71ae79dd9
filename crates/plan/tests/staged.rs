//! The stages walked through without numbers: children come first, and what lives together never overlaps.

mod random;

use std::ops::Range;

use random::random_symbolic;
use tamarack_plan::{FrontSizes, StagedPlan};
use tamarack_symbolic::SymbolicFactor;

/// Sizes that differ from the number of entries, as a device's padding makes them.
fn sizes(npiv: usize, nupd: usize) -> FrontSizes {
    FrontSizes {
        panel: (npiv * (npiv + nupd) + npiv % 3) as u64,
        update: (nupd * nupd).next_multiple_of(4) as u64,
    }
}

fn sizes_of(symbolic: &SymbolicFactor, s: usize) -> FrontSizes {
    sizes(symbolic.npiv(s), symbolic.nupd(s))
}

fn stage_of(plan: &StagedPlan) -> Vec<usize> {
    let mut stage = vec![usize::MAX; plan.symbolic().supernodes()];
    for k in 0..plan.stages() {
        for &s in plan.stage(k) {
            assert_eq!(stage[s as usize], usize::MAX, "front {s} twice");
            stage[s as usize] = k;
        }
    }
    assert!(stage.iter().all(|&k| k != usize::MAX));
    stage
}

/// What stands in the arena while stage `k` is worked on.
fn live(plan: &StagedPlan, stage: &[usize], k: usize) -> Vec<Range<u64>> {
    let mut live = Vec::new();
    for s in (0..stage.len()).filter(|&s| stage[s] <= k) {
        let (size, from) = (sizes_of(plan.symbolic(), s), plan.panel_start(s));
        live.push(from..from + size.panel);
        let dies = plan.symbolic().parent(s).map(|p| stage[p]);
        if size.update > 0 && dies.is_some_and(|d| k <= d) {
            let from = plan.update_start(s);
            live.push(from..from + size.update);
        }
    }
    live.retain(|r| !r.is_empty());
    live.sort_unstable_by_key(|r| r.start);
    live
}

#[test]
fn children_come_first_and_nothing_overlaps() {
    for seed in 0..300 {
        let symbolic = random_symbolic(seed);
        for waves in [1, 2, 7] {
            let joined = |s: usize| symbolic.nupd(s) < 7 && s % 3 < waves % 3;
            let plan = StagedPlan::new(symbolic.clone(), sizes, joined, waves).unwrap();
            let stage = stage_of(&plan);
            for s in 0..symbolic.supernodes() {
                if let Some(parent) = symbolic.parent(s) {
                    assert_eq!(stage[s] == stage[parent], plan.is_joined(s));
                    assert!(joined(s) || !plan.is_joined(s));
                    assert!(stage[s] <= stage[parent], "seed {seed}, front {s}");
                }
            }
            for k in 0..plan.stages() {
                let live = live(&plan, &stage, k);
                for pair in live.windows(2) {
                    assert!(pair[0].end <= pair[1].start, "seed {seed}, stage {k}");
                }
                assert!(live.last().is_none_or(|r| r.end <= plan.arena_len()));
            }
            let (vector, room) = plan.update_vectors();
            for k in 0..plan.stages() {
                let live = (0..stage.len()).filter(|&s| {
                    let dies = symbolic.parent(s).map(|p| stage[p]);
                    stage[s] <= k && dies.is_some_and(|d| k <= d)
                });
                let range = |s: usize| vector[s]..vector[s] + symbolic.nupd(s) as u64;
                let mut live: Vec<_> = live.map(range).filter(|r| !r.is_empty()).collect();
                live.sort_unstable_by_key(|r| r.start);
                assert!(
                    live.windows(2).all(|w| w[0].end <= w[1].start),
                    "seed {seed}"
                );
                assert!(live.last().is_none_or(|r| r.end <= room));
            }
            let panels = (0..symbolic.supernodes()).map(|s| sizes_of(&symbolic, s).panel);
            assert_eq!(plan.factor_len(), panels.sum::<u64>());
        }
    }
}

#[test]
fn an_empty_matrix_has_no_stages() {
    let pattern = tamarack_sparse::Pattern::lower::<u64, u32>(0, &[0], &[]).unwrap();
    let order = tamarack_sparse::Permutation::identity(0);
    let options = tamarack_symbolic::SymbolicOptions::default();
    let symbolic = SymbolicFactor::analyze(&pattern.into(), &order, &options).unwrap();
    let plan = StagedPlan::new(symbolic.into(), sizes, |_| false, 4).unwrap();
    assert_eq!((plan.stages(), plan.arena_len()), (0, 0));
}
