//! Loaded programs, their kernels, and launching them.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::context::Context;
use crate::driver::{
    self, CUfunction, CUfunction_attribute as Attribute, CUmodule, check_about, check_in_drop,
};
use crate::{Binary, DevicePtr, GpuError, KernelReport, Stream};

/// A program loaded on a device. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    loaded: Arc<Loaded>,
}

struct Loaded {
    context: Arc<Context>,
    raw: CUmodule,
    path: &'static str,
    kernels: Vec<KernelReport>,
    /// What the driver was asked for: it takes its time, above all where several threads ask.
    found: Mutex<HashMap<Arc<str>, CUfunction>>,
}

// SAFETY: the driver allows module handles on any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Ok(_bound) = self.context.bind() {
            // SAFETY: loaded once, unloaded once; kernels keep this alive.
            check_in_drop(
                unsafe { driver::cuModuleUnload(self.raw) },
                "cuModuleUnload",
            );
        }
    }
}

impl Module {
    pub(crate) fn new(
        context: Arc<Context>,
        path: &'static str,
        binary: Binary,
    ) -> Result<Self, GpuError> {
        let _bound = context.bind()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the image is a whole cubin, which names its own length, or PTX that ends in a zero.
        let code = unsafe { driver::cuModuleLoadData(&raw mut raw, binary.code.as_ptr().cast()) };
        check_about(code, "cuModuleLoadData", path)?;
        Ok(Self {
            loaded: Arc::new(Loaded {
                context,
                raw,
                path,
                kernels: binary.kernels,
                found: Mutex::default(),
            }),
        })
    }

    /// What the module's kernels take of a multiprocessor, sorted by name.
    #[must_use]
    pub fn reports(&self) -> &[KernelReport] {
        &self.loaded.kernels
    }

    /// The kernel declared `extern "C" __global__` under this name. It may use as much dynamic shared
    /// memory as the device gives one block.
    ///
    /// # Errors
    /// [`GpuError::NoKernel`], a failing driver call.
    pub fn kernel(&self, name: &str) -> Result<Kernel, GpuError> {
        let mut found = (self.loaded.found.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some((name, &raw)) = found.get_key_value(name) {
            return Ok(Kernel {
                module: self.loaded.clone(),
                raw,
                name: name.clone(),
            });
        }
        let kernel = self.find(name)?;
        found.insert(kernel.name.clone(), kernel.raw);
        Ok(kernel)
    }

    /// The same, from the driver.
    fn find(&self, name: &str) -> Result<Kernel, GpuError> {
        let context = &self.loaded.context;
        let _bound = context.bind()?;
        let missing = || GpuError::NoKernel {
            program: format!("kernels/{}", self.loaded.path),
            kernel: name.to_string(),
        };
        let symbol = CString::new(name).map_err(|_| missing())?;
        let mut raw = ptr::null_mut();
        // SAFETY: the module is loaded; the name ends in zero; `raw` outlives the call.
        let code =
            unsafe { driver::cuModuleGetFunction(&raw mut raw, self.loaded.raw, symbol.as_ptr()) };
        if code == driver::CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(missing());
        }
        check_about(code, "cuModuleGetFunction", name)?;
        let kernel = Kernel {
            module: self.loaded.clone(),
            raw,
            name: name.into(),
        };
        let fixed = kernel.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        let limit = context.info.shared_per_block_bytes.saturating_sub(fixed);
        // SAFETY: the function belongs to the loaded module.
        let code = unsafe {
            driver::cuFuncSetAttribute(
                raw,
                Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(limit).unwrap_or(i32::MAX),
            )
        };
        check_about(code, "cuFuncSetAttribute", name)?;
        Ok(kernel)
    }
}

/// A kernel of a loaded module. Cheap to clone.
#[derive(Clone)]
pub struct Kernel {
    module: Arc<Loaded>,
    raw: CUfunction,
    name: Arc<str>,
}

// SAFETY: the driver allows function handles on any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    cooperative: bool,
}

