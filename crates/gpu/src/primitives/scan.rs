//! Exclusive sums in one pass; kernels in `primitives/scan.cu`.
//!
//! `out[i] = in[0] + … + in[i − 1]`, and the total where `out` is one longer: counts become offsets.
//! Integers only: the look-back adds earlier tiles in an order that depends on timing, which exact sums
//! do not show and floating-point sums would. Decoupled look-back (Merrill, Garland 2016). Cost: input
//! read once, output written once, 8 bytes for each 32 KiB.

use super::{blocks, kernels, resident, too_long};
use crate::{
    Arg, DeviceBuffer, DeviceView, DeviceViewMut, Element, Gpu, GpuError, Kernel, Launch, Program,
    Stream,
};

const PROGRAM: Program = Program::at("primitives/scan.cu");
const THREADS: u32 = 256;
/// Bytes of input that a block takes.
const TILE_BYTES: u64 = 32 << 10;

/// Types that can be scanned: input `Self`, output `Out`. Sums in 64 bits must stay below 2^62; sums in
/// 32 bits wrap.
pub trait ScanPair<Out>: Element {
    /// Index into the kernels.
    #[doc(hidden)]
    const KIND: usize;
}

impl ScanPair<u32> for u32 {
    const KIND: usize = 0;
}
impl ScanPair<u64> for u32 {
    const KIND: usize = 1;
}
impl ScanPair<u64> for u64 {
    const KIND: usize = 2;
}

/// The kernels that scan.
pub struct Scan {
    kernels: [Kernel; 3],
    /// Blocks that are resident at once.
    resident: [u32; 3],
}

/// Workspace of a scan: the tiles' sums and their ticket. Scans that share it belong on one stream.
pub struct ScanWork {
    words: DeviceBuffer<u64>,
}

impl Scan {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let names = ["scan_u32_u32", "scan_u32_u64", "scan_u64_u64"];
        let kernels = kernels(gpu, &PROGRAM, names)?;
        let mut most = [0; 3];
        for (most, kernel) in most.iter_mut().zip(&kernels) {
            *most = resident(gpu, kernel, THREADS, 0)?;
        }
        Ok(Self {
            kernels,
            resident: most,
        })
    }

    /// Workspace for scanning up to `len` elements of `In`: 8 bytes for each 32 KiB of them.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn workspace<In: Element>(&self, gpu: &Gpu, len: usize) -> Result<ScanWork, GpuError> {
        // One word more for the ticket.
        let words = gpu.alloc(tiles::<In>(len) as usize + 1)?;
        Ok(ScanWork { words })
    }

    /// Exclusive sums of `from`; `to` has the same length, or one more for the total.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for other lengths or too small a workspace, a failing driver call.
    pub fn run<'a, 'b, In: ScanPair<Out>, Out: Element>(
        &self,
        stream: &Stream,
        work: &mut ScanWork,
        from: impl Into<DeviceView<'a, In>>,
        to: impl Into<DeviceViewMut<'b, Out>>,
    ) -> Result<(), GpuError> {
        let (from, to) = (from.into(), to.into());
        let with_total = u32::from(to.len() == from.len() + 1);
        if with_total == 0 && to.len() != from.len() {
            return Err(too_long(
                "result of a scan",
                to.len() as u64,
                from.len() as u64 + 1,
            ));
        }
        let tiles = tiles::<In>(from.len());
        if tiles + 1 > work.words.len() as u64 {
            return Err(too_long(
                "workspace of a scan",
                tiles + 1,
                work.words.len() as u64,
            ));
        }
        if to.is_empty() {
            return Ok(());
        }
        let tile_count = blocks("scan", tiles, 1)?;
        let grid = Launch::new(tile_count.min(self.resident[In::KIND]), THREADS);
        let used = tiles as usize + 1;
        stream.fill_bytes(work.words.view_mut().slice_mut(..used)?, 0)?;
        let n = from.len() as u64;
        let (ticket, words) = (work.words.ptr(), work.words.ptr().add(1));
        let args: [&dyn Arg; 7] = [
            &n,
            &tile_count,
            &from.ptr(),
            &to.ptr(),
            &words,
            &ticket,
            &with_total,
        ];
        // SAFETY: the arguments of scan_*; the ticket is the first half of a zeroed word of its own.
        unsafe { self.kernels[In::KIND].launch(stream, grid, &args) }
    }
}

/// Tiles of a scan, at least one.
fn tiles<In>(len: usize) -> u64 {
    (len as u64 * size_of::<In>() as u64)
        .div_ceil(TILE_BYTES)
        .max(1)
}
