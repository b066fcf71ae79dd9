//! The plan walked through without numbers: nothing that lives overlaps, nothing is left out, and
//! one thread's stack is exactly as long as what lives at its peak.

use std::ops::Range;
use std::sync::Arc;

use tamarack_plan::{FactorPlan, Machine, PlanError, PlanOptions, UpdatePlace};
use tamarack_sparse::{Pattern, Permutation};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn random_symbolic(seed: u64) -> Arc<SymbolicFactor> {
    let mut random = Random(seed);
    let n = 1 + random.below(300);
    let degree = random.below(4);
    let mut columns = vec![Vec::new(); n];
    for _ in 0..n * degree {
        let (i, j) = (random.below(n), random.below(n));
        if i != j {
            columns[i.min(j)].push(i.max(j) as u32);
        }
    }
    let (mut col_ptr, mut row_idx) = (vec![0u64], Vec::new());
    for (j, mut rows) in columns.into_iter().enumerate() {
        rows.push(j as u32);
        rows.sort_unstable();
        rows.dedup();
        row_idx.extend(rows);
        col_ptr.push(row_idx.len() as u64);
    }
    let pattern = Pattern::lower(n, &col_ptr, &row_idx).unwrap();
    let order = Permutation::identity(n);
    Arc::new(SymbolicFactor::analyze(&pattern, &order, &SymbolicOptions::default()).unwrap())
}

fn plan(symbolic: &Arc<SymbolicFactor>, threads: usize, block: usize) -> FactorPlan {
    let machine = Machine {
        threads,
        ..Machine::default()
    };
    let options = PlanOptions {
        block,
        ..PlanOptions::default()
    };
    FactorPlan::new(symbolic.clone(), &machine, &options).unwrap()
}

/// Absolute place of an update matrix, for the member that walks its subtree.
fn range(plan: &FactorPlan, s: usize, member: usize) -> Range<u64> {
    let len = plan.update_layout(s).len() as u64;
    let from = match plan.update_place(s) {
        UpdatePlace::None => return 0..0,
        UpdatePlace::Left(at) => plan.stack_offset(member) + at,
        UpdatePlace::Right(back) => plan.stack_offset(member + 1) - back,
        UpdatePlace::Shared(at) => at,
    };
    from..from + len
}

/// Live matrices, checked for overlap whenever one comes.
struct Live<'a> {
    plan: &'a FactorPlan,
    list: Vec<(usize, Range<u64>)>,
    peak: u64,
}

impl Live<'_> {
    fn process(&mut self, s: usize, member: usize) {
        let new = range(self.plan, s, member);
        assert_eq!(new.is_empty(), self.plan.symbolic().nupd(s) == 0);
        assert!(new.end <= self.plan.work_len());
        for (other, place) in &self.list {
            let apart = new.end <= place.start || place.end <= new.start || new.is_empty();
            assert!(apart, "{s} at {new:?} runs into {other} at {place:?}");
        }
        self.list.push((s, new));
        self.peak = self
            .peak
            .max(self.list.iter().map(|(_, r)| r.end - r.start).sum());
        let children = self.plan.symbolic().children(s);
        let before = self.list.len();
        self.list
            .retain(|(other, _)| !children.contains(&(*other as u32)));
        assert_eq!(
            before - self.list.len(),
            children.len(),
            "a child of {s} was not there"
        );
    }
}

#[test]
fn live_matrices_never_overlap() {
    for seed in 0..400 {
        let symbolic = random_symbolic(seed);
        for (threads, block) in [(1, 64), (2, 8), (5, 3)] {
            let plan = plan(&symbolic, threads, block);
            let mut live = Live {
                plan: &plan,
                list: Vec::new(),
                peak: 0,
            };
            let mut seen = 0;
            for (k, tree) in plan.subtrees().iter().enumerate() {
                for s in tree.first..=tree.root {
                    live.process(s as usize, k % threads);
                    seen += 1;
                }
            }
            for &s in plan.top() {
                live.process(s as usize, 0);
                seen += 1;
            }
            assert_eq!(seen, symbolic.supernodes());
            if threads == 1 {
                assert!(plan.top().is_empty());
                assert_eq!(plan.stack_len(), live.peak);
            }
        }
    }
}

#[test]
fn stacks_of_different_members_are_apart() {
    let symbolic = random_symbolic(11);
    let plan = plan(&symbolic, 3, 16);
    for member in 0..3 {
        assert_eq!(
            plan.stack_offset(member + 1) - plan.stack_offset(member),
            plan.stack_len()
        );
    }
    assert!(plan.stack_offset(3) <= plan.work_len());
}

#[test]
fn subtrees_come_largest_first() {
    let plan = plan(&random_symbolic(5), 4, 32);
    assert!(plan.subtrees().windows(2).all(|w| w[0].secs >= w[1].secs));
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    let symbolic = random_symbolic(8);
    let needed = plan(&symbolic, 1, 64).memory().peak_bytes();
    let with = |bytes| {
        let machine = Machine {
            memory_bytes: Some(bytes),
            ..Machine::default()
        };
        FactorPlan::new(symbolic.clone(), &machine, &PlanOptions::default())
    };
    assert!(with(needed).is_ok());
    match with(needed - 1) {
        Err(PlanError::OverBudget {
            needed_bytes,
            budget_bytes,
            ..
        }) => {
            assert_eq!((needed_bytes, budget_bytes), (needed, needed - 1));
        }
        other => panic!("{other:?}"),
    }
    let no_block = PlanOptions {
        block: 0,
        ..PlanOptions::default()
    };
    assert_eq!(
        FactorPlan::new(symbolic, &Machine::default(), &no_block).err(),
        Some(PlanError::Block)
    );
}
