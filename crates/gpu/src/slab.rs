//! Lists share allocations: the driver's own take 60 to 90 µs each, one after the other.
//!
//! A slab is handed out from its beginning, and is freed with the last buffer that stands in it; no piece is used twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::{DeviceBuffer, DevicePtr, Gpu, GpuError};

/// Of one slab: a multiple of what the driver maps at a time.
const SLAB_BYTES: u64 = 4 << 20;
/// Larger pieces have allocations of their own.
const MOST_BYTES: u64 = SLAB_BYTES / 8;

/// Alignment of every piece: what the driver gives its own allocations.
const ALIGN_BYTES: u64 = 256;

/// Memory that buffers stand in.
#[derive(Debug)]
pub(crate) struct Slab {
    buffer: DeviceBuffer<u8>,
    used: AtomicU64,
}

/// The slab that is handed out from, if a buffer stands in it.
#[derive(Debug, Default)]
pub(crate) struct Slabs(Mutex<Weak<Slab>>);

impl Slab {
    /// All of a buffer, of which nothing is handed out.
    pub fn whole(buffer: DeviceBuffer<u8>) -> Arc<Self> {
        let used = AtomicU64::new(buffer.len() as u64);
        Arc::new(Self { buffer, used })
    }

    /// The address of a piece, if there is room.
    fn take(&self, bytes: u64) -> Option<DevicePtr<u8>> {
        let (order, total) = (Ordering::Relaxed, self.buffer.len() as u64);
        let step = |used: u64| used.checked_add(bytes).filter(|&end| end <= total);
        let start = self.used.fetch_update(order, order, step).ok()?;
        Some(self.buffer.ptr().add(start))
    }
}

/// A part of a slab.
pub(crate) struct Piece<T> {
    pub slab: Arc<Slab>,
    pub ptr: DevicePtr<T>,
}

impl Slabs {
    /// A piece for `len` of `T`s, or `None` where it is too large to share a slab.
    pub fn take<T>(&self, gpu: &Gpu, len: usize) -> Result<Option<Piece<T>>, GpuError> {
        let bytes = bytes_for::<T>(len).filter(|&b| 0 < b && b <= MOST_BYTES);
        let Some(bytes) = bytes else { return Ok(None) };
        let piece = |slab, ptr: DevicePtr<u8>| {
            let ptr = DevicePtr::from_address(ptr.address());
            Ok(Some(Piece { slab, ptr }))
        };
        // Whoever comes while one is allocated waits, and takes of it.
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slab) = current.upgrade()
            && let Some(ptr) = slab.take(bytes)
        {
            return piece(slab, ptr);
        }
        let slab = Arc::new(Slab {
            buffer: gpu.alloc(SLAB_BYTES as usize)?,
            used: AtomicU64::new(bytes),
        });
        *current = Arc::downgrade(&slab);
        let ptr = slab.buffer.ptr();
        piece(slab, ptr)
    }
}

/// What `len` of `T`s take of a slab; `None` where that is more than can be.
fn bytes_for<T>(len: usize) -> Option<u64> {
    (len as u64)
        .checked_mul(size_of::<T>() as u64)?
        .checked_next_multiple_of(ALIGN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::bytes_for;

    #[test]
    fn pieces_take_whole_multiples_of_the_alignment() {
        assert_eq!(bytes_for::<u8>(0), Some(0));
        assert_eq!(bytes_for::<u8>(1), Some(256));
        assert_eq!(bytes_for::<f64>(32), Some(256));
        assert_eq!(bytes_for::<f64>(33), Some(512));
        assert_eq!(bytes_for::<f64>(usize::MAX), None);
        assert_eq!(bytes_for::<u8>(usize::MAX), None);
    }
}
