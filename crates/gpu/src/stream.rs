//! Streams and events.
//!
//! Nothing is tracked: work on one stream runs in the order in which it was enqueued, and work on two
//! streams in any order unless an [`Event`] says otherwise.

use std::ptr;
use std::sync::Arc;

use crate::context::Context;
use crate::driver::{self, CUevent, CUresult, CUstream, check, check_about, check_in_drop};
use crate::{Gpu, GpuError};

/// A queue of work for a device. It does not wait for the default stream.
pub struct Stream {
    context: Arc<Context>,
    raw: CUstream,
    /// Number among the streams of the context, for profiles.
    id: u32,
}

// SAFETY: the driver allows stream handles on any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(_bound) = self.context.bind() {
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
        let _bound = context.bind()?;
        let mut raw = ptr::null_mut();
        let flags = driver::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: a context is current; `raw` outlives the call.
        let code = unsafe { driver::cuStreamCreate(&raw mut raw, flags) };
        check(code, "cuStreamCreate")?;
        let id = context.next_stream();
        Ok(Stream { context, raw, id })
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
        let _bound = context.bind()?;
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

    /// Enqueues by `call`, which is timed when a profile is being taken.
    pub(crate) fn enqueue(
        &self,
        call: &'static str,
        about: &str,
        bytes: u64,
        enqueue: impl FnOnce() -> CUresult,
    ) -> Result<(), GpuError> {
        let _bound = self.context.bind()?;
        let started = self.context.profiler.start(self.raw)?;
        check_about(enqueue(), call, about)?;
        match started {
            None => Ok(()),
            Some(started) => {
                let name = if about.is_empty() { call } else { about };
                let profiler = &self.context.profiler;
                profiler.end(started, self.raw, name, self.id, bytes)
            }
        }
    }

    /// Waits until everything enqueued is done.
    ///
    /// # Errors
    /// What went wrong in the work since the last check, such as an illegal address in a kernel.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        let _bound = self.context.bind()?;
        // SAFETY: the stream is alive.
        let code = unsafe { driver::cuStreamSynchronize(self.raw) };
        check(code, "cuStreamSynchronize")
    }

    /// Notes in `event` the point that the stream has reached.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn record(&self, event: &Event) -> Result<(), GpuError> {
        let _bound = self.context.bind()?;
        // SAFETY: both are alive.
        let code = unsafe { driver::cuEventRecord(event.raw, self.raw) };
        check(code, "cuEventRecord")
    }

    /// Lets later work wait until `event` has been reached.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn wait(&self, event: &Event) -> Result<(), GpuError> {
        let _bound = self.context.bind()?;
        // SAFETY: both are alive.
        let code = unsafe { driver::cuStreamWaitEvent(self.raw, event.raw, 0) };
        check(code, "cuStreamWaitEvent")
    }
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
        if let Ok(_bound) = self.context.bind() {
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
        let _bound = self.context.bind()?;
        // SAFETY: the event is alive.
        let code = unsafe { driver::cuEventSynchronize(self.raw) };
        check(code, "cuEventSynchronize")
    }

    /// Seconds between two timed events, both reached; resolution about half a microsecond.
    ///
    /// # Errors
    /// A failing driver call: not timed, not recorded, or not yet reached.
    pub fn secs_since(&self, start: &Event) -> Result<f64, GpuError> {
        let _bound = self.context.bind()?;
        let mut milliseconds = 0.0_f32;
        // SAFETY: both events are alive; `milliseconds` outlives the call.
        let code =
            unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.raw, self.raw) };
        check(code, "cuEventElapsedTime")?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}
