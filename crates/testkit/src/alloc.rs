//! An allocator that counts, for tests that promise how much is allocated.
//!
//! ```
//! use tamarack_testkit::CountingAllocator;
//!
//! #[global_allocator]
//! static HEAP: CountingAllocator = CountingAllocator::new();
//!
//! let before = HEAP.counts();
//! drop(vec![0u8; 1000]);
//! assert_eq!(HEAP.counts().allocations, before.allocations + 1);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator with counters; a `#[global_allocator]` in a test of its own binary.
///
/// Counts cover all threads of the process, the test harness's own included: measure in a binary
/// with a single test, or run with one test thread.
#[derive(Debug)]
pub struct CountingAllocator {
    allocations: AtomicUsize,
    live_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    largest_allowed_bytes: AtomicUsize,
}

/// What has been allocated so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Calls that allocated or reallocated.
    pub allocations: usize,
    /// Bytes allocated and not freed.
    pub live_bytes: usize,
    /// Largest value of `live_bytes` since the start or the last reset.
    pub peak_bytes: usize,
}

impl CountingAllocator {
    /// All counters at zero, nothing refused.
    #[expect(clippy::new_without_default, reason = "only ever a static")]
    pub const fn new() -> Self {
        Self {
            allocations: AtomicUsize::new(0),
            live_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
            largest_allowed_bytes: AtomicUsize::new(usize::MAX),
        }
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        Counts {
            allocations: self.allocations.load(Relaxed),
            live_bytes: self.live_bytes.load(Relaxed),
            peak_bytes: self.peak_bytes.load(Relaxed),
        }
    }

    /// Starts a new peak from what is live now.
    pub fn reset_peak(&self) {
        self.peak_bytes
            .store(self.live_bytes.load(Relaxed), Relaxed);
    }

    /// From now on every single allocation of more bytes fails, as if memory were short.
    /// `usize::MAX` allows everything again.
    pub fn refuse_above(&self, bytes: usize) {
        self.largest_allowed_bytes.store(bytes, Relaxed);
    }

    fn refused(&self, bytes: usize) -> bool {
        bytes > self.largest_allowed_bytes.load(Relaxed)
    }

    fn count(&self, bytes: usize) {
        self.allocations.fetch_add(1, Relaxed);
        let live = self.live_bytes.fetch_add(bytes, Relaxed) + bytes;
        self.peak_bytes.fetch_max(live, Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to `System`, which upholds the contract; the counters
// do not allocate. A refusal is a null pointer, which the contract allows.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.refused(layout.size()) {
            return std::ptr::null_mut();
        }
        self.count(layout.size());
        // SAFETY: the caller's promise about `layout` is the one `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if self.refused(layout.size()) {
            return std::ptr::null_mut();
        }
        self.count(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        self.live_bytes.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `ptr` came from `System` through `alloc`, `alloc_zeroed` or `realloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if self.refused(new_size) {
            return std::ptr::null_mut();
        }
        self.count(new_size);
        self.live_bytes.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `ptr` came from `System`, `layout` and `new_size` are as the caller promised.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}
