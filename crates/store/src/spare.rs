//! Small blocks that were given back, kept for whoever asks next.
//!
//! Small systems take a millisecond, and often come one after another. The allocator gives the pages of
//! a freed block back to the operating system, which clears and maps others, 4 KiB at a time, for the
//! next one: a sixth of the time from the pattern of `nos5` to a solution (run `cpu-5`).

use std::sync::{Mutex, PoisonError};

/// Blocks that are kept, in the whole program: 4 MiB at most, as an arena's are of 1 MiB at most.
const KEPT: usize = 4;

static SPARE: Mutex<Spare> = Mutex::new(Spare(Vec::new()));

/// Blocks that were given back, the last one behind.
struct Spare(Vec<Vec<u64>>);

impl Spare {
    /// Takes out the smallest block that holds so many words and is not much too large.
    fn take(&mut self, words: usize) -> Option<Vec<u64>> {
        let fits = |k: &usize| (words..=4 * words).contains(&self.0[*k].capacity());
        let best = (0..self.0.len())
            .filter(fits)
            .min_by_key(|&k| self.0[k].capacity())?;
        Some(self.0.remove(best))
    }

    /// Keeps a block, in the place of the one that nobody has wanted for longest.
    fn keep(&mut self, block: Vec<u64>) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(block);
    }
}

/// Words of memory, zero at first, that others may get once they are dropped.
#[derive(Debug)]
pub(crate) struct Block(Vec<u64>);

impl Block {
    /// A block of zeros, spare or new.
    pub fn zeros(words: usize) -> Self {
        let spare = SPARE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(words);
        let Some(mut block) = spare else {
            return Self(vec![0; words]);
        };
        block.clear();
        block.resize(words, 0);
        Self(block)
    }

    pub fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr()
    }

    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.as_mut_ptr()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.0.capacity() > 0 {
            let block = std::mem::take(&mut self.0);
            SPARE
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .keep(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_before_is_zero_again() {
        for round in 0..3 {
            let mut blocks: Vec<_> = (1..8).map(|k| Block::zeros(1000 * k + round)).collect();
            for (k, block) in blocks.iter_mut().enumerate() {
                let len = 1000 * (k + 1) + round;
                // SAFETY: the block has that many words.
                let words = unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr(), len) };
                assert!(words.iter().all(|&w| w == 0));
                words.fill(u64::MAX);
            }
        }
        assert!(SPARE.lock().unwrap().0.len() <= KEPT);
        assert!(Block::zeros(0).as_ptr().is_aligned());
    }

    #[test]
    fn the_smallest_that_fits_is_taken_and_the_oldest_forgotten() {
        let mut spare = Spare(Vec::new());
        for words in [100, 400, 200, 300, 500] {
            spare.keep(Vec::with_capacity(words));
        }
        assert_eq!(spare.0.len(), KEPT);
        assert!(spare.take(100).is_some_and(|b| b.capacity() == 200));
        assert!(spare.take(250).is_some_and(|b| b.capacity() == 300));
        assert!(spare.take(50).is_none(), "far too large");
        assert!(spare.take(501).is_none(), "too small");
        assert_eq!(spare.0.len(), 2);
    }
}
