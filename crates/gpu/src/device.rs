//! A GPU, opened: its context, what it is, and the programs loaded on it.
//!
//! A [`Gpu`] is a handle on the device's primary context; clones share it, and everything made from it
//! (streams, buffers, modules) keeps the context alive. All of it may be used from any thread: each
//! call makes the context current on its own thread while it lasts, and leaves the one that was as it found it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::context::Context;
use crate::driver::{self, CUdevice, CUdevice_attribute as Attribute, CUresult, check};
use crate::lanes::Lanes;
use crate::programs::Modules;
use crate::slab::Slabs;
use crate::{Arch, Compiler, GpuError};

/// How a device is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuOptions {
    /// Folder for compiled kernels; `None` keeps nothing on disk.
    pub cache: Option<PathBuf>,
    /// The file of NVRTC's library; `None` looks in the usual places.
    pub nvrtc: Option<PathBuf>,
    /// Lock no host memory for copies, which are slower then. Where the system or the driver refuses to lock any, that is noticed without this.
    pub pageable: bool,
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

/// An opened GPU. Cheap to clone.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
}

/// The devices that are open.
static OPENED: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// What handles on a device share.
struct Shared {
    context: Arc<Context>,
    options: GpuOptions,
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

    /// Opens device `index`, counted from 0. Where it is open already, by the same options, this is another handle on
    /// that: what has been loaded is loaded.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_with(index: u32, options: GpuOptions) -> Result<Self, GpuError> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|shared| shared.strong_count() > 0);
        let same =
            |shared: &Arc<Shared>| shared.context.info.index == index && shared.options == options;
        if let Some(shared) = opened.iter().filter_map(Weak::upgrade).find(same) {
            return Ok(Self { shared });
        }
        let gpu = Self::open_apart(index, options)?;
        opened.push(Arc::downgrade(&gpu.shared));
        Ok(gpu)
    }

    /// Opens device `index`, counted from 0, and shares nothing with other handles but clones of this one: a
    /// [profile](Self::start_profile) has nothing in it but their work. Kernels are loaded anew.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_apart(index: u32, options: GpuOptions) -> Result<Self, GpuError> {
        let count = Self::count()?;
        if count == 0 {
            return Err(GpuError::NoDevice {
                reason: "none is visible".to_string(),
            });
        }
        if index >= count {
            return Err(GpuError::BadIndex { index, count });
        }
        let shared = Arc::new(Shared::new(index, options)?);
        Ok(Self { shared })
    }

    /// What the device is.
    #[must_use]
    pub fn info(&self) -> &GpuInfo {
        &self.shared.context.info
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.shared.context
    }

    pub(crate) fn options(&self) -> &GpuOptions {
        &self.shared.options
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

impl Shared {
    fn new(index: u32, options: GpuOptions) -> Result<Self, GpuError> {
        let mut device = 0;
        let ordinal = i32::try_from(index).unwrap_or(i32::MAX);
        // SAFETY: the index is below the count; `device` outlives the call.
        let code = unsafe { driver::cuDeviceGet(&raw mut device, ordinal) };
        check(code, "cuDeviceGet")?;
        let context = Context::retain(device, read_info(index, device)?)?;
        drop(context.bind()?); // a context that cannot be used shows itself here
        Ok(Self {
            context: Arc::new(context),
            compiler: Compiler::new(options.nvrtc.as_deref(), options.cache.as_deref()),
            options,
            modules: Modules::default(),
            slabs: Slabs::default(),
            lanes: Lanes::default(),
        })
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

    #[test]
    fn a_device_is_opened_once_for_each_way() {
        let Some(gpu) = crate::testing::gpu() else {
            return;
        };
        let options = gpu.shared.options.clone();
        let again = Gpu::open_with(gpu.info().index, options).unwrap();
        assert!(Arc::ptr_eq(&gpu.shared, &again.shared));
        let bare = Gpu::open(gpu.info().index).unwrap();
        assert!(!Arc::ptr_eq(&gpu.shared, &bare.shared));
    }

    #[test]
    fn what_is_opened_apart_has_a_profile_of_its_own() {
        let Some(gpu) = crate::testing::gpu() else {
            return;
        };
        let (index, options) = (gpu.info().index, gpu.shared.options.clone());
        let apart = [(); 2].map(|()| Gpu::open_apart(index, options.clone()).unwrap());
        let shared = Gpu::open_with(index, options).unwrap();
        assert!(Arc::ptr_eq(&gpu.shared, &shared.shared));
        apart.iter().for_each(|own| own.start_profile().unwrap());
        for (fills, own) in apart.iter().chain([&shared]).enumerate() {
            let stream = own.stream().unwrap();
            let mut buffer = own.alloc::<u32>(100).unwrap();
            for _ in 0..=fills {
                stream.fill_bytes(&mut buffer, 0).unwrap();
            }
            stream.synchronize().unwrap();
        }
        let recorded = apart.map(|own| own.finish_profile().unwrap().spans.len());
        assert_eq!(recorded, [1, 2]);
    }
}
