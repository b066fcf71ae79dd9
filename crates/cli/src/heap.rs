//! The C library's allocator, told what to keep.
//!
//! Orderings and analyses take and free many arrays, one after the other. By default glibc fetches large ones from the system
//! each time, which clears their pages; once it has seen some freed it keeps all below 32 MiB, for good. So they are kept from the
//! start: up to a tenth of an ordering's time, and a fifth of the analysis after it. The library gives them back at the end of a large
//! analysis; without that they would be a sixth of the peak on large two-dimensional problems.
//!
//! Each thread has a heap of its own, so that an analysis, which a pool's thread makes, cannot use what the reading of a file has
//! freed, nor what another thread has. A few threads share one; many would wait for each other.

/// Blocks from this size on come from the operating system and go back to it when they are freed: the most that can be asked for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 32 << 20;

/// What may be left free at the end of each heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 64 << 20;

/// Up to so many threads share a heap: sixteen took a sixth longer for the ordering of `p2d5_2000`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FEW_THREADS: usize = 4;

/// Keeps what is freed, for a program with so many threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep(threads: usize) {
    // SAFETY: called once, before any other thread exists; a refusal changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        if threads <= FEW_THREADS {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// Elsewhere the allocator is left as it is.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep(_: usize) {}
