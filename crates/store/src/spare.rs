//! Small blocks that were given back, kept for whoever asks next.
//!
//! Small systems take a millisecond, and often come one after another. The allocator gives the pages of
//! a freed block back to the operating system, which clears and maps others, 4 KiB at a time, for the
//! next one: a fifth of the time of a factor of some ten thousand numbers.

use std::sync::{Mutex, PoisonError};

/// Blocks that are kept, in the whole program.
const KEPT: usize = 4;

static SPARE: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());

/// Words of memory, zero at first, that others may get once they are dropped.
#[derive(Debug)]
pub(crate) struct Block(Vec<u64>);

impl Block {
    /// A block of zeros, in the smallest spare one that holds them and is not much too large.
    pub fn zeros(words: usize) -> Self {
        let fits = |b: &Vec<u64>| (words..=4 * words).contains(&b.capacity());
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let best = (0..spare.len())
            .filter(|&k| fits(&spare[k]))
            .min_by_key(|&k| spare[k].capacity());
        let Some(best) = best else {
            return Self(vec![0; words]);
        };
        let mut block = spare.remove(best);
        drop(spare);
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
        if self.0.capacity() == 0 {
            return;
        }
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() == KEPT {
            spare.remove(0); // the one that nobody has wanted for longest
        }
        spare.push(std::mem::take(&mut self.0));
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
        assert!(SPARE.lock().unwrap().len() <= KEPT);
        assert!(Block::zeros(0).as_ptr().is_aligned());
    }
}
