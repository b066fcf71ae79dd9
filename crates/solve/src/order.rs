//! In which order members of a team come to the groves of a substitution and to the fronts above them.
//!
//! Up: whoever ends the last child of a front goes on with that front, else takes the next grove in postorder. Down: whoever ends a front
//! goes on with one of its children and leaves the others to those who are free, who take the last in postorder. So each way ends where
//! the next one begins: what the caches have of the factor then is not fetched again. Nobody waits at the level of a front for fronts that
//! have nothing to do with it, and who has nothing to do helps with a large front. Which sums are made in which order does
//! not depend on who comes.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use tamarack_numeric::{Activity, Aid, Patience, Span, Team};

use crate::plan::{NONE, Substitution};

/// Counters of one substitution, kept from one to the next.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Children of each front of the top that are not done.
    waiting: Vec<AtomicU32>,
    /// Nodes that may be begun, a bit each by their [ranks](Substitution::rank).
    ready: Vec<AtomicU64>,
    /// Groves or fronts that are not done.
    left: AtomicUsize,
}

impl Counters {
    pub fn new(plan: &Substitution) -> Self {
        let words = plan.nodes().div_ceil(64);
        Self {
            waiting: plan.top.iter().map(|_| AtomicU32::new(0)).collect(),
            ready: (0..words).map(|_| AtomicU64::new(0)).collect(),
            left: AtomicUsize::new(0),
        }
    }

    /// Whether they are enough for a plan.
    pub fn fit(&self, plan: &Substitution) -> bool {
        self.waiting.len() == plan.top.len() && self.ready.len() == plan.nodes().div_ceil(64)
    }

    /// Leaves a node to whoever is free.
    fn give(&self, rank: u32) {
        self.ready[rank as usize / 64].fetch_or(1 << (rank % 64), Ordering::Release);
    }

    /// The last one in the order of the tree, if any is left.
    fn take(&self) -> Option<u32> {
        for (at, word) in self.ready.iter().enumerate().rev() {
            let mut ready = word.load(Ordering::Acquire);
            while let Some(bit) = ready.checked_ilog2() {
                ready = word.fetch_and(!(1 << bit), Ordering::AcqRel);
                if ready >> bit & 1 == 1 {
                    return Some(at as u32 * 64 + bit);
                }
            }
        }
        None
    }
}

/// The order for a plan, a team, and counters that are nobody else's.
pub(crate) struct Order<'a> {
    pub plan: &'a Substitution,
    pub team: &'a Team,
    pub counters: &'a Counters,
}

