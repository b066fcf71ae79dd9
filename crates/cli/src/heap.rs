//! The C library's allocator, told to give large blocks back.

/// Blocks from this size on come from the operating system and go back to it when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 1 << 20;

/// By default glibc raises that limit to 32 MiB as it goes, and keeps what an ordering has freed
/// while the factor grows beside it: about a sixth of the peak on large two-dimensional problems.
pub fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: called once, before any other thread exists; a refusal changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}
