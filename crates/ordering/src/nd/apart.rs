//! Two large tasks, each on threads of its own.
//!
//! In one pool a thread that waits for the rest of one task takes up whatever else there is to do. If
//! that is the other task, all that waits for the first goes on only when the second is done.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// So many threads are divided at least. Fewer are busy with one task as with the other.
const LEAST_THREADS: usize = 8;

/// For tasks of fewer vertices together, starting threads takes too long.
const LEAST_SIZE: usize = 200_000;

/// Runs `a` and `b` at the same time, on shares of the threads in proportion to the `sizes` of the
/// tasks, their vertices. What they return does not depend on how many threads they get.
pub(crate) fn apart<A, B>(
    sizes: [usize; 2],
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B)
where
    A: Send,
    B: Send,
{
    let threads = rayon::current_num_threads();
    if threads < LEAST_THREADS || sizes[0] + sizes[1] < LEAST_SIZE {
        return rayon::join(a, b);
    }
    let own = share(threads, sizes);
    match (pool(own), pool(threads - own)) {
        (Some(left), Some(right)) => rayon::join(|| left.install(a), || right.install(b)),
        // The system gives no more threads.
        _ => rayon::join(a, b),
    }
}

/// How many of `threads` the first of two tasks gets; each gets one.
fn share(threads: usize, [a, b]: [usize; 2]) -> usize {
    let part = a as f64 / (a + b).max(1) as f64;
    ((threads as f64 * part).round() as usize).clamp(1, threads - 1)
}

fn pool(threads: usize) -> Option<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(threads).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_in_proportion_and_none_is_empty() {
        assert_eq!(share(16, [1, 1]), 8);
        assert_eq!(share(16, [1, 3]), 4);
        assert_eq!(share(8, [0, 9]), 1);
        assert_eq!(share(8, [9, 0]), 7);
        assert_eq!(share(8, [0, 0]), 1);
    }

    #[test]
    fn both_tasks_run_each_on_its_share_of_the_threads() {
        let cases = [(8, 100_000, (2, 6)), (2, 100_000, (2, 2)), (8, 100, (8, 8))];
        for (threads, size, expected) in cases {
            let found = pool(threads).unwrap().install(|| {
                let count = rayon::current_num_threads;
                apart([size, 3 * size], count, count)
            });
            assert_eq!(found, expected);
        }
    }
}
