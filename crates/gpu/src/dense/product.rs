//! Products `C ← βC ± A Bᵀ` of many sizes in one launch; kernels in `dense/product.cu`.
//!
//! On tensor cores: in f64, and in f32 as three products of TF32 numbers, whose sum is as exact as f32. An entry is one
//! accumulator over the columns of A in ascending order, so the bits depend on the operands alone. Cost:
//! 2·rows·columns·inner operations (SYRK: half), A and B read once for
//! each tile column and row, C read (unless β = 0) and written once.

use std::marker::PhantomData;

use super::order::{TileOf, product_tiles};
use super::{Placed, Real, Tile, shape};
use crate::{Arg, DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/product.cu");
/// The kernels of [`Tile::Warpgroups`], which there are for one architecture only.
const WARPGROUPS: &str = "dense_product_warpgroups";
const LADDER: Program = Program::at("dense/ladder.cu");
/// Stages of the copy pipeline (as in `tile.cuh`), each with 16 columns of two operands.
const STAGES: u32 = 4;

/// One product. `A` is `rows × inner`, `B` `columns × inner`, `C` `rows × columns`.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// A.
    pub a: Placed,
    /// B; for `lower` the same as A.
    pub b: Placed,
    /// C.
    pub c: Placed,
    /// Rows of A and C.
    pub rows: u32,
    /// Rows of B, columns of C.
    pub columns: u32,
    /// Columns of A and B.
    pub inner: u32,
    /// The factor of C; with 0, C is written without being read.
    pub beta: f64,
    /// Take the product off rather than add it.
    pub subtract: bool,
    /// Only entries on and below the diagonal of a square C are touched.
    pub lower: bool,
}

impl Product {
    /// The symmetric update `C ← βC − A Aᵀ` of order `order`, lower half.
    #[must_use]
    pub const fn syrk(a: Placed, c: Placed, order: u32, inner: u32, beta: f64) -> Self {
        Self {
            a,
            b: a,
            c,
            rows: order,
            columns: order,
            inner,
            beta,
            subtract: true,
            lower: true,
        }
    }

    /// Checks the operands; returns the end of what is touched in the arena.
    fn check<T: Real>(&self) -> Result<u64, GpuError> {
        if self.lower && (self.rows != self.columns || self.a != self.b) {
            let (rows, columns) = (self.rows.into(), self.columns.into());
            return Err(shape("operands of a symmetric update", rows, columns));
        }
        if self.c.packed && !self.lower {
            let columns = self.columns.into();
            return Err(shape(
                "packed result of a product that is not symmetric",
                columns,
                0,
            ));
        }
        let a = self.a.check::<T>("rows of A", self.rows, self.inner)?;
        let b = self.b.check::<T>("rows of B", self.columns, self.inner)?;
        let c = self.c.check::<T>("rows of C", self.rows, self.columns)?;
        Ok(a.max(b).max(c))
    }

    fn flags(&self) -> u32 {
        u32::from(self.lower)
            | u32::from(self.subtract) << 1
            | u32::from(self.a.packed) << 2
            | u32::from(self.b.packed) << 3
            | u32::from(self.c.packed) << 4
    }
}

/// Laid out as the kernel's `Product`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Data {
    a: u64,
    b: u64,
    c: u64,
    beta: f64,
    heights: [u32; 3],
    rows: u32,
    columns: u32,
    inner: u32,
    flags: u32,
    unused: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for Data {}

/// The kernels that compute products: a ladder, of which the last steps are used and all can be timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Every thread reads what its entry needs from device memory.
    Naive,
    /// Tiles of 16 × 16 pass through shared memory.
    SharedTiles,
    /// Tiles of 64 × 64; a thread keeps 4 × 4 entries in registers.
    RegisterBlocks,
    /// Tiles of 128 × 128, 8 × 8 a thread; 16 bytes at a time.
    VectorLoads,
    /// The next columns are read while these are multiplied. In f32 the fastest with one rounding an addition.
    DoubleBuffer,
    /// Tensor cores, and copies that run several slabs ahead; with [`Tile::Warpgroups`] blocks stay, and are ahead across tiles too.
    Pipeline(Tile),
    /// Tensor cores, and bulk copies by the copy engine, tiles of 128 × 128. In f64 and from Hopper on; else
    /// [`Pipeline`](Self::Pipeline).
    Bulk,
}

