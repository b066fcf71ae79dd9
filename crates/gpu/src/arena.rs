//! Many pieces of device memory from one allocation: a pointer that moves up, and back all at once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{DeviceBuffer, DevicePtr, DeviceViewMut, Element, Gpu, GpuError};

/// Alignment of every piece: what the driver gives its own allocations.
const ALIGN_BYTES: u64 = 256;

/// One allocation, handed out from its beginning. Taking a piece costs an addition.
#[derive(Debug)]
pub struct DeviceArena {
    buffer: DeviceBuffer<u8>,
    used: AtomicU64,
}

impl Gpu {
    /// An arena of this many bytes.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`], a failing driver call.
    pub fn arena(&self, bytes: usize) -> Result<DeviceArena, GpuError> {
        Ok(DeviceArena {
            buffer: self.alloc(bytes)?,
            used: AtomicU64::new(0),
        })
    }
}

impl DeviceArena {
    /// Memory for `len` elements, not initialized, aligned to 256 bytes. Pieces do not overlap.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] with what is left of the arena.
    pub fn take<T: Element>(&self, len: usize) -> Result<DeviceViewMut<'_, T>, GpuError> {
        let (needed, total) = (Self::bytes_for::<T>(len), self.buffer.len() as u64);
        let step = |used: u64| {
            needed
                .and_then(|n| used.checked_add(n))
                .filter(|&n| n <= total)
        };
        let order = Ordering::Relaxed;
        match self.used.fetch_update(order, order, step) {
            Ok(start) => {
                let address = self.buffer.ptr().address() + start;
                Ok(DeviceViewMut::new(DevicePtr::from_address(address), len))
            }
            Err(used) => Err(GpuError::OutOfMemory {
                requested_bytes: needed.unwrap_or(u64::MAX),
                free_bytes: total - used,
            }),
        }
    }

    /// What [`DeviceArena::take`] needs for `len` elements; `None` where that is more than can be.
    #[must_use]
    pub fn bytes_for<T>(len: usize) -> Option<u64> {
        (len as u64)
            .checked_mul(size_of::<T>() as u64)?
            .checked_next_multiple_of(ALIGN_BYTES)
    }

    /// Takes every piece back: the borrow says that none is in use on the host's side. What streams
    /// still do with them is the caller's business.
    pub fn reset(&mut self) {
        *self.used.get_mut() = 0;
    }

    /// Bytes handed out.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes in all.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }
}
