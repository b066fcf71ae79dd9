//! The plan walked through without numbers: panels, stacks and update matrices that live together
//! never overlap, nothing is left out, and one thread needs no more than a stack beside the factor.

mod random;

use std::ops::Range;
use std::sync::Arc;

use random::random_symbolic;
use tamarack_plan::{FactorPlan, Grove, Machine, PlanError, PlanOptions, Precision, UpdatePlace};
use tamarack_symbolic::SymbolicFactor;

fn plan(symbolic: &Arc<SymbolicFactor>, threads: usize, block: usize) -> FactorPlan {
    let machine = Machine::slow(threads, 1e6); // so that small problems are worth threads
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
        UpdatePlace::Left(at) => plan.stack(member).start + at,
        UpdatePlace::Right(back) => plan.stack(member).end - back,
        UpdatePlace::Shared(at) => at,
    };
    from..from + len
}

/// What stands in the arena at a moment of the walk, checked whenever something comes.
struct Live<'a> {
    plan: &'a FactorPlan,
    /// Panels and whole stacks.
    kept: Vec<(String, Range<u64>)>,
    matrices: Vec<(usize, Range<u64>)>,
    /// Largest sum of update matrices.
    most: u64,
}

impl<'a> Live<'a> {
    fn new(plan: &'a FactorPlan) -> Self {
        Self {
            plan,
            kept: Vec::new(),
            matrices: Vec::new(),
            most: 0,
        }
    }

    /// From now on `place` is in use for good.
    fn keep(&mut self, name: String, place: Range<u64>) {
        assert!(place.end <= self.plan.arena_len());
        for (other, there) in &self.kept {
            assert!(
                apart(&place, there),
                "{name} at {place:?}, {other} at {there:?}"
            );
        }
        for (other, there) in &self.matrices {
            assert!(
                apart(&place, there),
                "{name} at {place:?}, matrix {other} at {there:?}"
            );
        }
        self.kept.push((name, place));
    }

    /// From now on the matrix of `s` is in use until its parent's front is done.
    fn come(&mut self, s: usize, place: Range<u64>) {
        assert_eq!(place.is_empty(), self.plan.symbolic().nupd(s) == 0);
        let fresh = (0..self.plan.symbolic().supernodes()).filter(|&p| self.plan.panel_is_fresh(p));
        for p in fresh {
            let panel = self.plan.panel_range(p);
            assert!(apart(&panel, &place), "panel {p} is not fresh: matrix {s}");
        }
        assert!(place.end <= self.plan.arena_len());
        let kept = self.kept.iter().map(|(name, there)| (name.clone(), there));
        let matrices = self.matrices.iter();
        for (other, there) in kept.chain(matrices.map(|(s, there)| (s.to_string(), there))) {
            assert!(
                apart(&place, there),
                "matrix {s} at {place:?}, {other} at {there:?}"
            );
        }
        self.matrices.push((s, place));
        let lens = self.matrices.iter().map(|(_, r)| r.end - r.start);
        self.most = self.most.max(lens.sum());
    }

    fn drop_children(&mut self, s: usize) {
        let children = self.plan.symbolic().children(s);
        let before = self.matrices.len();
        self.matrices
            .retain(|(other, _)| !children.contains(&(*other as u32)));
        let gone = before - self.matrices.len();
        assert_eq!(gone, children.len(), "a child of {s} was not there");
    }

    fn process(&mut self, s: usize) {
        self.keep(format!("panel {s}"), self.plan.panel_range(s));
        self.come(s, range(self.plan, s, 0));
        self.drop_children(s);
    }
}

fn apart(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.end <= b.start || b.end <= a.start || a.is_empty() || b.is_empty()
}

/// Walks the subtrees of a grove, whose inner matrices stand on a member's stack; those of their roots come beside it. Returns how many.
fn walk_on_stack(plan: &FactorPlan, grove: &Grove, member: usize, beside: &mut Live<'_>) -> usize {
    let mut live = Live::new(plan);
    let mut roots = Vec::new();
    let parent = |s: usize| plan.symbolic().parent(s);
    for s in grove.first as usize..=grove.root as usize {
        let is_root = parent(s).is_none_or(|up| up > grove.root as usize);
        if is_root {
            assert_eq!(parent(s), parent(grove.root as usize));
            roots.push(s);
        }
        let place = range(plan, s, member);
        let stack = plan.stack(member);
        let inside = stack.start <= place.start && place.end <= stack.end;
        assert!(inside || place.is_empty() || is_root);
        live.come(s, place);
        live.drop_children(s);
    }
    for &root in &roots {
        beside.come(root, range(plan, root, 0));
    }
    roots.len()
}

