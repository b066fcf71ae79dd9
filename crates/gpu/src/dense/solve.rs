//! Forward and backward substitution with the panels of fronts; kernels in `dense/solve.cu`.
//!
//! Forward: `x1 ← L11⁻¹ x1`, `x2 ← x2 − L21 x1`. Backward: `x1 ← L11⁻ᵀ (x1 − L21ᵀ x2)`. Tiles of all fronts of a list are
//! tasks of one launch that wait for each other on the device; the diagonal tiles are solved by the inverses that
//! [`Fronts`] left. Right-hand sides are taken four at a time: the panel is read once for four. Bits
//! repeat, and do not depend on the number of right-hand sides.

use super::{Front, Fronts, Tile, shape};
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch,
    Program, Stream,
};

const PROGRAM: Program = Program::at("dense/solve.cu");
const THREADS: u32 = 512;
/// Right-hand sides of a task.
const GROUP: u32 = 4;

/// Where a front's right-hand sides stand: `pivots + updates` rows each, pivots first.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RightHandSides {
    /// Place of the first row of the first.
    pub at: u64,
    /// Elements between two of them.
    pub stride: u64,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for RightHandSides {}

/// Laid out as the kernels' `Solve`.
#[repr(C)]
struct Arguments {
    arena: DevicePtr<f64>,
    fronts: DevicePtr<super::front::Data>,
    x: DevicePtr<f64>,
    vectors: DevicePtr<RightHandSides>,
    tasks: DevicePtr<[u32; 2]>,
    tickets: DevicePtr<u32>,
    progress: DevicePtr<u32>,
    count: u32,
    counters: u32,
    rhs: u32,
    unused: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Arguments {}

/// A list of fronts whose panels are solved with.
pub struct PanelSolves {
    /// Forward and backward.
    kernels: [Kernel; 2],
    tasks: [DeviceBuffer<[u32; 2]>; 2],
    fronts: DeviceBuffer<super::front::Data>,
    vectors: DeviceBuffer<RightHandSides>,
    /// Counters for every group of right-hand sides, then the ticket.
    progress: DeviceBuffer<u32>,
    counters: u32,
    most_rhs: u32,
    needs: u64,
    /// Rows and place of every front's right-hand sides, for checks.
    ends: Vec<(u64, RightHandSides)>,
}

impl PanelSolves {
    /// Checks and uploads the list, for up to `most_rhs` right-hand sides. `tile` is the one that the fronts were
    /// factored with.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for fronts that cannot be addressed, or as many places of right-hand sides as there are not
    /// fronts; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        fronts: &[Front],
        vectors: &[RightHandSides],
        tile: Tile,
        most_rhs: u32,
    ) -> Result<Self, GpuError> {
        if fronts.len() != vectors.len() {
            return Err(shape(
                "right-hand sides",
                vectors.len() as u64,
                fronts.len() as u64,
            ));
        }
        let (mut data, mut ends, mut needs, mut counters) = (Vec::new(), Vec::new(), 0, 0_u32);
        let mut tasks = [Vec::new(), Vec::new()];
        for ((number, front), &v) in (0_u32..).zip(fronts).zip(vectors) {
            let (d, end) = front.data::<f64>(counters, number)?;
            let inverses = Fronts::inverse_len(tile, front.pivots);
            needs = front.inverse.saturating_add(inverses).max(end).max(needs);
            let pivots = front.pivots.div_ceil(tile.size());
            let rows = pivots + front.updates.div_ceil(tile.size());
            tasks[0].extend((0..rows).map(|t| [number, t]));
            tasks[1].extend((0..pivots).rev().map(|t| [number, t]));
            counters = counters
                .checked_add(1)
                .ok_or_else(|| shape("fronts of a list", u32::MAX.into(), u32::MAX.into()))?;
            data.push(d);
            ends.push((u64::from(front.pivots) + u64::from(front.updates), v));
        }
        // chains of several fronts side by side: first all first tiles, then all second ones
        let place = |own: &[[u32; 2]], backward: bool| {
            let tiles = |f: u32| fronts[f as usize].pivots.div_ceil(tile.size());
            let mut list: Vec<_> = own.to_vec();
            list.sort_by_key(|&[f, t]| if backward { tiles(f) - 1 - t } else { t });
            list
        };
        let lists = [place(&tasks[0], false), place(&tasks[1], true)];
        let names = match tile {
            Tile::T64 => ["dense_forward_64", "dense_backward_64"],
            Tile::T128 => ["dense_forward_128", "dense_backward_128"],
        };
        let groups = most_rhs.div_ceil(GROUP) as usize;
        let module = gpu.load(&PROGRAM)?;
        Ok(Self {
            kernels: [module.kernel(names[0])?, module.kernel(names[1])?],
            tasks: [
                stream.to_device(gpu, &lists[0])?,
                stream.to_device(gpu, &lists[1])?,
            ],
            fronts: stream.to_device(gpu, &data)?,
            vectors: stream.to_device(gpu, vectors)?,
            progress: gpu.alloc(counters as usize * groups + 1)?,
            counters,
            most_rhs,
            needs,
            ends,
        })
    }

