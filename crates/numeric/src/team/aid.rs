//! Work that a member of a loop shares with those who have run out of their own.
//!
//! In a tree of tasks some are so large that one member should not do them alone, while others wait for nothing to do. Each member has a
//! [`Door`] of its own: it opens a loop there and goes on with it itself; who is idle looks for an open door and comes in. Nobody
//! waits for who has not come, as in the loops of a [team](super::Team).

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Indices;
use super::door::Door;
use super::gate::SPINS;

/// A member of a loop that all members are in, each for a while.
#[derive(Clone, Copy)]
pub struct Aid<'a> {
    member: usize,
    doors: &'a [Door],
    /// Whether a member of this loop has panicked.
    broken: &'a AtomicBool,
    /// A member is one thread.
    stays: PhantomData<*const ()>,
}

/// Moments after which a member that waits leaves its core: the host of a virtual machine may have one for it and another that works.
const NAPS: u32 = SPINS + 50;

/// How long, to which Linux adds 50 µs unless it is told otherwise (timer slack).
const NAP: Duration = Duration::from_micros(20);

/// What has been tried in vain by a member that waits.
#[derive(Default)]
pub struct Patience(u32);

impl Patience {
    /// Waits a moment: at first awake, then other threads may have the core, in the end asleep.
    pub fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            ..SPINS => std::hint::spin_loop(),
            SPINS..NAPS => std::thread::yield_now(),
            _ => std::thread::sleep(NAP),
        }
    }
}

impl<'a> Aid<'a> {
    /// A member whose door is its own; with no doors it is alone.
    pub(super) fn new(member: usize, doors: &'a [Door], broken: &'a AtomicBool) -> Self {
        Self {
            member,
            doors,
            broken,
            stays: PhantomData,
        }
    }

    /// Its number.
    pub fn member(&self) -> usize {
        self.member
    }

    /// Whether nobody can come.
    pub fn is_alone(&self) -> bool {
        self.doors.is_empty()
    }

    /// Whether another member has panicked: what it had begun will never be done, and is not to be waited for.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Calls `work(member)` here, and by up to `helpers` others that come meanwhile; returns when all have returned. `work` must get
    /// everything done even if nobody comes, and returns when nothing is left to be begun.
    ///
    /// # Panics
    /// If `work` panics here; where it panics elsewhere, the loop around it says so.
    pub fn share(&self, helpers: usize, work: &(dyn Fn(usize) + Sync)) {
        let own = self.doors.get(self.member);
        let Some(door) = own.filter(|door| helpers > 0 && door.is_idle()) else {
            return work(self.member);
        };
        let job = |member| {
            work(member);
            door.close(); // nothing is left to hand out
        };
        let job: &(dyn Fn(usize) + Sync) = &job;
        // SAFETY: the door is this member's, who is one thread; it is closed, with nobody inside, now and when this
        // returns; a job inside this one finds it idle only when nobody can come to this one any more.
        unsafe { door.open(job, helpers) };
        let _closing = Closing(door);
        job(self.member);
    }

    /// Calls `body(i, member)` once for every `i` in `0..count`, in any order, `i` handed out in increasing order, with up to `helpers`
    /// others.
    pub fn for_each(&self, helpers: usize, count: usize, body: impl Fn(usize, usize) + Sync) {
        let helpers = helpers.min(count.saturating_sub(1));
        if helpers == 0 || self.doors.is_empty() {
            return (0..count).for_each(|i| body(i, self.member));
        }
        let indices = Indices::new(count);
        self.share(helpers, &|member| {
            indices.each(|i| body(i, member));
        });
    }

    /// Joins what another member shares, if anybody does; says whether it did.
    pub fn help(&self) -> bool {
        let count = self.doors.len();
        for k in 1..count {
            let door = &self.doors[(self.member + k) % count];
            if let Some(job) = door.room().and_then(|number| door.enter(number)) {
                let _leaving = Leaving(door);
                job(self.member);
                return true;
            }
        }
        false
    }
}

/// Tells the other members of a loop when a panic ends this one's part.
pub(super) struct Breaking<'a>(pub &'a AtomicBool);

impl Drop for Breaking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// Closes a door and waits for those inside, if by a panic.
struct Closing<'a>(&'a Door);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
        let mut patience = Patience::default();
        while self.0.inside() > 0 {
            patience.wait();
        }
    }
}

/// Leaves, if by a panic.
struct Leaving<'a>(&'a Door);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    use super::super::Team;
    use super::*;

    #[test]
    fn every_index_comes_once_whoever_comes() {
        let team = Team::new(4);
        for round in 0..200 {
            let done = AtomicUsize::new(0);
            team.run_aided(4, &|aid| {
                if aid.member() < 2 {
                    aid.for_each(1 + round % 3, 10, |i, member| {
                        assert!(member < 4);
                        done.fetch_add(i, Ordering::Relaxed);
                    });
                }
                while aid.help() {}
            });
            // The second member may not have come.
            assert!([45, 90].contains(&done.into_inner()));
        }
    }

    #[test]
    fn the_owner_of_a_door_waits_for_those_who_came() {
        let team = Team::new(2);
        for _ in 0..20 {
            let (came, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            team.run_aided(2, &|aid| {
                if aid.member() == 1 {
                    while left.load(Ordering::Relaxed) < 2 && !aid.help() {
                        std::thread::yield_now();
                    }
                    return;
                }
                aid.share(1, &|_| {
                    came.fetch_add(1, Ordering::Relaxed);
                    while came.load(Ordering::Relaxed) < 2 {
                        std::thread::yield_now();
                    }
                    left.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(left.load(Ordering::Relaxed), 2, "one is still inside");
            });
        }
    }

    #[test]
    fn those_who_wait_for_a_member_that_panicked_are_told() {
        let team = Team::new(3);
        for bad in [0, 0, 1] {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let came = AtomicUsize::new(0);
                team.run_aided(3, &|aid| {
                    came.fetch_or(1 << aid.member(), Ordering::Relaxed);
                    while came.load(Ordering::Relaxed) & 0b11 != 0b11 {
                        std::thread::yield_now();
                    }
                    assert!(aid.member() != bad, "on purpose");
                    while !aid.is_broken() {
                        std::thread::yield_now();
                    }
                });
            }));
            assert!(outcome.is_err());
        }
    }

    #[test]
    fn a_panic_in_a_shared_loop_is_the_teams_and_the_door_works_again() {
        let team = Team::new(3);
        for bad in 0..10 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                team.run_aided(3, &|aid| match aid.member() {
                    0 => aid.for_each(2, 10, |i, _| assert!(i != bad, "on purpose")),
                    _ => while aid.help() {},
                });
            }));
            assert!(outcome.is_err());
        }
        let done = AtomicUsize::new(0);
        team.run_aided(3, &|aid| {
            if aid.member() == 0 {
                aid.for_each(2, 10, |_, _| {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(done.into_inner(), 10);
    }
}
