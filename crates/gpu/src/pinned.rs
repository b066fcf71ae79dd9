//! Host memory that the device copies from and to at full speed, beside other work.
//!
//! On an H100 behind PCIe 5, 55 GB/s each way, where ordinary memory goes up at 9 and down at 16 GB/s
//! (`benches/gpu`, `device`). Pinning itself runs at 7 GB/s, no faster than one copy from ordinary memory:
//! it pays from the second use on. So a buffer is pinned in chunks of about [`CHUNK_BYTES`], each when a
//! copy first touches it. It is ordinary cached memory, not write-combined: the host reads it as fast as
//! any other. A copy is cut at the chunks' borders, because the driver does not promise to copy ranges
//! that span two of them.
//!
//! Where the system or the driver refuses, the chunk stays pageable. The driver then
//! takes copies through memory of its own, slower, and may return only when they are done: nothing here needs it to return before.

use std::ops::RangeBounds;
use std::sync::Arc;

use memmap2::MmapMut;

use crate::context::Context;
use crate::copy::same_length;
use crate::driver::{self, CUresult, check, check_in_drop};
use crate::graph::no_recording;
use crate::view::resolve;
use crate::{DeviceView, DeviceViewMut, Element, Gpu, GpuError, Stream};

/// About how much is pinned at a time.
const CHUNK_BYTES: usize = 64 << 20;

/// How much of `T`s is pinned at a time: whole pages, of up to 64 KiB, and whole elements.
const fn chunk_bytes<T>() -> usize {
    let unit = (64 << 10)
        * if size_of::<T>() == 0 {
            1
        } else {
            size_of::<T>()
        };
    if unit >= CHUNK_BYTES {
        unit
    } else {
        CHUNK_BYTES / unit * unit
    }
}

/// What became of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// No copy has touched it.
    Fresh,
    Pinned,
    /// Pinning it was refused, and is not asked for again.
    Pageable,
}

/// Whether an answer to pinning memory says that it cannot be had, and not that the device or a call before has failed.
fn is_refusal(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_OUT_OF_MEMORY
            | CUresult::CUDA_ERROR_OPERATING_SYSTEM
            | CUresult::CUDA_ERROR_NOT_PERMITTED
            | CUresult::CUDA_ERROR_NOT_SUPPORTED
            // of our own pages the range is never wrong: some systems have none that can be pinned
            | CUresult::CUDA_ERROR_INVALID_VALUE
    )
}

/// Host memory for `len` elements, zero at first, pinned as it is used, as far as that can be had. The buffer's lifetime is the
/// caller's business while copies run; dropping it waits for the device.
pub struct PinnedBuffer<T> {
    context: Arc<Context>,
    pages: MmapMut,
    len: usize,
    chunks: Vec<Chunk>,
    /// Pinning is taken as refused, unasked.
    pageable: bool,
    of: std::marker::PhantomData<T>,
}

