//! Ordinary memory on its way up, by several threads at once through a little pinned memory.
//!
//! The driver copies ordinary memory at 8 to 9 GB/s where the way up takes 55 and lanes reach 37; pinning memory that is used
//! once costs as much as it saves (`benches/gpu`, `device`). So threads write what goes up into pinned lanes, of which
//! one half is on its way while the other is written. What is computed need not stand in ordinary memory at all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::{DeviceViewMut, Element, Event, Gpu, GpuError, PinnedBuffer, Stream};

/// Half a lane: what goes up in one copy.
const HALF_BYTES: usize = 1 << 20;
/// A thread is worth its start from so many copies on.
const LEAST_COPIES: usize = 4;
/// Lanes that are kept, at most, and threads that upload for one caller.
const MOST: usize = 16;

/// Lanes that nobody uses now.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<Vec<Lane>>);

/// A thread's way to the device.
struct Lane {
    stream: Stream,
    /// Each half's last copy has passed.
    passed: [Event; 2],
    memory: PinnedBuffer<u8>,
}

impl Lane {
    fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            stream: gpu.stream()?,
            passed: [gpu.event()?, gpu.event()?],
            memory: gpu.pinned(2 * HALF_BYTES)?,
        })
    }

    /// Uploads piece after piece, the numbers of which `next` gives, and waits for them.
    fn carry<T: Element>(
        &mut self,
        to: &Target<T>,
        next: &AtomicUsize,
        fill: &impl Fn(usize, &mut [T]),
    ) -> Result<(), GpuError> {
        for half in (0..2).cycle() {
            let start = next.fetch_add(to.piece, Ordering::Relaxed);
            if start >= to.len {
                break;
            }
            let len = to.piece.min(to.len - start);
            self.passed[half].synchronize()?;
            let bytes = half * HALF_BYTES..half * HALF_BYTES + len * size_of::<T>();
            let memory = self.memory.as_mut_slice()[bytes.clone()].as_mut_ptr();
            // SAFETY: pages, hence aligned; as long as that; every pattern of bits is a `T`; borrowed from `memory`, of which
            // nothing else reads or writes this half, since the copy from it has passed.
            let part = unsafe { std::slice::from_raw_parts_mut(memory.cast::<T>(), len) };
            fill(start, part);
            let place = to.place(start, len);
            // SAFETY: the half is not written before its event has been waited for, or the stream below.
            unsafe { self.memory.upload_async(&self.stream, bytes, place)? };
            self.stream.record(&self.passed[half])?;
        }
        self.stream.synchronize()
    }
}

/// Device memory that threads write to, each its own pieces.
struct Target<T> {
    ptr: crate::DevicePtr<T>,
    len: usize,
    /// Elements that go up in one copy.
    piece: usize,
}

impl<T> Target<T> {
    /// The bytes of some elements.
    fn place(&self, start: usize, len: usize) -> DeviceViewMut<'_, u8> {
        let address = self.ptr.add(start as u64).address();
        let ptr = crate::DevicePtr::from_address(address);
        DeviceViewMut::new(ptr, len * size_of::<T>())
    }
}

impl Gpu {
    /// Uploads what `fill` writes, and waits for it: `fill(start, part)` gives elements `start..` in any order and from
    /// several threads at once. `part` holds anything before.
    ///
    /// What streams still do with `to` is the caller's business.
    ///
    /// # Errors
    /// A failing driver call; `to` then holds anything.
    pub fn upload_with<'a, T: Element>(
        &self,
        to: impl Into<DeviceViewMut<'a, T>>,
        fill: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<(), GpuError> {
        const { assert!(size_of::<T>() <= HALF_BYTES, "one fits into half a lane") };
        let to = to.into();
        if to.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        let to = Target {
            ptr: to.ptr(),
            len: to.len(),
            piece: HALF_BYTES / size_of::<T>(),
        };
        let copies = to.len.div_ceil(to.piece);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = copies.div_ceil(LEAST_COPIES).min(cores).min(MOST);
        let next = AtomicUsize::new(0);
        let work = || self.with_lane(|lane| lane.carry(&to, &next, &fill));
        thread::scope(|scope| {
            // Where the system refuses a thread the others do what there is.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..threads).filter_map(start).collect();
            let own = work();
            others
                .into_iter()
                .map(|other| match other.join() {
                    Ok(done) => done,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .fold(own, Result::and)
        })
    }

    /// Uploads ordinary memory, and waits for it: faster than [`Stream::upload`] from a few megabytes on.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    pub fn upload_all<'a, T: Element>(
        &self,
        from: &[T],
        to: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let to = to.into();
        crate::copy::same_length("upload", from.len(), to.len())?;
        self.upload_with(to, |start, part| {
            part.copy_from_slice(&from[start..start + part.len()]);
        })
    }

    /// Opens as many lanes as may be used at a time, so that no upload waits for their memory to be pinned.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn open_lanes(&self) -> Result<(), GpuError> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        while self.free_lanes().len() < cores.min(MOST) {
            let mut lane = Lane::new(self)?;
            lane.memory.pin(..)?;
            self.free_lanes().push(lane);
        }
        Ok(())
    }

    fn free_lanes(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.lanes()
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with a lane, which is kept unless it fails.
    fn with_lane(
        &self,
        work: impl FnOnce(&mut Lane) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let kept = self.free_lanes().pop();
        let mut lane = match kept {
            Some(lane) => lane,
            None => Lane::new(self)?,
        };
        work(&mut lane)?;
        let mut free = self.free_lanes();
        if free.len() < MOST {
            free.push(lane);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn what_threads_write_arrives_whole() {
        let Some(gpu) = testing::gpu() else { return };
        let stream = gpu.stream().unwrap();
        // A piece of u64 is 2^17 long: below one, around some, many threads.
        for len in [0, 1, 1 << 17, (1 << 17) + 1, 1_000_003, 5_000_011] {
            let mut to = gpu.alloc::<u64>(len).unwrap();
            stream.fill_bytes(&mut to, 0xFF).unwrap();
            stream.synchronize().unwrap();
            for factor in [3, 5] {
                gpu.upload_with(&mut to, |start, part| {
                    for (i, number) in (start..).zip(part) {
                        *number = factor * i as u64;
                    }
                })
                .unwrap();
                let host = stream.to_host(&to).unwrap();
                assert!(host.iter().zip(0..).all(|(&n, i)| n == factor * i));
            }
        }
    }

    #[test]
    fn ordinary_memory_arrives() {
        let Some(gpu) = testing::gpu() else { return };
        let stream = gpu.stream().unwrap();
        let from: Vec<u16> = (0..700_001_u32).map(|i| (i * 7) as u16).collect();
        let mut to = gpu.alloc::<u16>(from.len()).unwrap();
        gpu.upload_all(&from, &mut to).unwrap();
        assert_eq!(stream.to_host(&to).unwrap(), from);
        assert!(gpu.upload_all(&from[1..], &mut to).is_err());
    }
}
