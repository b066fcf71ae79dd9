//! A job that others may join and leave while it is open.
//!
//! One word says which job it is, whether it may still be joined, and how many are in it: who comes and who goes changes that word and
//! takes no lock.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of the job stands above this bit, those in it below.
const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;
const NUMBER: u32 = 32;

/// A borrowed closure whose lifetime the opener guards: see [`Door::open`].
type Job = *const (dyn Fn(usize) + Sync);

/// Where one thread at a time opens a job to others. Lines of caches are 64 bytes, and fetched in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Door {
    /// Number of jobs so far (modulo 2^32), whether the last one may be joined, how many are in it.
    word: AtomicU64,
    /// The last one; written while nobody may join and nobody is inside.
    job: UnsafeCell<Option<Job>>,
    /// How many are to be in it at most.
    most: AtomicUsize,
}

// SAFETY: the job is written by one thread at a time, while the word says that nobody is inside, and read by those inside. What it
// points to is `Sync`.
unsafe impl Sync for Door {}
// SAFETY: as above.
unsafe impl Send for Door {}

/// Number of the job of a word.
fn number(word: u64) -> u32 {
    (word >> NUMBER) as u32
}

impl Door {
    /// Opens a job, the next in number, to about `most` others at a time. Whoever reads the word in one order of all (`SeqCst`) sees it, or is seen.
    ///
    /// # Safety
    /// Nobody else opens one before this one is [closed](Self::close) and nobody is [inside](Self::inside), and `work` lives until then.
    pub unsafe fn open(&self, work: &(dyn Fn(usize) + Sync), most: usize) {
        // SAFETY: only the lifetime changes; the caller's contract.
        let job: Job = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), Job>(work) };
        // SAFETY: the job before was closed: nobody may join it, and nobody is inside.
        unsafe { *self.job.get() = Some(job) };
        self.most.store(most, Ordering::Relaxed);
        let next = number(self.word.load(Ordering::Relaxed)).wrapping_add(1);
        self.word
            .store(u64::from(next) << NUMBER | OPEN, Ordering::SeqCst);
    }

    /// Lets nobody in any more: those inside only get fewer.
    pub fn close(&self) {
        self.word.fetch_and(!OPEN, Ordering::AcqRel);
    }

    /// How many have joined and not left.
    pub fn inside(&self) -> u64 {
        self.word.load(Ordering::Acquire) & INSIDE
    }

    /// Number of the last job.
    pub fn number(&self, ordering: Ordering) -> u32 {
        number(self.word.load(ordering))
    }

    /// Counts a job that nobody can join.
    pub fn skip(&self) {
        self.word.fetch_add(1 << NUMBER, Ordering::SeqCst);
    }

    /// Whether nobody is in the last job or may join it.
    pub fn is_idle(&self) -> bool {
        self.word.load(Ordering::Acquire) & (OPEN | INSIDE) == 0
    }

    /// Number of the last job, if one more may be in it.
    pub fn room(&self) -> Option<u32> {
        let word = self.word.load(Ordering::Acquire);
        let room = word & OPEN != 0 && word & INSIDE < self.most.load(Ordering::Relaxed) as u64;
        room.then(|| number(word))
    }

    /// Joins the job of a number, if it may still be joined; it is there until this member [leaves](Self::leave).
    pub fn enter(&self, job: u32) -> Option<&(dyn Fn(usize) + Sync)> {
        let may = |word: u64| (number(word) == job && word & OPEN != 0).then_some(word + 1);
        let entered = self
            .word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, may);
        entered.ok()?;
        // SAFETY: nobody writes to it while this member is inside, which it was opened before; and what it points to lives until all
        // have left.
        unsafe { (*self.job.get()).map(|job| &*job) }
    }

    /// Leaves the job that was joined; says whether it is closed and this was the last one in it.
    pub fn leave(&self) -> bool {
        let before = self.word.fetch_sub(1, Ordering::AcqRel);
        before & (OPEN | INSIDE) == 1
    }
}
