//! A team of threads that shares the work of one loop at a time.
//!
//! The caller is always a member and never waits for a member that has not come: members that are
//! asleep or whose core is busy simply take no share. So a loop ends even if the caller does all
//! of it, two callers cannot block each other, and a neighbour's load costs its share of the
//! machine and no more. Starting and ending a loop allocates nothing, which no general thread pool
//! promises; `docs/decisions/0002-team.md` has the comparison. The first loop that is shared
//! starts the threads, so whoever has none to share pays for none. Whoever asks for a team that others
//! have shares it with them ([`Team::shared`]): the threads of a process do not grow with its factors.
//! A process that was forked has no threads but the one that forked: nobody comes to its loops, and nobody is joined in the end.

mod aid;
mod door;
mod gate;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::profile::Profiler;
use aid::Breaking;
pub use aid::{Aid, Patience};
use door::Door;
use gate::Gate;

/// Threads that work together on loops; the thread that starts a loop is one of them.
#[derive(Debug)]
pub struct Team {
    shared: Arc<Shared>,
    size: usize,
    /// The threads but the caller, once a loop was shared; locked while one runs with them.
    helpers: Mutex<Option<Helpers>>,
    profiler: Option<Profiler>,
}

#[derive(Debug)]
struct Helpers {
    /// The process that they are threads of.
    process: u32,
    threads: Vec<JoinHandle<()>>,
}

/// The teams that are shared, as long as somebody has them.
static SHARED: Mutex<Vec<Weak<Team>>> = Mutex::new(Vec::new());

#[derive(Debug, Default)]
struct Shared {
    gate: Gate,
    /// One for each member.
    doors: Vec<Door>,
    panicked: AtomicBool,
    /// What the first helper that panicked said.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Team {
    /// A team of `threads` members, the caller included; 0 counts as 1.
    ///
    /// Where the operating system refuses threads, fewer come to its loops.
    pub fn new(threads: usize) -> Self {
        let size = threads.max(1);
        let shared = Shared {
            doors: (0..size).map(|_| Door::default()).collect(),
            ..Shared::default()
        };
        Self {
            shared: Arc::new(shared),
            size,
            helpers: Mutex::default(),
            profiler: None,
        }
    }

    /// The team of `threads` members that the process shares: the same for all who ask while anyone has it. Of two who have loops
    /// at the same time one works with it and the other alone.
    pub fn shared(threads: usize) -> Arc<Self> {
        let threads = threads.max(1);
        let mut teams = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        teams.retain(|team| team.strong_count() > 0);
        let mut living = teams.iter().filter_map(Weak::upgrade);
        let found = living.find(|team| team.size == threads && !team.is_of_another_process());
        found.unwrap_or_else(|| {
            let team = Arc::new(Self::new(threads));
            teams.push(Arc::downgrade(&team));
            team
        })
    }

    /// Whether its threads were started before this process was forked.
    fn is_of_another_process(&self) -> bool {
        let helpers = self.helpers.try_lock();
        // Whoever holds them works with them.
        helpers.is_ok_and(|helpers| helpers.as_ref().is_some_and(Helpers::are_elsewhere))
    }

    /// A team that books where the time of its work goes.
    pub fn profiled(threads: usize) -> Self {
        let mut team = Self::new(threads);
        team.profiler = Some(Profiler::new(team.size()));
        team
    }

    /// Where the time went, for a [`profiled`](Self::profiled) team.
    pub fn profiler(&self) -> Option<&Profiler> {
        self.profiler.as_ref()
    }

    /// Number of members, the caller included, if the operating system grants all threads.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Calls `work(member)` on the calling thread (member 0) and on every member that is free.
    ///
    /// Each member number below [`size`](Self::size) is used at most once at a time. `work` must
    /// get everything done even if only member 0 comes. Returns when all who came have returned.
    ///
    /// # Panics
    /// If `work` panics on any member: with the caller's own panic, else the first one of the others.
    pub fn run(&self, work: &(dyn Fn(usize) + Sync)) {
        self.run_by(self.size, work);
    }

