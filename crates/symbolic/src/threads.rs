//! Work on the threads of the pool that the caller is in.

use std::iter::{Map, Sum};
use std::ops::{Add, Range};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rayon::prelude::*;

use tamarack_sparse::memory::{with_room, zeroed};

/// Nodes or unknowns that a thread takes in one go.
pub(crate) const CHUNK: usize = if cfg!(test) { 8 } else { 1 << 12 };

/// How many threads the pool has that the caller is in; 1 where it is in none. rayon's pool of the process would be made for the question,
/// and stay.
pub(crate) fn threads() -> usize {
    rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads())
}

/// `work` of every item, in their order. One item is done where it is: small analyses start no threads.
pub(crate) fn map_all<I, R>(items: I, work: impl Fn(I::Item) -> R + Send + Sync) -> Vec<R>
where
    I: IntoIterator<Item: Send, IntoIter: ExactSizeIterator>,
    R: Send,
{
    let items = items.into_iter();
    if items.len() < 2 || threads() < 2 {
        return items.map(work).collect();
    }
    let items: Vec<I::Item> = items.collect();
    items.into_par_iter().with_max_len(1).map(work).collect()
}

/// Both results, found at the same time if that is `worth` it.
pub(crate) fn both<A: Send, B: Send>(
    worth: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if worth && threads() > 1 {
        return rayon::join(a, b);
    }
    (a(), b())
}

/// `0..len` in ranges of `chunk`.
pub(crate) fn chunks(
    len: usize,
    chunk: usize,
) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    (0..len.div_ceil(chunk)).map(move |k| k * chunk..len.min((k + 1) * chunk))
}

/// The parts of `data` in increasing, disjoint ranges.
pub(crate) fn slices<'a, T, I: Iterator<Item = Range<usize>>>(
    mut data: &'a mut [T],
    ranges: I,
) -> Map<I, impl FnMut(Range<usize>) -> &'a mut [T]> {
    let mut begin = 0;
    ranges.map(move |range| {
        let (_, rest) = std::mem::take(&mut data).split_at_mut(range.start - begin);
        let (part, rest) = rest.split_at_mut(range.len());
        (begin, data) = (range.end, rest);
        part
    })
}

/// `what` of each of `0..len`.
pub(crate) fn gathered(len: usize, what: impl Fn(usize) -> u32 + Sync) -> Vec<u32> {
    if len <= CHUNK {
        return (0..len).map(what).collect();
    }
    let mut out = zeroed(len);
    let blocks = chunks(len, CHUNK);
    let tasks = slices(&mut out, blocks.clone()).zip(blocks);
    map_all(tasks, |(out, block)| {
        for (out, k) in out.iter_mut().zip(block) {
            *out = what(k);
        }
    });
    out
}

/// Those of a range that are to be kept. Whether one is, is hard to foresee: each is written, and counted without a branch.
pub(crate) fn kept(range: Range<usize>, keep: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut out = zeroed(range.len());
    let mut count = 0;
    for k in range {
        out[count] = k as u32;
        count += usize::from(keep(k));
    }
    out.truncate(count);
    out
}

/// Each number becomes the sum of those before it.
pub(crate) fn sums_before<T>(numbers: &mut [T])
where
    T: Copy + Default + Add<Output = T> + Sum + Send + Sync,
{
    const BLOCK: usize = if cfg!(test) { 8 } else { 1 << 16 };
    let block = match numbers.len() {
        len @ ..BLOCK => len.max(1),
        // What comes before a block is summed first: the only one needs that not.
        len if threads() == 1 => len,
        _ => BLOCK,
    };
    let blocks = chunks(numbers.len(), block);
    let last = blocks.len().saturating_sub(1);
    let totals = map_all(blocks.clone().take(last), |block| {
        numbers[block].iter().copied().sum::<T>()
    });
    let mut before = T::default();
    let starts = std::iter::once(before).chain(totals.into_iter().map(|total| {
        before = before + total;
        before
    }));
    let starts: Vec<T> = starts.collect();
    map_all(slices(numbers, blocks).zip(starts), |(block, mut sum)| {
        for number in block {
            sum = sum + std::mem::replace(number, sum);
        }
    });
}

/// As many zeros, or items of zeros, and room for `more`: written by all threads, as memory that was used before is not zero.
pub(crate) fn zeros<T: Copy + Default + Send>(len: usize, more: usize) -> Vec<T> {
    if is_short(len) {
        let mut out = zeroed(len + more);
        out.truncate(len);
        return out;
    }
    written(len, more, T::default)
}

/// As many items, each made anew, written by all threads.
pub(crate) fn made<T: Send>(len: usize, make: impl Fn() -> T + Sync) -> Vec<T> {
    if is_short(len) {
        let mut out = with_room(len);
        out.resize_with(len, make);
        return out;
    }
    written(len, 0, make)
}

/// Items that a thread writes in one go.
const WRITTEN: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// Whether so many items are written by one thread.
fn is_short(len: usize) -> bool {
    len <= WRITTEN || threads() < 2
}

fn written<T: Send>(len: usize, more: usize, make: impl Fn() -> T + Sync) -> Vec<T> {
    let mut out = Vec::with_capacity(len + more);
    let room = &mut out.spare_capacity_mut()[..len];
    room.par_chunks_mut(WRITTEN).for_each(|block| {
        for item in block {
            item.write(make());
        }
    });
    // SAFETY: `len` items have been written, all of them in some block.
    unsafe { out.set_len(len) };
    out
}

/// The same numbers for several threads.
pub(crate) fn shared_u64(numbers: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    // SAFETY: an atomic has the size of its number, and the alignment, as was just looked at. The borrow is
    // exclusive and handed on, so that for its life all accesses are atomic.
    unsafe { &*(std::ptr::from_mut(numbers) as *const [AtomicU64]) }
}

/// The same for half the width.
pub(crate) fn shared_u32(numbers: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: as above; a `u32` has the alignment of `AtomicU32` on all targets.
    unsafe { &*(std::ptr::from_mut(numbers) as *const [AtomicU32]) }
}
