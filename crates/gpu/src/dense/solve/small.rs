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
/// A run is walked by one warp, or by two, where none of its fronts has more rows or pivots than this.
const CLASSES: [Size; 2] = [
    Size {
        rows: 48,
        columns: 16,
    },
    Size {
        rows: 96,
        columns: 48,
    },
];
/// Fewer runs of a class than this are walked with those of the next: a launch of their own would take longer.
const FEW: usize = 1000;

/// Laid out as the kernels' `Walks`.
#[repr(C)]
struct Walks {
    vectors: Vectors,
    fronts: DevicePtr<FrontData>,
    index: DevicePtr<u32>,
    runs: DevicePtr<[u32; 2]>,
    count: u32,
    size: Size,
    unused: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Walks {}

/// What sets how much shared memory a team takes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Size {
    /// Stored rows.
    rows: u32,
    /// Pivots.
    columns: u32,
}

impl Size {
    fn with(self, other: Self) -> Self {
        Self {
            rows: self.rows.max(other.rows),
            columns: self.columns.max(other.columns),
        }
    }
}

/// The runs that are walked by teams of so many warps.
struct Teams {
    /// Forward and backward.
    kernels: [Kernel; 2],
    /// First front, and the one behind the last.
    runs: DeviceBuffer<[u32; 2]>,
    size: Size,
    warps: u32,
    /// Pivots that are solved at a time.
    step: u32,
}

impl Teams {
    /// Shared memory of a block, for groups of `width` right-hand sides.
    fn shared_bytes(&self, width: u32) -> u32 {
        let triangle = self.size.columns * (self.step + 1);
        let team = self.size.rows * width + triangle + self.warps * self.step * width;
        8 * team * (WARPS / self.warps)
    }
}

/// A list of small fronts in runs, ready for substitution in both directions.
pub struct SmallSolves<T> {
    fronts: DeviceBuffer<FrontData>,
    index: DeviceBuffer<u32>,
    /// Of one warp each, of two, and of a block.
    teams: [Teams; 3],
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
        Self::with_few(gpu, stream, fronts, runs, FEW)
    }

    /// The same, where fewer than `few` runs of a class join the next.
    pub(super) fn with_few(
        gpu: &Gpu,
        stream: &Stream,
        fronts: &[SolveFront<'_>],
        runs: &[u32],
        few: usize,
    ) -> Result<Self, GpuError> {
        let mut lists = Lists::default();
        let mut sizes = Vec::with_capacity(fronts.len());
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
            let columns = data.pivots;
            sizes.push(Size { rows, columns });
        }
        let [narrow, middle, wide] = merge(cut(&sizes, runs)?, few);
        let module = gpu.load(&PROGRAM)?;
        let have = gpu.info().shared_per_block_bytes;
        let teams = |name: &str, size: Size, runs, warps, step: u32| -> Result<Teams, GpuError> {
            let kernel =
                |way: &str| module.kernel(&format!("dense_solve_{name}_{way}_{}", T::NAME));
            let columns = size.columns.min(step);
            let teams = Teams {
                kernels: [kernel("forward")?, kernel("backward")?],
                runs,
                size: Size { columns, ..size },
                warps,
                step,
            };
            let bytes = teams.shared_bytes(RHS_GROUP);
            if bytes > have {
                return Err(shape(
                    "shared memory of small fronts",
                    bytes.into(),
                    have.into(),
                ));
            }
            Ok(teams)
        };
        let (fronts, index, of_narrow, of_middle, of_wide) = stream.lists(
            gpu,
            (
                &lists.fronts[..],
                &lists.index[..],
                &narrow.0[..],
                &middle.0[..],
                &wide.0[..],
            ),
        )?;
        Ok(Self {
            teams: [
                teams("narrow", narrow.1, of_narrow, 1, 16)?,
                teams("middle", middle.1, of_middle, 2, 32)?,
                teams("wide", wide.1, of_wide, WARPS, 32)?,
            ],
            fronts,
            index,
            needs: lists.needs,
            panels: PhantomData,
        })
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
        for teams in &self.teams {
            let count = teams.runs.len() as u32; // at most as many as fronts
            let blocks = u64::from(count.div_ceil(WARPS / teams.warps)) * u64::from(space.groups());
            let blocks =
                u32::try_from(blocks).map_err(|_| shape("runs", blocks, u32::MAX.into()))?;
            let walks = Walks {
                vectors: space.vectors(),
                fronts: self.fronts.ptr(),
                index: self.index.ptr(),
                runs: teams.runs.ptr(),
                count,
                size: teams.size,
                unused: 0,
            };
            let bytes = teams.shared_bytes(space.rhs().min(RHS_GROUP));
            let launch = Launch::new(blocks, WARPS * 32).shared(bytes);
            // SAFETY: the arguments of the kernels; fronts, their rows and sources are within the arena and the space; runs are of the
            // list, and their teams fit into the shared memory of their block.
            unsafe { teams.kernels[way].launch(stream, launch, &[&walks, &arena.ptr()])? };
        }
        Ok(())
    }
}

