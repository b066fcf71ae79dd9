//! Entries of A on their way into panels; kernels in `dense/entries.cu`.
//!
//! No list says where an entry goes: its row and column are in the pattern, their elimination numbers tell the front, and the row's
//! place is found among the front's rows by bisection. Lists of places and numbers would take 8 to 12 bytes an entry, which for
//! matrices of finite elements is as much as values and pattern do. Panels are filled before the first front is assembled, so that
//! values are not needed any more; but for the last ones, in whose room update matrices stand until then. What those few get is kept
//! apart. Cost: panels are written once; for each entry the pattern, the value and about `log₂` of the front's rows are read, mostly
//! from the second-level cache.

use std::ops::Range;
use std::sync::Arc;

use super::entry_fronts::{EntryFronts, FrontData};
use super::{Real, shape};
use crate::primitives::same;
use crate::spmv::HalfPattern;
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch,
    Program, Stream,
};

const PROGRAM: Program = Program::at("dense/entries.cu");
const THREADS: u32 = 256;
/// Most blocks; each group of threads goes on with a stride.
const MOST_BLOCKS: u64 = 1 << 14;

/// What is known of the way of entries into panels, fronts apart.
#[derive(Clone, Copy)]
pub struct EntryMap<'a> {
    /// The pattern on the device.
    pub pattern: &'a Arc<HalfPattern>,
    /// Starts of its lines, as it was made of.
    pub starts: &'a [u64],
    /// Elimination number of each unknown.
    pub position: &'a [u32],
    /// The unknown with each elimination number.
    pub order: &'a [u32],
    /// Elimination numbers of the rows below the pivots, ascending for each front.
    pub rows: &'a [u32],
    /// Panels that begin here or behind are filled by [`Entries::launch_late`].
    pub early: u64,
}

/// Laid out as the kernel's `Unknown`.
#[repr(C)]
#[derive(Clone, Copy)]
struct UnknownData {
    position: u32,
    front: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for UnknownData {}

/// Laid out as the kernel's `Lines`.
#[repr(C)]
struct Lines {
    starts: DevicePtr<u32>,
    indices: DevicePtr<u32>,
    unknowns: DevicePtr<UnknownData>,
    fronts: DevicePtr<FrontData>,
    rows: DevicePtr<u32>,
    late: DevicePtr<u32>,
    kept_starts: DevicePtr<u32>,
    begin: u64,
    end: u64,
    count: u32,
    lanes: u32,
}

// SAFETY: the layout of the kernels' parameter, without host pointers.
unsafe impl Arg for Lines {}

/// The way of the entries of matrices of one pattern into panels of `T`.
pub struct Entries<T = f64> {
    /// Of values in `T`, and in double precision.
    own: Filling,
    wide: Filling,
    enter_kept: Kernel,
    pattern: Arc<HalfPattern>,
    unknowns: DeviceBuffer<UnknownData>,
    fronts: DeviceBuffer<FrontData>,
    rows: DeviceBuffer<u32>,
    /// Panels that stand from here on are filled later.
    early: u64,
    /// Lines of their unknowns, in the order of the panels, which is kept here, and where each begins in `kept`.
    late_panels: Vec<u64>,
    late: DeviceBuffer<u32>,
    kept_starts: DeviceBuffer<u32>,
    kept: DeviceBuffer<T>,
    /// Elements that panels take.
    needs: u64,
}

/// Kernels that fill panels, and keep what is filled in later.
struct Filling {
    enter: Kernel,
    keep: Kernel,
}

impl<T: Real> Entries<T> {
    /// Checks and uploads.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for elimination numbers that are too large, or fronts of other unknowns or rows;
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        map: &EntryMap<'_>,
        of: &EntryFronts<T>,
    ) -> Result<Self, GpuError> {
        let EntryMap {
            pattern,
            starts,
            position,
            order,
            rows,
            early,
        } = *map;
        let n = pattern.n();
        same("starts of a symmetric matrix", starts.len(), n as usize + 1)?;
        for numbers in [position, order] {
            let wrong = numbers.iter().find(|&&k| k >= n);
            if numbers.len() as u64 != u64::from(n) || wrong.is_some() {
                let found = wrong.map_or(numbers.len() as u64, |&k| k.into());
                return Err(shape("elimination numbers of a matrix", found, n.into()));
            }
        }
        same("unknowns of fronts", of.front_of.len(), n as usize)?;
        if of.rows != rows.len() as u64 {
            return Err(shape("rows of all fronts", of.rows, rows.len() as u64));
        }
        let mut unknowns = gpu.alloc_list(position.len())?;
        gpu.upload_with(&mut unknowns, |first, part| {
            for (to, &position) in part.iter_mut().zip(&position[first..]) {
                let front = of.front_of[position as usize];
                *to = UnknownData { position, front };
            }
        })?;
        let (late, kept_starts, late_panels) = of.late(order, starts, early);
        let kept = kept_starts.last().map_or(0, |&end| end as usize);
        let module = gpu.load(&PROGRAM)?;
        let filling = |of: &str| -> Result<Filling, GpuError> {
            Ok(Filling {
                enter: module.kernel(&format!("dense_enter_{of}_as_{}", T::NAME))?,
                keep: module.kernel(&format!("dense_keep_{of}_as_{}", T::NAME))?,
            })
        };
        let (late, kept_starts) = stream.lists(gpu, (&late[..], &kept_starts[..]))?;
        let (fronts, rows) = stream.lists(gpu, (&of.fronts[..], rows))?;
        Ok(Self {
            own: filling(T::NAME)?,
            wide: filling("f64")?,
            enter_kept: module.kernel(&format!("dense_enter_kept_{}", T::NAME))?,
            pattern: Arc::clone(pattern),
            unknowns,
            fronts,
            rows,
            early,
            kept: gpu.alloc_list(kept)?,
            late,
            late_panels,
            kept_starts,
            needs: of.needs,
        })
    }

