//! For the tests and benches of kernels: one device per process, or a visible reason why not.

use std::io::Write as _;
use std::sync::OnceLock;

use crate::{Gpu, GpuOptions};

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
                // Where standard error is closed nobody is told, which is their choice.
                let _ = writeln!(std::io::stderr(), "GPU tests are skipped: {error}");
                None
            }
        }
    });
    gpu.as_ref()
}
