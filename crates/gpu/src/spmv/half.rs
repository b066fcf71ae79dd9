//! A symmetric matrix of which every entry off the diagonal is kept once; kernels in `spmv/half.cuh`.
//!
//! Lines are on the device once, for all that go by them ([`HalfPattern`]). To read whole rows one more list says which entries a row
//! has in other lines ([`Rows`]): 6 bytes for each entry off the diagonal, 8 where a line has more than 65,535. Values stay where the factorization has them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::elsewhere::{Elsewhere, Scratch};
use crate::primitives::{same, too_long};
use crate::{Arg, DeviceBuffer, DevicePtr, DeviceView, Gpu, GpuError, Stream};

/// Most entries of a half, and most rows.
const LIMIT: u64 = (1 << 32) - (1 << 16);

/// The pattern of a symmetric matrix on the device: line `j` has the entries `indices[starts[j]..starts[j + 1]]`, and each entry off the
/// diagonal is there once, in either half: a lower half by columns or by rows.
pub struct HalfPattern {
    pub(super) n: u32,
    pub(super) starts: DeviceBuffer<u32>,
    pub(super) indices: DeviceBuffer<u32>,
    /// Entries of the longest line.
    pub(super) longest: u32,
}

impl HalfPattern {
    /// Entries from which on whole rows are not read: they are sorted for it.
    pub const MOST_BY_ROWS: u64 = 1 << 30;

    /// Checks and uploads, and waits for it.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where starts do not ascend from 0 to the number of entries, an index is too large, or entries or
    /// rows pass 2^32 - 2^16; [`GpuError::OutOfMemory`].
    pub fn new(gpu: &Gpu, starts: &[u64], indices: &[u32]) -> Result<Arc<Self>, GpuError> {
        let entries = indices.len() as u64;
        let what = "starts of a symmetric matrix";
        if starts.first() != Some(&0) || starts.last() != Some(&entries) {
            let last = starts.last().copied().unwrap_or(0);
            return Err(too_long(what, last, entries));
        }
        let n = starts.len() as u64 - 1;
        if entries.max(n) > LIMIT {
            let what = "rows and entries of a symmetric matrix";
            return Err(too_long(what, entries.max(n), LIMIT));
        }
        let (on_device, longest) = bring_starts(gpu, starts)?;
        if longest > entries {
            let pair = starts.windows(2).find(|p| p[0] > p[1]);
            let (got, have) = pair.map_or((longest, entries), |p| (p[0], p[1]));
            return Err(too_long(what, got, have));
        }
        let (indices, largest) = bring_indices(gpu, indices)?;
        if entries > 0 && u64::from(largest) >= n {
            return Err(too_long("index of a symmetric matrix", largest.into(), n));
        }
        Ok(Arc::new(Self {
            n: n as u32,
            starts: on_device,
            indices,
            longest: longest as u32, // at most all entries
        }))
    }

    /// Order of the matrix.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Entries of the half.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Starts of the lines, and their indices.
    pub(crate) fn lines(&self) -> (DevicePtr<u32>, DevicePtr<u32>) {
        (self.starts.ptr(), self.indices.ptr())
    }

    /// Binary logarithm of the threads that share a line.
    pub(crate) fn lanes(&self) -> u32 {
        match self.entries() as u64 / u64::from(self.n.max(1)) {
            0..=2 => 1,
            3..=6 => 2,
            7..=24 => 3,
            _ => 5,
        }
    }
}

/// Starts on the device, and the longest line; where they do not ascend that is more than all entries. The threads that bring them
/// up look at them.
fn bring_starts(gpu: &Gpu, starts: &[u64]) -> Result<(DeviceBuffer<u32>, u64), GpuError> {
    let mut on_device = gpu.alloc_list(starts.len())?;
    let longest = AtomicU64::new(0);
    gpu.upload_with(&mut on_device, |first, part| {
        let own = &starts[first..];
        for (to, &start) in part.iter_mut().zip(own) {
            *to = start as u32; // below LIMIT, or they do not ascend
        }
        let lengths = own.windows(2).take(part.len());
        let most = lengths.map(|p| p[1].wrapping_sub(p[0])).max();
        longest.fetch_max(most.unwrap_or(0), Ordering::Relaxed);
    })?;
    Ok((on_device, longest.into_inner()))
}

/// Indices on the device, and the largest.
fn bring_indices(gpu: &Gpu, indices: &[u32]) -> Result<(DeviceBuffer<u32>, u32), GpuError> {
    let mut on_device = gpu.alloc_list(indices.len())?;
    let largest = AtomicU32::new(0);
    gpu.upload_with(&mut on_device, |first, part| {
        let own = &indices[first..first + part.len()];
        part.copy_from_slice(own);
        largest.fetch_max(own.iter().copied().max().unwrap_or(0), Ordering::Relaxed);
    })?;
    Ok((on_device, largest.into_inner()))
}

/// Laid out as the kernels' `Half`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Half {
    starts: DevicePtr<u32>,
    indices: DevicePtr<u32>,
    elsewhere_starts: DevicePtr<u32>,
    elsewhere: DevicePtr<u32>,
    numbers: DevicePtr<u8>,
    values: DevicePtr<f64>,
    n: u32,
    wide: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Half {}

/// The whole rows of a symmetric pattern.
pub(super) struct Rows {
    pub pattern: Arc<HalfPattern>,
    pub elsewhere: Elsewhere,
}

impl Rows {
    /// Of a pattern, by way of `scratch`: 16 bytes an entry and some more.
    ///
    /// # Errors
    /// As [`Elsewhere::new`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &Arc<HalfPattern>,
        scratch: &mut Scratch<'_>,
    ) -> Result<Self, GpuError> {
        Ok(Self {
            elsewhere: Elsewhere::new(gpu, stream, pattern, scratch)?,
            pattern: pattern.clone(),
        })
    }

    /// Threads that share a row.
    pub fn lanes(&self) -> u32 {
        let entries = (self.pattern.entries() + self.elsewhere.lines.len()) as u64;
        match entries / u64::from(self.pattern.n.max(1)) {
            0..=12 => 2,
            13..=48 => 8,
            _ => 32,
        }
    }

    /// The matrix with these values, one for each entry of the half.
    pub fn with(&self, values: &DeviceView<'_, f64>) -> Result<Half, GpuError> {
        let what = "values of a symmetric matrix";
        same(what, values.len(), self.pattern.entries())?;
        let (numbers, wide) = self.elsewhere.numbers.place();
        Ok(Half {
            starts: self.pattern.starts.ptr(),
            indices: self.pattern.indices.ptr(),
            elsewhere_starts: self.elsewhere.starts.ptr(),
            elsewhere: self.elsewhere.lines.ptr(),
            numbers: DevicePtr::from_address(numbers),
            values: values.ptr(),
            n: self.pattern.n,
            wide: wide.into(),
        })
    }
}