    /// The same with members below `members` only: to call those who find nothing to do costs time.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_by(&self, members: usize, work: &(dyn Fn(usize) + Sync)) {
        self.run_aided(members, &|aid| work(aid.member()));
    }

    /// The same with members that may share pieces of their work with those who have none left.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_aided(&self, members: usize, work: &(dyn Fn(Aid<'_>) + Sync)) {
        let is_shared = self.size > 1 && members > 1;
        let helpers = is_shared.then(|| self.helpers.try_lock().ok());
        // After a fork the threads are the parent's, and so may be a lock that one of them held.
        let are_here = |helpers: &MutexGuard<'_, Option<Helpers>>| {
            helpers
                .as_ref()
                .is_none_or(|helpers| !helpers.are_elsewhere())
        };
        let Some(mut helpers) = helpers.flatten().filter(are_here) else {
            return work(Aid::new(0, &[], &AtomicBool::new(false)));
        };
        let (doors, broken) = (&self.shared.doors[..], AtomicBool::new(false));
        let work = |member| {
            let _breaking = Breaking(&broken);
            work(Aid::new(member, doors, &broken));
        };
        let work: &(dyn Fn(usize) + Sync) = &work;
        helpers.get_or_insert_with(|| self.start());
        // SAFETY: helpers are locked, so nobody else posts, and the job is withdrawn below, whatever the caller's share came to.
        unsafe { self.shared.gate.post(work, members) };
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        let waiting = self.profiler().map(|profiler| (profiler, Instant::now()));
        self.shared.gate.withdraw();
        if let Some((profiler, since)) = waiting {
            profiler.waited(0, since);
        }
        let helper_panicked = self.shared.panicked.swap(false, Ordering::Relaxed);
        let of_helper = helper_panicked.then(|| self.shared.take_panic()).flatten();
        drop(helpers); // a panic that goes on while it is held would poison it
        if let Some(panic) = own.err().or(of_helper) {
            resume_unwind(panic);
        }
    }

    /// Starts the threads but the caller, as many as there are to be had.
    fn start(&self) -> Helpers {
        let start = |member| {
            let shared = self.shared.clone();
            std::thread::Builder::new()
                .name(format!("tamarack-{member}"))
                .spawn(move || help(&shared, member))
                .ok()
        };
        Helpers {
            process: std::process::id(),
            threads: (1..self.size).map_while(start).collect(),
        }
    }

    /// Calls `body(i, member)` once for every `i` in `0..count`, in any order, `i` handed out in
    /// increasing order.
    pub fn for_each(&self, count: usize, body: impl Fn(usize, usize) + Sync) {
        self.for_each_by(self.size, count, body);
    }

    /// The same with members below `members` only.
    pub fn for_each_by(&self, members: usize, count: usize, body: impl Fn(usize, usize) + Sync) {
        let members = members.min(count).min(self.size);
        if members <= 1 {
            return (0..count).for_each(|i| body(i, 0));
        }
        let indices = Indices::new(count);
        self.run_by(members, &|member| {
            indices.each(|i| body(i, member));
        });
    }
}

/// The indices of a loop, which members take one after the other, increasing.
pub(crate) struct Indices {
    next: AtomicUsize,
    count: usize,
}

impl Indices {
    pub fn new(count: usize) -> Self {
        Self {
            next: AtomicUsize::new(0),
            count,
        }
    }

    /// Calls `body` with every index that this member gets; whether that was any.
    pub fn each(&self, mut body: impl FnMut(usize)) -> bool {
        let mut any = false;
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.count {
                return any;
            }
            any = true;
            body(i);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let helpers = self
            .helpers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(helpers) = helpers else {
            return;
        };
        if helpers.are_elsewhere() {
            // Nobody is there to be joined, and a lock may be held by one who is not.
            return std::mem::forget(helpers);
        }
        self.shared.gate.end();
        for helper in helpers.threads {
            // A helper catches the panics of its jobs, so it has none of its own to report.
            let _ = helper.join();
        }
    }
}

