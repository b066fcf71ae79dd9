//! How helpers come to a job and leave it.
//!
//! Who spins reads the word of a [`Door`], and joins and leaves by changing it; a lock is for those who sleep, and who wakes them. With a
//! lock for everybody sixteen threads queued at the beginning and the end of each loop.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::door::Door;

/// Spins before a member goes to sleep: about 20 to 50 µs, the time between two loops of a front.
pub(crate) const SPINS: u32 = 4000;

/// The bit of all members from this one on; it stays once one of them has slept.
const SHARED_BIT: usize = 63;

/// Where one caller posts a job at a time, and helpers wait for it.
#[derive(Debug, Default)]
pub(super) struct Gate {
    door: Door,
    /// Members below this are wanted.
    members: AtomicUsize,
    /// A bit for each member that sleeps, the last one for all from 63 on.
    sleepers: AtomicU64,
    end: AtomicBool,
    lock: Mutex<()>,
    /// Signals helpers: a job was posted, or all is over.
    posted: Condvar,
    /// Signals the caller: the last helper has left the job.
    left: Condvar,
}

/// The bit of a member among those who sleep.
fn bit(member: usize) -> u64 {
    1 << member.min(SHARED_BIT)
}

impl Gate {
    /// Offers a job to members below `members`.
    ///
    /// # Safety
    /// Nobody else posts before this job is [withdrawn](Self::withdraw), and `work` lives until then.
    pub unsafe fn post(&self, work: &(dyn Fn(usize) + Sync), members: usize) {
        self.members.store(members, Ordering::Relaxed);
        // Who goes to sleep says so before looking at the word once more: one of both sees the other.
        // SAFETY: the caller's contract; `withdraw` returns when nobody is inside.
        unsafe { self.door.open(work, members) };
        let shared = if members > SHARED_BIT {
            bit(SHARED_BIT)
        } else {
            0
        };
        let wanted = (bit(members) - 1) | shared;
        if self.sleepers.load(Ordering::SeqCst) & wanted != 0 {
            drop(self.lock());
            self.posted.notify_all();
        }
    }

    /// Takes the job back and waits for the helpers that are in it.
    pub fn withdraw(&self) {
        self.door.close();
        if spin_until(|| self.door.inside() == 0) {
            return;
        }
        let mut guard = self.lock();
        while self.door.inside() > 0 {
            let woken = self.left.wait(guard);
            guard = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a job that wants this member and that it has not seen, and joins it; None when all is over.
    pub fn join(&self, member: usize, seen: &mut u32) -> Option<&(dyn Fn(usize) + Sync)> {
        loop {
            if !spin_until(|| self.door.number(Ordering::Acquire) != *seen) {
                self.sleep(member, *seen);
            }
            *seen = self.door.number(Ordering::Acquire);
            if self.end.load(Ordering::Acquire) {
                return None;
            }
            if member < self.members.load(Ordering::Relaxed)
                && let Some(job) = self.door.enter(*seen)
            {
                return Some(job);
            }
        }
    }

    /// Leaves the job that was [joined](Self::join).
    pub fn leave(&self) {
        if self.door.leave() {
            // The caller may sleep.
            drop(self.lock());
            self.left.notify_all();
        }
    }

    /// Sends all helpers away.
    pub fn end(&self) {
        self.end.store(true, Ordering::Release);
        self.door.skip();
        drop(self.lock());
        self.posted.notify_all();
    }

    /// Whether helpers were sent away.
    #[cfg(test)]
    pub fn has_ended(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }

    /// Sleeps until there is another job than the one seen.
    fn sleep(&self, member: usize, seen: u32) {
        let mut guard = self.lock();
        self.sleepers.fetch_or(bit(member), Ordering::SeqCst);
        while self.door.number(Ordering::SeqCst) == seen {
            let woken = self.posted.wait(guard);
            guard = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if member < SHARED_BIT {
            self.sleepers.fetch_and(!bit(member), Ordering::SeqCst);
        } // else others of that bit may sleep on: a job that wanted none of them came
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // No code that can panic runs under this lock.
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spin_until(done: impl Fn() -> bool) -> bool {
    for _ in 0..SPINS {
        if done() {
            return true;
        }
        std::hint::spin_loop();
    }
    false
}
