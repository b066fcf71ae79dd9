//! Stable sort of pairs by a range of the key's bits; kernels in `primitives/radix_sort.cu`.
//!
//! Least significant digit first, eight bits a pass, each pass one sweep over the pairs with look-back a
//! digit (Adinets, Merrill 2022). Cost: one reading of the keys, then for each pass one reading and one
//! writing of keys and values.

use super::{kernels, resident, same, short, too_long};
use crate::{
    Arg, DeviceBuffer, DeviceViewMut, Element, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("primitives/radix_sort.cu");
const COUNT_THREADS: u32 = 256;
const PASS_THREADS: u32 = 384;
const DIGITS: usize = 256;
/// Lengths from here on do not fit the look-back's 30 bits.
const LIMIT: u64 = 1 << 30;

/// A type of key.
pub trait SortKey: Element {
    /// Index into the kernels.
    #[doc(hidden)]
    const KIND: usize;
    /// Pairs that one thread holds.
    #[doc(hidden)]
    const ITEMS: usize;
    /// Bits of a key.
    const BITS: u32;
}

impl SortKey for u32 {
    const KIND: usize = 0;
    const ITEMS: usize = 18;
    const BITS: u32 = 32;
}

impl SortKey for u64 {
    const KIND: usize = 1;
    const ITEMS: usize = 10;
    const BITS: u32 = 64;
}

/// The kernels that sort.
pub struct RadixSort {
    gpu: Gpu,
    count: [Kernel; 2],
    starts: Kernel,
    pass: [Kernel; 2],
}

/// Workspace for sorting up to a number of pairs: a second copy of keys and values, and counters.
pub struct SortWork<K> {
    keys: DeviceBuffer<K>,
    values: DeviceBuffer<u32>,
    counters: DeviceBuffer<u32>,
}

impl RadixSort {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let [starts] = kernels(gpu, &PROGRAM, ["sort_starts"])?;
        Ok(Self {
            gpu: gpu.clone(),
            count: kernels(gpu, &PROGRAM, ["sort_count_u32", "sort_count_u64"])?,
            starts,
            pass: kernels(gpu, &PROGRAM, ["sort_pass_u32", "sort_pass_u64"])?,
        })
    }

    /// Workspace for up to `len` pairs: `len` keys and values, and about 1 KiB for each tile of 6912
    /// pairs (u32) or 3840 (u64).
    ///
    /// # Errors
    /// [`GpuError::Shape`] for 2^30 pairs or more, [`GpuError::OutOfMemory`].
    pub fn workspace<K: SortKey>(&self, len: usize) -> Result<SortWork<K>, GpuError> {
        Ok(SortWork {
            counters: self.gpu.alloc(counters::<K>(len)?)?,
            keys: self.gpu.alloc(len)?,
            values: self.gpu.alloc(len)?,
        })
    }

    /// The same for keys of 32 bits from memory that `take` gives, which is told how many words.
    ///
    /// # Errors
    /// [`GpuError::Shape`] as there; what `take` says.
    pub fn workspace_from(
        &self,
        len: usize,
        take: &mut dyn FnMut(usize) -> Result<DeviceBuffer<u32>, GpuError>,
    ) -> Result<SortWork<u32>, GpuError> {
        Ok(SortWork {
            counters: take(counters::<u32>(len)?)?,
            keys: take(len)?,
            values: take(len)?,
        })
    }

    /// Sorts the pairs by the bits `bits.start..bits.end` of their keys, lowest first; pairs that agree
    /// in them keep their order.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, bits past the key's, or too small a workspace; a
    /// failing driver call.
    pub fn run<'a, 'b, K: SortKey>(
        &self,
        stream: &Stream,
        work: &mut SortWork<K>,
        bits: std::ops::Range<u32>,
        keys: impl Into<DeviceViewMut<'a, K>>,
        values: impl Into<DeviceViewMut<'b, u32>>,
    ) -> Result<(), GpuError> {
        let (keys, values) = (keys.into(), values.into());
        same("values to sort", values.len(), keys.len())?;
        let n = short("pairs to sort", keys.len(), LIMIT)?;
        if bits.end > K::BITS {
            return Err(too_long("bits to sort by", bits.end.into(), K::BITS.into()));
        }
        if keys.len() > work.keys.len() {
            return Err(too_long(
                "workspace of a sort",
                keys.len() as u64,
                work.keys.len() as u64,
            ));
        }
        if n <= 1 || bits.start >= bits.end {
            return Ok(());
        }
        let starts_len = size_of::<K>() * DIGITS;
        let (starts, words) = (
            work.counters.ptr(),
            work.counters.ptr().add(starts_len as u64),
        );
        stream.fill_bytes(work.counters.view_mut().slice_mut(..starts_len)?, 0)?;
        let passes = (bits.end - bits.start).div_ceil(8);
        let count = &self.count[K::KIND];
        let tiles = (n as usize).div_ceil(PASS_THREADS as usize * K::ITEMS) as u32;
        let grid = n
            .div_ceil(4 * COUNT_THREADS)
            .min(resident(&self.gpu, count, COUNT_THREADS, 0)?);
        let args: [&dyn Arg; 5] = [&n, &bits.start, &bits.end, &keys.ptr(), &starts];
        // SAFETY: the arguments of sort_count_* and sort_starts; the counters hold 256 a byte of the key.
        unsafe {
            count.launch(stream, Launch::new(grid, COUNT_THREADS), &args)?;
            self.starts
                .launch(stream, Launch::new(passes, DIGITS as u32), &[&starts])?;
        }
        let mut here = (keys.ptr(), values.ptr());
        let mut there = (work.keys.ptr(), work.values.ptr());
        for pass in 0..passes {
            let used = starts_len..starts_len + self::words::<K>(n as usize);
            stream.fill_bytes(work.counters.view_mut().slice_mut(used)?, 0)?;
            let shift = bits.start + 8 * pass;
            let starts = starts.add(u64::from(pass) * DIGITS as u64);
            // The ticket is the first word, then 256 a tile.
            let (ticket, tile_words) = (words, words.add(DIGITS as u64));
            let args: [&dyn Arg; 10] = [
                &n,
                &shift,
                &bits.end,
                &starts,
                &here.0,
                &here.1,
                &there.0,
                &there.1,
                &tile_words,
                &ticket,
            ];
            // SAFETY: the arguments of sort_pass_*; all four arrays hold n elements, and the words were
            // sized for them.
            unsafe {
                self.pass[K::KIND].launch(stream, Launch::new(tiles, PASS_THREADS), &args)?;
            }
            std::mem::swap(&mut here, &mut there);
        }
        if passes % 2 == 1 {
            let n = n as usize;
            stream.copy(work.keys.view().slice(..n)?, keys)?;
            stream.copy(work.values.view().slice(..n)?, values)?;
        }
        Ok(())
    }
}

/// Counters for `len` pairs.
fn counters<K: SortKey>(len: usize) -> Result<usize, GpuError> {
    short("pairs to sort", len, LIMIT)?;
    Ok(size_of::<K>() * DIGITS + words::<K>(len))
}

/// Words of the look-back: 256 for the ticket, so that rows stay aligned, and 256 a tile.
fn words<K: SortKey>(len: usize) -> usize {
    DIGITS * (1 + len.div_ceil(PASS_THREADS as usize * K::ITEMS))
}
