//! Partial Cholesky of fronts of any size in one launch; kernels in `dense/front_large.cu` and, for tiles of two rows,
//! `dense/front_tall.cu`.
//!
//! A front is the matrix `[A11 · ; A21 A22]` with `pivots` rows in `A11` and `updates` in `A22`. Its panel
//! `[A11; A21]` becomes `[L11; L21]`, `L11 L11ᵀ = A11`, `L21 = A21 L11⁻ᵀ`; its update matrix becomes
//! `A22 − L21 L21ᵀ`. All tiles of all fronts are tasks of one launch, in which they wait for each other on the device
//! (Buttari, Langou, Kurzak, Dongarra 2009): the next diagonal tile is factored while the rest is updated,
//! and there is no gap between steps. Left-looking: a tile is read and written once. Bits repeat.

use std::marker::PhantomData;

use super::order::{Grid, TileOf, front_tiles, tall_tiles};
use super::{Assembly, Gathered, Placed, Real, Tile, grain, shape};
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("dense/front_large.cu");
const TALL: Program = Program::at("dense/front_tall.cu");

/// How a front is kept: heights and lengths that follow from its numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontShape {
    /// Stored height of the panel.
    pub panel_height: u32,
    /// Row of the panel in which the rows below the pivots begin: the pivots, rounded up to
    /// [`grain`].
    pub first_update: u32,
    /// Stored height of the update matrix.
    pub update_height: u32,
    /// Elements of the panel.
    pub panel_len: u64,
    /// Elements of the update matrix.
    pub update_len: u64,
}

impl FrontShape {
    /// The shape of a front of f64.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn new(pivots: u32, updates: u32) -> Result<Self, GpuError> {
        Self::of::<f64>(pivots, updates)
    }

    /// The shape of a front of `T`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for more than 2³¹ rows.
    pub fn of<T: Real>(pivots: u32, updates: u32) -> Result<Self, GpuError> {
        let rows = u64::from(pivots) + u64::from(updates);
        if rows >= 1 << 31 {
            return Err(shape("rows of a front", rows, 1 << 31));
        }
        let first_update = pivots.next_multiple_of(grain::<T>());
        let update_height = updates.next_multiple_of(grain::<T>());
        let panel_height = first_update + update_height;
        let whole = |len: u64| len.next_multiple_of(grain::<T>().into());
        Ok(Self {
            panel_height,
            first_update,
            update_height,
            panel_len: whole(Placed::packed(0, panel_height).len(pivots)),
            update_len: whole(Placed::packed(0, update_height).len(updates)),
        })
    }
}

/// A front in an arena. Places are in elements, and multiples of [`grain`].
#[derive(Debug, Clone, Copy)]
pub struct Front {
    /// Pivot columns.
    pub pivots: u32,
    /// Rows below them.
    pub updates: u32,
    /// Where the panel stands: packed block columns, of the shape's height.
    pub panel: u64,
    /// Where the update matrix stands: packed block columns, of the shape's height.
    pub update: u64,
    /// Where the diagonals of the inverses of the diagonal tiles go, [`Fronts::inverse_len`] elements; what is above the diagonal
    /// of such an inverse, `L⁻ᵀ`, goes above the diagonal of the tile. Not used by [`SmallFronts`](super::SmallFronts).
    pub inverse: u64,
    /// The update matrix is taken as zero, and not read.
    pub fresh: bool,
}

/// Laid out as the kernels' `Front`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Data {
    panel: u64,
    update: u64,
    inverse: u64,
    pivots: u32,
    updates: u32,
    panel_height: u32,
    first_update: u32,
    update_height: u32,
    progress: u32,
    fresh: u32,
    status: u32,
    gathered: u32,
    unused: u32,
}

/// As in the kernels: an update matrix that is read, or fresh.
const NOT_GATHERED: u32 = u32::MAX;

// SAFETY: numbers without padding.
unsafe impl crate::Element for Data {}

