//! Copies between host and device, within a device and between devices; fills.

use crate::driver::{self, CUdeviceptr};
use crate::{DeviceBuffer, DeviceView, DeviceViewMut, Element, Gpu, GpuError, Stream};

impl Stream {
    /// Copies `from` to the device and waits for it.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    pub fn upload<'a, T: Element>(
        &self,
        from: &[T],
        to: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        // SAFETY: the borrow of `from` lasts until the stream is synchronized.
        let enqueued = unsafe { self.upload_async(from, to) };
        enqueued.and(self.synchronize()) // after an error, too: the copy may be under way
    }

    /// Enqueues a copy of `from` to the device. From pinned memory it runs beside other work; from
    /// other memory the driver takes a copy before it returns.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    ///
    /// # Safety
    /// `from` stays where and as it is until the stream has passed the copy, which may be under way after an error, too.
    pub unsafe fn upload_async<'a, T: Element>(
        &self,
        from: &[T],
        to: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let to = to.into();
        same_length("upload", from.len(), to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        let address = to.ptr().address() as CUdeviceptr;
        let bytes = size_of_val(from);
        // SAFETY: both ranges are alive and of that length; the rest is the caller's promise.
        self.enqueue("cuMemcpyHtoDAsync", "", bytes as u64, || unsafe {
            driver::cuMemcpyHtoDAsync_v2(address, from.as_ptr().cast(), bytes, self.raw())
        })
    }

    /// Copies from the device to `to` and waits for it.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    pub fn download<'a, T: Element>(
        &self,
        from: impl Into<DeviceView<'a, T>>,
        to: &mut [T],
    ) -> Result<(), GpuError> {
        // SAFETY: the borrow of `to` lasts until the stream is synchronized.
        let enqueued = unsafe { self.download_async(from, to) };
        enqueued.and(self.synchronize()) // after an error, too: the copy may be under way
    }

    /// Enqueues a copy from the device to `to`. To pinned memory it runs beside other work.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    ///
    /// # Safety
    /// `to` stays where it is, and is neither read nor written, until the stream has passed the copy, which may be under
    /// way after an error, too.
    pub unsafe fn download_async<'a, T: Element>(
        &self,
        from: impl Into<DeviceView<'a, T>>,
        to: &mut [T],
    ) -> Result<(), GpuError> {
        let from = from.into();
        same_length("download", from.len(), to.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let address = from.ptr().address() as CUdeviceptr;
        let bytes = size_of_val(to);
        // SAFETY: both ranges are alive and of that length; the rest is the caller's promise.
        self.enqueue("cuMemcpyDtoHAsync", "", bytes as u64, || unsafe {
            driver::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), address, bytes, self.raw())
        })
    }

    /// A device copy of `from`, in memory of its own.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`], a failing driver call.
    pub fn to_device<T: Element>(
        &self,
        gpu: &Gpu,
        from: &[T],
    ) -> Result<DeviceBuffer<T>, GpuError> {
        let mut buffer = gpu.alloc(from.len())?;
        self.upload(from, &mut buffer)?;
        Ok(buffer)
    }

    /// A host copy of `from`.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn to_host<'a, T: Element>(
        &self,
        from: impl Into<DeviceView<'a, T>>,
    ) -> Result<Vec<T>, GpuError> {
        let from = from.into();
        // SAFETY: all zeros is a value of every `Element`.
        let mut host = vec![unsafe { std::mem::zeroed() }; from.len()];
        self.download(from, &mut host)?;
        Ok(host)
    }

    /// Enqueues a copy within the device.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    pub fn copy<'a, 'b, T: Element>(
        &self,
        from: impl Into<DeviceView<'a, T>>,
        to: impl Into<DeviceViewMut<'b, T>>,
    ) -> Result<(), GpuError> {
        let (from, to) = (from.into(), to.into());
        same_length("copy", from.len(), to.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let bytes = from.len() * size_of::<T>();
        let (source, target) = (from.ptr().address(), to.ptr().address());
        // SAFETY: both ranges are alive and of that length.
        self.enqueue("cuMemcpyDtoDAsync", "", bytes as u64, || unsafe {
            driver::cuMemcpyDtoDAsync_v2(target, source, bytes, self.raw())
        })
    }

    /// Enqueues setting every byte of `to`. All-ones bytes are NaN as `f32` and `f64`: tests poison
    /// outputs with 0xFF.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn fill_bytes<'a, T: Element>(
        &self,
        to: impl Into<DeviceViewMut<'a, T>>,
        byte: u8,
    ) -> Result<(), GpuError> {
        let to = to.into();
        if to.is_empty() {
            return Ok(());
        }
        let bytes = to.len() * size_of::<T>();
        // SAFETY: the range is alive and of that length.
        self.enqueue("cuMemsetD8Async", "", bytes as u64, || unsafe {
            driver::cuMemsetD8Async(to.ptr().address(), byte, bytes, self.raw())
        })
    }
}

pub(crate) fn same_length(what: &'static str, got: usize, have: usize) -> Result<(), GpuError> {
    if got == have {
        return Ok(());
    }
    Err(GpuError::Shape {
        what,
        got: got as u64,
        have: have as u64,
    })
}