impl Helpers {
    /// Whether they are threads of the process that this one was forked from.
    fn are_elsewhere(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Shared {
    /// What a helper said when it panicked.
    fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        panic.take()
    }
}

/// Life of a helper: wait for a job that was not seen before, join it, leave it.
fn help(shared: &Shared, member: usize) {
    let mut seen = 0;
    while let Some(work) = shared.gate.join(member, &mut seen) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(member))) {
            let mut first = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(panic);
            drop(first);
            shared.panicked.store(true, Ordering::Relaxed);
        }
        shared.gate.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_once() {
        let team = Team::new(4);
        for count in [0, 1, 2, 1000] {
            let hits: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            for _ in 0..50 {
                team.for_each(count, |i, member| {
                    assert!(member < 4);
                    hits[i].fetch_add(1, Ordering::Relaxed);
                });
            }
            assert!(hits.iter().all(|h| h.load(Ordering::Relaxed) == 50));
        }
    }

    #[test]
    fn two_callers_do_not_wait_for_each_other() {
        let team = Team::new(3);
        let done = AtomicUsize::new(0);
        team.for_each(8, |_, _| {
            team.for_each(100, |_, _| {
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(done.load(Ordering::Relaxed), 800);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_goes_on() {
        let team = Team::new(2);
        for bad in 0..20 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                team.for_each(20, |i, _| assert!(i != bad, "on purpose"));
            }));
            assert!(outcome.is_err());
        }
        assert!(!team.helpers.is_poisoned(), "it would work alone");
        team.for_each(5, |_, _| {});
    }

    #[test]
    fn a_helpers_panic_keeps_its_words() {
        let team = Team::new(2);
        for _ in 0..3 {
            let came = AtomicBool::new(false);
            let panic = catch_unwind(AssertUnwindSafe(|| {
                team.run(&|member| {
                    if member == 1 {
                        came.store(true, Ordering::Relaxed);
                        std::panic::panic_any("on purpose");
                    }
                    while !came.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                });
            }));
            assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"on purpose"));
        }
        team.run(&|_| ());
    }

    #[test]
    fn those_who_ask_at_the_same_time_share_a_team_until_the_last_one_goes() {
        let size = 5; // no other test's
        let (one, other) = (Team::shared(size), Team::shared(size));
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &Team::shared(6)));
        drop(one);
        other.for_each(9, |_, _| ());
        let last = Arc::downgrade(&other);
        drop(other);
        assert!(last.upgrade().is_none());
        assert_eq!(Team::shared(size).size(), size);
    }

    #[test]
    fn threads_of_another_process_are_left_alone() {
        let team = Arc::new(Team::new(3));
        team.for_each(9, |_, _| ());
        // As it is in a child that was forked now.
        if let Some(helpers) = &mut *team.helpers.lock().unwrap() {
            helpers.process ^= 1;
        }
        assert!(team.is_of_another_process());
        team.for_each(9, |_, member| assert_eq!(member, 0));
        let left = team.shared.clone();
        drop(team);
        assert!(!left.gate.has_ended(), "whoever is told to end is joined");
    }

    #[test]
    fn only_a_shared_loop_starts_threads() {
        let team = Team::new(3);
        let started = || team.helpers.lock().unwrap().is_some();
        team.for_each(1, |_, member| assert_eq!(member, 0));
        assert!(!started());
        team.for_each(2, |_, _| {});
        assert!(started());
        assert_eq!(team.size(), 3);
    }

    #[test]
    fn helpers_that_sleep_come_again_and_only_those_who_are_wanted() {
        let team = Team::new(4);
        for pause in [0, 0, 3, 0, 20, 20, 0] {
            // Longer than they spin.
            std::thread::sleep(std::time::Duration::from_millis(pause));
            let came = AtomicUsize::new(0);
            team.run_by(3, &|member| {
                assert!(member < 3);
                came.fetch_or(1 << member, Ordering::Relaxed);
                while came.load(Ordering::Relaxed) != 0b111 {
                    std::thread::yield_now();
                }
            });
        }
    }

    #[test]
    fn many_short_loops_are_done_by_whoever_comes() {
        let team = Team::new(6);
        for round in 0..20_000 {
            let count = 2 + round % 9;
            let done = AtomicUsize::new(0);
            team.for_each(count, |i, _| {
                done.fetch_add(i + 1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), count * (count + 1) / 2);
        }
    }

    #[test]
    fn zero_threads_is_one() {
        assert_eq!(Team::new(0).size(), 1);
    }
}
