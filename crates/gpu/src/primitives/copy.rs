//! Copy, fill, pack, unpack, gather and scatter; kernels in `primitives/copy.cu`.
//!
//! Accesses are 16 bytes wide where addresses and lengths allow it, else one word. Cost: bytes read plus
//! bytes written, at the memory's speed.

use super::{MatrixView, MatrixViewMut, Real, Word, blocks, kernels, same, short};
use crate::{
    Arg, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("primitives/copy.cu");
const THREADS: u32 = 256;
/// Accesses of one block.
const UNITS: u64 = 1024;
/// Bytes of a wide access.
const WIDE_BYTES: u64 = 16;

/// The kernels that move data.
pub struct Copies {
    copy: [Kernel; 2],
    fill: [Kernel; 2],
    repitch: [Kernel; 3],
    gather: [Kernel; 3],
    scatter: [Kernel; 3],
}

/// Whole wide accesses in `bytes` and the words of four bytes after them, if every address is aligned.
fn wide(addresses: &[u64], bytes: u64) -> Option<(u64, u32)> {
    let aligned = addresses.iter().all(|a| a % WIDE_BYTES == 0);
    aligned.then_some((bytes / WIDE_BYTES, (bytes % WIDE_BYTES / 4) as u32))
}

impl Copies {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let of = |names| kernels(gpu, &PROGRAM, names);
        Ok(Self {
            copy: kernels(gpu, &PROGRAM, ["copy_wide", "copy_words"])?,
            fill: kernels(gpu, &PROGRAM, ["fill_wide", "fill_words"])?,
            repitch: of(["repitch_wide", "repitch_f64", "repitch_f32"])?,
            gather: of(["gather_f64", "gather_f32", "gather_u32"])?,
            scatter: of(["scatter_f64", "scatter_f32", "scatter_u32"])?,
        })
    }

    /// `to = from`, of equal length.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, a failing driver call.
    pub fn copy<'a, 'b, T: Word>(
        &self,
        stream: &Stream,
        from: impl Into<DeviceView<'a, T>>,
        to: impl Into<DeviceViewMut<'b, T>>,
    ) -> Result<(), GpuError> {
        let (from, to) = (from.into(), to.into());
        same("copy", from.len(), to.len())?;
        let bytes = (from.len() * size_of::<T>()) as u64;
        if let Some((units, tail)) = wide(&[from.ptr().address(), to.ptr().address()], bytes) {
            let args: [&dyn Arg; 4] = [&units, &tail, &from.ptr(), &to.ptr()];
            let grid = blocks("copy", bytes.div_ceil(WIDE_BYTES), UNITS)?;
            // SAFETY: the arguments of copy_wide; both ranges have `bytes` bytes.
            return unsafe { self.copy[0].launch(stream, Launch::new(grid, THREADS), &args) };
        }
        let words = bytes / 4;
        let grid = Launch::new(blocks("copy", words, UNITS)?, THREADS);
        // SAFETY: the arguments of copy_words; both ranges have that many words.
        unsafe { self.copy[1].launch(stream, grid, &[&words, &from.ptr(), &to.ptr()]) }
    }

    /// Every element of `to` becomes `value`.
    ///
    /// # Errors
    /// A failing driver call.
    pub fn fill<'a, T: Word>(
        &self,
        stream: &Stream,
        value: T,
        to: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let to = to.into();
        let bytes = (to.len() * size_of::<T>()) as u64;
        let pattern = value.pattern();
        if let Some((units, tail)) = wide(&[to.ptr().address()], bytes) {
            let grid = blocks("fill", bytes.div_ceil(WIDE_BYTES), UNITS)?;
            let args: [&dyn Arg; 4] = [&units, &tail, &pattern, &to.ptr()];
            // SAFETY: the arguments of fill_wide; the range has `bytes` bytes.
            return unsafe { self.fill[0].launch(stream, Launch::new(grid, THREADS), &args) };
        }
        let words = bytes / 4;
        let grid = Launch::new(blocks("fill", words, UNITS)?, THREADS);
        // SAFETY: the arguments of fill_words; the range has that many words.
        unsafe { self.fill[1].launch(stream, grid, &[&words, &pattern, &to.ptr()]) }
    }

    /// The entries of `from`, column after column without gaps: `to[i + j * rows] = from[i, j]`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] unless `to` has exactly `rows * columns` elements; a failing driver call.
    pub fn pack<'b, T: Real>(
        &self,
        stream: &Stream,
        from: MatrixView<'_, T>,
        to: impl Into<DeviceViewMut<'b, T>>,
    ) -> Result<(), GpuError> {
        let to = to.into();
        same("pack", to.len(), from.rows as usize * from.columns as usize)?;
        let shape = [from.rows, from.columns];
        let (source, target) = (from.data.ptr(), to.ptr());
        self.repitch(
            stream,
            shape,
            (source, from.ld),
            (target, u64::from(from.rows)),
        )
    }

    /// The inverse of [`Copies::pack`]: `to[i, j] = from[i + j * rows]`. Nothing else of `to` is written.
    ///
    /// # Errors
    /// [`GpuError::Shape`] unless `from` has exactly `rows * columns` elements; a failing driver call.
    pub fn unpack<'a, T: Real>(
        &self,
        stream: &Stream,
        from: impl Into<DeviceView<'a, T>>,
        to: MatrixViewMut<'_, T>,
    ) -> Result<(), GpuError> {
        let from = from.into();
        same("unpack", from.len(), to.rows as usize * to.columns as usize)?;
        let shape = [to.rows, to.columns];
        let (source, target) = (from.ptr(), to.data.ptr());
        self.repitch(stream, shape, (source, u64::from(to.rows)), (target, to.ld))
    }

    fn repitch<T: Real>(
        &self,
        stream: &Stream,
        [rows, columns]: [u32; 2],
        (from, ld_from): (DevicePtr<T>, u64),
        (to, ld_to): (DevicePtr<T>, u64),
    ) -> Result<(), GpuError> {
        let in_wide = WIDE_BYTES / size_of::<T>() as u64;
        let aligned = wide(&[from.address(), to.address()], 0).is_some()
            && [u64::from(rows), ld_from, ld_to]
                .iter()
                .all(|v| v % in_wide == 0);
        let (kernel, unit) = if aligned {
            (0, in_wide)
        } else {
            (1 + T::KIND, 1)
        };
        let (units, ld_from, ld_to) = (
            (u64::from(rows) / unit) as u32,
            ld_from / unit,
            ld_to / unit,
        );
        let grid = blocks("pack", u64::from(units) * u64::from(columns), UNITS)?;
        let args: [&dyn Arg; 6] = [&units, &columns, &from, &ld_from, &to, &ld_to];
        // SAFETY: the arguments of repitch_*; the callers have checked both shapes.
        unsafe { self.repitch[kernel].launch(stream, Launch::new(grid, THREADS), &args) }
    }

    /// `to[i] = from[index[i]]`. Where `index[i]` is past the end of `from`, `to[i]` stays.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths of `index` and `to`, a failing driver call.
    pub fn gather<'a, 'b, 'c, T: Word>(
        &self,
        stream: &Stream,
        index: impl Into<DeviceView<'a, u32>>,
        from: impl Into<DeviceView<'b, T>>,
        to: impl Into<DeviceViewMut<'c, T>>,
    ) -> Result<(), GpuError> {
        let (index, from, to) = (index.into(), from.into(), to.into());
        same("gather", index.len(), to.len())?;
        let limit = short("gather", from.len(), 1 << 32)?;
        let count = index.len() as u64;
        let grid = blocks("gather", count, UNITS)?;
        let args: [&dyn Arg; 5] = [&count, &limit, &index.ptr(), &from.ptr(), &to.ptr()];
        // SAFETY: the arguments of gather_*; lengths as checked, indices are checked by the kernel.
        unsafe { self.gather[T::KIND].launch(stream, Launch::new(grid, THREADS), &args) }
    }

    /// `to[index[i]] = from[i]`, for distinct indices. What points past the end of `to` is dropped.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths of `index` and `from`, a failing driver call.
    pub fn scatter<'a, 'b, 'c, T: Word>(
        &self,
        stream: &Stream,
        index: impl Into<DeviceView<'a, u32>>,
        from: impl Into<DeviceView<'b, T>>,
        to: impl Into<DeviceViewMut<'c, T>>,
    ) -> Result<(), GpuError> {
        let (index, from, to) = (index.into(), from.into(), to.into());
        same("scatter", index.len(), from.len())?;
        let limit = short("scatter", to.len(), 1 << 32)?;
        let count = index.len() as u64;
        let grid = blocks("scatter", count, UNITS)?;
        let args: [&dyn Arg; 5] = [&count, &limit, &index.ptr(), &from.ptr(), &to.ptr()];
        // SAFETY: the arguments of scatter_*; lengths as checked, indices are checked by the kernel.
        unsafe { self.scatter[T::KIND].launch(stream, Launch::new(grid, THREADS), &args) }
    }
}
