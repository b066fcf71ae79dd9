//! Watching and stopping a factorization.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::FactorError;

/// Work done so far, as counted by the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Operations done.
    pub done_flops: u128,
    /// Operations in all.
    pub total_flops: u128,
}

/// How a caller watches and stops a factorization. The default does neither.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// On the host called from any thread, about 200 times in all; numbers of two threads may overtake each other.
    /// They begin anew where a factorization does: after a shift, or in double precision where single does not suffice. By a GPU once, when
    /// all is done.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Set to true by anyone to stop the work, on the host within 100 ms; a factorization that a GPU has begun runs to its end.
    pub cancel: Option<&'a AtomicBool>,
}

impl Control<'_> {
    /// An error where the caller wants the work to stop: asked before work that cannot be interrupted.
    ///
    /// # Errors
    /// [`FactorError::Cancelled`].
    pub fn check(&self) -> Result<(), FactorError> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(FactorError::Cancelled),
            _ => Ok(()),
        }
    }

    /// Reports all of `total_flops` at once.
    pub fn all_done(&self, total_flops: u128) {
        if let Some(report) = self.progress {
            report(Progress {
                done_flops: total_flops,
                total_flops,
            });
        }
    }
}

/// Steps in which progress is reported.
const STEPS: u64 = 200;

/// Shares of a step in which members count their fronts: for a counter that all of them write to with every small front they would wait.
const SHARES: u64 = 16;

/// Adds up the work of all threads and reports it now and then.
pub(crate) struct Meter<'a> {
    control: &'a Control<'a>,
    total: u64,
    done: AtomicU64,
    /// Work at which the next report is due.
    due: AtomicU64,
    /// Whether the caller's flag was seen set: whatever it says later, work was left out.
    stopped: AtomicBool,
}

impl<'a> Meter<'a> {
    /// A meter for `total` operations.
    pub fn new(control: &'a Control<'a>, total: u128) -> Self {
        // 2^64 operations are years of work; beyond them the bar stands still.
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        Self {
            control,
            total,
            done: AtomicU64::new(0),
            due: AtomicU64::new(total / STEPS),
            stopped: AtomicBool::new(false),
        }
    }

    /// Whether the caller wants the work to stop, or once did.
    pub fn cancelled(&self) -> bool {
        let Some(flag) = self.control.cancel else {
            return false;
        };
        if flag.load(Ordering::Relaxed) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }

    /// Counts the elimination of a whole front by a member that has as many operations `uncounted`.
    #[inline]
    pub fn add_front(&self, uncounted: &mut u64, npiv: usize, nupd: usize) {
        if self.control.progress.is_none() {
            return;
        }
        let flops = tamarack_plan::front_flops(npiv, nupd);
        *uncounted = uncounted.saturating_add(u64::try_from(flops).unwrap_or(u64::MAX));
        if *uncounted >= self.total / (SHARES * STEPS) {
            self.add(std::mem::take(uncounted));
        }
    }

    /// Counts work that is done.
    pub fn add(&self, flops: u64) {
        let Some(report) = self.control.progress else {
            return;
        };
        let done = self
            .done
            .fetch_add(flops, Ordering::Relaxed)
            .saturating_add(flops);
        let due = self.due.load(Ordering::Relaxed);
        let next = done.saturating_add(self.total / STEPS);
        // Whoever moves the mark reports; the others go on.
        if done >= due
            && self
                .due
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            let done_flops = u128::from(done.min(self.total));
            report(Progress {
                done_flops,
                total_flops: u128::from(self.total),
            });
        }
    }
}
