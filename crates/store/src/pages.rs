//! The first touch of large memory: huge pages for as long as the operating system gives them quickly.
//!
//! Clearing a page is bound by memory: two threads that do so at the same time take twice as long each (run `first-6`). So what one thread
//! alone works on is touched when it gets there, while the others compute; what all work on together, beforehand.
//!
//! First touch runs at 10 to 25 GB/s with huge pages and at 2 to 3 with small ones. Of a virtual machine the host
//! may have taken back what was free, whole blocks of huge pages first, and gives them again one by one, at
//! 0.4 GB/s; small pages then come from fragments that it could not take (run `first-4`). Only trying tells, so
//! each huge page is timed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// Bytes of a map, of which the first `bytes` are used, from the huge page on that has byte `from`: those that are worth huge pages.
fn from_page(map: &MmapMut, from: usize, bytes: usize) -> Range<usize> {
    let end = huge_bytes(map, bytes);
    (from / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES).min(end)..end
}

/// Parts that [`touch`] takes of a map whose first `bytes` are used.
pub(crate) fn parts(map: &MmapMut, from: usize, bytes: usize) -> usize {
    from_page(map, from, bytes).len().div_ceil(PART_BYTES)
}

/// Touches the huge pages of a part, and when they come slowly leaves the rest of it to small pages, which are
/// touched as they are used.
pub(crate) fn touch(map: &MmapMut, from: usize, bytes: usize, part: usize, pace: &Pace) {
    let all = from_page(map, from, bytes);
    let start = all.start + part * PART_BYTES;
    touch_pages(map, start..all.end.min(start + PART_BYTES), pace);
}

/// Huge pages that are touched when somebody is about to use them, each once.
#[derive(Debug)]
pub struct Fresh<'a> {
    /// None for memory that is not the operating system's pages.
    map: Option<&'a MmapMut>,
    /// Whether each page was touched, or is being touched.
    taken: Vec<AtomicBool>,
    pace: Pace,
}

impl<'a> Fresh<'a> {
    /// Those before the page that has byte `until`, of a map whose first `bytes` are used.
    pub(crate) fn new(map: Option<&'a MmapMut>, until: usize, bytes: usize, pace: Pace) -> Self {
        let pages = map.map_or(0, |map| {
            from_page(map, until, bytes).start / HUGE_PAGE_BYTES
        });
        let taken = (0..pages).map(|_| AtomicBool::new(false)).collect();
        Self { map, taken, pace }
    }

    /// Whether there are none: then nobody need say what he is about to use.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Touches those that a range of bytes is in, counted from the first one of the memory, unless that was done before.
    #[inline]
    pub fn touch(&self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let end = bytes.end.div_ceil(HUGE_PAGE_BYTES).min(self.taken.len());
        for page in bytes.start / HUGE_PAGE_BYTES..end {
            if !self.taken[page].load(Ordering::Relaxed) {
                self.take(page);
            }
        }
    }

    #[cold]
    fn take(&self, page: usize) {
        if let Some(map) = self.map
            && !self.taken[page].swap(true, Ordering::Relaxed)
        {
            let at = page * HUGE_PAGE_BYTES;
            touch_pages(map, at..at + HUGE_PAGE_BYTES, &self.pace);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn touch_pages(_: &MmapMut, _: Range<usize>, _: &Pace) {}

#[cfg(target_os = "linux")]
fn touch_pages(map: &MmapMut, part: Range<usize>, pace: &Pace) {
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
                assert_eq!(parts(&map, 0, bytes), pages.div_ceil(8));
                for from in [0, HUGE_PAGE_BYTES + 3, bytes] {
                    let parts = parts(&map, from, bytes);
                    (0..parts).for_each(|part| touch(&map, from, bytes, part, pace));
                }
                assert!(map.iter().step_by(1000).all(|&byte| byte == 0));
            }
        }
        let map = MmapMut::map_anon(HUGE_PAGE_BYTES).unwrap();
        assert_eq!(parts(&map, 0, HUGE_PAGE_BYTES / 4), 0, "mostly empty");
    }

    #[test]
    fn pages_are_touched_once_by_whoever_comes_first() {
        let map = MmapMut::map_anon(9 * HUGE_PAGE_BYTES).unwrap();
        let until = 6 * HUGE_PAGE_BYTES + 1;
        let fresh = Fresh::new(Some(&map), until, map.len(), Pace::default());
        let taken = || -> Vec<usize> {
            let taken = |&page: &usize| fresh.taken[page].load(Ordering::Relaxed);
            (0..fresh.taken.len()).filter(taken).collect()
        };
        assert_eq!(fresh.taken.len(), 6);
        fresh.touch(5..5);
        assert_eq!(taken(), []);
        fresh.touch(HUGE_PAGE_BYTES - 1..HUGE_PAGE_BYTES + 1);
        assert_eq!(taken(), [0, 1]);
        fresh.touch(HUGE_PAGE_BYTES..3 * HUGE_PAGE_BYTES);
        fresh.touch(5 * HUGE_PAGE_BYTES..9 * HUGE_PAGE_BYTES);
        assert_eq!(taken(), [0, 1, 2, 5]);
        assert!(map.iter().step_by(1000).all(|&byte| byte == 0));
        let none = Fresh::new(None, until, map.len(), Pace::default());
        none.touch(0..until);
        assert!(none.is_empty() && !fresh.is_empty());
    }
}