/// Runs, each as its first front and the one behind its last; and the largest size among them.
type Cut = (Vec<[u32; 2]>, Size);

/// Cuts fronts of these sizes into runs: those for one warp, for two, and for a block.
fn cut(sizes: &[Size], runs: &[u32]) -> Result<[Cut; 3], GpuError> {
    let total: u64 = runs.iter().map(|&r| u64::from(r)).sum();
    if total != sizes.len() as u64 || total > u32::MAX.into() {
        return Err(shape("fronts of all runs", total, sizes.len() as u64));
    }
    let mut cuts = [Cut::default(), Cut::default(), Cut::default()];
    let mut first = 0;
    for &count in runs {
        let end = first + count; // at most `total`
        let own = &sizes[first as usize..end as usize];
        let size = own.iter().fold(Size::default(), |all, &s| all.with(s));
        let larger = CLASSES.iter().filter(|&&class| size.with(class) != class);
        let (runs, largest) = &mut cuts[larger.count()];
        runs.push([first, end]);
        *largest = largest.with(size);
        first = end;
    }
    Ok(cuts)
}

/// Puts the runs of a class, where they are fewer than `few`, to those of the next that has any.
fn merge([narrow, middle, wide]: [Cut; 3], few: usize) -> [Cut; 3] {
    let up = |from: Cut, to: Cut| {
        if from.0.len() < few && !to.0.is_empty() {
            let (size, runs) = (to.1.with(from.1), [to.0, from.0].concat());
            (Cut::default(), (runs, size))
        } else {
            (from, to)
        }
    };
    let (middle, wide) = up(middle, wide);
    let (narrow, middle) = up(narrow, middle);
    let (narrow, wide) = if middle.0.is_empty() {
        up(narrow, wide)
    } else {
        (narrow, wide)
    };
    [narrow, middle, wide]
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn size(rows: u32, columns: u32) -> Size {
        Size { rows, columns }
    }

    #[test]
    fn runs_are_dealt_to_warps_and_blocks() {
        let (tiny, wide, high) = (size(48, 16), size(20, 17), size(49, 1));
        let sizes = [tiny, tiny, wide, tiny, high, tiny, size(2, 49), size(97, 1)];
        let [narrow, middle, others] = cut(&sizes, &[1, 1, 2, 0, 1, 1, 1, 1]).unwrap();
        assert_eq!(narrow, (vec![[0, 1], [1, 2], [4, 4], [5, 6]], tiny));
        assert_eq!(middle, (vec![[2, 4], [4, 5]], size(49, 17)));
        assert_eq!(others, (vec![[6, 7], [7, 8]], size(97, 49)));
        assert!(cut(&sizes, &[7]).is_err() && cut(&sizes, &[9]).is_err());
    }

    #[test]
    fn few_runs_join_the_next_class() {
        let cut = |count: usize, rows| (vec![[rows, rows]; count], size(rows, 1));
        let lengths = |cuts: [Cut; 3]| cuts.map(|c| (c.0.len(), c.1.rows));
        let (none, few, many) = (0, 3, FEW);
        let got = |a, b, c| lengths(merge([cut(a, 10), cut(b, 60), cut(c, 100)], FEW));
        assert_eq!(got(few, few, few), [(0, 0), (0, 0), (9, 100)]);
        assert_eq!(got(many, few, few), [(many, 10), (0, 0), (6, 100)]);
        assert_eq!(got(few, many, few), [(0, 0), (many + 3, 60), (3, 100)]);
        assert_eq!(got(few, many, none).map(|c| c.0), [0, many + 3, 0]);
        assert_eq!(got(few, none, none).map(|c| c.0), [3, 0, 0]);
        assert_eq!(got(few, few, none).map(|c| c.0), [0, 6, 0]);
        assert_eq!(got(none, none, few).map(|c| c.0), [0, 0, 3]);
    }
}