impl Gpu {
    /// Host memory of `len` elements for copies to and from this device.
    ///
    /// # Errors
    /// [`GpuError::HostMemory`] if the operating system refuses.
    pub fn pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T>, GpuError> {
        let refused = || GpuError::HostMemory {
            requested_bytes: (len as u64).saturating_mul(size_of::<T>() as u64),
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(refused)?;
        let pages = MmapMut::map_anon(bytes.max(1)).map_err(|_| refused())?;
        #[cfg(target_os = "linux")]
        // Fewer, larger pages are pinned faster; where there are none, nothing is lost.
        let _ = pages.advise(memmap2::Advice::HugePage);
        Ok(PinnedBuffer {
            context: self.context().clone(),
            pages,
            len,
            chunks: vec![Chunk::Fresh; bytes.div_ceil(chunk_bytes::<T>())],
            pageable: self.options().pageable,
            of: std::marker::PhantomData,
        })
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if self.chunks.iter().all(|chunk| *chunk == Chunk::Fresh) {
            return;
        }
        let Ok(_bound) = self.context.bind() else {
            return;
        };
        let _none = no_recording();
        // SAFETY: a context is current. The memory must not go while the device reads it or writes to it, were it pageable.
        check_in_drop(unsafe { driver::cuCtxSynchronize() }, "cuCtxSynchronize");
        let pinned = |(_, chunk): &(usize, &Chunk)| **chunk == Chunk::Pinned;
        for (chunk, _) in self.chunks.iter().enumerate().filter(pinned) {
            let start = self
                .pages
                .as_mut_ptr()
                .wrapping_add(chunk * chunk_bytes::<T>());
            // SAFETY: registered once with this start, unregistered once.
            let code = unsafe { driver::cuMemHostUnregister(start.cast()) };
            check_in_drop(code, "cuMemHostUnregister");
        }
    }
}

impl<T: Element> PinnedBuffer<T> {
    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the pages hold `len` elements, initialized to zero, aligned to a page.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.len) }
    }

    /// The elements, to be written.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().cast(), self.len) }
    }

    /// Pins the chunks that hold `range`, so that a later copy does not have to. Those that cannot be pinned stay pageable, and copies of them
    /// are slower.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a range beyond the end; a failing driver call.
    pub fn pin(&mut self, range: impl RangeBounds<usize>) -> Result<(), GpuError> {
        let (start, len) = resolve(range, self.len)?;
        if len == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let first = start * size_of::<T>() / chunk_bytes::<T>();
        let last = ((start + len) * size_of::<T>() - 1) / chunk_bytes::<T>();
        let _bound = self.context.bind()?;
        for chunk in first..=last {
            if self.chunks[chunk] == Chunk::Fresh {
                self.chunks[chunk] = self.pin_chunk(chunk)?;
            }
        }
        Ok(())
    }

    /// Asks for a chunk to be pinned; a context is current.
    fn pin_chunk(&mut self, chunk: usize) -> Result<Chunk, GpuError> {
        if self.pageable {
            return Ok(Chunk::Pageable);
        }
        let from = chunk * chunk_bytes::<T>();
        let bytes = chunk_bytes::<T>().min(self.pages.len() - from);
        let address = self.pages.as_mut_ptr().wrapping_add(from);
        let portable = driver::CU_MEMHOSTREGISTER_PORTABLE;
        // SAFETY: the pages are ours until they are unregistered in `drop`; portable means that
        // every context may copy from them.
        let code = unsafe { driver::cuMemHostRegister_v2(address.cast(), bytes, portable) };
        if is_refusal(code) {
            self.context.note_pageable(code, bytes);
            return Ok(Chunk::Pageable);
        }
        check(code, "cuMemHostRegister")?;
        Ok(Chunk::Pinned)
    }

    /// Enqueues a copy of `range` to the device. What is pageable of it may be copied before this returns.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a range beyond the end or of another length; as [`PinnedBuffer::pin`].
    ///
    /// # Safety
    /// The range is not written until the stream has passed the copy, parts of which may be under way after an error, too.
    pub unsafe fn upload_async<'a>(
        &mut self,
        stream: &Stream,
        range: impl RangeBounds<usize>,
        to: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError>
    where
        T: 'a,
    {
        let mut to = to.into();
        let (start, len) = resolve(range, self.len)?;
        same_length("upload", len, to.len())?;
        self.pin(start..start + len)?;
        for (from, at) in pieces::<T>(start, len) {
            let part = to.slice_mut(at.clone())?;
            // SAFETY: the caller's promise.
            unsafe { stream.upload_async(&self.as_slice()[from], part)? };
        }
        Ok(())
    }

    /// Enqueues a copy from the device to `range`. What is pageable of it may be copied before this returns.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a range beyond the end or of another length; as [`PinnedBuffer::pin`].
    ///
    /// # Safety
    /// The range is neither read nor written until the stream has passed the copy, parts of which may be under way after
    /// an error, too.
    pub unsafe fn download_async<'a>(
        &mut self,
        stream: &Stream,
        from: impl Into<DeviceView<'a, T>>,
        range: impl RangeBounds<usize>,
    ) -> Result<(), GpuError>
    where
        T: 'a,
    {
        let from = from.into();
        let (start, len) = resolve(range, self.len)?;
        same_length("download", from.len(), len)?;
        self.pin(start..start + len)?;
        for (into, at) in pieces::<T>(start, len) {
            let part = from.slice(at)?;
            // SAFETY: the caller's promise.
            unsafe { stream.download_async(part, &mut self.as_mut_slice()[into])? };
        }
        Ok(())
    }
}

/// Cuts `start..start + len` at the chunks' borders: each piece in the buffer and counted from `start`.
fn pieces<T>(
    start: usize,
    len: usize,
) -> impl Iterator<Item = (std::ops::Range<usize>, std::ops::Range<usize>)> {
    let per_chunk = chunk_bytes::<T>() / size_of::<T>().max(1);
    let mut at = start;
    std::iter::from_fn(move || {
        if at >= start + len {
            return None;
        }
        let end = (at / per_chunk + 1)
            .saturating_mul(per_chunk)
            .min(start + len);
        let piece = (at..end, at - start..end - start);
        at = end;
        Some(piece)
    })
}

#[cfg(test)]
mod tests;
