//! Partial Cholesky of small fronts; kernels in `dense/front_small.cu`.
//!
//! What [`Fronts`](super::Fronts) computes, for fronts whose panel fits into shared memory: one warp for each up to an order
//! of 64, four warps up to 256 with at most 128 pivots, hundreds on the device at a time. The panel and the update matrix are read and written
//! once; there are no inverses. Fronts of like kind share a launch. Bits repeat.

use std::marker::PhantomData;

use super::front::{Data, bad_pivots};
use super::{BLOCK, BadPivot, Front, Real, shape};
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/front_small.cu");
const THREADS: u32 = 128;
/// For each kernel the most rows, and how many fronts a block takes.
const KINDS: [(u32, u32); 4] = [(32, 4), (64, 4), (128, 1), (256, 1)];
/// Blocks that a multiprocessor has registers for.
const RESIDENT: u32 = 4;
/// Launches of fewer fronts are joined with the next: a launch costs more than a kernel that is larger than need be.
const FEW: usize = 512;

/// A list of small fronts of `T`, ready to be launched.
pub struct SmallFronts<T = f64> {
    launches: Vec<Group>,
    fronts: DeviceBuffer<Data>,
    pub(super) status: DeviceBuffer<[u64; 2]>,
    needs: u64,
    of: PhantomData<fn() -> T>,
}

/// The fronts of one launch.
struct Group {
    kernel: Kernel,
    shape: Launch,
    /// Where they begin.
    at: u64,
    count: u32,
    /// Numbers of shared memory for each.
    numbers: u32,
}

/// Which kernel a front takes, and what of shared memory: fronts are sorted by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: usize,
    /// Multiprocessors have room for fewer blocks than registers for them.
    missing: u32,
}

/// What holds for all types of numbers.
impl SmallFronts {
    /// Rows that a front takes in shared memory: pivots and updates, each rounded up to 8.
    #[must_use]
    pub const fn padded_order(pivots: u32, updates: u32) -> u32 {
        // whole blocks of 8, without overflow
        let (p, u) = (pivots.div_ceil(8), updates.div_ceil(8));
        p.saturating_add(u).saturating_mul(8)
    }

    /// A [`padded_order`](Self::padded_order) up to which all fronts are small enough for this device.
    #[must_use]
    pub fn largest_order(gpu: &Gpu) -> u32 {
        let most = KINDS[KINDS.len() - 1].0;
        let fits = |&order: &u32| Self::fits(gpu, order, 0);
        (1..=most / 8).rev().map(|n| 8 * n).find(fits).unwrap_or(0)
    }

    /// Whether a front is small enough for this device: above the largest order with few pivots.
    #[must_use]
    pub fn fits(gpu: &Gpu, pivots: u32, updates: u32) -> bool {
        key::<f64>(gpu, pivots, updates).is_some()
    }
}

/// The smallest kernel that has room for a front.
fn key<T>(gpu: &Gpu, pivots: u32, updates: u32) -> Option<(Key, u32)> {
    let order = SmallFronts::padded_order(pivots, updates);
    let numbers = numbers::<T>(order, pivots);
    let (bytes, have) = (
        numbers.saturating_mul(size_of::<T>() as u32),
        gpu.info().shared_per_block_bytes,
    );
    // a warp for each front only where that keeps a multiprocessor busy
    let blocks = |slots: u32| if slots > 1 { 2 * slots } else { 1 };
    let fits =
        |&(rows, slots): &(u32, u32)| order <= rows && blocks(slots).saturating_mul(bytes) <= have;
    let kind = KINDS.iter().position(fits).filter(|_| pivots <= BLOCK)?;
    let resident = have / (KINDS[kind].1 * bytes).max(1);
    let missing = RESIDENT.saturating_sub(resident);
    Some((Key { kind, missing }, numbers))
}

impl<T: Real> SmallFronts<T> {
    /// Checks and uploads the list.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a front that is too large; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, fronts: &[Front]) -> Result<Self, GpuError> {
        let (mut data, mut needs) = (Vec::with_capacity(fronts.len()), 0);
        for (number, front) in (0_u32..).zip(fronts) {
            let key = key::<T>(gpu, front.pivots, front.updates);
            let Some((key, numbers)) = key else {
                let order = SmallFronts::padded_order(front.pivots, front.updates);
                let most = SmallFronts::largest_order(gpu);
                return Err(shape("order of a small front", order.into(), most.into()));
            };
            let (d, end) = front.data::<T>(0, number)?;
            needs = end.max(needs);
            data.push((key, numbers, d));
        }
        data.sort_by_key(|&(key, ..)| key); // stable: the order of the list where keys are equal
        let module = gpu.load(&PROGRAM)?;
        let (mut launches, mut at, mut end) = (Vec::new(), 0, 0);
        for group in data.chunk_by(|a, b| a.0 == b.0) {
            end += group.len();
            if end - at < FEW && end < data.len() {
                continue;
            }
            let all = &data[at..end];
            let kind = all.iter().map(|d| d.0.kind).max().unwrap_or(0);
            let numbers = all.iter().map(|d| d.1).max().unwrap_or(0);
            let (rows, slots) = KINDS[kind];
            // at most as many as the list has, whose numbers are u32
            let count = (end - at) as u32;
            let blocks = Launch::new(count.div_ceil(slots), THREADS);
            launches.push(Group {
                kernel: module.kernel(&format!("dense_small_{rows}_{}", T::NAME))?,
                shape: blocks.shared(slots * numbers * size_of::<T>() as u32),
                at: at as u64,
                count,
                numbers,
            });
            at = end;
        }
        let data: Vec<Data> = data.into_iter().map(|(.., d)| d).collect();
        let mut status = gpu.alloc_list(fronts.len())?;
        stream.fill_bytes(&mut status, 0xFF)?;
        Ok(Self {
            launches,
            fronts: stream.list(gpu, &data)?,
            status,
            needs,
            of: PhantomData,
        })
    }

    /// Enqueues the partial factorization of all fronts of the list: one launch for each kind.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before a front does; a failing driver call.
    pub fn launch<'a>(
        &mut self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let arena = arena.into();
        if (arena.len() as u64) < self.needs {
            return Err(shape("arena of fronts", self.needs, arena.len() as u64));
        }
        stream.fill_bytes(&mut self.status, 0xFF)?;
        for group in &self.launches {
            // SAFETY: the arguments of the kernel; all fronts end within the arena and fit into the shared memory and
            // the rows of their launch; `status` has a place for each.
            unsafe {
                group.kernel.launch(
                    stream,
                    group.shape,
                    &[
                        &arena.ptr(),
                        &self.fronts.ptr().add(group.at),
                        &self.status.ptr(),
                        &group.count,
                        &group.numbers,
                    ],
                )?;
            }
        }
        Ok(())
    }

    /// Waits for the stream; the first bad pivot of every front that has one.
    ///
    /// # Errors
    /// What went wrong on the stream.
    pub fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError> {
        Ok(bad_pivots(&stream.to_host(&self.status)?))
    }
}

/// Numbers of shared memory for a panel: columns of `order` rows, rounded up to lines of 128 bytes and padded against bank
/// conflicts; and a tile's rows, which tiles are read beyond the last column.
const fn numbers<T>(order: u32, pivots: u32) -> u32 {
    let line = 128 / size_of::<T>() as u32;
    let pitch = order
        .div_ceil(line)
        .saturating_mul(line)
        .saturating_add(line / 4);
    let columns = pivots.div_ceil(8).saturating_mul(8);
    pitch.saturating_mul(columns).saturating_add(16)
}
