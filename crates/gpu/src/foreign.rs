//! Memory and streams that others made: a CUDA runtime, PyTorch, another crate.
//!
//! An address says by itself where it lies: the driver knows the device and the context of all memory that was
//! allocated through it, by whomever. A [`Gpu`] is the device's primary context, which the CUDA runtime and
//! what stands on it use as well, so that nothing has to be copied or registered.

use std::ffi::c_void;
use std::ptr;

use crate::context::bind_raw;
use crate::driver::{
    self, CUcontext, CUevent, CUmemorytype, CUpointer_attribute as Attribute, CUresult, CUstream,
    check, check_in_drop,
};
use crate::{DevicePtr, DeviceView, DeviceViewMut, Element, Gpu, GpuError, Stream};

impl<'a, T: Element> DeviceView<'a, T> {
    /// `len` elements from an `address` on, which another library allocated on this device: `data_ptr()` of a PyTorch
    /// tensor, a pointer of `cudaMalloc`, a `CUdeviceptr`.
    ///
    /// # Errors
    /// [`GpuError::Elsewhere`] where the first or the last byte is not this device's memory, or of another context than its
    /// primary one; [`GpuError::Shape`] for an address that is not aligned, or a length beyond all addresses.
    ///
    /// # Safety
    /// - All `len` elements are allocated, and stay so for the lifetime `'a`, which the caller chooses.
    /// - Nothing writes them while work that reads them is under way. What was enqueued before on other streams must be
    ///   done: synchronize those, or let the stream that the work goes to wait, by [`Stream::wait_for_raw`]. Nothing
    ///   is ordered here.
    pub unsafe fn from_raw(gpu: &Gpu, address: u64, len: usize) -> Result<Self, GpuError> {
        let ptr = checked::<T>(gpu, address, len)?;
        Ok(Self::new(ptr, len))
    }
}

impl<T> DeviceView<'_, T> {
    /// An error unless the elements are in the memory of `gpu`; `what` they are, for the message.
    ///
    /// # Errors
    /// [`GpuError::Elsewhere`].
    pub fn check_on(&self, gpu: &Gpu, what: &'static str) -> Result<(), GpuError> {
        check_home::<T>(gpu, what, self.ptr().address(), self.len())
    }
}

impl<'a, T: Element> DeviceViewMut<'a, T> {
    /// The same as [`DeviceView::from_raw`], to be written.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there; and nothing else reads the elements either while work that writes them is under way.
    pub unsafe fn from_raw(gpu: &Gpu, address: u64, len: usize) -> Result<Self, GpuError> {
        let ptr = checked::<T>(gpu, address, len)?;
        Ok(Self::new(ptr, len))
    }
}

impl Stream {
    /// Lets later work wait until a stream of another library has done what is enqueued on it so far: a `CUstream`, or a
    /// `cudaStream_t`; null is the default stream of this device. The host does not wait.
    ///
    /// # Errors
    /// A failing driver call.
    ///
    /// # Safety
    /// The stream exists.
    pub unsafe fn wait_for_raw(&self, stream: *mut c_void) -> Result<(), GpuError> {
        let _bound = self.context().bind()?;
        let other: CUstream = stream.cast();
        let mut context = ptr::null_mut();
        // SAFETY: the stream exists, as the caller promises; `context` outlives the call.
        let code = unsafe { driver::cuStreamGetCtx(other, &raw mut context) };
        check(code, "cuStreamGetCtx")?;
        let event = {
            // An event is made and recorded in the context of its stream, which may be another one of the application's.
            let _other = bind_raw(context)?;
            let event = Passing::new()?;
            // SAFETY: both are alive, and of the context that is current.
            let code = unsafe { driver::cuEventRecord(event.0, other) };
            check(code, "cuEventRecord")?;
            event
        };
        // SAFETY: both are alive; an event may be destroyed before it is reached.
        let code = unsafe { driver::cuStreamWaitEvent(self.raw(), event.0, 0) };
        check(code, "cuStreamWaitEvent")
    }
}

