//! Which of the fronts above the subtrees may be begun.
//!
//! A front waits for its children, and for those that are more than the plan's window before it: what it writes to may be where
//! these read. A lock is taken for every front; who has nothing to do asks without.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tamarack_plan::FactorPlan;

/// Fronts of a plan's top by their places in it.
#[derive(Debug)]
pub(crate) struct Above {
    /// Groves and fronts below each front, and the place of the one above it.
    children: Vec<usize>,
    parent: Vec<Option<usize>>,
    /// The place of the front above each grove.
    above: Vec<Option<usize>>,
    window: usize,
    state: Mutex<State>,
    /// Whether a front may be begun.
    any: AtomicBool,
    /// Fronts that are not done.
    left: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// Those below each front that are not done.
    waiting: Vec<usize>,
    /// Fronts that wait for none of them, not begun.
    ready: Vec<usize>,
    done: Vec<bool>,
    /// All before this one are done.
    all_before: usize,
    /// Groves that are not done.
    groves: usize,
}

impl Above {
    /// For the top of a plan; takes all the memory that it ever takes.
    pub fn new(plan: &FactorPlan) -> Self {
        let (top, symbolic) = (plan.top(), plan.symbolic());
        let mut place = HashMap::with_capacity(top.len());
        place.extend(top.iter().zip(0..).map(|(&s, k)| (s as usize, k)));
        let above = |s: u32| place.get(&symbolic.parent(s as usize)?).copied();
        let parent: Vec<Option<usize>> = top.iter().map(|&s| above(s)).collect();
        // With nothing above them, groves may be as many as unknowns.
        let below = if top.is_empty() { &[] } else { plan.groves() };
        let above: Vec<Option<usize>> = below.iter().map(|grove| above(grove.root)).collect();
        let children = children_of(&parent, &above);
        Self {
            window: plan.top_window(),
            state: Mutex::new(State {
                waiting: Vec::with_capacity(top.len()),
                ready: Vec::with_capacity(top.len()),
                done: Vec::with_capacity(top.len()),
                ..State::default()
            }),
            any: AtomicBool::new(false),
            left: AtomicUsize::new(0),
            children,
            parent,
            above,
        }
    }

    /// All of them are to be done.
    pub fn begin(&self) {
        let mut state = self.state();
        state.waiting.clone_from(&self.children);
        state.ready.clear();
        let without = self.children.iter().zip(0..).filter(|&(&c, _)| c == 0);
        state.ready.extend(without.map(|(_, k)| k));
        state.done.clear();
        state.done.resize(self.children.len(), false);
        state.all_before = 0;
        state.groves = self.above.len();
        self.left.store(self.children.len(), Ordering::Release);
        self.say(&state);
    }

    /// Whether all are done.
    pub fn all_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// The first front that may be begun.
    pub fn take(&self) -> Option<usize> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.state();
        let (at, &first) = state.ready.iter().enumerate().min_by_key(|&(_, k)| k)?;
        if !self.is_early(first, &state) {
            return None;
        }
        state.ready.swap_remove(at);
        self.say(&state);
        Some(first)
    }

    /// A front that was taken is done.
    pub fn end(&self, k: usize) {
        let mut state = self.state();
        state.done[k] = true;
        while state.done.get(state.all_before) == Some(&true) {
            state.all_before += 1;
        }
        self.end_child(self.parent[k], &mut state);
        drop(state);
        self.left.fetch_sub(1, Ordering::Release);
    }

    /// A grove, by its place among those of the plan, is done.
    pub fn end_grove(&self, grove: usize) {
        if self.children.is_empty() {
            return;
        }
        let mut state = self.state();
        state.groves -= 1;
        self.end_child(self.above[grove], &mut state);
    }

    fn end_child(&self, parent: Option<usize>, state: &mut State) {
        if let Some(up) = parent {
            state.waiting[up] -= 1;
            if state.waiting[up] == 0 {
                state.ready.push(up);
            }
        }
        self.say(state);
    }

    /// Whether nothing is in the memory of a front that others still read or work in.
    fn is_early(&self, k: usize, state: &State) -> bool {
        match state.groves {
            0 => k <= state.all_before + self.window,
            _ => self.window > 0 && k <= self.window,
        }
    }

    /// Says to those who ask without the lock whether there is anything.
    fn say(&self, state: &State) {
        let any = state.ready.iter().any(|&k| self.is_early(k, state));
        self.any.store(any, Ordering::Release);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock but on a wrong place.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many are below each front, given the places above all others and all groves.
fn children_of(parent: &[Option<usize>], above: &[Option<usize>]) -> Vec<usize> {
    let mut children = vec![0; parent.len()];
    let all = parent.iter().chain(above).flatten();
    all.for_each(|&up| children[up] += 1);
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A top of which all is known but the plan.
    fn above(parent: &[Option<usize>], subtrees: &[Option<usize>], window: usize) -> Above {
        Above {
            children: children_of(parent, subtrees),
            parent: parent.to_vec(),
            above: subtrees.to_vec(),
            window,
            state: Mutex::default(),
            any: AtomicBool::new(false),
            left: AtomicUsize::new(0),
        }
    }

    #[test]
    fn parents_wait_for_children_and_all_for_those_before_the_window() {
        let parent = [Some(4), Some(4), Some(5), Some(5), Some(6), Some(6), None];
        for round in 0..2 {
            let above = above(&parent, &[], 2);
            above.begin();
            assert_eq!([above.take(), above.take()], [Some(0), Some(1)]);
            assert_eq!(
                [above.take(), above.take()],
                [Some(2), None],
                "3 is beyond the window"
            );
            above.end(1 + round);
            assert_eq!(above.take(), None, "0 is not done");
            above.end(0);
            assert_eq!(above.take(), Some(3));
            assert_eq!(above.take(), [Some(4), None][round]);
            above.end(2 - round);
            assert_eq!(above.take(), [None, Some(4)][round]);
            above.end(3);
            assert_eq!([above.take(), above.take()], [Some(5), None]);
            above.end(5);
            assert_eq!(above.take(), None);
            above.end(4);
            assert_eq!(above.take(), Some(6));
            assert!(!above.all_done());
            above.end(6);
            assert!(above.all_done());
        }
    }

    #[test]
    fn without_a_window_they_come_one_after_the_other() {
        let above = above(&[Some(2), Some(2), None, None], &[], 0);
        for _ in 0..2 {
            above.begin();
            for k in 0..4 {
                assert_eq!([above.take(), above.take()], [Some(k), None]);
                above.end(k);
            }
            assert!(above.all_done());
        }
    }

    #[test]
    fn some_are_begun_before_all_subtrees_are_done() {
        let (parent, subtrees) = (
            [Some(3), Some(3), Some(3), None],
            [Some(2), Some(0), None, Some(1)],
        );
        for window in [0, 1, 3] {
            let above = above(&parent, &subtrees, window);
            above.begin();
            assert_eq!(above.take(), None);
            above.end_grove(0);
            assert_eq!(above.take(), (window == 3).then_some(2));
            above.end_grove(1);
            assert_eq!(above.take(), (window > 0).then_some(0));
            above.end_grove(3);
            above.end_grove(2);
            assert_eq!(above.take(), Some(usize::from(window > 0)));
        }
    }
}