impl Front {
    /// Checks the places; returns what the kernel wants, and the end in the arena of all but the inverses.
    pub(super) fn data<T: Real>(
        &self,
        progress: u32,
        status: u32,
    ) -> Result<(Data, u64), GpuError> {
        let own = FrontShape::of::<T>(self.pivots, self.updates)?;
        let (pivots, updates) = (self.pivots, self.updates);
        let panel = Placed::packed(self.panel, own.panel_height);
        let update = Placed::packed(self.update, own.update_height);
        let end = panel.check::<T>("panel of a front", own.panel_height, pivots)?;
        let end = end.max(update.check::<T>("update matrix of a front", updates, updates)?);
        if !self.inverse.is_multiple_of(grain::<T>().into()) {
            let what = "place of inverses, which must be a multiple of 16 bytes";
            return Err(shape(what, self.inverse, grain::<T>().into()));
        }
        let data = Data {
            panel: self.panel,
            update: self.update,
            inverse: self.inverse,
            pivots,
            updates,
            panel_height: own.panel_height,
            first_update: own.first_update,
            update_height: own.update_height,
            progress,
            fresh: self.fresh.into(),
            status,
            gathered: NOT_GATHERED,
            unused: 0,
        };
        Ok((data, end))
    }
}

/// Why a front is not positive definite: its first pivot that is not a positive finite normal number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BadPivot {
    /// Number of the front in its list.
    pub front: usize,
    /// Pivot column of the front, from 0.
    pub pivot: u32,
    /// What stood on the diagonal when its turn came.
    pub value: f64,
}

/// What a list of fronts writes about its pivots: for each front the first bad pivot, or all ones, and its value.
pub(super) fn bad_pivots(words: &[[u64; 2]]) -> Vec<BadPivot> {
    let found = words.iter().enumerate().filter(|(_, w)| w[0] != u64::MAX);
    found
        .map(|(front, w)| BadPivot {
            front,
            pivot: w[0] as u32, // below the front's pivots
            value: f64::from_bits(w[1]),
        })
        .collect()
}

/// A list of fronts of `T` of any size, ready to be launched.
pub struct Fronts<T = f64> {
    kernel: Kernel,
    shape: Launch,
    fronts: DeviceBuffer<Data>,
    tasks: DeviceBuffer<TileOf>,
    /// Counters of finished tiles of all fronts, then the ticket.
    progress: DeviceBuffer<u32>,
    pub(super) status: DeviceBuffer<[u64; 2]>,
    needs: u64,
    /// Numbers of parts of tiles that it reads of an assembly.
    gathers: usize,
    tile: Tile,
    of: PhantomData<fn() -> T>,
}

/// What holds for all types of numbers.
impl Fronts {
    /// Elements that the diagonals of the inverses of a front's diagonal tiles take, 16 bytes at a time in all precisions.
    #[must_use]
    pub const fn inverse_len(pivots: u32) -> u64 {
        (pivots as u64).next_multiple_of(4)
    }
}

impl<T: Real> Fronts<T> {
    /// Tiles of large fronts, and the extent from which fronts are large: pivots and twice the update rows, as much must be updated at
    /// once for large tiles to gain. From 4500, 6000, 8000 and 10,000 on `el3d_40` takes 28.0, 28.0, 29.3 and 31.6 ms in f64; from 3500,
    /// 5000, 7000 and 10,000 on 21.2, 20.8, 21.0 and 22.4 in f32 (`benches/runs/2026-11-22-h100/aligned.md`).
    pub const LARGE: (Tile, u32) = match size_of::<T>() {
        4 => (Tile::Warpgroups, 5000),
        _ => (Tile::Warpgroups, 4500),
    };

    /// The tile that suits a list of fronts with pivots alone, by the largest.
    #[must_use]
    pub fn tile_for(gpu: &Gpu, largest_order: u32) -> Tile {
        match Self::LARGE {
            (large, from) if largest_order >= from => Self::usable(gpu, large),
            _ => Tile::T64,
        }
    }