/// An event that is waited for once.
struct Passing(CUevent);

impl Passing {
    fn new() -> Result<Self, GpuError> {
        let flags = driver::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32;
        let mut raw = ptr::null_mut();
        // SAFETY: a context is current; `raw` outlives the call.
        let code = unsafe { driver::cuEventCreate(&raw mut raw, flags) };
        check(code, "cuEventCreate")?;
        Ok(Self(raw))
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        let code = unsafe { driver::cuEventDestroy_v2(self.0) };
        check_in_drop(code, "cuEventDestroy");
    }
}

/// The address, aligned, with all `len` elements before the end of all addresses and in the memory of `gpu`.
fn checked<T: Element>(gpu: &Gpu, address: u64, len: usize) -> Result<DevicePtr<T>, GpuError> {
    let (size, align) = (size_of::<T>() as u64, align_of::<T>() as u64);
    let bytes = (len as u64).checked_mul(size);
    if bytes.and_then(|bytes| address.checked_add(bytes)).is_none() {
        return Err(GpuError::Shape {
            what: "elements behind a device address",
            got: len as u64,
            have: (u64::MAX - address) / size.max(1),
        });
    }
    if !address.is_multiple_of(align) {
        return Err(GpuError::Shape {
            what: "device address that must be a multiple of its elements' alignment",
            got: address,
            have: align,
        });
    }
    check_home::<T>(gpu, "a device address", address, len)?;
    Ok(DevicePtr::from_address(address))
}

/// An error unless the first and the last byte are in the memory of `gpu`.
fn check_home<T>(gpu: &Gpu, what: &'static str, address: u64, len: usize) -> Result<(), GpuError> {
    let bytes = len as u64 * size_of::<T>() as u64;
    if bytes == 0 {
        return Ok(());
    }
    for at in [address, address + (bytes - 1)] {
        let home = Home::of(gpu, at)?;
        if let Some(found) = home.elsewhere(gpu) {
            return Err(GpuError::Elsewhere {
                what,
                index: gpu.info().index,
                found,
            });
        }
    }
    Ok(())
}

/// What the driver knows of an address; zeros and null where it knows nothing.
struct Home {
    context: CUcontext,
    kind: u32,
    ordinal: i32,
}

impl Home {
    fn of(gpu: &Gpu, address: u64) -> Result<Self, GpuError> {
        let _bound = gpu.context().bind()?;
        let mut home = Self {
            context: ptr::null_mut(),
            kind: 0,
            ordinal: 0,
        };
        let mut wanted = [
            Attribute::CU_POINTER_ATTRIBUTE_CONTEXT,
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut into: [*mut c_void; 3] = [
            (&raw mut home.context).cast(),
            (&raw mut home.kind).cast(),
            (&raw mut home.ordinal).cast(),
        ];
        // SAFETY: three attributes, each with room of its type that outlives the call; any address may be asked for.
        let code = unsafe {
            driver::cuPointerGetAttributes(3, wanted.as_mut_ptr(), into.as_mut_ptr(), address)
        };
        // Of some addresses that are nobody's the driver says that they are invalid, of others nothing.
        if code != CUresult::CUDA_ERROR_INVALID_VALUE {
            check(code, "cuPointerGetAttributes")?;
        }
        Ok(home)
    }

    /// Where it is, if not in the memory of `gpu`. Memory of a pool or of mapped pieces has no context.
    fn elsewhere(&self, gpu: &Gpu) -> Option<String> {
        let here = gpu.context();
        if self.kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32 {
            Some("it is on the host".to_string())
        } else if self.kind != CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
            Some("CUDA did not allocate it".to_string())
        } else if self.ordinal != here.device {
            Some(format!("it is on device {}", self.ordinal))
        } else if !self.context.is_null() && self.context != here.raw() {
            Some("it is of another CUDA context than the device's primary one".to_string())
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
