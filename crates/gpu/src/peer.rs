//! Several devices: direct access and copies from one to another.

use crate::copy::same_length;
use crate::driver::{self, CUresult, check};
use crate::{DeviceView, DeviceViewMut, Element, Gpu, GpuError, Stream};

impl Gpu {
    /// Lets this device's kernels and copies reach the other's memory directly, over NVLink or PCIe.
    /// Returns whether the machine has such a path. Without one, copies go through the host.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn reach(&self, other: &Gpu) -> Result<bool, GpuError> {
        let (here, there) = (self.context(), other.context());
        if here.device == there.device {
            return Ok(true);
        }
        let _bound = here.bind()?;
        let mut possible = 0;
        // SAFETY: both devices come from the driver; `possible` outlives the call.
        let code =
            unsafe { driver::cuDeviceCanAccessPeer(&raw mut possible, here.device, there.device) };
        check(code, "cuDeviceCanAccessPeer")?;
        if possible == 0 {
            return Ok(false);
        }
        // SAFETY: this context is current, the other is retained.
        match unsafe { driver::cuCtxEnablePeerAccess(there.raw(), 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            code => check(code, "cuCtxEnablePeerAccess").map(|()| true),
        }
    }
}

impl Stream {
    /// Enqueues a copy from another device's memory to this stream's device: direct where
    /// [`Gpu::reach`] said yes.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    pub fn copy_from<'a, 'b, T: Element>(
        &self,
        other: &Gpu,
        from: impl Into<DeviceView<'a, T>>,
        to: impl Into<DeviceViewMut<'b, T>>,
    ) -> Result<(), GpuError> {
        let (from, to) = (from.into(), to.into());
        same_length("copy between devices", from.len(), to.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let bytes = from.len() * size_of::<T>();
        let (source, target) = (from.ptr().address(), to.ptr().address());
        let (there, here) = (other.context().raw(), self.context().raw());
        // SAFETY: both ranges are alive and of that length, both contexts retained.
        self.enqueue("cuMemcpyPeerAsync", "", bytes as u64, || unsafe {
            driver::cuMemcpyPeerAsync(target, here, source, there, bytes, self.raw())
        })
    }
}
