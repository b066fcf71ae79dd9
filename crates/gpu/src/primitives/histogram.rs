//! How often each key occurs; kernels in `primitives/histogram.cu`.
//!
//! Up to 12,288 bins are counted in shared memory, several copies a block; more in global memory. Counts
//! are integers, so the order of the atomics does not show. Cost: the keys are read once.

use super::{kernels, resident, short};
use crate::{Arg, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("primitives/histogram.cu");
const THREADS: u32 = 256;
/// Keys that a block takes at a time.
const TILE: u64 = 256 * 16;
/// Bytes of shared memory for a block's counters: four blocks a multiprocessor.
const COUNTER_BYTES: u32 = 48 << 10;

/// The kernels that count.
pub struct Histogram {
    gpu: Gpu,
    shared: Kernel,
    global: Kernel,
}

impl Histogram {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let [shared, global] = kernels(gpu, &PROGRAM, ["histogram_shared", "histogram_global"])?;
        let gpu = gpu.clone();
        Ok(Self {
            gpu,
            shared,
            global,
        })
    }

    /// `counts[k]` = how many of `keys` are `k`; keys of `counts.len()` or more are not counted. Counts
    /// wrap at 2^32.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for 2^32 bins or more, a failing driver call.
    pub fn run<'a, 'b>(
        &self,
        stream: &Stream,
        keys: impl Into<DeviceView<'a, u32>>,
        counts: impl Into<DeviceViewMut<'b, u32>>,
    ) -> Result<(), GpuError> {
        let (keys, mut counts) = (keys.into(), counts.into());
        stream.fill_bytes(counts.reborrow(), 0)?;
        let bins = short("bins of a histogram", counts.len(), 1 << 32)?;
        let n = keys.len() as u64;
        if n == 0 || bins == 0 {
            return Ok(());
        }
        let wanted = u32::try_from(n.div_ceil(TILE)).unwrap_or(u32::MAX);
        if bins > COUNTER_BYTES / 4 {
            let grid = wanted.min(resident(&self.gpu, &self.global, THREADS, 0)?);
            let args: [&dyn Arg; 4] = [&n, &keys.ptr(), &bins, &counts.ptr()];
            // SAFETY: the arguments of histogram_global; counts has `bins` elements.
            return unsafe {
                self.global
                    .launch(stream, Launch::new(grid, THREADS), &args)
            };
        }
        // A quarter of the counters' room is filled with copies: more would cost blocks.
        let mut copies = 1;
        while copies < 8 && 2 * copies * bins * 4 <= COUNTER_BYTES / 4 {
            copies *= 2;
        }
        let bytes = 4 * copies * bins;
        let grid = wanted.min(resident(&self.gpu, &self.shared, THREADS, bytes)?);
        let args: [&dyn Arg; 5] = [&n, &keys.ptr(), &bins, &copies, &counts.ptr()];
        let launch = Launch::new(grid, THREADS).shared(bytes);
        // SAFETY: the arguments of histogram_shared, with the shared memory that it needs.
        unsafe { self.shared.launch(stream, launch, &args) }
    }
}
