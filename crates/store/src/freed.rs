//! Memory that was freed but not given back.

use crate::spare::forget_spare;

/// Asks the allocator to give freed memory back to the operating system, where there is a way.
///
/// An analysis frees arrays of megabytes just before the factor takes gigabytes. The allocator of
/// glibc keeps them: after the first large array is freed it serves later ones, up to 32 MB each, from
/// a heap whose freed parts stay with the process. So they would count at the peak, 26 MB beside the
/// 740 MB of `el3d_30`. Takes milliseconds, so it is for the end of large analyses.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function only looks after free memory, and threads may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives the blocks that this crate keeps back to the operating system: before large memory is taken.
pub fn return_spare_blocks() {
    forget_spare();
}

/// Blocks that [`return_end_of_heap`] takes, and bytes of each: together more than analyses leave free.
const BLOCKS: usize = 8;
const BLOCK_BYTES: usize = 4 << 20;

/// Gives the free end of the calling thread's heap back to the operating system.
///
/// glibc has a heap for each thread, and [`return_freed_memory`] returns what is free between blocks of any of them,
/// but the end of the main one only: 11 MB of `el3d_30` stayed with two threads of an analysis. So blocks are taken from the
/// end, their pages are returned, and they are freed. With another allocator that changes nothing.
pub fn return_end_of_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// A block's first pages may be shared with others.
        const PAGE_BYTES: usize = 1 << 16;
        let blocks = [(); BLOCKS].map(|()| Vec::<u8>::with_capacity(BLOCK_BYTES));
        for block in &blocks {
            let before = block.as_ptr().align_offset(PAGE_BYTES);
            let inside = (BLOCK_BYTES - before) / PAGE_BYTES * PAGE_BYTES;
            let first = block.as_ptr().wrapping_add(before).cast_mut();
            // SAFETY: whole pages of a block of our own, whose contents nobody reads.
            unsafe {
                libc::madvise(first.cast(), inside, libc::MADV_DONTNEED);
            }
        }
    }
}
