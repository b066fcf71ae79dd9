//! For the tests and benches of kernels: one device per process, or a visible reason why not.

use std::io::Write as _;
use std::sync::OnceLock;

use crate::{Compiler, Gpu, GpuError, GpuOptions, driver};

/// The first device, opened once per process. Where there is none, says so on standard error, past the
/// test harness's capture, and returns `None`: the test is skipped.
#[must_use]
pub fn gpu() -> Option<&'static Gpu> {
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    let gpu = GPU.get_or_init(|| {
        let options = GpuOptions {
            cache: Some(std::env::temp_dir().join("tamarack-gpu-tests")),
            ..GpuOptions::default()
        };
        match Gpu::open_with(0, options) {
            Ok(gpu) => Some(gpu),
            Err(error) => {
                say(&format!("GPU tests are skipped: {error}\n"));
                None
            }
        }
    });
    gpu.as_ref()
}

/// The same device opened apart, as on a system that lets nobody lock host memory.
#[must_use]
pub fn pageable_gpu() -> Option<Gpu> {
    let options = GpuOptions {
        pageable: true,
        ..gpu()?.options().clone()
    };
    match Gpu::open_apart(0, options) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            say(&format!("a test of pageable memory is skipped: {error}\n"));
            None
        }
    }
}

/// A compiler without a cache. Where NVRTC is missing, says so as [`gpu`] does, and returns `None`.
#[must_use]
pub fn compiler() -> Option<Compiler> {
    let compiler = Compiler::new(None, None);
    match compiler.version() {
        Ok(_) => Some(compiler),
        Err(error) => {
            say(&format!(
                "tests of NVRTC are skipped: {error}
"
            ));
            None
        }
    }
}

/// The address of the CUDA context that is current on this thread, 0 for none: calls of ours leave it alone.
///
/// # Errors
/// There is no driver.
pub fn current_context() -> Result<usize, GpuError> {
    driver::ready()?;
    let mut raw = std::ptr::null_mut();
    // SAFETY: the driver is initialized; `raw` outlives the call.
    let code = unsafe { driver::cuCtxGetCurrent(&raw mut raw) };
    driver::check(code, "cuCtxGetCurrent")?;
    Ok(raw as usize)
}

/// Writes a whole line past the test harness's capture.
fn say(line: &str) {
    // Where standard error is closed nobody is told, which is their choice.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