impl Step {
    /// Rows and columns of a tile.
    const fn tile(self) -> (u32, u32) {
        match self {
            Self::Naive | Self::SharedTiles => (16, 16),
            Self::RegisterBlocks => (64, 64),
            Self::VectorLoads | Self::DoubleBuffer => (128, 128),
            Self::Pipeline(tile) => (tile.rows(), tile.columns()),
            Self::Bulk => (128, 128),
        }
    }

    /// Threads of a block, and bytes of dynamic shared memory.
    const fn block<T>(self) -> (u32, u32) {
        match self {
            Self::Pipeline(Tile::Warpgroups) => {
                let bytes = match size_of::<T>() {
                    // five slabs of 8 columns of both operands; a tile of C, whose columns are 130 numbers apart, with two
                    // barriers; a note
                    8 => 5 * 2 * Tile::slab_bytes::<T>(128, 8) + 128 * 130 * 8 + 16 + 24,
                    _ => Tile::RING_BYTES,
                };
                (Tile::Warpgroups.threads(), bytes)
            }
            Self::Pipeline(tile) => {
                let slabs = Tile::slab_bytes::<T>(tile.rows(), 16)
                    + Tile::slab_bytes::<T>(tile.columns(), 16);
                // As the kernel says; with fewer before it C is read earlier: 4 % at k = 256.
                let stages = match (tile, size_of::<T>()) {
                    (Tile::T64, 8) => STAGES - 1,
                    _ => STAGES,
                };
                (tile.threads(), stages * slabs)
            }
            Self::Bulk => {
                let slabs = 2 * Tile::slab_bytes::<T>(128, 16);
                (Tile::T128.threads(), STAGES * (slabs + 16)) // and two barriers
            }
            _ => (256, 0),
        }
    }

    /// Whether blocks stay, and take one tile after the other.
    const fn stays(self) -> bool {
        matches!(self, Self::Pipeline(Tile::Warpgroups))
    }

    fn kernel<T: Real>(self, gpu: &Gpu) -> Result<Kernel, GpuError> {
        let (program, name) = match self {
            Self::Naive => (&LADDER, "naive"),
            Self::SharedTiles => (&LADDER, "shared_tiles"),
            Self::RegisterBlocks => (&LADDER, "register_blocks"),
            Self::VectorLoads => (&LADDER, "vector_loads"),
            Self::DoubleBuffer => (&LADDER, "double_buffer"),
            Self::Pipeline(tile) => (&PROGRAM, tile.name()),
            Self::Bulk => (&PROGRAM, "bulk"),
        };
        gpu.load(program)?
            .kernel(&format!("dense_product_{name}_{}", T::NAME))
    }

    /// This step, or the nearest that the device can do.
    fn on<T: Real>(self, gpu: &Gpu) -> Self {
        let fits = |step: Self| step.block::<T>().1 <= gpu.info().shared_per_block_bytes;
        let warpgroups = || {
            let bytes = self.block::<T>().1;
            Tile::for_numbers::<T>(Tile::Warpgroups, gpu, &PROGRAM, WARPGROUPS, bytes)
        };
        match self {
            Self::Pipeline(Tile::Warpgroups) => match warpgroups() {
                Tile::Warpgroups => self,
                other => Self::Pipeline(other).on::<T>(gpu),
            },
            Self::Bulk if size_of::<T>() == 4 || gpu.info().arch.number < 90 || !fits(self) => {
                Self::Pipeline(Tile::T128).on::<T>(gpu)
            }
            // they gain nothing there
            Self::Pipeline(Tile::Tall) if size_of::<T>() == 8 => Self::Pipeline(Tile::T64),
            Self::Pipeline(_) if !fits(self) => Self::Pipeline(Tile::T64),
            _ => self,
        }
    }
}

/// A list of products of matrices of `T`, ready to be launched.
pub struct Products<T = f64> {
    kernel: Kernel,
    shape: Launch,
    problems: DeviceBuffer<Data>,
    items: DeviceBuffer<TileOf>,
    /// Tiles of the list.
    count: u32,
    /// Elements that the arena must have.
    needs: u64,
    step: Step,
    of: PhantomData<fn() -> T>,
}

