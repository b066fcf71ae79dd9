//! Substitution with the panels of small fronts; kernels in `dense/solve_small.cu`.
//!
//! Gather, solve and write are one step: a warp, or a block of four, has the front's vector in shared memory, and reads the
//! panel once. A run of fronts is walked by one team in order, so that the bottom of a tree, many stages of tiny
//! fronts, is one launch: a run is then a subtree.

use std::marker::PhantomData;

use super::super::shape;
use super::lists::{FrontData, Lists, Needs};
use super::space::Vectors;
use super::{RHS_GROUP, SolveFront, SolveSpace};
use crate::primitives::Real;
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("dense/solve_small.cu");
/// Most rows of a front: with eight right-hand sides its vector takes 12 KiB of shared memory.
const MOST_ROWS: u32 = 192;
/// Warps of a block.
const WARPS: u32 = 4;
/// A run is walked by one warp where none of its fronts has more rows or pivots than this.
const WARP_ROWS: u32 = 48;
const WARP_PIVOTS: u32 = 16;
/// Pivots that are solved at a time, and the distance of their columns.
const STEP: u32 = 32;
const PITCH: u32 = 33;

/// Laid out as the kernels' `Walks`.
#[repr(C)]
struct Walks {
    vectors: Vectors,
    fronts: DevicePtr<FrontData>,
    index: DevicePtr<u32>,
    runs: DevicePtr<u32>,
    blocks: DevicePtr<[u32; 2]>,
    /// Of teams of one warp, and of a block.
    sizes: [Size; 2],
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Walks {}

/// Rows and columns that set how much shared memory a team takes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    rows: u32,
    columns: u32,
}

impl Size {
    fn with(self, other: Self) -> Self {
        Self {
            rows: self.rows.max(other.rows),
            columns: self.columns.max(other.columns),
        }
    }

    /// Bytes of a team of `warps` for groups of `width` right-hand sides.
    fn bytes(self, warps: u32, width: u32) -> u32 {
        8 * (self.rows * width + self.columns * PITCH + warps * STEP * width)
    }
}

/// A list of small fronts in runs, ready for substitution in both directions.
pub struct SmallSolves<T> {
    /// Forward and backward.
    kernels: [Kernel; 2],
    fronts: DeviceBuffer<FrontData>,
    index: DeviceBuffer<u32>,
    runs: DeviceBuffer<u32>,
    blocks: DeviceBuffer<[u32; 2]>,
    /// Of runs of a warp, and of runs of a block.
    sizes: [Size; 2],
    needs: Needs,
    panels: PhantomData<fn() -> T>,
}

impl<T: Real> SmallSolves<T> {
    /// Most rows, pivots and updates together, of a front.
    #[must_use]
    pub const fn most_rows() -> u32 {
        MOST_ROWS - 1 // the rows below the pivots begin at an even row
    }

    /// Checks and uploads the list: `runs` says how many fronts each run has, in the order of `fronts`. Fronts of different runs do
    /// not depend on each other; within a run children stand before their parents.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for fronts that are too large or cannot be addressed, or runs that are not as long as the list;
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        fronts: &[SolveFront<'_>],
        runs: &[u32],
    ) -> Result<Self, GpuError> {
        let mut lists = Lists::default();
        let mut of_fronts = Vec::with_capacity(fronts.len());
        for front in fronts {
            let data = lists.add::<T>(front)?;
            let rows = data.first_update.saturating_add(data.updates);
            if rows > MOST_ROWS {
                return Err(shape(
                    "rows of a small front",
                    rows.into(),
                    MOST_ROWS.into(),
                ));
            }
            let columns = data.pivots.min(STEP);
            of_fronts.push((Size { rows, columns }, data.pivots));
        }
        let (starts, blocks, sizes) = cut(&of_fronts, runs)?;
        let module = gpu.load(&PROGRAM)?;
        let kernel = |way: &str| module.kernel(&format!("dense_solve_small_{way}_{}", T::NAME));
        let list = Self {
            kernels: [kernel("forward")?, kernel("backward")?],
            fronts: stream.to_device(gpu, &lists.fronts)?,
            index: stream.to_device(gpu, &lists.index)?,
            runs: stream.to_device(gpu, &starts)?,
            blocks: stream.to_device(gpu, &blocks)?,
            sizes,
            needs: lists.needs,
            panels: PhantomData,
        };
        let (bytes, have) = (
            list.shared_bytes(RHS_GROUP),
            gpu.info().shared_per_block_bytes,
        );
        if bytes > have {
            return Err(shape(
                "shared memory of small fronts",
                bytes.into(),
                have.into(),
            ));
        }
        Ok(list)
    }

