//! What this machine could do at best: the rate of products and of reading memory.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tamarack_dense::{UpdateMode, Workspace, gemm_nt};
use tamarack_numeric::{Team, Value};
use tamarack_plan::{PlanOptions, Precision};
use tamarack_sparse::memory;

use crate::memory::available_memory_bytes;
use crate::threads::granted;

/// What the threads of a machine reach together where nothing but arithmetic, or nothing but
/// memory, holds them up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Threads that it was measured with, all at once; fewer than asked for where the rest did not
    /// come.
    pub threads: usize,
    /// 10⁹ operations per second of this library's own product of large dense matrices.
    pub gflops: f64,
    /// 10⁹ bytes per second read from memory.
    pub gb_per_sec: f64,
}

/// Seconds for each of the two measurements.
const SECS: f64 = 0.1;

/// Rows and columns of the product's result, and its inner dimension.
const PRODUCT: (usize, usize) = (768, 384);

/// Bytes that a thread reads, and all together at least: beyond a thread's share of a cache, with few threads beyond most caches as a whole.
const READ_BYTES: (usize, usize) = (32 << 20, 256 << 20);

/// Places that memory is read from by turns. Processors read ahead up to the end of a page and for each place apart: from eight an Intel core
/// reaches 1.2 times the rate (run `reads-2`).
const PLACES: [usize; 2] = [1, 8];

/// Numbers of a line of the caches.
const LINE: usize = 8;

impl Limits {
    /// Measures `threads` threads at once, for a fifth of a second and the time to fill memory:
    /// 32 MiB for each thread, 256 MiB together if that is more, never above a quarter of what is
    /// available. What else runs on the machine lowers the result. As of a factor, no more than four
    /// for each that the system offers (sixteen at least) work.
    pub fn measure(threads: usize, precision: Precision) -> Self {
        let threads = granted(threads).max(1);
        let spare = available_memory_bytes().map_or(usize::MAX, |b| (b / 4) as usize);
        let bytes = READ_BYTES
            .0
            .max(READ_BYTES.1 / threads)
            .min(spare / threads);
        let team = Team::new(threads);
        let (threads, flops) = together(&team, &|| match precision {
            Precision::F64 => product::<f64>(),
            Precision::F32 => product::<f32>(),
        });
        let (_, bytes_per_sec) = together(&team, &|| read(bytes));
        Self {
            threads,
            gflops: flops / 1e9,
            gb_per_sec: bytes_per_sec / 1e9,
        }
    }
}

/// How many members came to `work`, and the sum of what they returned.
fn together(team: &Team, work: &(dyn Fn() -> f64 + Sync)) -> (usize, f64) {
    let rates = Mutex::new((0, 0.0));
    team.run(&|_| {
        let rate = work();
        let mut rates = rates.lock().unwrap_or_else(PoisonError::into_inner);
        *rates = (rates.0 + 1, rates.1 + rate);
    });
    rates.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Operations per second of the best of several products.
fn product<T: Value>() -> f64 {
    let (m, k) = PRODUCT;
    let mut workspace = Workspace::<T>::new(PlanOptions::default().block);
    let (a, b) = (vec![T::default(); m * k], vec![T::default(); m * k]);
    let mut c = vec![T::default(); m * m];
    best(|| {
        let (a, b, c) = ((a.as_ptr(), m), (b.as_ptr(), m), (c.as_mut_ptr(), m));
        // SAFETY: the three arrays have these sizes and are this thread's own.
        unsafe { gemm_nt(m, m, k, a, b, c, UpdateMode::Accumulate, &mut workspace) };
        black_box(c);
        (2 * m * m * k) as f64
    })
}

/// Bytes read per second in the best of several passes, in large pages where the system has them.
fn read(bytes: usize) -> f64 {
    let most = PLACES.into_iter().max().unwrap_or(1);
    let lines = (bytes / size_of::<[u64; LINE]>())
        .max(1)
        .next_multiple_of(most);
    let numbers = memory::filled(LINE * lines, 1u64);
    let (lines, _) = numbers.as_chunks();
    let mut places = PLACES.into_iter().cycle();
    best(|| {
        black_box(sums(lines, places.next().unwrap_or(1)));
        size_of_val(lines) as f64
    })
}

/// Sums of numbers that are read from so many places by turns, a line at each.
fn sums(lines: &[[u64; LINE]], places: usize) -> [u64; LINE] {
    let part = lines.len() / places;
    let mut sums = [0u64; LINE];
    for i in 0..part {
        for place in 0..places {
            let line = &lines[place * part + i];
            for (sum, number) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(*number);
            }
        }
    }
    sums
}

/// The best rate of work that returns how much it did, repeated for [`SECS`].
fn best(mut work: impl FnMut() -> f64) -> f64 {
    let began = Instant::now();
    let mut best = 0.0f64;
    let mut rounds = 0;
    while rounds < 2 || began.elapsed().as_secs_f64() < SECS {
        let round = Instant::now();
        let done = work();
        best = best.max(done / round.elapsed().as_secs_f64().max(1e-9));
        rounds += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_are_measured_as_a_factor_may_have() {
        let most = granted(usize::MAX);
        let limits = Limits::measure(usize::MAX, Precision::F64);
        assert!((1..=most).contains(&limits.threads));
    }

    #[test]
    fn every_number_is_read_once_from_any_places() {
        let lines: Vec<[u64; LINE]> = (0..48).map(|i| [i; LINE]).collect();
        for places in PLACES {
            assert_eq!(sums(&lines, places), [47 * 24; LINE]);
        }
    }

    #[test]
    fn limits_are_those_of_a_computer() {
        for precision in [Precision::F64, Precision::F32] {
            let limits = Limits::measure(2, precision);
            assert!((1..=2).contains(&limits.threads));
            assert!((0.1..1e5).contains(&limits.gflops), "{limits:?}");
            assert!((0.1..1e4).contains(&limits.gb_per_sec), "{limits:?}");
        }
    }
}