impl<T: Real> Products<T> {
    /// Checks and uploads the list. Without a `step` the fastest is chosen; one that the device cannot do is
    /// replaced.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for operands that do not fit, or more than 65,535 tiles in a row or column;
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        products: &[Product],
        step: Option<Step>,
    ) -> Result<Self, GpuError> {
        let step = step
            .unwrap_or_else(|| choose::<T>(gpu, products))
            .on::<T>(gpu);
        let (tile_rows, tile_columns) = step.tile();
        let (mut needs, mut data, mut items) = (0, Vec::new(), Vec::new());
        for (problem, p) in (0_u32..).zip(products) {
            needs = needs.max(p.check::<T>()?);
            data.push(Data {
                a: p.a.at,
                b: p.b.at,
                c: p.c.at,
                beta: p.beta,
                heights: [p.a.height, p.b.height, p.c.height],
                rows: p.rows,
                columns: p.columns,
                inner: p.inner,
                flags: p.flags(),
                unused: 0,
            });
            let (rows, columns) = (p.rows.div_ceil(tile_rows), p.columns.div_ceil(tile_columns));
            let lower = p.lower.then_some(tile_rows / tile_columns);
            if rows.max(columns) > u32::from(u16::MAX) {
                let rows = rows.max(columns);
                return Err(shape("tiles of a product", rows.into(), u16::MAX.into()));
            }
            product_tiles(rows, columns, lower, |row, column| {
                // below 65,536, as just checked
                let (row, column) = (row as u16, column as u16);
                items.push(TileOf {
                    problem,
                    row,
                    column,
                });
            });
        }
        let count = u32::try_from(items.len())
            .map_err(|_| shape("tiles of a list", items.len() as u64, u32::MAX.into()))?;
        let blocks = if step.stays() {
            count.min(gpu.info().multiprocessors)
        } else {
            count
        };
        let (threads, shared_bytes) = step.block::<T>();
        let (problems, items) = stream.lists(gpu, (&data[..], &items[..]))?;
        Ok(Self {
            kernel: step.kernel::<T>(gpu)?,
            shape: Launch::new(blocks, threads).shared(shared_bytes),
            problems,
            items,
            count,
            needs,
            step,
            of: PhantomData,
        })
    }

    /// The step that is used.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    /// Enqueues all products of the list.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before an operand does; a failing driver call.
    pub fn launch<'a>(
        &self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let arena = arena.into();
        if (arena.len() as u64) < self.needs {
            return Err(shape("arena of products", self.needs, arena.len() as u64));
        }
        let (arena, problems, items) = (arena.ptr(), self.problems.ptr(), self.items.ptr());
        let args: [&dyn Arg; 4] = [&arena, &problems, &items, &self.count];
        // blocks that stay must know how many tiles there are
        let known = if self.step.stays() { 4 } else { 3 };
        // SAFETY: the arguments of the kernels; all operands end within the arena, and the items name
        // problems of the list and tiles within them.
        unsafe { self.kernel.launch(stream, self.shape, &args[..known]) }
    }
}

/// Large tiles where there are enough of them to fill the device several times, in f32 by warpgroups once. In f64 a large tile has a
/// multiprocessor for itself, so its inner dimension must be long enough to hide what else there is to do: warpgroups from 256 on, or 128
/// where C is not read (n = 8192, β = 1, k = 128: 31.7 TFLOP/s, tiles of 64 32.3; k = 256: 46.5 and 41.8; β = 0, k = 128: 46 and 40).
fn choose<T: Real>(gpu: &Gpu, products: &[Product]) -> Step {
    let warpgroups = Step::Pipeline(Tile::Warpgroups);
    let are_there = warpgroups.on::<T>(gpu) == warpgroups;
    let (mut tiles, mut long) = (0, 0);
    for p in products {
        let all = u64::from(p.rows.div_ceil(128)) * u64::from(p.columns.div_ceil(128));
        let own = if p.lower { all / 2 } else { all };
        tiles += own;
        let enough = match (are_there, p.lower) {
            (true, _) if p.beta == 0.0 => 128,
            (true, _) => 256,
            (false, false) => 512,
            (false, true) => 2048,
        };
        if p.inner >= enough {
            long += own;
        }
    }
    let all = u64::from(gpu.info().multiprocessors);
    let (once, several) = (tiles >= all, tiles >= 4 * all);
    let single = size_of::<T>() == 4;
    match are_there {
        true if (single && once) || (several && 2 * long > tiles) => warpgroups,
        _ if several && single => Step::Pipeline(Tile::Tall),
        false if several && 2 * long > tiles => Step::Pipeline(Tile::T128),
        _ => Step::Pipeline(Tile::T64),
    }
}
