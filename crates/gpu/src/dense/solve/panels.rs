//! Substitution with the panels of fronts of any size; kernels in `dense/solve_panels.cu`.
//!
//! Tiles of all fronts of a list are tasks of one launch that wait for each other on the device; diagonal tiles are solved by the
//! inverses that [`Fronts`](super::super::Fronts) left above their diagonals. Backward, the update rows of a front are cut into pieces, whose sums
//! are added in a fixed order.

use std::marker::PhantomData;

use super::super::order::TileOf;
use super::super::{Fronts, grain, shape};
use super::lists::{FrontData, Lists, Needs};
use super::space::Vectors;
use super::{RHS_GROUP, SolveFront, SolveSpace};
use crate::primitives::Real;
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("dense/solve_panels.cu");
const THREADS: u32 = 256;
/// Rows of a task; pivots of a backward one.
const TILE: u32 = 64;
/// Update rows of a backward task. A front with fewer has one task for each tile of pivots.
const CHUNK: u32 = 256;
/// The same, where there are more than [`MANY`] tasks: as many as shared memory has room for.
const LARGE_CHUNK: u32 = 512;
/// About as many tasks as run at the same time.
const MANY: u32 = 300;

/// Laid out as the kernels' `Tasks`.
#[repr(C)]
struct Arguments {
    vectors: Vectors,
    fronts: DevicePtr<FrontData>,
    index: DevicePtr<u32>,
    tasks: DevicePtr<TileOf>,
    mail: DevicePtr<[u32; 4]>,
    mail_rows: u64,
    state: DevicePtr<u32>,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Arguments {}

/// A list of fronts that do not depend on each other, ready for substitution in both directions.
pub struct PanelSolves<T> {
    /// Forward and backward.
    kernels: [Kernel; 2],
    tasks: [DeviceBuffer<TileOf>; 2],
    fronts: DeviceBuffer<FrontData>,
    index: DeviceBuffer<u32>,
    needs: Needs,
    panels: PhantomData<fn() -> T>,
}

impl<T: Real> PanelSolves<T> {
    /// Checks and uploads the list of fronts that were factored by [`Fronts`](super::super::Fronts), with whatever tiles.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for fronts that cannot be addressed; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, fronts: &[SolveFront<'_>]) -> Result<Self, GpuError> {
        let mut lists = Lists::default();
        let mut mail = 0_u64;
        let mut arena = 0;
        for front in fronts {
            let data = lists.add::<T>(front)?;
            if !front.inverse.is_multiple_of(grain::<T>().into()) {
                let what = "place of inverses, which must be a multiple of 16 bytes";
                return Err(shape(what, front.inverse, grain::<T>().into()));
            }
            let inverses = Fronts::inverse_len(front.pivots);
            arena = front.inverse.saturating_add(inverses).max(arena);
            (data.chunks, data.chunk_rows) = chunks(data.pivots, data.updates);
            data.mail = mail;
            let tiles = u64::from(data.pivots.div_ceil(TILE));
            mail += u64::from(TILE) * tiles * (1 + u64::from(data.chunks));
        }
        lists.needs.mail = mail;
        lists.needs.arena = lists.needs.arena.max(arena);
        let tasks = [
            forward_tasks(&lists.fronts)?,
            backward_tasks(&lists.fronts)?,
        ];
        let module = gpu.load(&PROGRAM)?;
        let kernel = |way: &str| module.kernel(&format!("dense_solve_panels_{way}_{}", T::NAME));
        let [forward, backward] = &tasks;
        let (forward, backward, fronts, index) = stream.lists(
            gpu,
            (
                &forward[..],
                &backward[..],
                &lists.fronts[..],
                &lists.index[..],
            ),
        )?;
        Ok(Self {
            kernels: [kernel("forward")?, kernel("backward")?],
            tasks: [forward, backward],
            fronts,
            index,
            needs: lists.needs,
            panels: PhantomData,
        })
    }