impl Order<'_> {
    /// Calls `grove(number, member)` for all groves and `front(place in the top, member)` for each front after its children.
    pub fn up(&self, grove: impl Fn(usize, usize) + Sync, front: impl Fn(usize, Aid<'_>) + Sync) {
        let (plan, counters) = (self.plan, self.counters);
        for (waiting, front) in counters.waiting.iter().zip(&plan.top) {
            waiting.store(plan.below(front).len() as u32, Ordering::Relaxed);
        }
        counters.left.store(plan.top.len(), Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        let (groves, alone) = (plan.groves.len(), plan.without_children());
        self.team.run_aided(self.members(), &|aid| {
            loop {
                let first = next.fetch_add(1, Ordering::Relaxed);
                let above = if let Some(found) = plan.groves.get(first) {
                    self.book(aid.member(), || grove(first, aid.member()));
                    found.above
                } else if let Some(&first) = alone.get(first - groves) {
                    self.go_through(first, aid, &front)
                } else {
                    break;
                };
                self.climb(above, aid, &front);
            }
            self.help_until_done(aid, || false);
        });
    }

    /// Does a front whose children are done; says which one is above it.
    fn go_through(&self, at: u32, aid: Aid<'_>, front: &impl Fn(usize, Aid<'_>)) -> u32 {
        self.book(aid.member(), || front(at as usize, aid));
        self.counters.left.fetch_sub(1, Ordering::Release);
        self.plan.top[at as usize].above
    }

    /// Goes on with the fronts above a node that is done, as long as it was the last one that they waited for.
    fn climb(&self, mut at: u32, aid: Aid<'_>, front: &impl Fn(usize, Aid<'_>)) {
        let waiting = &self.counters.waiting;
        while at != NONE && waiting[at as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
            at = self.go_through(at, aid, front);
        }
    }

    /// Calls `front(place in the top, member)` for each front after the one above it, and `grove(number, member)` for groves after those.
    pub fn down(&self, grove: impl Fn(usize, usize) + Sync, front: impl Fn(usize, Aid<'_>) + Sync) {
        let (plan, counters) = (self.plan, self.counters);
        let none = |ready: &AtomicU64| ready.store(0, Ordering::Relaxed);
        counters.ready.iter().for_each(none);
        counters.left.store(plan.nodes(), Ordering::Relaxed);
        plan.roots().for_each(|root| counters.give(plan.rank(root)));
        self.team.run_aided(self.members(), &|aid| {
            self.help_until_done(aid, || {
                let Some(rank) = counters.take() else {
                    return false;
                };
                let mut node = plan.node(rank);
                while node != NONE {
                    let done = node as usize;
                    node = match done.checked_sub(plan.groves.len()) {
                        None => {
                            self.book(aid.member(), || grove(done, aid.member()));
                            NONE
                        }
                        Some(at) => {
                            self.book(aid.member(), || front(at, aid));
                            let above = &plan.top[at];
                            let below = plan.below(above);
                            let others = below.iter().filter(|&&node| node != above.next);
                            others.for_each(|&node| counters.give(plan.rank(node)));
                            above.next
                        }
                    };
                    counters.left.fetch_sub(1, Ordering::Release);
                }
                true
            });
        });
    }

    /// Does `own` work, or helps with others', as long as anything is left.
    fn help_until_done(&self, aid: Aid<'_>, own: impl Fn() -> bool) {
        let mut patience = Patience::default();
        while self.counters.left.load(Ordering::Acquire) > 0 && !aid.is_broken() {
            let share = Span::new(Activity::Share);
            if own() || self.team.taking(aid.member(), share, || aid.help()) {
                patience = Patience::default();
            } else {
                self.team.rest(aid.member(), &mut patience);
            }
        }
    }

    /// Members who may find something to do.
    fn members(&self) -> usize {
        match self.plan.top.is_empty() {
            true => self.plan.groves.len(),
            false => self.team.size(),
        }
    }

    fn book(&self, member: usize, work: impl FnOnce()) {
        let work = || {
            work();
            true
        };
        self.team.taking(member, Span::new(Activity::Share), work);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tamarack_ordering::{Method, Workspace};
    use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

    use super::*;

    /// Notes when nodes are done.
    struct Noted<'a> {
        plan: &'a Substitution,
        clock: AtomicU32,
        /// When each node was done, 0 if it was not.
        times: Vec<AtomicU32>,
    }

    impl<'a> Noted<'a> {
        fn new(plan: &'a Substitution) -> Self {
            let all = plan.groves.len() + plan.top.len();
            Self {
                plan,
                clock: AtomicU32::new(0),
                times: (0..all).map(|_| AtomicU32::new(0)).collect(),
            }
        }

        fn front(&self, front: usize, aid: Aid<'_>) {
            share(aid);
            self.note(self.plan.groves.len() + front);
        }

        fn note(&self, node: usize) {
            let now = self.clock.fetch_add(1, Ordering::AcqRel) + 1;
            assert_eq!(self.times[node].swap(now, Ordering::AcqRel), 0, "twice");
        }

        /// Times of each node and of the front above it.
        fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
            let groves = self.plan.groves.iter().map(|grove| grove.above);
            let above = groves.chain(self.plan.top.iter().map(|front| front.above));
            let time = |node: usize| self.times[node].load(Ordering::Acquire);
            let pairs = above.enumerate().filter(|&(_, above)| above != NONE);
            pairs.map(move |(node, above)| {
                (time(node), time(self.plan.groves.len() + above as usize))
            })
        }
    }

    /// A loop that is shared.
    fn share(aid: Aid<'_>) {
        let sum = AtomicUsize::new(0);
        aid.for_each(3, 20, |i, _| {
            sum.fetch_add(i, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 190);
    }

    fn plan(model: &str) -> Substitution {
        let model: tamarack_sparse::models::Model = model.parse().unwrap();
        let a = model.generate::<f64>().unwrap();
        let method = Method::NestedDissection(Default::default());
        let order = tamarack_ordering::order(a.pattern(), &method, &mut Workspace::default());
        let options = SymbolicOptions::default();
        let symbolic = SymbolicFactor::analyze(a.pattern(), &order.unwrap(), &options).unwrap();
        Substitution::new(&Arc::new(symbolic))
    }

    #[test]
    fn the_last_node_in_postorder_is_taken_first() {
        let plan = plan("p3d7_30");
        assert!(plan.nodes() > 64, "more than a word of bits");
        let counters = Counters::new(&plan);
        (0..plan.nodes() as u32).for_each(|node| counters.give(plan.rank(node)));
        let taken = std::iter::from_fn(|| counters.take());
        assert!(taken.eq((0..plan.nodes() as u32).rev()));
        let roots = (0..plan.nodes() as u32).map(|rank| {
            let node = plan.node(rank) as usize;
            match node.checked_sub(plan.groves.len()) {
                None => plan.groves[node].root,
                Some(at) => plan.top[at].s,
            }
        });
        assert!(roots.is_sorted());
    }

    #[test]
    fn fronts_come_after_their_children_on_the_way_up_and_before_them_on_the_way_down() {
        let plan = plan("p3d7_20");
        assert!(plan.top.len() > 10, "{}", plan.top.len());
        let counters = Counters::new(&plan);
        for threads in [1, 2, 5] {
            let team = Team::new(threads);
            let order = Order {
                plan: &plan,
                team: &team,
                counters: &counters,
            };
            for _ in 0..50 {
                let (up, down) = (Noted::new(&plan), Noted::new(&plan));
                order.up(|grove, _| up.note(grove), |front, aid| up.front(front, aid));
                assert!(up.pairs().all(|(child, above)| 0 < child && child < above));
                order.down(
                    |grove, _| down.note(grove),
                    |front, aid| down.front(front, aid),
                );
                assert!(
                    down.pairs()
                        .all(|(child, above)| 0 < above && above < child)
                );
            }
        }
    }
}