    /// The pattern that it was made for.
    #[must_use]
    pub fn pattern(&self) -> &Arc<HalfPattern> {
        &self.pattern
    }

    /// Enqueues: the panels that are filled early become the entries of a matrix, and zeros elsewhere; what goes into the others is kept.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for panels that end too early, or fewer values than entries; a failing driver call.
    pub fn launch<'a, 'b>(
        &mut self,
        stream: &Stream,
        panels: impl Into<DeviceViewMut<'a, T>>,
        values: impl Into<DeviceView<'b, T>>,
    ) -> Result<(), GpuError> {
        let (panels, values) = (panels.into(), values.into());
        self.check(&panels, values.len())?;
        self.enter(stream, &self.own, panels, values.ptr(), None)
    }

    /// The same of `D A D` for values in double precision, rounded to `T`; `scale` is the diagonal of D, by unknowns.
    ///
    /// # Errors
    /// As [`launch`](Self::launch), and for a diagonal of another length.
    pub fn launch_wide(
        &mut self,
        stream: &Stream,
        panels: DeviceViewMut<'_, T>,
        values: DeviceView<'_, f64>,
        scale: Option<DeviceView<'_, f64>>,
    ) -> Result<(), GpuError> {
        let n = u64::from(self.pattern.n());
        if let Some(scale) = scale.filter(|scale| scale.len() as u64 != n) {
            return Err(shape("diagonal of a scaling", scale.len() as u64, n));
        }
        self.check(&panels, values.len())?;
        self.enter(stream, &self.wide, panels, values.ptr(), scale)
    }

    /// Enqueues: the panels that begin at `range`, all of which are filled late, become the entries of the matrix of the last
    /// [`launch`](Self::launch), and zeros elsewhere.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for panels that end too early, or a range that begins too early; a failing driver call.
    pub fn launch_late(
        &self,
        stream: &Stream,
        mut panels: DeviceViewMut<'_, T>,
        range: Range<u64>,
    ) -> Result<(), GpuError> {
        self.check(&panels, self.pattern.entries())?;
        if range.start < self.early {
            return Err(shape(
                "panels that are filled late",
                range.start,
                self.early,
            ));
        }
        stream.fill_bytes(
            panels.slice_mut(range.start as usize..range.end as usize)?,
            0,
        )?;
        // An entry stands in the line of its column's unknown or of one that is eliminated later.
        let first = self
            .late_panels
            .partition_point(|&panel| panel < range.start);
        let mut lines = self.lines((self.late.len() - first) as u32, range); // fewer than n
        lines.late = lines.late.add(first as u64);
        lines.kept_starts = lines.kept_starts.add(first as u64);
        let launch = lines.launch();
        // SAFETY: the arguments of the kernel; as in `enter`, and `kept` has what late lines do.
        unsafe {
            let arguments: [&dyn Arg; 3] = [&panels.ptr(), &lines, &self.kept.ptr()];
            self.enter_kept.launch(stream, launch, &arguments)
        }
    }

    /// An error for panels or values that are too few.
    fn check(&self, panels: &DeviceViewMut<'_, T>, values: usize) -> Result<(), GpuError> {
        for (what, len, needs) in [
            ("panels of a matrix", panels.len() as u64, self.needs),
            (
                "values of a matrix",
                values as u64,
                self.pattern.entries() as u64,
            ),
        ] {
            if len < needs {
                return Err(shape(what, len, needs));
            }
        }
        Ok(())
    }

    /// Of values in the type that `filling` takes.
    fn enter<V>(
        &self,
        stream: &Stream,
        filling: &Filling,
        mut panels: DeviceViewMut<'_, T>,
        values: DevicePtr<V>,
        scale: Option<DeviceView<'_, f64>>,
    ) -> Result<(), GpuError> {
        let early = self.early.min(panels.len() as u64);
        stream.fill_bytes(panels.slice_mut(..early as usize)?, 0)?;
        let scale = scale.map_or(DevicePtr::from_address(0), |scale| scale.ptr());
        let all = self.lines(self.pattern.n(), 0..self.early);
        let late = self.lines(self.late.len() as u32, 0..0); // fewer than n
        let (to_panels, to_kept) = (panels.ptr(), self.kept.ptr());
        // SAFETY: the arguments of the kernels; elimination numbers and fronts of columns were checked, and with them all places that
        // are found are in the panels; `scale` has a number for each unknown, or is null; `kept` has a place for each entry of
        // the late lines.
        unsafe {
            let arguments: [&dyn Arg; 4] = [&to_panels, &all, &values, &scale];
            filling.enter.launch(stream, all.launch(), &arguments)?;
            let arguments: [&dyn Arg; 4] = [&to_kept, &late, &values, &scale];
            filling.keep.launch(stream, late.launch(), &arguments)
        }
    }

    fn lines(&self, count: u32, panels: Range<u64>) -> Lines {
        let (starts, indices) = self.pattern.lines();
        Lines {
            starts,
            indices,
            unknowns: self.unknowns.ptr(),
            fronts: self.fronts.ptr(),
            rows: self.rows.ptr(),
            late: self.late.ptr(),
            kept_starts: self.kept_starts.ptr(),
            begin: panels.start,
            end: panels.end,
            count,
            lanes: self.pattern.lanes(),
        }
    }
}

impl Lines {
    fn launch(&self) -> Launch {
        let blocks = (u64::from(self.count) << self.lanes).div_ceil(THREADS.into());
        Launch::new(blocks.min(MOST_BLOCKS) as u32, THREADS)
    }
}
