//! Large arrays in large pages.
//!
//! The arrays of an ordering or an analysis are new memory, each entry is written once, and the system clears a page of 4 KiB at a time when
//! it is first touched: measured at 1.1 GB/s in order and 0.7 GB/s in any order, where 3 GB/s are reached with pages of
//! 2 MiB. So it is asked for these (Linux only, where a program has to ask). It is a hint: contents and results are
//! the same.

/// Arrays from so many bytes on have large pages inside of them, wherever they begin.
const LARGE_BYTES: usize = 4 << 20;

/// As many zeros, not touched yet where the allocator has them from the system.
pub fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    let out = vec![T::default(); len];
    in_large_pages(&out);
    out
}

/// `value`, so many times.
pub fn filled<T: Copy>(len: usize, value: T) -> Vec<T> {
    let mut out = with_room(len);
    out.resize(len, value);
    out
}

/// An empty list with room for so many.
pub fn with_room<T>(len: usize) -> Vec<T> {
    let out = Vec::with_capacity(len);
    in_large_pages(&out);
    out
}

/// As [`with_room`], but without room where the system does not grant it: for a length that a file promises.
pub(crate) fn with_granted_room<T>(len: usize) -> Vec<T> {
    let mut out = Vec::new();
    if out.try_reserve_exact(len).is_ok() {
        in_large_pages(&out);
    }
    out
}

/// Room for so many in a list that is used again and again.
pub fn make_room<T>(list: &mut Vec<T>, len: usize) {
    if list.capacity() < len {
        list.reserve_exact(len - list.len());
        in_large_pages(list);
    }
}

/// Asks for large pages for all that a list has room for, before it is written.
#[cfg(target_os = "linux")]
pub fn in_large_pages<T>(list: &Vec<T>) {
    /// Advice begins with a whole page; where pages are larger than this it may be refused, which changes nothing.
    const PAGE_BYTES: usize = 4096;
    let (at, bytes) = (list.as_ptr(), size_of::<T>() * list.capacity());
    if bytes < LARGE_BYTES {
        return;
    }
    // Large blocks begin with a few bytes of the allocator's: their page is one of the large page.
    let before = at.addr() % PAGE_BYTES;
    let first = at.cast::<u8>().wrapping_sub(before).cast_mut();
    // SAFETY: every page has a byte of an allocation in it, so that it is mapped, and the advice neither reads nor changes what
    // is in a page.
    unsafe {
        libc::madvise(first.cast(), before + bytes, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
pub fn in_large_pages<T>(_: &Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_size_hold_what_was_asked_for() {
        for len in [0, 1, 1000, LARGE_BYTES / 4 - 1, LARGE_BYTES / 4 + 12345] {
            let mut zeros: Vec<u32> = zeroed(len);
            assert!(zeros.len() == len && zeros.iter().all(|&z| z == 0));
            zeros.iter_mut().zip(0..).for_each(|(z, k)| *z = k);
            assert!(zeros.iter().zip(0..).all(|(&z, k)| z == k));
            let sevens = filled(len, 7u64);
            assert!(sevens.len() == len && sevens.iter().all(|&s| s == 7));
            assert!(with_room::<u64>(len).capacity() >= len);
            let mut list = vec![3u32];
            for len in [len, len / 2, 2 * len] {
                make_room(&mut list, len);
                assert!(list == [3] && list.capacity() >= len);
            }
        }
    }
}
