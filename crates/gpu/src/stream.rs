//! Streams, events, copies and fills.
//!
//! Nothing is tracked: work on one stream runs in the order in which it was enqueued, and work on two
//! streams in any order unless an [`Event`] says otherwise.

use std::ptr;
use std::sync::Arc;

use crate::device::Context;
use crate::driver::{self, CUdeviceptr, CUevent, CUresult, CUstream, check, check_in_drop};
use crate::{DeviceBuffer, DeviceView, DeviceViewMut, Element, Gpu, GpuError};

/// A queue of work for a device. It does not wait for the default stream.
pub struct Stream {
    context: Arc<Context>,
    raw: CUstream,
}

// SAFETY: the driver allows stream handles on any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: made once, destroyed once; the driver finishes enqueued work by itself.
            check_in_drop(
                unsafe { driver::cuStreamDestroy_v2(self.raw) },
                "cuStreamDestroy",
            );
        }
    }
}

impl Gpu {
    /// A new stream.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn stream(&self) -> Result<Stream, GpuError> {
        let context = self.context().clone();
        context.bind()?;
        let mut raw = ptr::null_mut();
        let flags = driver::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: a context is current; `raw` outlives the call.
        let code = unsafe { driver::cuStreamCreate(&raw mut raw, flags) };
        check(code, "cuStreamCreate")?;
        Ok(Stream { context, raw })
    }

    /// A new event that can be timed.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn timing_event(&self) -> Result<Event, GpuError> {
        self.event_with(driver::CUevent_flags_enum::CU_EVENT_DEFAULT as u32)
    }

    /// A new event for ordering alone, which is cheaper than one that can be timed.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn event(&self) -> Result<Event, GpuError> {
        self.event_with(driver::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32)
    }

    fn event_with(&self, flags: u32) -> Result<Event, GpuError> {
        let context = self.context().clone();
        context.bind()?;
        let mut raw = ptr::null_mut();
        // SAFETY: a context is current; `raw` outlives the call.
        let code = unsafe { driver::cuEventCreate(&raw mut raw, flags) };
        check(code, "cuEventCreate")?;
        Ok(Event { context, raw })
    }
}

impl Stream {
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver's handle, for libraries that are measured beside our kernels.
    #[doc(hidden)]
    #[must_use]
    pub fn raw_handle(&self) -> *mut std::ffi::c_void {
        self.raw.cast()
    }

    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    /// Waits until everything enqueued is done.
    ///
    /// # Errors
    /// What went wrong in the work since the last check, such as an illegal address in a kernel.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.context.bind()?;
        // SAFETY: the stream is alive.
        let code = unsafe { driver::cuStreamSynchronize(self.raw) };
        check(code, "cuStreamSynchronize")
    }

    /// Notes in `event` the point that the stream has reached.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn record(&self, event: &Event) -> Result<(), GpuError> {
        self.context.bind()?;
        // SAFETY: both are alive.
        let code = unsafe { driver::cuEventRecord(event.raw, self.raw) };
        check(code, "cuEventRecord")
    }

    /// Lets later work wait until `event` has been reached.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn wait(&self, event: &Event) -> Result<(), GpuError> {
        self.context.bind()?;
        // SAFETY: both are alive.
        let code = unsafe { driver::cuStreamWaitEvent(self.raw, event.raw, 0) };
        check(code, "cuStreamWaitEvent")
    }

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
        unsafe { self.upload_async(from, to)? };
        self.synchronize()
    }

    /// Enqueues a copy of `from` to the device. From pinned memory it runs beside other work; from
    /// other memory the driver takes a copy before it returns.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    ///
    /// # Safety
    /// `from` stays where and as it is until the stream has passed the copy.
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
        self.context.bind()?;
        let address = to.ptr().address() as CUdeviceptr;
        // SAFETY: both ranges are alive and of that length; the rest is the caller's promise.
        let code = unsafe {
            driver::cuMemcpyHtoDAsync_v2(address, from.as_ptr().cast(), size_of_val(from), self.raw)
        };
        check(code, "cuMemcpyHtoDAsync")
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
        unsafe { self.download_async(from, to)? };
        self.synchronize()
    }

    /// Enqueues a copy from the device to `to`. To pinned memory it runs beside other work.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    ///
    /// # Safety
    /// `to` stays where it is, and is neither read nor written, until the stream has passed the copy.
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
        self.context.bind()?;
        let address = from.ptr().address() as CUdeviceptr;
        // SAFETY: both ranges are alive and of that length; the rest is the caller's promise.
        let code = unsafe {
            driver::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), address, size_of_val(to), self.raw)
        };
        check(code, "cuMemcpyDtoHAsync")
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
        self.context.bind()?;
        let bytes = from.len() * size_of::<T>();
        let (source, target) = (from.ptr().address(), to.ptr().address());
        // SAFETY: both ranges are alive and of that length.
        let code = unsafe { driver::cuMemcpyDtoDAsync_v2(target, source, bytes, self.raw) };
        check(code, "cuMemcpyDtoDAsync")
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
        self.context.bind()?;
        let bytes = to.len() * size_of::<T>();
        // SAFETY: the range is alive and of that length.
        let code = unsafe { driver::cuMemsetD8Async(to.ptr().address(), byte, bytes, self.raw) };
        check(code, "cuMemsetD8Async")
    }
}

fn same_length(what: &'static str, got: usize, have: usize) -> Result<(), GpuError> {
    if got == have {
        return Ok(());
    }
    Err(GpuError::Shape {
        what,
        got: got as u64,
        have: have as u64,
    })
}

/// A point in a stream's work.
pub struct Event {
    context: Arc<Context>,
    raw: CUevent,
}

// SAFETY: the driver allows event handles on any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: made once, destroyed once.
            check_in_drop(
                unsafe { driver::cuEventDestroy_v2(self.raw) },
                "cuEventDestroy",
            );
        }
    }
}

impl Event {
    /// Waits until the recorded point has been reached.
    ///
    /// # Errors
    /// What went wrong in the work before it.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.context.bind()?;
        // SAFETY: the event is alive.
        let code = unsafe { driver::cuEventSynchronize(self.raw) };
        check(code, "cuEventSynchronize")
    }

    /// Whether the recorded point has been reached.
    ///
    /// # Errors
    /// What went wrong in the work before it.
    pub fn is_reached(&self) -> Result<bool, GpuError> {
        self.context.bind()?;
        // SAFETY: the event is alive.
        match unsafe { driver::cuEventQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Seconds between two timed events, both reached; resolution about half a microsecond.
    ///
    /// # Errors
    /// A failing driver call: not timed, not recorded, or not yet reached.
    pub fn secs_since(&self, start: &Event) -> Result<f64, GpuError> {
        self.context.bind()?;
        let mut milliseconds = 0.0_f32;
        // SAFETY: both events are alive; `milliseconds` outlives the call.
        let code =
            unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.raw, self.raw) };
        check(code, "cuEventElapsedTime")?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}