    /// Enqueues the forward substitution of all fronts of the list with their first `rhs` right-hand sides in `x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena or `x` that end too early, or more right-hand sides than planned; a failing
    /// driver call.
    pub fn forward<'a, 'b>(
        &mut self,
        stream: &Stream,
        arena: impl Into<DeviceView<'a, f64>>,
        x: impl Into<DeviceViewMut<'b, f64>>,
        rhs: u32,
    ) -> Result<(), GpuError> {
        self.launch(0, stream, &arena.into(), &x.into(), rhs)
    }

    /// Enqueues the backward substitution, likewise.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward<'a, 'b>(
        &mut self,
        stream: &Stream,
        arena: impl Into<DeviceView<'a, f64>>,
        x: impl Into<DeviceViewMut<'b, f64>>,
        rhs: u32,
    ) -> Result<(), GpuError> {
        self.launch(1, stream, &arena.into(), &x.into(), rhs)
    }

    fn launch(
        &mut self,
        which: usize,
        stream: &Stream,
        arena: &DeviceView<'_, f64>,
        x: &DeviceViewMut<'_, f64>,
        rhs: u32,
    ) -> Result<(), GpuError> {
        if (arena.len() as u64) < self.needs {
            return Err(shape("arena of panels", self.needs, arena.len() as u64));
        }
        if rhs > self.most_rhs {
            return Err(shape("right-hand sides", rhs.into(), self.most_rhs.into()));
        }
        let last = u64::from(rhs.saturating_sub(1));
        for &(rows, v) in &self.ends {
            let end = v
                .stride
                .saturating_mul(last)
                .saturating_add(v.at)
                .saturating_add(rows);
            if end > x.len() as u64 {
                return Err(shape("right-hand sides of a front", end, x.len() as u64));
            }
        }
        let tasks = &self.tasks[which];
        let blocks = tasks.len() as u64 * u64::from(rhs.div_ceil(GROUP));
        let blocks = u32::try_from(blocks).map_err(|_| shape("tasks", blocks, u32::MAX.into()))?;
        stream.fill_bytes(&mut self.progress, 0)?;
        let arguments = Arguments {
            arena: arena.ptr(),
            fronts: self.fronts.ptr(),
            x: x.ptr(),
            vectors: self.vectors.ptr(),
            tasks: tasks.ptr(),
            tickets: self.progress.ptr().add(self.progress.len() as u64 - 1),
            progress: self.progress.ptr(),
            count: tasks.len() as u32, // at most as many as blocks
            counters: self.counters,
            rhs,
            unused: 0,
        };
        // SAFETY: the argument of the kernels; fronts end within the arena and right-hand sides within x; every task
        // stands behind those it waits for, and the counters were just cleared.
        unsafe { self.kernels[which].launch(stream, Launch::new(blocks, THREADS), &[&arguments]) }
    }
}
