//! The driver's C interface: loaded at run time, every call checked.
//!
//! cudarc's bindings look symbols up when they are first called and panic on one that is missing, so
//! everything this crate calls is looked up once, here, before anything else: an old driver is a
//! reason, not a panic.

use std::ffi::CStr;
use std::sync::OnceLock;

pub(crate) use cudarc::driver::sys::*;

use crate::GpuError;

/// Every driver function that this crate calls, as the library exports it.
const NEEDED: &[&str] = &[
    "cuCtxEnablePeerAccess",
    "cuCtxGetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxSynchronize",
    "cuDeviceCanAccessPeer",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphGetNodes",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchCooperativeKernel",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuPointerGetAttributes",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// The oldest driver interface that works: CUDA 12.0, as the driver counts.
const OLDEST_VERSION: i32 = 12_000;

/// Loads and initializes the driver, once; the answer is kept.
pub(crate) fn ready() -> Result<(), GpuError> {
    #[derive(Clone)]
    enum Failure {
        Missing(String),
        Old(String),
        Empty(String),
    }
    static STATE: OnceLock<Result<(), Failure>> = OnceLock::new();
    let state = STATE.get_or_init(|| {
        // SAFETY: asks the loader for the driver library, whose initializers are the vendor's.
        if !unsafe { is_culib_present() } {
            return Err(Failure::Missing("libcuda is not found".to_string()));
        }
        for name in NEEDED {
            // SAFETY: the symbol is only looked up, not called, so its type does not matter.
            let found = unsafe { culib().get::<*const ()>(name.as_bytes()).is_ok() };
            if !found {
                return Err(Failure::Old(format!("it has no {name}")));
            }
        }
        let mut version = 0;
        // SAFETY: `version` outlives the call; both functions may be called at any time.
        let (code, init) = unsafe { (cuDriverGetVersion(&raw mut version), cuInit(0)) };
        if code == CUresult::CUDA_SUCCESS && version < OLDEST_VERSION {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            return Err(Failure::Old(format!("it offers CUDA {major}.{minor}")));
        }
        if init != CUresult::CUDA_SUCCESS {
            return Err(Failure::Empty(format!("cuInit: {init:?}")));
        }
        Ok(())
    });
    match state.clone() {
        Ok(()) => Ok(()),
        Err(Failure::Missing(reason)) => Err(GpuError::NoDriver { reason }),
        Err(Failure::Old(reason)) => Err(GpuError::DriverTooOld { reason }),
        Err(Failure::Empty(reason)) => Err(GpuError::NoDevice { reason }),
    }
}

/// The driver's answer as a `Result`, with what was being done.
pub(crate) fn check_about(code: CUresult, call: &'static str, about: &str) -> Result<(), GpuError> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(GpuError::Driver {
        call,
        name: format!("{code:?}"),
        text: explanation(code),
        about: about.to_string(),
    })
}

/// The driver's answer as a `Result`.
pub(crate) fn check(code: CUresult, call: &'static str) -> Result<(), GpuError> {
    check_about(code, call, "")
}

/// In a destructor nobody can take an error: it is logged.
pub(crate) fn check_in_drop(code: CUresult, call: &'static str) {
    // A driver that is already unloading at exit has freed everything itself.
    if code != CUresult::CUDA_ERROR_DEINITIALIZED
        && let Err(error) = check(code, call)
    {
        tracing::warn!("{error}");
    }
}

fn explanation(code: CUresult) -> String {
    let mut text = std::ptr::null();
    // SAFETY: `text` outlives the call.
    let asked = unsafe { cuGetErrorString(code, &raw mut text) };
    if asked != CUresult::CUDA_SUCCESS || text.is_null() {
        return "unknown error".to_string();
    }
    // SAFETY: on success the driver points to a static string that ends in zero.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
