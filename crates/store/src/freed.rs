//! Memory that was freed but not given back.

use crate::spare::forget_spare;

/// Asks the allocator to give freed memory back to the operating system, where there is a way.
///
/// An analysis frees arrays of megabytes just before the factor takes gigabytes. The allocator of
/// glibc keeps them: after the first large array is freed it serves later ones, up to 32 MB each, from
/// a heap whose freed parts stay with the process. So they would count at the peak, 26 MB beside the
/// 740 MB of `el3d_30`. Takes milliseconds, so it is for moments when large memory is taken.
/// The blocks that this crate keeps go back as well.
pub fn return_freed_memory() {
    forget_spare();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function only looks after free memory, and threads may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
