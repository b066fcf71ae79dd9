//! The first touch of large memory: huge pages for as long as the operating system gives them quickly.
//!
//! First touch runs at 10 to 25 GB/s with huge pages and at 2 to 3 with small ones. Of a virtual machine the host
//! may have taken back what was free, whole blocks of huge pages first, and gives them again one by one, at
//! 0.4 GB/s; small pages then come from fragments that it could not take (run `first-4`). Only trying tells, so
//! each huge page is timed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use memmap2::MmapMut;

/// Bytes of a huge page of x86-64, and of 64-bit ARM with small pages of 4 KiB.
pub(crate) const HUGE_PAGE_BYTES: usize = 1 << 21;

/// Bytes that one thread touches at a time.
const PART_BYTES: usize = 8 * HUGE_PAGE_BYTES;

/// A huge page that takes as long comes from the host: cleared alone it takes 0.1 to 0.2 ms.
const SLOW: Duration = Duration::from_millis(1);

/// Slow pages in succession from which on memory is taken for slow. Linux hands out blocks of two huge pages, and
/// some are slow where most are not.
const SLOW_PAGES: usize = 4;

/// How quickly huge pages came lately, to all threads that touch memory together.
#[derive(Debug, Default)]
pub struct Pace {
    /// Slow ones since the last quick one.
    slow: AtomicUsize,
}

#[cfg(any(target_os = "linux", test))]
impl Pace {
    /// Whether huge pages are not worth waiting for; stays so.
    fn is_slow(&self) -> bool {
        self.slow.load(Ordering::Relaxed) >= SLOW_PAGES
    }

    fn note(&self, took: Duration) {
        if took >= SLOW {
            self.slow.fetch_add(1, Ordering::Relaxed);
        } else if !self.is_slow() {
            self.slow.store(0, Ordering::Relaxed);
        }
    }
}

/// The first bytes of a map for so many that are worth huge pages: a last one that would mostly stay empty is not.
fn huge_bytes(map: &MmapMut, bytes: usize) -> usize {
    let huge = (bytes + HUGE_PAGE_BYTES / 2) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    huge.min(map.len())
}

/// Asks for huge pages for the first `bytes` of a map, which may be refused: then they are small and everything
/// still works.
pub(crate) fn ask_for_huge(map: &MmapMut, bytes: usize) {
    #[cfg(target_os = "linux")]
    map.advise_range(memmap2::Advice::HugePage, 0, huge_bytes(map, bytes))
        .unwrap_or(());
    #[cfg(not(target_os = "linux"))]
    let _ = (map, bytes);
}

/// Parts that [`touch`] takes of a map whose first `bytes` are used.
pub(crate) fn parts(map: &MmapMut, bytes: usize) -> usize {
    huge_bytes(map, bytes).div_ceil(PART_BYTES)
}

/// Touches the huge pages of a part, and when they come slowly leaves the rest of it to small pages, which are
/// touched as they are used.
pub(crate) fn touch(map: &MmapMut, bytes: usize, part: usize, pace: &Pace) {
    let start = part * PART_BYTES;
    let end = huge_bytes(map, bytes).min(start + PART_BYTES);
    #[cfg(target_os = "linux")]
    touch_pages(map, start..end, pace);
    #[cfg(not(target_os = "linux"))]
    let _ = (map, start..end, pace);
}

#[cfg(target_os = "linux")]
fn touch_pages(map: &MmapMut, part: std::ops::Range<usize>, pace: &Pace) {
    use memmap2::Advice;
    for at in part.clone().step_by(HUGE_PAGE_BYTES) {
        if pace.is_slow() {
            let rest = map.advise_range(Advice::NoHugePage, at, part.end - at);
            return rest.unwrap_or(()); // refused, they come as huge ones when first used
        }
        let start = std::time::Instant::now();
        // Kernels before 5.14 do not know how to populate: then all pages are left to their first use.
        if map
            .advise_range(Advice::PopulateWrite, at, HUGE_PAGE_BYTES)
            .is_err()
        {
            return;
        }
        pace.note(start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_micros(100);

    #[test]
    fn a_slow_page_now_and_then_is_forgiven() {
        let pace = Pace::default();
        for _ in 0..10 {
            (1..SLOW_PAGES).for_each(|_| pace.note(SLOW));
            pace.note(QUICK);
        }
        assert!(!pace.is_slow());
        (0..SLOW_PAGES).for_each(|_| pace.note(SLOW));
        assert!(pace.is_slow());
        pace.note(QUICK);
        assert!(pace.is_slow(), "what is slow stays so");
    }

    #[test]
    fn parts_are_all_of_a_map_whose_pages_are_zero() {
        let quick = Pace::default();
        let slow = Pace::default();
        (0..SLOW_PAGES).for_each(|_| slow.note(SLOW));
        for pages in [1, 7, 8, 9, 17] {
            for pace in [&quick, &slow] {
                let map = MmapMut::map_anon(pages * HUGE_PAGE_BYTES).unwrap();
                let bytes = map.len() - HUGE_PAGE_BYTES / 4;
                ask_for_huge(&map, bytes);
                assert_eq!(parts(&map, bytes), pages.div_ceil(8));
                (0..parts(&map, bytes)).for_each(|part| touch(&map, bytes, part, pace));
                assert!(map.iter().step_by(1000).all(|&byte| byte == 0));
            }
        }
        let map = MmapMut::map_anon(HUGE_PAGE_BYTES).unwrap();
        assert_eq!(parts(&map, HUGE_PAGE_BYTES / 4), 0, "mostly empty");
    }
}
