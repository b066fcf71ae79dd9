//! Partial Cholesky of small fronts; kernels in `dense/front_small.cu`.
//!
//! What [`Fronts`](super::Fronts) computes, for fronts whose panel fits into shared memory: one warp for each up to an order
//! of 64, four warps up to 256 with at most 128 pivots, hundreds on the device at a time. The panel and the update matrix are read and written
//! once, those of the list's end first; there are no inverses. Fronts of like kind share a launch. Bits repeat.

use std::marker::PhantomData;

use super::front::{Data, bad_pivots};
use super::{BLOCK, BadPivot, Front, Real, shape};
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/front_small.cu");

/// A kernel: a block of it eliminates one front.
struct Kind {
    /// `dense_front_small_NAME_f64`.
    name: &'static str,
    /// Most rows, pivots and updates each rounded up to 8, and most updates.
    rows: u32,
    updates: u32,
    warps: u32,
    /// Blocks that a multiprocessor has registers for, in f64.
    resident: u32,
    /// Blocks that a multiprocessor should have at most, in f64 and in f32: more than are needed to keep device memory busy push out of the
    /// second-level cache what others are about to write.
    most: [u32; 2],
}

const fn kind(name: &'static str, (rows, updates): (u32, u32), warps: u32, resident: u32) -> Kind {
    Kind {
        name,
        rows,
        updates,
        warps,
        resident,
        most: [u32::MAX - 1; 2],
    }
}

/// Each can do what those before it can.
const KINDS: [Kind; 8] = [
    kind("16_16", (16, 16), 1, 20),
    kind("32_16", (32, 16), 1, 16),
    kind("32_32", (32, 32), 1, 16),
    kind("48_32", (48, 32), 1, 8),
    Kind {
        most: [6, 10],
        ..kind("64_32", (64, 32), 1, 8)
    },
    kind("64_64", (64, 64), 1, 8),
    kind("128", (128, 128), 4, 4),
    kind("256", (256, 256), 4, 4),
];
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
}

/// Which kernel a front takes, and what of shared memory: fronts are sorted by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: usize,
    /// Quarters of the blocks that multiprocessors should have room for and have not.
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
        let most = KINDS[KINDS.len() - 1].rows;
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
fn key<T>(gpu: &Gpu, pivots: u32, updates: u32) -> Option<Key> {
    let order = SmallFronts::padded_order(pivots, updates);
    let have = gpu.info().shared_per_block_bytes;
    // a warp for each front only where that keeps a multiprocessor busy
    let least = |kind: &Kind| if kind.warps == 1 { 8 } else { 1 };
    let fits = |kind: &Kind| {
        let bytes = kind.shared_bytes::<T>(pivots, updates);
        order <= kind.rows && updates <= kind.updates && bytes.saturating_mul(least(kind)) <= have
    };
    let number = KINDS.iter().position(fits).filter(|_| pivots <= BLOCK)?;
    let kind = &KINDS[number];
    let room = have / kind.shared_bytes::<T>(pivots, updates).max(1);
    let missing = 4 - (4 * room / kind.resident).min(4);
    Some(Key {
        kind: number,
        missing,
    })
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
            let Some(key) = key else {
                let order = SmallFronts::padded_order(front.pivots, front.updates);
                let most = SmallFronts::largest_order(gpu);
                return Err(shape("order of a small front", order.into(), most.into()));
            };
            let (d, end) = front.data::<T>(0, number)?;
            needs = end.max(needs);
            data.push((key, front, d));
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
            let kind = &KINDS[all.iter().map(|d| d.0.kind).max().unwrap_or(0)];
            let shared = |front: &Front| kind.shared_bytes::<T>(front.pivots, front.updates);
            let shared = all.iter().map(|d| shared(d.1)).max().unwrap_or(0);
            let shared = shared.max(kind.least_shared_bytes::<T>(gpu));
            // at most as many as the list has, whose numbers are u32
            let count = (end - at) as u32;
            launches.push(Group {
                kernel: module.kernel(&format!("dense_front_small_{}_{}", kind.name, T::NAME))?,
                shape: Launch::new(count, 32 * kind.warps).shared(shared),
                at: at as u64,
                count,
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
        for group in &self.launches {
            // SAFETY: the arguments of the kernel; all fronts end within the arena and fit into the shared memory and
            // the rows of their launch; `status` has a place for each, which it always writes.
            unsafe {
                group.kernel.launch(
                    stream,
                    group.shape,
                    &[
                        &arena.ptr(),
                        &self.fronts.ptr().add(group.at),
                        &self.status.ptr(),
                        &group.count,
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

impl Kind {
    /// Shared memory with which no more than [`most`](Self::most) blocks find room on a multiprocessor.
    fn least_shared_bytes<T>(&self, gpu: &Gpu) -> u32 {
        const RESERVED: u32 = 1024; // of each block, by the driver
        let [f64s, f32s] = self.most;
        let most = if size_of::<T>() == 8 { f64s } else { f32s };
        let over = gpu.info().shared_per_multiprocessor_bytes / (most + 1);
        (over + 128).saturating_sub(RESERVED)
    }

    /// What a front takes of shared memory: the columns of its panel, padded against bank conflicts, and rows that tiles are read beyond
    /// the last column.
    const fn shared_bytes<T>(&self, pivots: u32, updates: u32) -> u32 {
        let top = pivots.div_ceil(8).saturating_mul(8);
        let grain = 16 / size_of::<T>() as u32;
        let (pitch, beyond) = if self.warps == 1 {
            let pitch = self.rows + grain;
            (
                pitch,
                top.saturating_add(self.updates).saturating_sub(pitch),
            )
        } else {
            let order = SmallFronts::padded_order(pivots, updates);
            (
                order
                    .div_ceil(8 * grain)
                    .saturating_mul(8 * grain)
                    .saturating_add(2 * grain),
                16,
            )
        };
        pitch
            .saturating_mul(top)
            .saturating_add(beyond)
            .saturating_mul(size_of::<T>() as u32)
    }
}
