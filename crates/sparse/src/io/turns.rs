//! Parts of a file that several threads work on, taken in the order in which they stand in it.
//!
//! The caller reads, and takes what is done; others work on what has been read, and so does the caller where it is ahead of them. What comes of
//! it does not depend on who did it, nor on how many there are. Threads that the operating system refuses are done without.

use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// More threads than this wait for the one that reads.
const MOST_THREADS: usize = 16;

/// Parts on their way for each thread: one is worked on, one waits.
const PARTS_EACH: usize = 2;

/// What is done in order: reading parts, and taking them when they have been worked on.
pub(crate) trait Turns {
    type Part: Send;
    type Error;

    /// The next part; `None` at the end, or where reading fails: [`end`](Self::end) says so.
    fn next(&mut self) -> Option<Self::Part>;

    /// Takes a part that has been worked on.
    fn take(&mut self, part: Self::Part) -> Result<(), Self::Error>;

    /// After the last part has been taken.
    fn end(&mut self) -> Result<(), Self::Error>;
}

/// Entries from which others than the caller are worth starting.
const MANY_ENTRIES: u64 = if cfg!(test) { 4 } else { 1 << 15 };

/// Threads that are worth having for so many entries, the caller's with them, where `threads` may work, or as many as the process may run on.
pub(crate) fn worthwhile(threads: Option<usize>, entries: u64) -> usize {
    if entries < MANY_ENTRIES {
        return 1;
    }
    let available = || thread::available_parallelism().map_or(1, NonZero::get);
    threads.unwrap_or_else(available).clamp(1, MOST_THREADS)
}

/// A part to work on, and where it goes then.
type Task<P> = (P, Sender<P>);

/// Does `work` on every part, by so many threads.
///
/// # Errors
/// What `turns` finds wrong first; parts behind it are not taken.
pub(crate) fn in_turn<T: Turns>(
    turns: &mut T,
    threads: usize,
    work: impl Fn(&mut T::Part) + Sync,
) -> Result<(), T::Error> {
    let (to_queue, queue) = channel::<Task<T::Part>>();
    let queue = Mutex::new(queue);
    let done = |(mut part, to_taker): Task<T::Part>| {
        work(&mut part);
        // Nobody waits for it where an earlier part was wrong.
        let _ = to_taker.send(part);
    };
    // The lock is for waiting and taking only; whoever panics does so at work.
    let next_task = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    let help = || {
        while let Ok(task) = next_task() {
            done(task);
        }
    };
    thread::scope(|scope| {
        let helpers = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, help).ok())
            .count();
        // Ends with the scope's closure, and with it the helpers.
        let to_queue = to_queue;
        let mut on_their_way: VecDeque<Receiver<T::Part>> = VecDeque::new();
        let mut has_ended = false;
        loop {
            while !has_ended && on_their_way.len() < PARTS_EACH * (helpers + 1) {
                let Some(part) = turns.next() else {
                    has_ended = true;
                    break;
                };
                let (to_taker, taker) = channel();
                on_their_way.push_back(taker);
                // The other end is in this function.
                let _ = to_queue.send((part, to_taker));
            }
            let Some(first) = on_their_way.pop_front() else {
                return turns.end();
            };
            let Ok(part) = awaited(&first, || {
                let task = queue
                    .try_lock()
                    .ok()
                    .and_then(|queue| queue.try_recv().ok());
                task.map(done).is_some()
            }) else {
                return turns.end(); // a helper has panicked, and so does the scope
            };
            turns.take(part)?;
        }
    })
}

/// What comes from `first`; until then `help` does something else, as long as there is anything.
fn awaited<P>(first: &Receiver<P>, mut help: impl FnMut() -> bool) -> Result<P, RecvError> {
    loop {
        match first.try_recv() {
            Ok(part) => return Ok(part),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) if !help() => return first.recv(),
            Err(TryRecvError::Empty) => {}
        }
    }
}

