//! Blocks of words; those of middling size that were given back are kept for whoever asks next.
//!
//! Small systems take milliseconds, and often come one after another. A block that goes back to the
//! operating system costs its pages anew, cleared and mapped one by one: more than half of the time of a
//! first factorization of `bcsstk13` (run `small-1`).

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;

use crate::pages::{self, Fresh, HUGE_PAGE_BYTES};

/// Words up to which a block comes from the program's own heap: memory that was used before costs less
/// than a page of the operating system.
const HEAP_WORDS: usize = 1 << 17;

/// Words from which on a block is kept: 32 KiB. Smaller ones the allocator has at hand as well, and thousands of them, of as many small factors,
/// would all be looked through.
const LEAST_KEPT_WORDS: usize = 1 << 12;

/// Words up to which a block is kept: 32 MiB, as glibc's allocator does of its own accord. Larger ones are used for long enough to be
/// worth their pages.
const KEPT_WORDS: usize = 1 << 22;

/// Words that are kept in the whole program: 64 MiB, once more as glibc's allocator may keep.
const KEPT_WORDS_IN_ALL: usize = 1 << 23;

static SPARE: Mutex<Spare> = Mutex::new(Spare(Vec::new()));

fn spare() -> MutexGuard<'static, Spare> {
    // No code that can panic runs under this lock but the allocator's.
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives what is kept back to the operating system.
pub(crate) fn forget_spare() {
    let kept = std::mem::take(&mut spare().0);
    drop(kept); // not under the lock
}

/// Where words are.
#[derive(Debug)]
enum Words {
    Heap(Vec<u64>),
    /// Pages of the operating system, huge ones where it has them.
    Map(MmapMut),
}

impl Words {
    /// New words, all zero.
    fn zeros(words: usize) -> io::Result<Self> {
        if words <= HEAP_WORDS {
            return Ok(Self::Heap(vec![0; words]));
        }
        let bytes = words.checked_mul(size_of::<u64>());
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        // Linux lets a map begin at a huge page if it is a whole number of them; else the first and the last 2 MB
        // would be small pages.
        let room = bytes.checked_next_multiple_of(HUGE_PAGE_BYTES);
        let map = MmapMut::map_anon(room.ok_or(io::ErrorKind::OutOfMemory)?)?;
        pages::ask_for_huge(&map, bytes);
        Ok(Self::Map(map))
    }

    fn len(&self) -> usize {
        match self {
            Self::Heap(words) => words.len(),
            Self::Map(map) => map.len() / size_of::<u64>(),
        }
    }

    fn as_mut_ptr(&mut self) -> *mut u64 {
        match self {
            Self::Heap(words) => words.as_mut_ptr(),
            Self::Map(map) => map.as_mut_ptr().cast(),
        }
    }
}

/// What was given back, the last one behind.
struct Spare(Vec<Words>);

impl Spare {
    /// Takes out the smallest that holds so many words and is not much too large.
    fn take(&mut self, words: usize) -> Option<Words> {
        let fits = |k: &usize| (words..=words.saturating_mul(4)).contains(&self.0[*k].len());
        let best = (0..self.0.len())
            .filter(fits)
            .min_by_key(|&k| self.0[k].len())?;
        Some(self.0.remove(best))
    }

    /// Keeps words, in the place of those that nobody has wanted for longest, which are returned.
    fn keep(&mut self, words: Words) -> Vec<Words> {
        let mut room = KEPT_WORDS_IN_ALL - words.len();
        let newest = self.0.iter().rev();
        let kept = newest.take_while(|w| {
            let fits = w.len() <= room;
            room = room.saturating_sub(w.len());
            fits
        });
        let old = self.0.len() - kept.count();
        self.0.push(words);
        self.0.drain(..old).collect()
    }
}

/// Words of memory that others may get once they are dropped.
#[derive(Debug)]
pub(crate) struct Block {
    words: Words,
    /// Whether nobody had them before: they are zeros at first.
    is_new: bool,
}

