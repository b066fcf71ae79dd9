//! Who analyzes: the threads of a pool, or the caller alone; and how many work on a factor.
//!
//! Orderings and analyses run on the rayon pool that their caller is in. The pool that rayon has for those who are in none has a
//! thread for each core, or as many as `RAYON_NUM_THREADS` says, stays for the life of the process, and makes whoever asks for it
//! panic where the operating system refuses threads. So nothing is asked outside a pool: not even how many threads there are.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rayon::ThreadPoolBuilder;

use crate::machine::available_threads;

/// Threads of a factor at most, for each one that the system offers: more are in each other's way.
const MOST_EACH: usize = 4;

/// So many are granted on any machine, and the system is not asked: that takes as long as a small factorization.
const ALWAYS: usize = 16;

/// How many of the threads that a plan is made for a factor has here.
pub(crate) fn granted(threads: usize) -> usize {
    match threads {
        few @ 0..=ALWAYS => few,
        many => many.min((MOST_EACH * available_threads()).max(ALWAYS)),
    }
}

/// Runs `work` on the pool that the caller is in, or on one of its own with so many threads, no more than the machine has; the
/// threads end with it. One thread is the caller's, and so it is where the operating system refuses others.
///
/// In a pool of its own one of the threads does the work: a caller from outside would sleep at each step until the threads are
/// woken, and they until it is.
pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    let threads = match threads {
        0 | 1 => 1, // the system is not asked
        many => many.min(available_threads()),
    };
    let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
    match pool {
        Some(Ok(pool)) => pool.install(work),
        _ => alone(work),
    }
}

/// Whether no other thread works in the pool that the caller is in.
pub(crate) fn is_alone() -> bool {
    rayon::current_thread_index().is_none() || rayon::current_num_threads() < 2
}

/// Runs `work` on the calling thread, which for so long is the only one of a pool. No thread is started, and afterwards the caller is in
/// no pool, as before ([`use_current_thread`](ThreadPoolBuilder::use_current_thread) would leave it in one for good).
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let mut own = None;
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.spawn_handler(|thread| {
        own = Some(thread);
        Ok(())
    });
    let Ok(pool) = builder.build() else {
        return work(); // only a handler can fail
    };
    let mut outcome = None;
    let job: Box<dyn FnOnce() + Send + '_> =
        Box::new(|| outcome = Some(catch_unwind(AssertUnwindSafe(work))));
    // SAFETY: only the lifetime changes. A pool's thread ends when the pool is dropped and all jobs are done, so that `run` returns after
    // this one; it is neither kept nor run anywhere else, as there is no other thread.
    let job = unsafe {
        std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send>>(job)
    };
    pool.spawn(job);
    drop(pool);
    if let Some(thread) = own {
        thread.run();
    }
    match outcome {
        Some(Ok(value)) => value,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("a pool's thread does its jobs before it ends"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::thread;

    /// The thread, how many its pool has, and a sum by the pool.
    fn look() -> (thread::ThreadId, usize, u64) {
        let sum = (0..100_000u64).into_par_iter().sum();
        let (a, b) = rayon::join(rayon::current_num_threads, rayon::current_num_threads);
        assert_eq!(a, b);
        (thread::current().id(), a, sum)
    }

    #[test]
    fn one_thread_is_the_callers_and_is_in_no_pool_afterwards() {
        let sum = (0..100_000).sum();
        for threads in [0, 1, 1] {
            let found = with_threads(threads, || with_threads(5, look));
            assert_eq!(found, (thread::current().id(), 1, sum));
            assert_eq!(rayon::current_thread_index(), None);
        }
    }

    #[test]
    fn more_threads_are_a_pools() {
        let (id, count, _) = with_threads(1 << 20, look);
        assert_eq!(count, available_threads());
        assert_eq!(id == thread::current().id(), count == 1);
    }

    #[test]
    fn a_caller_in_a_pool_stays_there() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let (outer, inner) = pool.install(|| (look(), with_threads(1, look)));
        assert_eq!((outer.0, outer.1), (inner.0, 3));
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let work = || with_threads(1, || std::panic::panic_any("on purpose"));
        let panic = catch_unwind(work).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert_eq!(rayon::current_thread_index(), None);
    }
}
