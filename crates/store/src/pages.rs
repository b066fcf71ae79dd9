//! The first touch of large memory: huge pages for as long as the operating system gives them quickly.
//!
//! Clearing a page is bound by memory: two threads that do so at the same time take twice as long each (run `first-6`). So nothing is
//! touched before it is needed: who is about to fill a page touches it, while others compute, and finds it in its caches. Only where that
//! would go on for seconds all is touched at once, before a virtual machine's host takes back what is free (see below).
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

/// A huge page that takes as long comes from the host: cleared alone it takes 0.1 to 0.2 ms. Of several that are touched at the same
/// time each may take as many times as long: they share the memory's rate (run `touch-1`).
const SLOW: Duration = Duration::from_millis(1);

/// Slow pages in succession from which on memory is taken for slow. Linux hands out blocks of two huge pages, and
/// some are slow where most are not.
const SLOW_PAGES: usize = 4;

/// How quickly huge pages came lately, to all threads.
#[derive(Debug, Default)]
struct Pace {
    /// Slow ones since the last quick one.
    slow: AtomicUsize,
    /// Those that are being touched.
    in_work: AtomicUsize,
}

#[cfg(any(target_os = "linux", test))]
impl Pace {
    /// Whether huge pages are not worth waiting for; stays so.
    fn is_slow(&self) -> bool {
        self.slow.load(Ordering::Relaxed) >= SLOW_PAGES
    }

    /// Touches a page by `touch`, which says whether it did.
    fn time(&self, touch: impl FnOnce() -> bool) {
        let before = self.in_work.fetch_add(1, Ordering::Relaxed) + 1;
        let start = std::time::Instant::now();
        let is_touched = touch();
        let took = start.elapsed();
        let after = self.in_work.fetch_sub(1, Ordering::Relaxed);
        if is_touched {
            self.note(took, before.max(after));
        }
    }

    /// Notes how long a page took that was touched together with others, `count` in all.
    fn note(&self, took: Duration, count: usize) {
        let limit = SLOW.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        if took >= limit {
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
    /// Those of a map whose first `bytes` are used, and that are worth huge pages.
    pub(crate) fn new(map: Option<&'a MmapMut>, bytes: usize) -> Self {
        let pages = map.map_or(0, |map| huge_bytes(map, bytes) / HUGE_PAGE_BYTES);
        Self {
            map,
            taken: (0..pages).map(|_| AtomicBool::new(false)).collect(),
            pace: Pace::default(),
        }
    }

    /// Whether there are none: then nobody need say what he is about to use.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// How many there are.
    pub fn pages(&self) -> usize {
        self.taken.len()
    }

    /// Touches a page, unless that was done before.
    ///
    /// # Panics
    /// If it is not below [`pages`](Self::pages).
    #[inline]
    pub fn touch_page(&self, page: usize) {
        if !self.taken[page].load(Ordering::Relaxed) {
            self.take(page);
        }
    }

    /// Touches those that a range of bytes is in, counted from the first one of the memory, unless that was done before.
    #[inline]
    pub fn touch(&self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let end = bytes.end.div_ceil(HUGE_PAGE_BYTES).min(self.taken.len());
        (bytes.start / HUGE_PAGE_BYTES..end).for_each(|page| self.touch_page(page));
    }

    #[cold]
    fn take(&self, page: usize) {
        if let Some(map) = self.map
            && !self.taken[page].swap(true, Ordering::Relaxed)
        {
            touch_page(map, page * HUGE_PAGE_BYTES, &self.pace);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn touch_page(_: &MmapMut, _: usize, _: &Pace) {}

/// Touches the huge page that begins at a byte, or leaves it to small pages, which are touched as they are used.
#[cfg(target_os = "linux")]
fn touch_page(map: &MmapMut, at: usize, pace: &Pace) {
    use memmap2::Advice;
    if pace.is_slow() {
        // Refused, they come when they are first used, one by one or as a huge one.
        let small = map.advise_range(Advice::NoHugePage, at, HUGE_PAGE_BYTES);
        let all = |()| map.advise_range(Advice::PopulateWrite, at, HUGE_PAGE_BYTES);
        return small.and_then(all).unwrap_or(());
    }
    // Kernels before 5.14 do not know how to populate: then all pages are left to their first use.
    pace.time(|| {
        let touched = map.advise_range(Advice::PopulateWrite, at, HUGE_PAGE_BYTES);
        touched.is_ok()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_micros(100);

    #[test]
    fn a_slow_page_now_and_then_is_forgiven() {
        let pace = Pace::default();
        for _ in 0..10 {
            (1..SLOW_PAGES).for_each(|_| pace.note(SLOW, 1));
            pace.note(QUICK, 1);
        }
        assert!(!pace.is_slow());
        (0..SLOW_PAGES).for_each(|_| pace.note(2 * SLOW, 3));
        assert!(!pace.is_slow(), "three have shared the rate");
        (0..SLOW_PAGES).for_each(|_| pace.note(3 * SLOW, 3));
        assert!(pace.is_slow());
        pace.note(QUICK, 1);
        assert!(pace.is_slow(), "what is slow stays so");
    }

    #[test]
    fn touched_pages_are_zero_whether_they_come_quickly_or_not() {
        for pages in [1, 7, 17] {
            for slow in [0, SLOW_PAGES] {
                let map = MmapMut::map_anon(pages * HUGE_PAGE_BYTES).unwrap();
                let bytes = map.len() - HUGE_PAGE_BYTES / 4;
                ask_for_huge(&map, bytes);
                let fresh = Fresh::new(Some(&map), bytes);
                (0..slow).for_each(|_| fresh.pace.note(SLOW, 1));
                assert_eq!(fresh.taken.len(), pages);
                fresh.touch(0..bytes);
                assert!(map.iter().step_by(1000).all(|&byte| byte == 0));
            }
        }
        let map = MmapMut::map_anon(HUGE_PAGE_BYTES).unwrap();
        let mostly_empty = Fresh::new(Some(&map), HUGE_PAGE_BYTES / 4);
        assert!(mostly_empty.is_empty());
    }

    #[test]
    fn pages_are_touched_once_by_whoever_comes_first() {
        let map = MmapMut::map_anon(9 * HUGE_PAGE_BYTES).unwrap();
        let bytes = 6 * HUGE_PAGE_BYTES + 1; // the last page would be mostly empty
        let fresh = Fresh::new(Some(&map), bytes);
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
        let none = Fresh::new(None, bytes);
        none.touch(0..bytes);
        assert!(none.is_empty() && !fresh.is_empty());
    }
}