    /// Enqueues the forward substitution of all fronts of the list with the right-hand sides in `space`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena or a space that end before a front does; a failing driver call.
    pub fn forward<'a>(
        &self,
        stream: &Stream,
        arena: impl Into<DeviceView<'a, T>>,
        space: &mut SolveSpace,
    ) -> Result<(), GpuError> {
        self.launch(0, stream, &arena.into(), space)
    }

    /// Enqueues the backward substitution, likewise.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward<'a>(
        &self,
        stream: &Stream,
        arena: impl Into<DeviceView<'a, T>>,
        space: &mut SolveSpace,
    ) -> Result<(), GpuError> {
        self.launch(1, stream, &arena.into(), space)
    }

    /// Shared memory of a block.
    fn shared_bytes(&self, width: u32) -> u32 {
        let warps = WARPS * self.sizes[0].bytes(1, width);
        warps.max(self.sizes[1].bytes(WARPS, width))
    }

    fn launch(
        &self,
        way: usize,
        stream: &Stream,
        arena: &DeviceView<'_, T>,
        space: &SolveSpace,
    ) -> Result<(), GpuError> {
        self.needs.check(arena.len(), space)?;
        let blocks = self.blocks.len() as u64 * u64::from(space.groups());
        let blocks = u32::try_from(blocks).map_err(|_| shape("runs", blocks, u32::MAX.into()))?;
        let bytes = self.shared_bytes(space.rhs().min(RHS_GROUP));
        let walks = Walks {
            vectors: space.vectors(),
            fronts: self.fronts.ptr(),
            index: self.index.ptr(),
            runs: self.runs.ptr(),
            blocks: self.blocks.ptr(),
            sizes: self.sizes,
        };
        let launch = Launch::new(blocks, WARPS * 32).shared(bytes);
        // SAFETY: the arguments of the kernel; fronts, their rows and sources are within the arena and the space; runs are of the list,
        // and their teams fit into the shared memory of their block.
        unsafe { self.kernels[way].launch(stream, launch, &[&walks, &arena.ptr()]) }
    }
}

/// Where runs begin, the blocks that walk them, and the sizes of runs of a warp and of a block.
type Cut = (Vec<u32>, Vec<[u32; 2]>, [Size; 2]);

/// Cuts fronts, of each size and number of pivots, into runs, and runs into blocks.
fn cut(fronts: &[(Size, u32)], runs: &[u32]) -> Result<Cut, GpuError> {
    let total: u64 = runs.iter().map(|&r| u64::from(r)).sum();
    if total != fronts.len() as u64 || total > u32::MAX.into() {
        return Err(shape("fronts of all runs", total, fronts.len() as u64));
    }
    let (mut starts, mut at) = (vec![0], 0);
    let (mut sizes, mut blocks) = ([Size::default(); 2], Vec::new());
    let mut narrow: Option<[u32; 2]> = None; // a block of warps that has room
    for (run, &count) in (0_u32..).zip(runs) {
        let own = &fronts[at..at + count as usize];
        let size = own.iter().fold(Size::default(), |all, f| all.with(f.0));
        let pivots = own.iter().map(|f| f.1).max().unwrap_or(0);
        at += count as usize;
        starts.push(at as u32); // as just checked
        if size.rows <= WARP_ROWS && pivots <= WARP_PIVOTS {
            sizes[0] = sizes[0].with(size);
            match &mut narrow {
                Some(block) if block[1] < WARPS => block[1] += 1,
                _ => {
                    blocks.extend(narrow);
                    narrow = Some([run, 1]);
                }
            }
        } else {
            sizes[1] = sizes[1].with(size);
            blocks.extend(narrow.take());
            blocks.push([run, 0]);
        }
    }
    blocks.extend(narrow);
    Ok((starts, blocks, sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_dealt_to_warps_and_blocks() {
        let size = |rows, pivots: u32| {
            (
                Size {
                    rows,
                    columns: pivots.min(STEP),
                },
                pivots,
            )
        };
        let (tiny, wide, high) = (size(48, 16), size(20, 17), size(49, 1));
        let fronts = [
            tiny,
            tiny,
            tiny,
            wide,
            tiny,
            high,
            tiny,
            tiny,
            tiny,
            tiny,
            tiny,
            size(2, 40),
        ];
        let (starts, blocks, sizes) = cut(&fronts, &[1, 1, 1, 2, 0, 1, 1, 1, 1, 1, 1, 1]).unwrap();
        assert_eq!(starts, [0, 1, 2, 3, 5, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(
            blocks,
            [[0, 3], [3, 0], [4, 1], [5, 0], [6, 4], [10, 1], [11, 0]]
        );
        assert_eq!((sizes[0].rows, sizes[0].columns), (48, 16));
        assert_eq!((sizes[1].rows, sizes[1].columns), (49, 32));
        assert!(cut(&fronts, &[11]).is_err() && cut(&fronts, &[13]).is_err());
    }
}
