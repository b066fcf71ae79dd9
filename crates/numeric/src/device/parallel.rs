//! Host work on the stages of a plan, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What `make` gives for `0..count`, in that order; the last first, as the last stages have the largest fronts.
pub fn side_by_side<R: Send>(count: usize, make: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                return;
            }
            let own = make(count - 1 - k);
            let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
            made.push((count - 1 - k, own));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(work);
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(|(k, _)| *k);
    made.into_iter().map(|(_, own)| own).collect()
}

/// What both give, at the same time.
pub fn beside<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        match first.join() {
            Ok(first) => (first, second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{beside, side_by_side};

    #[test]
    fn both_give_their_own() {
        assert_eq!(beside(|| 1, || "two"), (1, "two"));
    }

    #[test]
    fn all_in_order() {
        for count in [0, 1, 2, 100] {
            let squares: Vec<usize> = (0..count).map(|k| k * k).collect();
            assert_eq!(side_by_side(count, |k| k * k), squares);
        }
    }
}