    /// The tile that [`new`](Self::new) uses for `tile`: the nearest that there is for `T` on this device.
    fn usable(gpu: &Gpu, tile: Tile) -> Tile {
        let bytes = shared_bytes::<T>(tile);
        let tile = Tile::for_numbers::<T>(tile, gpu, &PROGRAM, "dense_front_warpgroups", bytes);
        Tile::on(tile, gpu, shared_bytes::<T>(tile)) // large ones are for cards with much of it
    }

    /// Checks and uploads the list; `tile` as [`tile_for`](Self::tile_for) says. Instead of warpgroups, where there are none,
    /// tall tiles are used, in f64 those of 128, or of 64 where shared memory has no room for these.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for fronts that cannot be addressed, or a tile that the device has no shared memory
    /// for; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, fronts: &[Front], tile: Tile) -> Result<Self, GpuError> {
        Self::gathering(gpu, stream, fronts, &[], tile)
    }

    /// The same, of fronts of which those that say where their update matrices are [gathered](Assembly::gathered) from sum
    /// them up themselves, tile by tile, in the order of the children: nothing of the sum is written or read. Nothing is gathered by fronts behind
    /// the end of `gathered`.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`GpuError::Shape`] also for another front than the one that was assembled, and for
    /// [tiles](Tile::gathers) that cannot gather.
    pub fn gathering(
        gpu: &Gpu,
        stream: &Stream,
        fronts: &[Front],
        gathered: &[Option<Gathered>],
        tile: Tile,
    ) -> Result<Self, GpuError> {
        let tile = Self::usable(gpu, tile);
        let (bytes, have) = (shared_bytes::<T>(tile), gpu.info().shared_per_block_bytes);
        if bytes > have {
            return Err(shape("shared memory of a tile", bytes.into(), have.into()));
        }
        let (mut data, mut grids, mut needs, mut progress) = (Vec::new(), Vec::new(), 0, 0_u32);
        let mut gathers = 0;
        for (number, front) in (0_u32..).zip(fronts) {
            let (mut d, end) = front.data::<T>(progress, number)?;
            if let Some(&Some(from)) = gathered.get(number as usize) {
                if from.updates != front.updates || !tile.gathers::<T>() {
                    let (got, have) = (front.updates.into(), from.updates.into());
                    return Err(shape("update matrix that is gathered", got, have));
                }
                d.gathered = from.first;
                gathers = gathers.max(from.end());
            }
            let inverses = Fronts::inverse_len(front.pivots);
            let inverses = front.inverse.saturating_add(inverses);
            needs = inverses.max(end).max(needs);
            let pivots = front.pivots.div_ceil(tile.columns());
            let rows = pivots + front.updates.div_ceil(tile.columns());
            if rows > u32::from(u16::MAX) {
                return Err(shape("tiles of a front", rows.into(), u16::MAX.into()));
            }
            progress = progress
                .checked_add(rows)
                .ok_or_else(|| shape("tiles of a list", u32::MAX.into(), u32::MAX.into()))?;
            grids.push(Grid { pivots, rows });
            data.push(d);
        }
        let tasks = tasks(&grids, tile);
        let blocks = u32::try_from(tasks.len())
            .map_err(|_| shape("tiles of a list", tasks.len() as u64, u32::MAX.into()))?;
        let program = if tile == Tile::Tall { &TALL } else { &PROGRAM };
        let name = format!("dense_front_{}_{}", tile.name(), T::NAME);
        let mut status = gpu.alloc_list(fronts.len())?;
        stream.fill_bytes(&mut status, 0xFF)?;
        let (fronts, tasks) = stream.lists(gpu, (&data[..], &tasks[..]))?;
        Ok(Self {
            kernel: gpu.load(program)?.kernel(&name)?,
            shape: Launch::new(blocks, tile.threads()).shared(bytes),
            fronts,
            tasks,
            progress: gpu.alloc_list(progress as usize + 1)?,
            status,
            needs,
            gathers,
            tile,
            of: PhantomData,
        })
    }

    /// Enqueues the partial factorization of all fronts of a list that gathers nothing.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before a front does, or a list that gathers; a failing driver call.
    pub fn launch<'a>(
        &mut self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        self.enqueue(stream, arena.into(), None)
    }

    /// The same of any list; `assembly` is the one that its fronts are gathered from.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before a front or a child does, or an assembly that is too short; a failing driver
    /// call.
    pub fn launch_gathering<'a>(
        &mut self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
        assembly: &Assembly<T>,
    ) -> Result<(), GpuError> {
        self.enqueue(stream, arena.into(), Some(assembly))
    }

    fn enqueue(
        &mut self,
        stream: &Stream,
        arena: DeviceViewMut<'_, T>,
        assembly: Option<&Assembly<T>>,
    ) -> Result<(), GpuError> {
        let needs = assembly.map_or(0, |assembly| assembly.needs);
        let needs = needs.max(self.needs);
        if (arena.len() as u64) < needs {
            return Err(shape("arena of fronts", needs, arena.len() as u64));
        }
        let (gathers, have) = (self.gathers, assembly.map_or(0, |a| a.firsts.len()));
        if gathers > have {
            return Err(shape("tiles to gather", gathers as u64, have as u64));
        }
        let (firsts, parts) = match assembly {
            Some(assembly) => (assembly.firsts.ptr(), assembly.parts.ptr()),
            None => (DevicePtr::null(), DevicePtr::null()),
        };
        stream.fill_bytes(&mut self.progress, 0)?;
        stream.fill_bytes(&mut self.status, 0xFF)?;
        let ticket = self.progress.ptr().add(self.progress.len() as u64 - 1);
        let (arena, fronts, tasks) = (arena.ptr(), self.fronts.ptr(), self.tasks.ptr());
        let (progress, status) = (self.progress.ptr(), self.status.ptr());
        let arguments: [&dyn Arg; 8] = [
            &arena, &fronts, &tasks, &ticket, &progress, &status, &firsts, &parts,
        ];
        let count = if self.tile.gathers::<T>() { 8 } else { 6 };
        // SAFETY: the arguments of the kernels; all fronts end within the arena, tasks name fronts of the list and
        // tiles within them, each behind those it waits for; counters and status were just cleared. Fronts that gather
        // have numbers of parts for each of their tiles, parts end within the arena.
        unsafe { self.kernel.launch(stream, self.shape, &arguments[..count]) }
    }

    /// Waits for the stream; the first bad pivot of every front that has one.
    ///
    /// # Errors
    /// What went wrong on the stream.
    pub fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError> {
        Ok(bad_pivots(&stream.to_host(&self.status)?))
    }
}

/// The tasks of fronts whose grids have no more than 65,535 rows.
fn tasks(grids: &[Grid], tile: Tile) -> Vec<TileOf> {
    let mut tasks = Vec::new();
    let task = |problem: u32, row: u32, column: u32| {
        let (row, column) = (row as u16, column as u16);
        tasks.push(TileOf {
            problem,
            row,
            column,
        });
    };
    match tile {
        Tile::Tall => tall_tiles(grids, task),
        Tile::T64 | Tile::T128 | Tile::Warpgroups => front_tiles(grids, task),
    }
    tasks
}

/// A tile, and two groups of 32 columns of an inverse with its diagonal; the copy pipeline, and twelve slabs of specialized warps,
/// need no more than that.
const fn shared_bytes<T>(tile: Tile) -> u32 {
    if let (Tile::Warpgroups, 4) = (tile, size_of::<T>()) {
        return Tile::RING_BYTES;
    }
    Tile::slab_bytes::<T>(tile.rows(), tile.columns())
        + Tile::slab_bytes::<T>(tile.columns(), 64)
        + tile.columns() * size_of::<T>() as u32
}
