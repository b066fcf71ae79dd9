//! Ordinary memory on its way up and down, by several threads at once through a little pinned memory.
//!
//! The driver copies ordinary memory at 8 to 9 GB/s where the way up takes 55 and lanes reach 37; pinning memory that is used
//! once costs as much as it saves (`benches/gpu`, `device`). So threads write what goes up into pinned lanes, of which
//! one half is on its way while the other is written. What is computed need not stand in ordinary memory at all. On the way down they read one
//! half while the other comes. Where memory cannot be pinned the lanes are pageable: then the driver stages once more, and the halves are
//! filled and emptied in the same order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::{
    DevicePtr, DeviceView, DeviceViewMut, Element, Event, Gpu, GpuError, PinnedBuffer, Stream,
};

/// Half a lane: what goes up or comes down in one copy.
const HALF_BYTES: usize = 1 << 20;
/// A thread is worth its start from so many copies on.
const LEAST_COPIES: usize = 4;
/// Lanes that are kept, at most, and threads that copy for one caller.
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

    /// Downloads piece after piece to where `next` says: its first element, and room for the piece.
    fn bring<'t, T: Element>(
        &mut self,
        from: DevicePtr<T>,
        next: &impl Fn() -> Option<(usize, &'t mut [T])>,
    ) -> Result<(), GpuError> {
        let mut coming = [
            self.ask_for(0, from, next())?,
            self.ask_for(1, from, next())?,
        ];
        for half in (0..2).cycle() {
            let Some(part) = coming[half].take() else {
                break; // there was none left, so that the other half is empty as well
            };
            self.passed[half].synchronize()?;
            let bytes = half * HALF_BYTES..half * HALF_BYTES + size_of_val(part);
            let memory = self.memory.as_slice()[bytes].as_ptr();
            // SAFETY: pages, hence aligned; as long as that; every pattern of bits is a `T`; borrowed from `memory`, of which
            // nothing writes this half, since the copy to it has passed.
            part.copy_from_slice(unsafe {
                std::slice::from_raw_parts(memory.cast::<T>(), part.len())
            });
            coming[half] = self.ask_for(half, from, next())?;
        }
        Ok(())
    }

    /// Enqueues the download of a piece to a half, if there is one.
    fn ask_for<'t, T: Element>(
        &mut self,
        half: usize,
        from: DevicePtr<T>,
        piece: Option<(usize, &'t mut [T])>,
    ) -> Result<Option<&'t mut [T]>, GpuError> {
        let Some((start, part)) = piece else {
            return Ok(None);
        };
        let bytes = half * HALF_BYTES..half * HALF_BYTES + size_of_val(part);
        let address = from.add(start as u64).address();
        let place = DeviceView::<u8>::new(DevicePtr::from_address(address), size_of_val(part));
        // SAFETY: the half is not touched before its event has been waited for.
        unsafe { self.memory.download_async(&self.stream, place, bytes)? };
        self.stream.record(&self.passed[half])?;
        Ok(Some(part))
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
        self.upload_with_by(MOST, to.into(), fill)
    }

    /// The same by `threads` threads at most.
    fn upload_with_by<T: Element>(
        &self,
        threads: usize,
        to: DeviceViewMut<'_, T>,
        fill: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<(), GpuError> {
        const { assert!(size_of::<T>() <= HALF_BYTES, "one fits into half a lane") };
        if to.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        let to = Target {
            ptr: to.ptr(),
            len: to.len(),
            piece: HALF_BYTES / size_of::<T>(),
        };
        let next = AtomicUsize::new(0);
        self.by_lanes(to.len.div_ceil(to.piece), threads, |lane| {
            lane.carry(&to, &next, &fill)
        })
    }

    /// Does `work` with as many lanes as so many copies are worth, each by a thread of its own, `threads` at most.
    fn by_lanes(
        &self,
        copies: usize,
        threads: usize,
        work: impl Fn(&mut Lane) -> Result<(), GpuError> + Sync,
    ) -> Result<(), GpuError> {
        let work = || self.with_lane(&work);
        let wanted = copies.div_ceil(LEAST_COPIES).min(threads).min(MOST);
        if wanted <= 1 {
            return work(); // the system is not asked
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = wanted.min(cores);
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
        self.upload_by(MOST, from, to)
    }

    /// The same by `threads` threads at most, and never more than 16: others that call the driver meanwhile wait for them.
    ///
    /// # Errors
    /// As [`upload_all`](Self::upload_all).
    pub fn upload_by<'a, T: Element>(
        &self,
        threads: usize,
        from: &[T],
        to: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let to = to.into();
        crate::copy::same_length("upload", from.len(), to.len())?;
        self.upload_with_by(threads, to, |start, part| {
            part.copy_from_slice(&from[start..start + part.len()]);
        })
    }

    /// Downloads to ordinary memory, and waits for it: faster than [`Stream::download`] from a few megabytes on.
    ///
    /// What streams still do with `from` is the caller's business.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call; `to` then holds anything.
    pub fn download_all<'a, T: Element>(
        &self,
        from: impl Into<DeviceView<'a, T>>,
        to: &mut [T],
    ) -> Result<(), GpuError> {
        self.download_by(MOST, from, to)
    }

    /// The same by `threads` threads at most, as [`upload_by`](Self::upload_by).
    ///
    /// # Errors
    /// As [`download_all`](Self::download_all).
    pub fn download_by<'a, T: Element>(
        &self,
        threads: usize,
        from: impl Into<DeviceView<'a, T>>,
        to: &mut [T],
    ) -> Result<(), GpuError> {
        const { assert!(size_of::<T>() <= HALF_BYTES, "one fits into half a lane") };
        let from = from.into();
        crate::copy::same_length("download", from.len(), to.len())?;
        if to.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        let (ptr, piece) = (from.ptr(), HALF_BYTES / size_of::<T>());
        let copies = to.len().div_ceil(piece);
        let pieces = Mutex::new((0..).step_by(piece).zip(to.chunks_mut(piece)));
        let next = || {
            let mut pieces = pieces.lock().unwrap_or_else(PoisonError::into_inner);
            pieces.next()
        };
        self.by_lanes(copies, threads, |lane| lane.bring(ptr, &next))
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
        if let Err(error) = work(&mut lane) {
            // Nothing is on its way to memory that is freed.
            let _ = lane.stream.synchronize();
            return Err(error);
        }
        let mut free = self.free_lanes();
        if free.len() < MOST {
            free.push(lane);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Gpu, testing};

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

    #[test]
    fn what_comes_down_is_what_went_up() {
        let Some(gpu) = testing::gpu() else { return };
        there_and_back(gpu);
    }

    #[test]
    fn lanes_work_without_pinned_memory() {
        let Some(gpu) = testing::pageable_gpu() else {
            return;
        };
        gpu.open_lanes().unwrap();
        there_and_back(&gpu);
    }

    fn there_and_back(gpu: &Gpu) {
        // A piece of u64 is 2^17 long: one half of one lane, both, one more, many threads.
        for len in [0, 1, 1 << 17, 1 << 18, (1 << 18) + 1, 1_000_003, 5_000_011] {
            let from: Vec<u64> = (0..len).map(|i| 7 * i).collect();
            let mut there = gpu.alloc::<u64>(from.len()).unwrap();
            gpu.upload_all(&from, &mut there).unwrap();
            let mut to = vec![1; from.len()];
            gpu.download_all(&there, &mut to).unwrap();
            assert_eq!(to, from);
            assert!(
                gpu.download_all(&there, &mut vec![0; from.len() + 1])
                    .is_err()
            );
        }
    }
}
