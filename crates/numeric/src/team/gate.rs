//! How helpers come to a job and leave it.
//!
//! One word says which job is posted, whether it may still be joined, and how many helpers are in it. Who spins reads that word, and
//! joins and leaves by changing it; a lock is for those who sleep, and who wakes them. With a lock for everybody sixteen threads queued
//! at the beginning and the end of each loop.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Spins before a member goes to sleep: about 20 to 50 µs, the time between two loops of a front.
pub(crate) const SPINS: u32 = 4000;

/// The number of the job stands above this bit, the helpers in it below.
const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;
const NUMBER: u32 = 32;

/// The bit of all members from this one on; it stays once one of them has slept.
const SHARED_BIT: usize = 63;

/// A borrowed closure whose lifetime the poster guards: see [`Gate::post`].
type Job = *const (dyn Fn(usize) + Sync);

/// Where one caller posts a job at a time, and helpers wait for it.
#[derive(Debug)]
pub(super) struct Gate {
    /// Number of jobs so far (modulo 2^32), whether the last one may be joined, helpers in it.
    word: AtomicU64,
    /// The last one; written while nobody may join and nobody is inside.
    job: UnsafeCell<Option<Job>>,
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

// SAFETY: the job is written by one caller at a time, while the word says that nobody is inside, and read by those inside. What it
// points to is `Sync`.
unsafe impl Sync for Gate {}
// SAFETY: as above.
unsafe impl Send for Gate {}

impl Default for Gate {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            members: AtomicUsize::new(0),
            sleepers: AtomicU64::new(0),
            end: AtomicBool::new(false),
            lock: Mutex::new(()),
            posted: Condvar::new(),
            left: Condvar::new(),
        }
    }
}

/// Number of the job of a word.
fn number(word: u64) -> u32 {
    (word >> NUMBER) as u32
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
        // SAFETY: only the lifetime changes; `withdraw` returns before `work` can end.
        let job: Job = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), Job>(work) };
        // SAFETY: the job before was withdrawn: nobody may join it, and nobody is inside.
        unsafe { *self.job.get() = Some(job) };
        self.members.store(members, Ordering::Relaxed);
        let next = number(self.word.load(Ordering::Relaxed)).wrapping_add(1);
        let word = u64::from(next) << NUMBER | OPEN;
        // Who goes to sleep says so before looking at the word once more: one of both sees the other.
        self.word.store(word, Ordering::SeqCst);
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
        self.word.fetch_and(!OPEN, Ordering::AcqRel);
        // Nobody can join any more, so those inside only get fewer.
        let inside = || self.word.load(Ordering::Acquire) & INSIDE;
        if spin_until(|| inside() == 0) {
            return;
        }
        let mut guard = self.lock();
        while inside() > 0 {
            let woken = self.left.wait(guard);
            guard = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a job that wants this member and that it has not seen, and joins it; None when all is over.
    pub fn join<'a>(&'a self, member: usize, seen: &mut u32) -> Option<&'a (dyn Fn(usize) + Sync)> {
        loop {
            if !spin_until(|| number(self.word.load(Ordering::Acquire)) != *seen) {
                self.sleep(member, *seen);
            }
            *seen = number(self.word.load(Ordering::Acquire));
            if self.end.load(Ordering::Acquire) {
                return None;
            }
            if member < self.members.load(Ordering::Relaxed) && self.enter(*seen) {
                // SAFETY: nobody writes to it while this member is inside, which it was posted before; and what it points to lives
                // until all have left.
                return unsafe { (*self.job.get()).map(|job| &*job) };
            }
        }
    }

    /// Enters a job, if it may still be joined.
    fn enter(&self, job: u32) -> bool {
        let may = |word: u64| (number(word) == job && word & OPEN != 0).then_some(word + 1);
        let entered = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, may);
        entered.is_ok()
    }

    /// Leaves the job that was [joined](Self::join).
    pub fn leave(&self) {
        let before = self.word.fetch_sub(1, Ordering::AcqRel);
        if before & (OPEN | INSIDE) == 1 {
            // The last one, and the caller may sleep.
            drop(self.lock());
            self.left.notify_all();
        }
    }

    /// Sends all helpers away.
    pub fn end(&self) {
        self.end.store(true, Ordering::Release);
        self.word.fetch_add(1 << NUMBER, Ordering::SeqCst);
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
        while number(self.word.load(Ordering::SeqCst)) == seen {
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
