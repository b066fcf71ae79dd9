//! The C library's allocator, told what to keep.
//!
//! Orderings and analyses take and free many arrays, one after the other. By default glibc fetches large ones from the system
//! each time, which clears their pages; once it has seen some freed it keeps all below 32 MiB, for good. So they are kept from the
//! start: up to a tenth of an ordering's time, and a fifth of the analysis after it. The library gives them back at the end of a large
//! analysis; without that they would be a sixth of the peak on large two-dimensional problems.

/// Blocks from this size on come from the operating system and go back to it when they are freed: the most that can be asked for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 32 << 20;

/// What may be left free at the end of each heap: there is one for every thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 64 << 20;

/// Keeps what is freed.
pub fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: called once, before any other thread exists; a refusal changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}