impl Block {
    /// A block, spare or new.
    pub fn new(words: usize) -> io::Result<Self> {
        let is_kept = (LEAST_KEPT_WORDS..=KEPT_WORDS).contains(&words);
        let kept = is_kept.then(|| spare().take(words)).flatten();
        let is_new = kept.is_none();
        let words = kept.map_or_else(|| Words::zeros(words), Ok)?;
        Ok(Self { words, is_new })
    }

    pub fn as_ptr(&self) -> *const u64 {
        match &self.words {
            Words::Heap(words) => words.as_ptr(),
            Words::Map(map) => map.as_ptr().cast(),
        }
    }

    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.words.as_mut_ptr()
    }

    /// The pages of its first `bytes`, to be touched when they are needed, if it is new.
    pub fn fresh(&self, bytes: usize) -> Option<Fresh<'_>> {
        let map = match &self.words {
            Words::Heap(_) => None,
            Words::Map(map) => Some(map),
        };
        self.is_new.then(|| Fresh::new(map, bytes))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let words = std::mem::replace(&mut self.words, Words::Heap(Vec::new()));
        if (LEAST_KEPT_WORDS..=KEPT_WORDS).contains(&words.len()) {
            let old = spare().keep(words);
            drop(old); // not under the lock
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_is_zero() {
        let mut kept = 0;
        for round in 0..9 {
            let sizes: Vec<usize> = (1..8).map(|k| 40_000 * k + round).collect();
            let blocks = sizes.iter().map(|&n| Block::new(n).unwrap());
            for (mut block, len) in blocks.collect::<Vec<_>>().into_iter().zip(sizes) {
                let is_new = block.fresh(8 * len).is_some();
                // SAFETY: the block has that many words.
                let words = unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr(), len) };
                assert!(!is_new || words.iter().all(|&w| w == 0));
                words.fill(u64::MAX);
                kept += usize::from(!is_new);
            }
        }
        assert!(kept > 0);
        assert!(Block::new(0).unwrap().as_ptr().is_aligned());
    }

    /// Of many small factors, made and dropped.
    #[test]
    fn little_is_left_to_the_allocator() {
        let blocks: Vec<Block> = (0..100).map(|_| Block::new(465).unwrap()).collect();
        drop(blocks);
        let least = spare().0.iter().map(Words::len).min();
        assert!(least.is_none_or(|least| least >= LEAST_KEPT_WORDS));
    }

    #[test]
    fn the_smallest_that_fits_is_taken() {
        let mut spare = Spare(Vec::new());
        for words in [100, 400, 200, 300, HEAP_WORDS + 500] {
            assert!(spare.keep(Words::zeros(words).unwrap()).is_empty());
        }
        assert!(spare.take(101).is_some_and(|w| w.len() == 200));
        assert!(spare.take(250).is_some_and(|w| w.len() == 300));
        assert!(spare.take(20).is_none(), "far too large");
        assert!(
            spare
                .take(HEAP_WORDS)
                .is_some_and(|w| w.len() >= HEAP_WORDS + 500)
        );
        assert!(spare.take(401).is_none(), "too small");
        assert_eq!(spare.0.len(), 2);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut spare = Spare(Vec::new());
        let half = KEPT_WORDS;
        let huge_page = HUGE_PAGE_BYTES / size_of::<u64>();
        for words in [10, HEAP_WORDS - 10, HEAP_WORDS, half, half - huge_page] {
            assert!(spare.keep(Words::zeros(words).unwrap()).is_empty());
        }
        let old: Vec<usize> = spare
            .keep(Words::zeros(11).unwrap())
            .iter()
            .map(Words::len)
            .collect();
        assert_eq!(old, [10, HEAP_WORDS - 10]);
        let old = spare.keep(Words::zeros(half).unwrap());
        assert_eq!(old.len(), 2);
        assert!(spare.0.iter().map(Words::len).sum::<usize>() <= KEPT_WORDS_IN_ALL);
    }
}
