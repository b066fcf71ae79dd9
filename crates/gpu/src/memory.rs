//! Device memory: owned buffers, and bare device addresses for kernel arguments.
//!
//! Device memory is never read or written by Rust code, only by copies and kernels on streams; what
//! order those happen in is the caller's business (streams and events). A buffer that is dropped waits
//! for the device first, as the driver's free does.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::context::Context;
use crate::driver::{self, CUdeviceptr, CUresult, check, check_in_drop};
use crate::slab::Slab;
use crate::{DeviceView, DeviceViewMut, Gpu, GpuError};

/// A type whose every bit pattern is a value, so that device memory may hold it uninitialized.
///
/// # Safety
/// Every pattern of `size_of::<Self>()` bytes is valid, and there is no padding.
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($t:ty),*) => {$(
        // SAFETY: a number.
        unsafe impl Element for $t {}
    )*};
}
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
// SAFETY: as its elements.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}
// SAFETY: a 64-bit address that the host never follows.
unsafe impl<T: 'static> Element for DevicePtr<T> {}

/// An address in device memory, of `T`s. A plain number on the host: it keeps nothing alive.
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DevicePtr<T> {}
impl<T> fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

impl<T> DevicePtr<T> {
    /// The null address.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_address(0)
    }

    /// This address, taken as one of `T`s.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        Self {
            address,
            of: PhantomData,
        }
    }

    /// The address as a number.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// The address `elements` further on. Nothing is checked until it is used.
    #[must_use]
    pub const fn add(self, elements: u64) -> Self {
        let bytes = elements.wrapping_mul(size_of::<T>() as u64);
        Self::from_address(self.address.wrapping_add(bytes))
    }
}

/// An owned piece of device memory of `len` elements, aligned to at least 256 bytes.
pub struct DeviceBuffer<T> {
    owner: Owner,
    ptr: DevicePtr<T>,
    len: usize,
}

/// Who frees the memory of a buffer.
enum Owner {
    /// The buffer itself, in its context.
    Itself(Arc<Context>),
    /// The slab that it stands in.
    Slab(Arc<Slab>),
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} elements at {:?})", self.len, self.ptr)
    }
}

impl<T> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if let Owner::Itself(context) = &self.owner
            && self.ptr.address != 0
            && let Ok(_bound) = context.bind()
        {
            // SAFETY: allocated once, freed once.
            let code = unsafe { driver::cuMemFree_v2(self.ptr.address as CUdeviceptr) };
            check_in_drop(code, "cuMemFree");
        }
    }
}

impl Gpu {
    /// Device memory for `len` elements, not initialized. Allocating and freeing takes
    /// 60 to 90 µs and waits for the device: large things once, lists by [`alloc_list`](Self::alloc_list).
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`], a failing driver call.
    pub fn alloc<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        let context = self.context().clone();
        if len == 0 || size_of::<T>() == 0 {
            let ptr = DevicePtr::null();
            let owner = Owner::Itself(context);
            return Ok(DeviceBuffer { owner, ptr, len });
        }
        let requested = len as u128 * size_of::<T>() as u128;
        let out_of_memory = || -> GpuError {
            GpuError::OutOfMemory {
                requested_bytes: u64::try_from(requested).unwrap_or(u64::MAX),
                free_bytes: self.memory().map_or(0, |(free, _)| free),
            }
        };
        let bytes = usize::try_from(requested).map_err(|_| out_of_memory())?;
        let _bound = context.bind()?;
        let mut address = 0;
        // SAFETY: a context is current; `address` outlives the call.
        let code = unsafe { driver::cuMemAlloc_v2(&raw mut address, bytes) };
        if code == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(out_of_memory());
        }
        check(code, "cuMemAlloc")?;
        let ptr = DevicePtr::from_address(address);
        drop(_bound);
        let owner = Owner::Itself(context);
        Ok(DeviceBuffer { owner, ptr, len })
    }

    /// The same for a list, which stands beside others in one allocation unless it is large: that takes a microsecond. The
    /// allocation is freed with the last of them.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn alloc_list<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        match self.slabs().take(self, len)? {
            Some(piece) => {
                let (owner, ptr) = (Owner::Slab(piece.slab), piece.ptr);
                Ok(DeviceBuffer { owner, ptr, len })
            }
            None => self.alloc(len),
        }
    }

    /// As [`alloc`](Self::alloc), of memory that may be [lent](DeviceBuffer::lend).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn alloc_shared<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>, GpuError> {
        let whole = self.alloc::<u8>(len.saturating_mul(size_of::<T>()))?;
        let ptr = DevicePtr::from_address(whole.ptr.address());
        let owner = Owner::Slab(Slab::whole(whole));
        Ok(DeviceBuffer { owner, ptr, len })
    }
}

impl<T> DeviceBuffer<T> {
    /// `len` elements of any type that begin `start` bytes behind the first of these, as a buffer of its own: the same memory, which
    /// lives as long as one of both does. That they are not in use for different things at a time is the caller's business.
    ///
    /// `None` for memory that is not shared ([`Gpu::alloc_shared`]), a place that is not aligned to 256 bytes, or a part that ends too late.
    #[must_use]
    pub fn lend<U: Element>(&self, start: usize, len: usize) -> Option<DeviceBuffer<U>> {
        let Owner::Slab(slab) = &self.owner else {
            return None;
        };
        let address = self.ptr.address.checked_add(start as u64)?;
        let end = len.checked_mul(size_of::<U>())?.checked_add(start)?;
        if !address.is_multiple_of(256) || end > self.len.checked_mul(size_of::<T>())? {
            return None;
        }
        let (owner, ptr) = (Owner::Slab(slab.clone()), DevicePtr::from_address(address));
        Some(DeviceBuffer { owner, ptr, len })
    }

    /// The address of the first element, for kernel arguments.
    #[must_use]
    pub fn ptr(&self) -> DevicePtr<T> {
        self.ptr
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it, to be read.
    #[must_use]
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.ptr, self.len)
    }

    /// All of it, to be written.
    #[must_use]
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.ptr, self.len)
    }
}
