//! Right-hand sides and answers on the device.

use std::ops::Range;

use tamarack_gpu::dense::SolveSpace;
use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, PinnedBuffer, Stream};
use tamarack_numeric::Room;

/// Vectors for a number of right-hand sides, `n` numbers each, one behind the other, user order.
pub(super) struct Vectors {
    /// There is room for so many.
    pub most: usize,
    pub space: SolveSpace,
    /// What is solved for, in place.
    pub x: DeviceBuffer<f64>,
}

/// The way of vectors from ordinary memory and back: of few numbers through pinned memory of their own, of more by several threads.
pub(super) struct Way {
    gpu: Gpu,
    few: PinnedBuffer<f64>,
}

impl Vectors {
    /// For `most` right-hand sides of `n` numbers, in memory from `room`; `updates` and `mail` as [`SolveSpace::new`] takes them.
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        room: &mut Room,
        [n, updates, mail]: [u64; 3],
        most: usize,
    ) -> Result<Self, GpuError> {
        let len = n as usize * most;
        let sizes = [n, updates, mail];
        let take = |len| room.take(len);
        Ok(Self {
            most,
            space: SolveSpace::within(gpu, stream, sizes, most as u32, take)?, // few right-hand sides
            x: room.take(len)?,
        })
    }
}

impl Way {
    /// So many numbers are few: one thread copies them in about the time in which others are started.
    pub const FEW: usize = 1 << 17;

    /// For vectors of up to `len` numbers.
    pub fn new(gpu: &Gpu, len: usize) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            few: gpu.pinned(len.min(Self::FEW))?,
        })
    }

    /// Uploads numbers to where the stream works, and waits for both.
    pub fn up(
        &mut self,
        stream: &Stream,
        from: &[f64],
        to: DeviceViewMut<'_, f64>,
    ) -> Result<(), GpuError> {
        if from.len() > Self::FEW {
            stream.synchronize()?;
            return self.gpu.upload_all(from, to);
        }
        self.few.as_mut_slice()[..from.len()].copy_from_slice(from);
        // SAFETY: the memory is not touched before the wait.
        unsafe { self.few.upload_async(stream, ..to.len(), to)? };
        stream.synchronize()
    }

    /// Downloads numbers that the stream computes, and waits for both.
    pub fn down(
        &mut self,
        stream: &Stream,
        from: DeviceView<'_, f64>,
        to: &mut [f64],
    ) -> Result<(), GpuError> {
        if to.len() > Self::FEW {
            stream.synchronize()?;
            return self.gpu.download_all(from, to);
        }
        // SAFETY: the memory is not touched before the wait.
        unsafe { self.few.download_async(stream, from, ..to.len())? };
        stream.synchronize()?;
        to.copy_from_slice(&self.few.as_slice()[..to.len()]);
        Ok(())
    }
}

/// The first columns of `n` numbers.
pub(super) fn matrix(
    of: &DeviceBuffer<f64>,
    n: usize,
    columns: usize,
) -> Result<MatrixView<'_, f64>, GpuError> {
    let part = of.view().slice(..n * columns)?;
    MatrixView::new(part, n as u32, columns as u32, n) // n is below 2^32
}

/// The same, to be written.
pub(super) fn matrix_mut(
    of: &mut DeviceBuffer<f64>,
    n: usize,
    columns: usize,
) -> Result<MatrixViewMut<'_, f64>, GpuError> {
    let (part, _) = of.view_mut().split_at(n * columns)?;
    MatrixViewMut::new(part, n as u32, columns as u32, n)
}

/// Some columns of `n` numbers.
pub(super) fn columns(
    of: &DeviceBuffer<f64>,
    n: usize,
    range: Range<usize>,
) -> Result<DeviceView<'_, f64>, GpuError> {
    of.view().slice(range.start * n..range.end * n)
}

/// The same, to be written.
pub(super) fn columns_mut(
    of: &mut DeviceBuffer<f64>,
    n: usize,
    range: Range<usize>,
) -> Result<DeviceViewMut<'_, f64>, GpuError> {
    let (_, from) = of.view_mut().split_at(range.start * n)?;
    Ok(from.split_at(range.len() * n)?.0)
}

/// Column `c` of `n` numbers.
pub(super) fn column(
    of: &DeviceBuffer<f64>,
    n: usize,
    c: usize,
) -> Result<DeviceView<'_, f64>, GpuError> {
    columns(of, n, c..c + 1)
}

/// The same, to be written.
pub(super) fn column_mut(
    of: &mut DeviceBuffer<f64>,
    n: usize,
    c: usize,
) -> Result<DeviceViewMut<'_, f64>, GpuError> {
    columns_mut(of, n, c..c + 1)
}

/// Enqueues a copy of some columns of a matrix, one behind the other.
pub(super) fn pull(
    stream: &Stream,
    from: MatrixView<'_, f64>,
    columns: Range<u32>,
    mut to: DeviceViewMut<'_, f64>,
) -> Result<(), GpuError> {
    if from.is_packed() {
        return stream.copy(from.part(columns)?, to);
    }
    let n = from.rows() as usize;
    (0..).zip(columns).try_for_each(|(k, c)| {
        let to = to.slice_mut(k * n..(k + 1) * n)?;
        stream.copy(from.part(c..c + 1)?, to)
    })
}

/// Enqueues a copy of columns that stand one behind the other to some of a matrix.
pub(super) fn push(
    stream: &Stream,
    from: DeviceView<'_, f64>,
    to: &mut MatrixViewMut<'_, f64>,
    columns: Range<u32>,
) -> Result<(), GpuError> {
    if to.view().is_packed() {
        return stream.copy(from, to.part_mut(columns)?);
    }
    let n = to.view().rows() as usize;
    (0..).zip(columns).try_for_each(|(k, c)| {
        let from = from.slice(k * n..(k + 1) * n)?;
        stream.copy(from, to.part_mut(c..c + 1)?)
    })
}
