//! A GPU, opened: its context, what it is, and the programs loaded on it.
//!
//! A [`Gpu`] is a handle on the device's primary context; clones share it, and everything made from it
//! (streams, buffers, modules) keeps the context alive. All of it may be used from any thread: each
//! call makes the context current on its own thread while it lasts, and leaves the one that was as it found it.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::driver::{self, CUcontext, CUdevice, CUdevice_attribute as Attribute, CUresult, check};
use crate::lanes::Lanes;
use crate::profile::Profiler;
use crate::programs::Modules;
use crate::slab::Slabs;
use crate::{Arch, Compiler, GpuError};

/// How a device is opened.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GpuOptions {
    /// Folder for compiled kernels; `None` keeps nothing on disk.
    pub cache: Option<PathBuf>,
    /// The file of NVRTC's library; `None` looks in the usual places.
    pub nvrtc: Option<PathBuf>,
}

/// What a device is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GpuInfo {
    /// Index among the devices that the driver shows, from 0.
    pub index: u32,
    /// Name, such as `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// The compiler's target for it.
    pub arch: Arch,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory a block can have when it asks for it.
    pub shared_per_block_bytes: u32,
    /// Shared memory of a multiprocessor.
    pub shared_per_multiprocessor_bytes: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Threads that a multiprocessor holds.
    pub threads_per_multiprocessor: u32,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// Device memory.
    pub memory_bytes: u64,
    /// CUDA version that the driver offers, major and minor.
    pub driver_version: (u32, u32),
}

/// The primary context of a device, retained.
#[derive(Debug)]
pub(crate) struct Context {
    raw: CUcontext,
    pub(crate) device: CUdevice,
    pub(crate) info: GpuInfo,
    pub(crate) profiler: Profiler,
    streams: AtomicU32,
}

// SAFETY: a context handle may be used from any thread; the driver synchronizes.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
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

/// An opened GPU. Cheap to clone.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

struct Shared {
    context: Arc<Context>,
    compiler: Compiler,
    modules: Modules,
    slabs: Slabs,
    lanes: Lanes,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(self.info()).finish()
    }
}

impl Gpu {
    /// How many devices the driver shows.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::DriverTooOld`], [`GpuError::NoDevice`].
    pub fn count() -> Result<u32, GpuError> {
        driver::ready()?;
        let mut count = 0;
        // SAFETY: the driver is initialized; `count` outlives the call.
        let code = unsafe { driver::cuDeviceGetCount(&raw mut count) };
        check(code, "cuDeviceGetCount")?;
        Ok(count.unsigned_abs())
    }

    /// Opens device `index`, counted from 0, with nothing cached on disk.
    ///
    /// # Errors
    /// The reason why there is no such device; [`GpuError::DeviceTooOld`] below compute capability 8.0.
    pub fn open(index: u32) -> Result<Self, GpuError> {
        Self::open_with(index, GpuOptions::default())
    }

    /// Opens device `index`, counted from 0.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_with(index: u32, options: GpuOptions) -> Result<Self, GpuError> {
        let count = Self::count()?;
        if count == 0 {
            return Err(GpuError::NoDevice {
                reason: "none is visible".to_string(),
            });
        }
        if index >= count {
            return Err(GpuError::BadIndex { index, count });
        }
        let mut device = 0;
        let ordinal = i32::try_from(index).unwrap_or(i32::MAX);
        // SAFETY: the index is below the count; `device` outlives the call.
        let code = unsafe { driver::cuDeviceGet(&raw mut device, ordinal) };
        check(code, "cuDeviceGet")?;
        let info = read_info(index, device)?;
        let mut raw = ptr::null_mut();
        // SAFETY: `device` comes from the driver; `raw` outlives the call.
        let code = unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut raw, device) };
        check(code, "cuDevicePrimaryCtxRetain")?;
        let compiler = Compiler::new(options.nvrtc.as_deref(), options.cache.as_deref());
        let gpu = Self {
            shared: Arc::new(Shared {
                context: Arc::new(Context {
                    raw,
                    device,
                    info,
                    profiler: Profiler::default(),
                    streams: AtomicU32::new(0),
                }),
                compiler,
                modules: Modules::default(),
                slabs: Slabs::default(),
                lanes: Lanes::default(),
            }),
        };
        drop(gpu.context().bind()?); // a context that cannot be used shows itself here
        Ok(gpu)
    }

    /// What the device is.
    #[must_use]
    pub fn info(&self) -> &GpuInfo {
        &self.shared.context.info
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.shared.context
    }

    /// Waits until all streams have done everything enqueued.
    ///
    /// # Errors
    /// What went wrong in the work since the last check.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        let _bound = self.context().bind()?;
        let _none = crate::graph::no_recording();
        // SAFETY: the context is current.
        check(unsafe { driver::cuCtxSynchronize() }, "cuCtxSynchronize")
    }

    /// Free and total device memory, in bytes, as the driver sees them now.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn memory(&self) -> Result<(u64, u64), GpuError> {
        let _bound = self.context().bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current; both outlive the call.
        let code = unsafe { driver::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        check(code, "cuMemGetInfo")?;
        Ok((free as u64, total as u64))
    }

    pub(crate) fn modules(&self) -> &Modules {
        &self.shared.modules
    }

    pub(crate) fn slabs(&self) -> &Slabs {
        &self.shared.slabs
    }

    pub(crate) fn lanes(&self) -> &Lanes {
        &self.shared.lanes
    }

    /// What compiles programs for this device.
    #[must_use]
    pub fn compiler(&self) -> &Compiler {
        &self.shared.compiler
    }
}

fn read_info(index: u32, device: CUdevice) -> Result<GpuInfo, GpuError> {
    let get = |attribute: Attribute| -> Result<u32, GpuError> {
        let mut value = 0;
        // SAFETY: `device` comes from the driver; `value` outlives the call.
        let code = unsafe { driver::cuDeviceGetAttribute(&raw mut value, attribute, device) };
        check(code, "cuDeviceGetAttribute")?;
        Ok(value.unsigned_abs())
    };
    let mut name = [0_u8; 256];
    let mut memory = 0;
    let mut version = 0;
    // SAFETY: the buffers outlive the calls and have the lengths given.
    unsafe {
        check(
            driver::cuDeviceGetName(name.as_mut_ptr().cast(), 256, device),
            "cuDeviceGetName",
        )?;
        check(
            driver::cuDeviceTotalMem_v2(&raw mut memory, device),
            "cuDeviceTotalMem",
        )?;
        let code: CUresult = driver::cuDriverGetVersion(&raw mut version);
        check(code, "cuDriverGetVersion")?;
    }
    let end = name.iter().position(|&c| c == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    let version = version.unsigned_abs();
    let major = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    if major < 8 {
        return Err(GpuError::DeviceTooOld { name, major, minor });
    }
    Ok(GpuInfo {
        index,
        name,
        arch: Arch::of_card(major, minor),
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_per_block_bytes: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        shared_per_multiprocessor_bytes: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?,
        registers_per_multiprocessor: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
        )?,
        threads_per_multiprocessor: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        )?,
        l2_bytes: u64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        memory_bytes: memory as u64,
        driver_version: (version / 1000, version % 1000 / 10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
