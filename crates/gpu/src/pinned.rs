//! Host memory that the device copies from and to at full speed, beside other work.
//!
//! On an H100 behind PCIe 5, 55 GB/s each way, where ordinary memory goes up at 9 and down at 16 GB/s
//! (`benches/gpu`, `device`). Pinning itself runs at 7 GB/s, no faster than one copy from ordinary memory:
//! it pays from the second use on. So a buffer is pinned in chunks of about [`CHUNK_BYTES`], each when a
//! copy first touches it. It is ordinary cached memory, not write-combined: the host reads it as fast as
//! any other. A copy is cut at the chunks' borders, because the driver does not promise to copy ranges
//! that span two of them.

use std::ops::RangeBounds;
use std::sync::Arc;

use memmap2::MmapMut;

use crate::context::Context;
use crate::copy::same_length;
use crate::driver::{self, check, check_in_drop};
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

/// Host memory for `len` elements, zero at first, pinned as it is used. The buffer's lifetime is the
/// caller's business while copies run; dropping it waits for the device.
pub struct PinnedBuffer<T> {
    context: Arc<Context>,
    pages: MmapMut,
    len: usize,
    /// One for each chunk.
    pinned: Vec<bool>,
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
            pinned: vec![false; bytes.div_ceil(chunk_bytes::<T>())],
            of: std::marker::PhantomData,
        })
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if !self.pinned.contains(&true) {
            return;
        }
        let Ok(_bound) = self.context.bind() else {
            return;
        };
        let _none = no_recording();
        // SAFETY: a context is current. The memory must not go while the device writes to it.
        check_in_drop(unsafe { driver::cuCtxSynchronize() }, "cuCtxSynchronize");
        for (chunk, _) in self.pinned.iter().enumerate().filter(|(_, p)| **p) {
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

    /// Pins the chunks that hold `range`, so that a later copy does not have to.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a range beyond the end; a failing driver call, as when the operating
    /// system lets a process pin no more.
    pub fn pin(&mut self, range: impl RangeBounds<usize>) -> Result<(), GpuError> {
        let (start, len) = resolve(range, self.len)?;
        if len == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let first = start * size_of::<T>() / chunk_bytes::<T>();
        let last = ((start + len) * size_of::<T>() - 1) / chunk_bytes::<T>();
        let _bound = self.context.bind()?;
        for chunk in first..=last {
            if self.pinned[chunk] {
                continue;
            }
            let from = chunk * chunk_bytes::<T>();
            let bytes = chunk_bytes::<T>().min(self.pages.len() - from);
            let address = self.pages.as_mut_ptr().wrapping_add(from);
            // SAFETY: the pages are ours until they are unregistered in `drop`; portable means that
            // every context may copy from them.
            let code = unsafe {
                driver::cuMemHostRegister_v2(
                    address.cast(),
                    bytes,
                    driver::CU_MEMHOSTREGISTER_PORTABLE,
                )
            };
            check(code, "cuMemHostRegister")?;
            self.pinned[chunk] = true;
        }
        Ok(())
    }

    /// Enqueues a copy of `range` to the device.
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

    /// Enqueues a copy from the device to `range`.
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
mod tests {
    use super::*;

    #[test]
    fn pinned_memory_is_pinned_where_it_is_used() {
        let Some(gpu) = crate::testing::gpu() else {
            return;
        };
        let stream = gpu.stream().unwrap();
        // Three chunks of 24-byte elements; the copied range crosses both borders.
        let len = (160 << 20) / 24;
        let mut host = gpu.pinned::<[u64; 3]>(len).unwrap();
        assert!(!host.pinned.contains(&true));
        for (i, element) in host.as_mut_slice().iter_mut().enumerate() {
            *element = [i as u64, 2 * i as u64, 3 * i as u64];
        }
        let range = 1000..len - 7;
        let mut device = gpu.alloc::<[u64; 3]>(range.len()).unwrap();
        // SAFETY: the buffer is not touched before the synchronization.
        unsafe {
            host.upload_async(&stream, range.clone(), &mut device)
                .unwrap()
        };
        stream.synchronize().unwrap();
        assert_eq!(host.pinned, [true; 3]);
        let got = stream.to_host(&device).unwrap();
        assert!(got == host.as_slice()[range.clone()]);
        host.as_mut_slice().fill([0; 3]);
        // SAFETY: as above.
        unsafe {
            host.download_async(&stream, &device, range.clone())
                .unwrap()
        };
        stream.synchronize().unwrap();
        assert!(got == host.as_slice()[range]);
        assert!(host.as_slice()[..1000].iter().all(|e| *e == [0; 3]));

        let mut small = gpu.pinned::<u8>(100 << 20).unwrap();
        small.pin(70 << 20..71 << 20).unwrap();
        assert_eq!(small.pinned, [false, true]);
        assert!(matches!(
            small.pin(..(100 << 20) + 1),
            Err(GpuError::Shape { .. })
        ));
    }
}