impl Launch {
    /// `blocks` blocks of `threads` threads, in one dimension.
    #[must_use]
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self::of([blocks, 1, 1], [threads, 1, 1])
    }

    /// A grid and its blocks, each as x, y, z.
    #[must_use]
    pub const fn of(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            shared_bytes: 0,
            cooperative: false,
        }
    }

    /// With this much dynamic shared memory for each block.
    #[must_use]
    pub const fn shared(self, bytes: u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }

    /// With all blocks resident at once, so that they may wait for each other. The driver refuses a
    /// grid that does not fit.
    #[must_use]
    pub const fn cooperative(self) -> Self {
        Self {
            cooperative: true,
            ..self
        }
    }
}

/// A value that can be passed to a kernel.
///
/// # Safety
/// The type has the layout of the kernel's parameter: a number, a [`DevicePtr`], or a `#[repr(C)]`
/// structure of those without host pointers.
pub unsafe trait Arg {}

macro_rules! plain_args {
    ($($t:ty),*) => {$(
        // SAFETY: the same type on the device.
        unsafe impl Arg for $t {}
    )*};
}
plain_args!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
// SAFETY: transparent over the device's 64-bit address.
unsafe impl<T> Arg for DevicePtr<T> {}

/// Most arguments that a launch takes; pass a structure where that is too few.
const MOST_ARGS: usize = 32;

impl Kernel {
    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Enqueues the kernel on `stream`. A grid without blocks launches nothing.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for more than 32 arguments, a failing driver call. What goes wrong while
    /// the kernel runs shows in a later call.
    ///
    /// # Safety
    /// The arguments are those of the kernel's declaration, in number, order and type; every address
    /// among them stays valid, for what the kernel reads and writes, until the stream has passed it.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        shape: Launch,
        args: &[&dyn Arg],
    ) -> Result<(), GpuError> {
        if shape.grid.contains(&0) {
            return Ok(());
        }
        let mut pointers = [ptr::null_mut::<c_void>(); MOST_ARGS];
        if args.len() > MOST_ARGS {
            return Err(GpuError::Shape {
                what: "arguments of a launch",
                got: args.len() as u64,
                have: MOST_ARGS as u64,
            });
        }
        for (pointer, arg) in pointers.iter_mut().zip(args) {
            *pointer = ptr::from_ref::<dyn Arg>(*arg).cast_mut().cast();
        }
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let (raw, shared, args) = (self.raw, shape.shared_bytes, pointers.as_mut_ptr());
        let call = if shape.cooperative {
            "cuLaunchCooperativeKernel"
        } else {
            "cuLaunchKernel"
        };
        // SAFETY: the function and the stream are alive; the driver copies the arguments before it
        // returns; that they are the kernel's own is the caller's promise.
        stream.enqueue(call, &self.name, 0, || unsafe {
            if shape.cooperative {
                driver::cuLaunchCooperativeKernel(
                    raw,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared,
                    stream.raw(),
                    args,
                )
            } else {
                driver::cuLaunchKernel(
                    raw,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared,
                    stream.raw(),
                    args,
                    ptr::null_mut(),
                )
            }
        })
    }

    /// How many blocks of this many threads, with this much dynamic shared memory each, one
    /// multiprocessor holds.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, GpuError> {
        let _bound = self.module.context.bind()?;
        let mut blocks = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the function is alive; `blocks` outlives the call.
        let code = unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.raw,
                threads,
                shared_bytes as usize,
            )
        };
        check_about(
            code,
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            &self.name,
        )?;
        Ok(blocks.unsigned_abs())
    }

    /// What the kernel takes of a multiprocessor, as the driver reports it.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn report(&self) -> Result<KernelReport, GpuError> {
        Ok(KernelReport {
            name: self.name.to_string(),
            registers: self.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            shared_bytes: self.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: self.attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        })
    }

    fn attribute(&self, attribute: Attribute) -> Result<u32, GpuError> {
        let _bound = self.module.context.bind()?;
        let mut value = 0;
        // SAFETY: the function is alive; `value` outlives the call.
        let code = unsafe { driver::cuFuncGetAttribute(&raw mut value, attribute, self.raw) };
        check_about(code, "cuFuncGetAttribute", &self.name)?;
        Ok(value.unsigned_abs())
    }
}
