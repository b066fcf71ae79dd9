//! Memory for vectors of solves: the room of update matrices, which is idle between factorizations.

use tamarack_gpu::{DeviceBuffer, Element, Gpu, GpuError};

/// Places begin at multiples of this many bytes.
const ALIGNMENT: usize = 256;

/// Device memory that is handed out from the room of update matrices as long as there is some, then by the device. What stands in there
/// does not outlive the next factorization.
pub struct Room {
    gpu: Gpu,
    spare: Option<DeviceBuffer<u8>>,
    next: usize,
}

impl Room {
    /// Of the bytes of an arena from `start` on, which may be none.
    pub(super) fn new<T>(gpu: &Gpu, arena: &DeviceBuffer<T>, start: usize) -> Self {
        let start = start.next_multiple_of(ALIGNMENT);
        let bytes = (arena.len() * size_of::<T>()).saturating_sub(start);
        Self {
            gpu: gpu.clone(),
            spare: arena.lend(start, bytes),
            next: 0,
        }
    }

    /// A buffer of `len` elements.
    ///
    /// # Errors
    /// As [`Gpu::alloc`].
    pub fn take<U: Element>(&mut self, len: usize) -> Result<DeviceBuffer<U>, GpuError> {
        let spare = self.spare.as_ref();
        match spare.and_then(|spare| spare.lend(self.next, len)) {
            Some(part) => {
                self.next += (len * size_of::<U>()).next_multiple_of(ALIGNMENT);
                Ok(part)
            }
            None => self.gpu.alloc(len),
        }
    }

    /// How much has been handed out.
    pub fn mark(&self) -> usize {
        self.next
    }

    /// Hands out again what was handed out behind a [`mark`](Self::mark): nobody uses that any more.
    pub fn rewind(&mut self, mark: usize) {
        self.next = self.next.min(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn what_does_not_fit_comes_from_the_device() {
        let Some(gpu) = tamarack_gpu::testing::gpu() else {
            return;
        };
        let arena = gpu.alloc_shared::<f32>(1000).unwrap();
        let inside = |ptr: u64| ptr >= arena.ptr().address() && ptr < arena.ptr().address() + 4000;
        let mut room = Room::new(gpu, &arena, 100); // bytes 256 to 4000
        let first = room.take::<f64>(3).unwrap();
        assert_eq!(first.ptr().address(), arena.ptr().address() + 256);
        let mark = room.mark();
        let second = room.take::<f64>(400).unwrap();
        assert!(inside(second.ptr().address()));
        assert!(!inside(room.take::<f64>(100).unwrap().ptr().address()));
        room.rewind(mark);
        assert_eq!(
            room.take::<u8>(1).unwrap().ptr().address(),
            second.ptr().address()
        );
        let mut none = Room::new(gpu, &arena, 5000);
        assert!(!inside(none.take::<u8>(1).unwrap().ptr().address()));
    }
}
