//! One large block of numbers from the operating system.

use std::marker::PhantomData;
use std::ops::Range;

use thiserror::Error;

use crate::pages::Fresh;
use crate::spare::Block;

/// Number types an [`Arena`] may hold: every bit pattern, all zeros included, is a value.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {}
impl Element for f32 {}
impl Element for f64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Why memory could not be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot allocate {bytes} bytes of memory: {source}")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

/// A fixed block of numbers, whatever they are at first, never moved.
///
/// Pages of a large block are taken when first touched: as [`fresh`](Self::fresh) says, or by whoever fills a part first.
#[derive(Debug)]
pub struct Arena<T> {
    /// Words, aligned for both number types.
    block: Block,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Element> Arena<T> {
    /// Reserves room for `len` numbers.
    ///
    /// # Errors
    /// [`StoreError::Memory`].
    pub fn new(len: u64) -> Result<Self, StoreError> {
        let bytes = len.saturating_mul(size_of::<T>() as u64);
        let refused = |source| StoreError::Memory { bytes, source };
        let size =
            usize::try_from(bytes).map_err(|_| refused(std::io::ErrorKind::OutOfMemory.into()))?;
        Ok(Self {
            block: Block::new(size.div_ceil(size_of::<u64>())).map_err(refused)?,
            len: len as usize,
            element: PhantomData,
        })
    }

    /// Its pages, if nobody had the memory before: then numbers are zeros until they are written. They are to be touched range by range, by
    /// whoever is about to use it: huge ones while they come quickly. Ranges count in bytes from the first number.
    pub fn fresh(&self) -> Option<Fresh<'_>> {
        self.block.fresh(self.len * size_of::<T>())
    }

    /// Room, in numbers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no room at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Room, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// The numbers of a range of positions.
    ///
    /// # Panics
    /// If the range is not inside `0..len`.
    pub fn get(&self, range: Range<usize>) -> &[T] {
        &self.as_slice()[range]
    }

    /// All numbers.
    pub fn as_slice(&self) -> &[T] {
        let first: *const T = self.block.as_ptr().cast();
        // SAFETY: there is room for `len` numbers, aligned to 8 bytes, and any bits are a value.
        unsafe { std::slice::from_raw_parts(first, self.len) }
    }

    /// All numbers, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let first: *mut T = self.block.as_mut_ptr().cast();
        // SAFETY: as in `as_slice`; the exclusive borrow of `self` makes it the only one.
        unsafe { std::slice::from_raw_parts_mut(first, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_numbers() {
        for len in [1000, 1 << 17, (1 << 17) + 1] {
            let mut a = Arena::<f64>::new(len as u64).unwrap();
            a.as_mut_slice().fill(1.0);
            a.as_mut_slice()[len - 1] = 2.0;
            assert_eq!(a.get(len - 2..len), &[1.0, 2.0]);
            assert_eq!((a.len(), a.bytes()), (len, 8 * len as u64));
        }
        assert_eq!(Arena::<f32>::new(3).unwrap().as_slice().len(), 3);
    }

    #[test]
    fn touched_numbers_are_as_they_were() {
        for len in [1 << 10, 1 << 20, 3_000_001] {
            let mut a = Arena::<f64>::new(len).unwrap();
            let ends = [17, len as usize - 1];
            for k in ends {
                a.as_mut_slice()[k] = 3.0;
            }
            if let Some(fresh) = a.fresh() {
                fresh.touch(100..a.bytes() as usize / 2);
                fresh.touch(0..a.bytes() as usize);
            }
            assert_eq!(ends.map(|k| a.as_slice()[k]), [3.0; 2]);
        }
    }

    #[test]
    fn empty_and_impossible() {
        assert!(Arena::<f32>::new(0).unwrap().as_slice().is_empty());
        assert!(Arena::<f64>::new(u64::MAX / 2).is_err());
        assert!(Arena::<f64>::new(1 << 58).is_err());
    }
}