    /// Rows of mail that the list needs of its space.
    #[must_use]
    pub fn mail_rows(&self) -> u64 {
        self.needs.mail
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

    fn launch(
        &self,
        way: usize,
        stream: &Stream,
        arena: &DeviceView<'_, T>,
        space: &SolveSpace,
    ) -> Result<(), GpuError> {
        self.needs.check(arena.len(), space)?;
        let tasks = &self.tasks[way];
        let blocks = tasks.len() as u64 * u64::from(space.groups());
        let blocks = u32::try_from(blocks).map_err(|_| shape("tasks", blocks, u32::MAX.into()))?;
        let (mail, state) = space.mail();
        let arguments = Arguments {
            vectors: space.vectors(),
            fronts: self.fronts.ptr(),
            index: self.index.ptr(),
            tasks: tasks.ptr(),
            mail,
            mail_rows: space.mail_rows(),
            state,
        };
        let launch = Launch::new(blocks, THREADS).shared(SHARED_BYTES);
        // SAFETY: the arguments of the kernel; fronts, their rows and sources are within the arena and the space, which has mail for
        // all tiles; every task stands behind those it waits for.
        unsafe { self.kernels[way].launch(stream, launch, &[&arguments, &arena.ptr()]) }
    }
}

/// 64 rows, and eight warps' sums of them, for a whole group.
const SHARED_BYTES: u32 = 9 * TILE * RHS_GROUP * 8;

/// Pieces of a front's update rows, and their rows.
fn chunks(pivots: u32, updates: u32) -> (u32, u32) {
    if updates <= CHUNK {
        return (0, CHUNK);
    }
    let tasks = pivots.div_ceil(TILE) * updates.div_ceil(LARGE_CHUNK);
    let rows = if tasks > MANY { LARGE_CHUNK } else { CHUNK };
    (updates.div_ceil(rows), rows)
}

/// A task, with its place among all: tiles of all fronts side by side, so that one front's chain of tiles is hidden by the others' work.
fn task(
    tasks: &mut Vec<(u32, TileOf)>,
    key: u32,
    problem: u32,
    row: u32,
    column: u32,
) -> Result<(), GpuError> {
    let short = |tile: u32| {
        u16::try_from(tile).map_err(|_| shape("tiles of a front", tile.into(), u16::MAX.into()))
    };
    let (row, column) = (short(row)?, short(column)?);
    tasks.push((
        key,
        TileOf {
            problem,
            row,
            column,
        },
    ));
    Ok(())
}

fn sorted(mut tasks: Vec<(u32, TileOf)>) -> Vec<TileOf> {
    tasks.sort_by_key(|t| t.0); // stable: pieces stay before the tile that waits for them
    tasks.into_iter().map(|t| t.1).collect()
}

/// Tiles of rows; a tile waits for those of the pivots before it.
fn forward_tasks(fronts: &[FrontData]) -> Result<Vec<TileOf>, GpuError> {
    let mut tasks = Vec::new();
    for (front, f) in (0_u32..).zip(fronts) {
        for tile in 0..f.pivots.div_ceil(TILE) + f.updates.div_ceil(TILE) {
            task(&mut tasks, tile, front, tile, 0)?;
        }
    }
    Ok(sorted(tasks))
}

/// Tiles of pivots, the last first, each behind the pieces of its update rows.
fn backward_tasks(fronts: &[FrontData]) -> Result<Vec<TileOf>, GpuError> {
    let mut tasks = Vec::new();
    for (front, f) in (0_u32..).zip(fronts) {
        let tiles = f.pivots.div_ceil(TILE);
        for tile in (0..tiles).rev() {
            // pieces, then the number behind the last: all that is left
            for chunk in 0..=f.chunks {
                task(&mut tasks, tiles - 1 - tile, front, tile, chunk)?;
            }
        }
    }
    Ok(sorted(tasks))
}

#[cfg(test)]
mod tests {
    use super::super::SolveChild;
    use super::*;

    #[test]
    fn every_task_stands_behind_those_it_waits_for() {
        let rows: Vec<u32> = (2000..3000).collect();
        let child = [SolveChild {
            update: 0,
            relative: &[0],
        }];
        let mut lists = Lists::default();
        for (pivots, updates) in [(0, 9), (1, 0), (64, 257), (65, 256), (300, 1000), (1000, 3)] {
            let front = SolveFront {
                pivots,
                panel: 0,
                inverse: 0,
                column: 0,
                rows: &rows[..updates],
                update: 0,
                children: &child,
            };
            let data = lists.add::<f64>(&front).unwrap();
            data.chunks = chunks(data.pivots, data.updates).0;
        }
        let of = |front: u32| lists.fronts[front as usize];
        let forward = forward_tasks(&lists.fronts).unwrap();
        let backward = backward_tasks(&lists.fronts).unwrap();
        let mut next = vec![0; lists.fronts.len()];
        for task in &forward {
            // tiles of a front in their order: those of pivots before all others
            assert_eq!(u32::from(task.row), next[task.problem as usize]);
            next[task.problem as usize] += 1;
        }
        let rows = |f: &FrontData| f.pivots.div_ceil(64) + f.updates.div_ceil(64);
        assert!(next.iter().zip(&lists.fronts).all(|(&n, f)| n == rows(f)));
        let mut seen = Vec::new();
        for task in &backward {
            let f = of(task.problem);
            let (tile, chunk) = (u32::from(task.row), u32::from(task.column));
            let has = |tile: u32, chunk: u32| seen.contains(&(task.problem, tile, chunk));
            assert!(!has(tile, chunk) && chunk <= f.chunks);
            if chunk == f.chunks {
                assert!((0..chunk).all(|c| has(tile, c)));
                assert!((tile + 1..f.pivots.div_ceil(64)).all(|t| has(t, f.chunks)));
            }
            seen.push((task.problem, tile, chunk));
        }
        let tasks = |f: &FrontData| f.pivots.div_ceil(64) * (f.chunks + 1);
        assert_eq!(
            seen.len() as u32,
            lists.fronts.iter().map(tasks).sum::<u32>()
        );
    }
}
