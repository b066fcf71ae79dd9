//! What the device did and when: kernels, copies, fills and graph replays, timed by device events.
//!
//! While a profile is taken, every enqueued piece of work stands between two events. That costs the
//! host about 5 µs a piece (`benches/gpu`, `device`) and keeps kernels of one stream from running into each
//! other. Otherwise it costs one load. Work that is being captured into a graph is not timed; its replays are.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::driver::{self, CUevent, CUstream, check, check_in_drop};
use crate::{Gpu, GpuError};

/// Most pieces that a profile holds, so that a forgotten one does not fill memory.
const MOST_SPANS: usize = 1 << 20;

/// One piece of work on the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// The kernel, or the driver's function.
    pub name: String,
    /// The stream, numbered from 0 as they were made.
    pub stream: u32,
    /// From the profile's beginning.
    pub start_secs: f64,
    /// Duration.
    pub secs: f64,
    /// Bytes copied or filled; 0 for kernels.
    pub bytes: u64,
    /// What [`Gpu::group_profile`] said last before it was enqueued.
    pub group: u32,
}

/// All pieces of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Total {
    /// The kernel, or the driver's function.
    pub name: String,
    /// How many pieces.
    pub count: u64,
    /// Sum of their durations.
    pub secs: f64,
    /// Sum of their bytes.
    pub bytes: u64,
}

/// What one device did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// The device's index.
    pub device: u32,
    /// The pieces, in the order in which they were enqueued.
    pub spans: Vec<Span>,
    /// Pieces left out because there were too many.
    pub dropped: u64,
}

impl Profile {
    /// Sums by name, longest first.
    #[must_use]
    pub fn totals(&self) -> Vec<Total> {
        let mut sums = BTreeMap::<&str, Total>::new();
        for span in &self.spans {
            let sum = sums.entry(&span.name).or_insert_with(|| Total {
                name: span.name.clone(),
                count: 0,
                secs: 0.0,
                bytes: 0,
            });
            sum.count += 1;
            sum.secs += span.secs;
            sum.bytes += span.bytes;
        }
        let mut totals: Vec<_> = sums.into_values().collect();
        totals.sort_by(|a, b| b.secs.total_cmp(&a.secs));
        totals
    }
}

/// The profile that a context is taking.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    on: AtomicBool,
    /// Of what is enqueued next.
    group: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The beginning; present while a profile is taken.
    base: Option<Moment>,
    spans: Vec<Pending>,
    dropped: u64,
}

#[derive(Debug)]
struct Pending {
    name: String,
    stream: u32,
    bytes: u64,
    group: u32,
    start: Moment,
    end: Moment,
}

/// A timed event that has been recorded. The profiler lives in the context, so that it cannot hold
/// events that keep the context alive; the context is current wherever one is dropped.
#[derive(Debug)]
pub(crate) struct Moment(CUevent);

// SAFETY: the driver allows event handles on any thread.
unsafe impl Send for Moment {}

impl Drop for Moment {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        check_in_drop(
            unsafe { driver::cuEventDestroy_v2(self.0) },
            "cuEventDestroy",
        );
    }
}

impl Moment {
    /// Records a new event on the stream.
    fn now(stream: CUstream) -> Result<Self, GpuError> {
        let mut raw = ptr::null_mut();
        // SAFETY: a context is current; `raw` outlives the call.
        let code = unsafe { driver::cuEventCreate(&raw mut raw, 0) };
        check(code, "cuEventCreate")?;
        let moment = Self(raw);
        // SAFETY: both are alive.
        let code = unsafe { driver::cuEventRecord(raw, stream) };
        check(code, "cuEventRecord")?;
        Ok(moment)
    }

    /// Seconds from `start` to `self`.
    fn secs_since(&self, start: &Self) -> Result<f64, GpuError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both are alive; `milliseconds` outlives the call.
        let code = unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.0, self.0) };
        check(code, "cuEventElapsedTime")?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

impl Profiler {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment before a piece of work, if a profile is being taken and the stream runs its work.
    pub fn start(&self, stream: CUstream) -> Result<Option<Moment>, GpuError> {
        if !self.on.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut status = driver::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive; `status` outlives the call.
        let code = unsafe { driver::cuStreamIsCapturing(stream, &raw mut status) };
        check(code, "cuStreamIsCapturing")?;
        if status != driver::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE {
            return Ok(None);
        }
        Moment::now(stream).map(Some)
    }

    /// Notes a piece of work that has just been enqueued.
    pub fn end(
        &self,
        start: Moment,
        stream: CUstream,
        name: &str,
        id: u32,
        bytes: u64,
    ) -> Result<(), GpuError> {
        let end = Moment::now(stream)?;
        let mut state = self.state();
        if state.spans.len() >= MOST_SPANS {
            state.dropped += 1;
        } else if state.base.is_some() {
            state.spans.push(Pending {
                name: name.to_string(),
                stream: id,
                bytes,
                group: self.group.load(Ordering::Relaxed),
                start,
                end,
            });
        }
        Ok(())
    }

    /// Forgets everything; the context is current.
    pub fn clear(&self) {
        self.on.store(false, Ordering::Relaxed);
        *self.state() = State::default();
    }
}

impl Gpu {
    /// Begins a profile of everything enqueued from now on through this handle and those that share its device
    /// ([`open_apart`](Self::open_apart)); one that was being taken is forgotten. Waits for work that is under way.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn start_profile(&self) -> Result<(), GpuError> {
        let _bound = self.context().bind()?;
        self.synchronize()?;
        let profiler = &self.context().profiler;
        profiler.clear();
        let base = Moment::now(ptr::null_mut())?;
        // SAFETY: the event is alive.
        let code = unsafe { driver::cuEventSynchronize(base.0) };
        check(code, "cuEventSynchronize")?;
        profiler.state().base = Some(base);
        profiler.on.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Says what is enqueued from now on is for, by a number that the profile's pieces then have; 0 at first. One
    /// for the whole device; costs one store.
    pub fn group_profile(&self, group: u32) {
        let profiler = &self.context().profiler;
        profiler.group.store(group, Ordering::Relaxed);
    }

    /// Ends the profile and returns it, empty if none was begun. Waits for the device.
    ///
    /// # Errors
    /// What went wrong in the work, or a failing driver call.
    pub fn finish_profile(&self) -> Result<Profile, GpuError> {
        let _bound = self.context().bind()?;
        self.context().profiler.on.store(false, Ordering::Relaxed);
        // What another thread has begun to enqueue either is in there, and waited for, or is left out.
        let state = std::mem::take(&mut *self.context().profiler.state());
        self.synchronize()?;
        let mut spans = Vec::with_capacity(state.spans.len());
        for pending in &state.spans {
            let Some(base) = &state.base else { break };
            spans.push(Span {
                name: pending.name.clone(),
                stream: pending.stream,
                start_secs: pending.start.secs_since(base)?,
                secs: pending.end.secs_since(&pending.start)?,
                bytes: pending.bytes,
                group: pending.group,
            });
        }
        Ok(Profile {
            device: self.info().index,
            spans,
            dropped: state.dropped,
        })
    }
}
