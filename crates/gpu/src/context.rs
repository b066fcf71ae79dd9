//! The primary context of a device, and being current on a thread.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::driver::{self, CUcontext, CUdevice, CUresult, check};
use crate::profile::Profiler;
use crate::{GpuError, GpuInfo};

/// The primary context of a device, retained.
#[derive(Debug)]
pub(crate) struct Context {
    raw: CUcontext,
    pub(crate) device: CUdevice,
    pub(crate) info: GpuInfo,
    pub(crate) profiler: Profiler,
    streams: AtomicU32,
    /// Whether it has been said that host memory is not pinned.
    pageable: AtomicBool,
}

// SAFETY: a context handle may be used from any thread; the driver synchronizes.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of `device`.
    pub fn retain(device: CUdevice, info: GpuInfo) -> Result<Self, GpuError> {
        let mut raw = ptr::null_mut();
        // SAFETY: `device` comes from the driver; `raw` outlives the call.
        let code = unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut raw, device) };
        check(code, "cuDevicePrimaryCtxRetain")?;
        Ok(Self {
            raw,
            device,
            info,
            profiler: Profiler::default(),
            streams: AtomicU32::new(0),
            pageable: AtomicBool::new(false),
        })
    }

    /// Says once that host memory is not pinned, and why: it shows in the times alone.
    pub fn note_pageable(&self, code: CUresult, bytes: usize) {
        if !self.pageable.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "{bytes} bytes of host memory could not be locked for copies to and from the GPU ({code:?}): \
                 copies go through ordinary memory, which is slower"
            );
        }
    }

    /// The number of a new stream.
    pub fn next_stream(&self) -> u32 {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    pub fn raw(&self) -> CUcontext {
        self.raw
    }

    /// Makes this context current on the calling thread while the guard lives; then the one that was, which may be
    /// the application's, is current again.
    pub fn bind(&self) -> Result<Bound, GpuError> {
        bind_raw(self.raw)
    }
}

/// Makes a context current on the calling thread while the guard lives, which the context outlives.
pub(crate) fn bind_raw(context: CUcontext) -> Result<Bound, GpuError> {
    let bound = |pushed| Bound {
        pushed,
        of_thread: PhantomData,
    };
    let mut current = ptr::null_mut();
    // SAFETY: `current` outlives the call.
    let code = unsafe { driver::cuCtxGetCurrent(&raw mut current) };
    check(code, "cuCtxGetCurrent")?;
    if current == context {
        return Ok(bound(false));
    }
    // SAFETY: the context is alive.
    let code = unsafe { driver::cuCtxPushCurrent_v2(context) };
    check(code, "cuCtxPushCurrent")?;
    Ok(bound(true))
}

/// A context is current on this thread.
#[must_use]
pub(crate) struct Bound {
    /// Whether it was not current before.
    pushed: bool,
    /// It is undone where it was done.
    of_thread: PhantomData<*mut ()>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = ptr::null_mut();
            // SAFETY: what was pushed on this thread is on top of its stack again.
            let code = unsafe { driver::cuCtxPopCurrent_v2(&raw mut popped) };
            driver::check_in_drop(code, "cuCtxPopCurrent");
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Ok(_bound) = self.bind() {
            self.profiler.clear();
        }
        // SAFETY: retained once, released once.
        let code = unsafe { driver::cuDevicePrimaryCtxRelease_v2(self.device) };
        driver::check_in_drop(code, "cuDevicePrimaryCtxRelease");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gpu;

    fn current() -> CUcontext {
        let mut raw = ptr::null_mut();
        // SAFETY: the driver is loaded, since a device is open; `raw` outlives the call.
        let code = unsafe { driver::cuCtxGetCurrent(&raw mut raw) };
        check(code, "cuCtxGetCurrent").unwrap();
        raw
    }

    /// What a caller may do on a device, and what is current before and after it.
    fn work(gpu: &Gpu, before: CUcontext) {
        assert_eq!(current(), before);
        let stream = gpu.stream().unwrap();
        let mut buffer = gpu.alloc::<f64>(1000).unwrap();
        let mut pinned = gpu.pinned::<f64>(1000).unwrap();
        pinned.pin(..).unwrap();
        stream.fill_bytes(&mut buffer, 0).unwrap();
        let graph = stream.capture(|| stream.fill_bytes(&mut buffer, 0xFF));
        stream.synchronize().unwrap();
        gpu.load_under("primitives/copy")
            .into_iter()
            .for_each(|(_, loaded)| {
                loaded.unwrap();
            });
        gpu.memory().unwrap();
        assert_eq!(current(), before);
        let bound = gpu.context().bind().unwrap();
        assert_eq!(current(), gpu.context().raw());
        drop(gpu.context().bind().unwrap());
        assert_eq!(current(), gpu.context().raw());
        drop(bound);
        assert_eq!(current(), before);
        drop::<Result<_, GpuError>>(graph);
        drop((buffer, pinned, stream));
        assert_eq!(current(), before);
    }

    #[test]
    fn the_context_of_the_caller_stays_current() {
        let Some(gpu) = crate::testing::gpu() else {
            return;
        };
        // A fresh thread has none.
        let thread = std::thread::spawn(move || {
            work(gpu, ptr::null_mut());
            let mut own = ptr::null_mut();
            // SAFETY: the driver is loaded; `own` outlives the call, after which it is current.
            let code = unsafe { driver::cuCtxCreate_v2(&raw mut own, 0, gpu.context().device) };
            check(code, "cuCtxCreate").unwrap();
            work(gpu, own);
            drop(Gpu::open(gpu.info().index).unwrap());
            assert_eq!(current(), own);
            // SAFETY: made once, destroyed once.
            check(unsafe { driver::cuCtxDestroy_v2(own) }, "cuCtxDestroy").unwrap();
            assert!(current().is_null());
        });
        thread.join().unwrap();
    }
}
