//! Partial Cholesky of small fronts, each whole in shared memory; kernel in `dense/front_small.cu`.
//!
//! What [`Fronts`](super::Fronts) computes, for fronts of an order up to about 150: one block each, hundreds on the device at
//! a time. The panel and the update matrix are read and written once; there are no inverses. Fronts of about the
//! same order share a launch. Bits repeat.

use std::marker::PhantomData;

use super::front::{Data, bad_pivots};
use super::{BadPivot, Front, Real, shape};
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/front_small.cu");
/// Most threads of a block, hence most rows.
const MOST_ROWS: u32 = 160;
/// Upper ends of the classes of orders that share a launch.
const CLASSES: [u32; 7] = [16, 32, 48, 64, 96, 128, MOST_ROWS];

/// A list of small fronts of `T`, ready to be launched.
pub struct SmallFronts<T = f64> {
    kernel: Kernel,
    /// For each launch its shape, and where its fronts begin.
    launches: Vec<(Launch, u64)>,
    fronts: DeviceBuffer<Data>,
    pub(super) status: DeviceBuffer<[u64; 2]>,
    needs: u64,
    of: PhantomData<fn() -> T>,
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

    /// Largest [`padded_order`](Self::padded_order) on this device.
    #[must_use]
    pub fn largest_order(gpu: &Gpu) -> u32 {
        let have = gpu.info().shared_per_block_bytes;
        let fits = |order: &u32| shared_bytes::<f64>(*order) <= have;
        (1..=MOST_ROWS / 8)
            .rev()
            .map(|n| 8 * n)
            .find(fits)
            .unwrap_or(0)
    }
}

impl<T: Real> SmallFronts<T> {
    /// Checks and uploads the list.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a front that is too large; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, fronts: &[Front]) -> Result<Self, GpuError> {
        let most = SmallFronts::largest_order(gpu);
        let (mut data, mut needs) = (Vec::with_capacity(fronts.len()), 0);
        for (number, front) in (0_u32..).zip(fronts) {
            let order = SmallFronts::padded_order(front.pivots, front.updates);
            if order > most {
                return Err(shape("order of a small front", order.into(), most.into()));
            }
            let (d, end) = front.data::<T>(0, number)?;
            needs = end.max(needs);
            data.push((order, d));
        }
        let class = |order: u32| {
            CLASSES
                .iter()
                .position(|&c| order <= c)
                .unwrap_or(CLASSES.len())
        };
        data.sort_by_key(|&(order, _)| class(order)); // stable: the order of the list within a class
        let (mut launches, mut at) = (Vec::new(), 0);
        for group in data.chunk_by(|a, b| class(a.0) == class(b.0)) {
            let order = group.iter().map(|g| g.0).max().unwrap_or(0);
            if order > 0 {
                // at most as many as the list has, whose numbers are u32
                let launch = Launch::new(group.len() as u32, order.next_multiple_of(32));
                launches.push((launch.shared(shared_bytes::<T>(order)), at));
            }
            at += group.len() as u64;
        }
        let data: Vec<Data> = data.into_iter().map(|(_, d)| d).collect();
        let name = format!("dense_front_small_{}", T::NAME);
        let mut status = gpu.alloc(fronts.len())?;
        stream.fill_bytes(&mut status, 0xFF)?;
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel(&name)?,
            launches,
            fronts: stream.to_device(gpu, &data)?,
            status,
            needs,
            of: PhantomData,
        })
    }

    /// Enqueues the partial factorization of all fronts of the list: one launch for each class of orders.
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
        for &(launch, at) in &self.launches {
            // SAFETY: the arguments of the kernel; all fronts end within the arena and fit into the shared memory and
            // the threads of their launch; `status` has a place for each.
            unsafe {
                self.kernel.launch(
                    stream,
                    launch,
                    &[&arena.ptr(), &self.fronts.ptr().add(at), &self.status.ptr()],
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

/// Columns of `order` rows, rounded up to lines of 128 bytes and padded against bank conflicts.
const fn shared_bytes<T>(order: u32) -> u32 {
    let bytes = order * size_of::<T>() as u32;
    order * (bytes.next_multiple_of(128) + 32)
}