#[test]
fn what_lives_together_never_overlaps() {
    let (mut tops, mut windows, mut several) = (0, 0, 0);
    for seed in 0..400 {
        let symbolic = random_symbolic(seed);
        for (threads, block) in [(1, 64), (1, 5), (2, 8), (5, 3)] {
            let plan = plan(&symbolic, threads, block);
            let mut live = Live::new(&plan);
            let groves = plan.groves();
            let below = || groves.iter().flat_map(|t| t.first..=t.root);
            let mut walked: Vec<u32> = below().chain(plan.top().iter().copied()).collect();
            walked.sort_unstable();
            assert!(walked.into_iter().eq(0..symbolic.supernodes() as u32));
            if threads == 1 {
                assert!(plan.top().is_empty());
                for s in below() {
                    live.process(s as usize);
                }
                // Not above a stack beside the factor.
                assert!(plan.arena_len() <= plan.factor_len() + live.most);
                continue;
            }
            // Side by side: any panel of the subtrees, any stack, any matrix of a root.
            for s in below() {
                live.keep(format!("panel {s}"), plan.panel_range(s as usize));
            }
            let panels = live.kept.len();
            for member in 0..threads {
                live.keep(format!("stack {member}"), plan.stack(member));
            }
            for (k, grove) in groves.iter().enumerate() {
                several += usize::from(walk_on_stack(&plan, grove, k % threads, &mut live) > 1);
            }
            if plan.top_window() == 0 {
                live.kept.truncate(panels);
            }
            tops += plan.top().len();
            // What a front reads stays as long as others may be in work together with it.
            let (top, window) = (plan.top(), plan.top_window());
            assert!(window == 0 || threads > 2);
            windows += usize::from(window > 0);
            for (k, &s) in top.iter().enumerate() {
                if k == window + 1 {
                    live.kept.retain(|(name, _)| !name.starts_with("stack"));
                }
                if let Some(done) = k.checked_sub(window + 1) {
                    live.drop_children(top[done] as usize);
                }
                live.keep(format!("panel {s}"), plan.panel_range(s as usize));
                live.come(s as usize, range(&plan, s as usize, 0));
                let place = |c: &u32| top.iter().position(|s| s == c);
                let children = symbolic.children(s as usize).iter().filter_map(place);
                assert!(children.max() < Some(k), "a child of {s} comes later");
            }
            for &s in &top[top.len().saturating_sub(window + 1)..] {
                live.drop_children(s as usize);
            }
        }
    }
    assert!(tops > 1000, "the cuts left only {tops} fronts above them");
    assert!(windows > 100, "only {windows} plans have a window");
    assert!(several > 100, "only {several} tasks of several subtrees");
}

#[test]
fn panels_fill_the_left_of_the_arena() {
    for threads in [1, 3] {
        let plan = plan(&random_symbolic(11), threads, 16);
        let mut panels: Vec<_> = (0..plan.symbolic().supernodes())
            .map(|s| plan.panel_range(s))
            .collect();
        panels.sort_unstable_by_key(|r| r.start);
        assert!(panels.windows(2).all(|w| w[0].end == w[1].start));
        let ends = (panels[0].start, panels[panels.len() - 1].end);
        assert_eq!(ends, (0, plan.factor_len()));
        assert!(plan.factor_len() <= plan.arena_len());
    }
}

#[test]
fn a_plan_uses_no_more_threads_than_its_work_is_worth() {
    let symbolic = random_symbolic(5);
    let with = |machine: Machine| {
        let plan = FactorPlan::new(symbolic.clone(), &machine, &PlanOptions::default()).unwrap();
        (plan.threads(), plan.memory().workspace_bytes)
    };
    let one = with(Machine::slow(1, 1e-6));
    assert_eq!(with(Machine::slow(256, 1e-6)), one);
    assert_eq!(with(Machine::slow(256, 1e6)).0, 256);
    assert_eq!(with(Machine::slow(0, 1e6)).0, 1);
}

#[test]
fn groves_come_largest_first() {
    let plan = plan(&random_symbolic(5), 4, 32);
    assert!(plan.groves().windows(2).all(|w| w[0].secs >= w[1].secs));
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
    for (precision, advised) in [(Precision::F64, true), (Precision::F32, false)] {
        let machine = Machine {
            memory_bytes: Some(1),
            ..Machine::default()
        };
        let options = PlanOptions {
            precision,
            ..PlanOptions::default()
        };
        let error = FactorPlan::new(symbolic.clone(), &machine, &options).unwrap_err();
        assert_eq!(error.to_string().contains("mixed"), advised, "{error}");
    }
    for block in [0, PlanOptions::WIDEST + 1, usize::MAX - 15, usize::MAX] {
        let options = PlanOptions {
            block,
            ..PlanOptions::default()
        };
        let most = PlanOptions::WIDEST;
        assert_eq!(
            FactorPlan::new(symbolic.clone(), &Machine::default(), &options).err(),
            Some(PlanError::Block { block, most })
        );
    }
}
