//! The first bad pivot of a factorization that consists of many lists; kernel in `dense/status.cu`.

use super::{BadPivot, Fronts, SmallFronts, shape};
use crate::primitives::Real;
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/status.cu");
const THREADS: u32 = 256;
const MOST_BLOCKS: u32 = 1024;

/// A list of fronts that tells of bad pivots.
pub trait Pivots {
    /// For each front its first bad pivot, or all ones, and the pivot's value.
    #[doc(hidden)]
    fn status(&self) -> &DeviceBuffer<[u64; 2]>;

    /// Waits for the stream; the first bad pivot of every front that has one.
    ///
    /// # Errors
    /// What went wrong on the stream.
    fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError>;
}

/// Where the columns of a list's fronts begin, so that pivots of several lists can be compared.
pub struct FirstBadPivot {
    kernel: Kernel,
    columns: DeviceBuffer<u32>,
}

impl FirstBadPivot {
    /// Uploads the number of the first pivot column of each front of a list.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, columns: &[u32]) -> Result<Self, GpuError> {
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel("dense_first_bad_pivot")?,
            columns: stream.list(gpu, columns)?,
        })
    }

    /// Enqueues `first ← min(first, column of the list's first bad pivot)`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a list of another length, or a `first` that is not one number; a failing driver
    /// call.
    pub fn launch<'a>(
        &self,
        stream: &Stream,
        list: &impl Pivots,
        first: impl Into<DeviceViewMut<'a, u64>>,
    ) -> Result<(), GpuError> {
        let (status, first) = (list.status(), first.into());
        let (got, have) = (status.len() as u64, self.columns.len() as u64);
        if got != have {
            return Err(shape("columns of a list of fronts", got, have));
        }
        if first.len() != 1 {
            return Err(shape("first bad pivot", first.len() as u64, 1));
        }
        let count =
            u32::try_from(got).map_err(|_| shape("fronts of a list", got, u32::MAX.into()))?;
        let blocks = count.div_ceil(THREADS).min(MOST_BLOCKS);
        // SAFETY: the arguments of the kernel; `status` and `columns` have `count` elements.
        unsafe {
            self.kernel.launch(
                stream,
                Launch::new(blocks, THREADS),
                &[&status.ptr(), &self.columns.ptr(), &count, &first.ptr()],
            )
        }
    }
}

impl<T: Real> Pivots for Fronts<T> {
    fn status(&self) -> &DeviceBuffer<[u64; 2]> {
        &self.status
    }

    fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError> {
        Self::bad_pivots(self, stream)
    }
}

impl<T: Real> Pivots for SmallFronts<T> {
    fn status(&self) -> &DeviceBuffer<[u64; 2]> {
        &self.status
    }

    fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError> {
        Self::bad_pivots(self, stream)
    }
}