/// Does both, the first by another thread if so many may work and the operating system grants one.
///
/// # Panics
/// If either does.
pub(crate) fn both<A: Send, B>(
    threads: usize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads == 1 {
        return (first(), second());
    }
    // Left here where no thread is granted.
    let first = Mutex::new(Some(first));
    let taken = || first.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let helper = thread::Builder::new()
            .spawn_scoped(scope, || taken().map(|first| first()))
            .ok();
        let b = second();
        let a = helper.and_then(|helper| match helper.join() {
            Ok(a) => a,
            Err(panic) => resume_unwind(panic),
        });
        match a {
            Some(a) => (a, b),
            None => match taken() {
                Some(first) => (first(), b),
                None => unreachable!("whoever takes it does it"),
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Numbers from 0, squared; wrong from some of them on.
    struct Squares {
        next: u64,
        count: u64,
        wrong_from: u64,
        taken: Vec<u64>,
        ended: bool,
    }

    impl Squares {
        fn new(count: u64, wrong_from: u64) -> Self {
            Self {
                next: 0,
                count,
                wrong_from,
                taken: Vec::new(),
                ended: false,
            }
        }
    }

    impl Turns for Squares {
        type Part = u64;
        type Error = u64;

        fn next(&mut self) -> Option<u64> {
            self.next += 1;
            (self.next <= self.count).then_some(self.next - 1)
        }

        fn take(&mut self, square: u64) -> Result<(), u64> {
            if square >= self.wrong_from {
                return Err(square);
            }
            self.taken.push(square);
            Ok(())
        }

        fn end(&mut self) -> Result<(), u64> {
            self.ended = true;
            Ok(())
        }
    }

    /// Takes longer for some than for others.
    fn square(x: &mut u64) {
        if x.is_multiple_of(3) {
            thread::yield_now();
        }
        *x *= *x;
    }

    #[test]
    fn parts_are_taken_in_their_order_by_any_number_of_threads() {
        for (threads, count) in [(1, 50), (2, 1000), (2, 1), (3, 0), (7, 1000)] {
            let mut squares = Squares::new(count, u64::MAX);
            assert_eq!(in_turn(&mut squares, threads, square), Ok(()));
            let truth: Vec<u64> = (0..count).map(|x| x * x).collect();
            assert_eq!(squares.taken, truth);
            assert!(squares.ended);
        }
    }

    #[test]
    fn the_first_wrong_part_ends_it() {
        for threads in 1..5 {
            let mut squares = Squares::new(1000, 400);
            assert_eq!(in_turn(&mut squares, threads, square), Err(400));
            assert_eq!(squares.taken.len(), 20);
            assert!(!squares.ended);
        }
    }

    #[test]
    fn both_are_done_by_one_or_two() {
        for threads in [1, 2, 3] {
            let here = thread::current().id();
            let ((a, by), b) = both(threads, || (2, thread::current().id()), || 3);
            assert_eq!((a, b), (2, 3));
            assert_eq!(by == here, threads == 1);
        }
    }

    #[test]
    fn few_entries_are_read_by_one_thread_and_many_by_those_that_may() {
        for (threads, entries, count) in [
            (Some(3), 3, 1),
            (Some(3), 4, 3),
            (Some(0), 4, 1),
            (Some(99), 4, MOST_THREADS),
        ] {
            assert_eq!(worthwhile(threads, entries), count);
        }
        assert!((1..=MOST_THREADS).contains(&worthwhile(None, 4)));
    }

    #[test]
    fn a_panic_of_a_helper_reaches_the_caller() {
        for threads in 1..4 {
            let mut squares = Squares::new(100, u64::MAX);
            let work = |x: &mut u64| assert_ne!(*x, 57, "on purpose");
            let panicked = catch_unwind(AssertUnwindSafe(|| in_turn(&mut squares, threads, work)));
            assert!(panicked.is_err());
        }
    }
}
