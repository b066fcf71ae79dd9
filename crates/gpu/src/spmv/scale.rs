//! The scaling of a matrix for a factor in single precision, and the vectors of a refinement; kernels in `spmv/scale.cu`.
//!
//! `D A D` has a diagonal between 1/2 and 2, where D holds powers of two (van der Sluis 1969: near the best scaling of a
//! positive definite matrix), so that single precision neither overflows nor underflows.

use std::sync::Arc;

use super::{HalfPattern, THREADS};
use crate::primitives::{kernels, same, short, too_long};
use crate::{
    Arg, DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("spmv/scale.cu");
/// Most blocks; each thread goes on with a stride.
const MOST_BLOCKS: u32 = 1 << 14;
/// The same where every block adds to one number.
const MOST_ADDING: u32 = 1 << 10;

/// The scaling of matrices of one pattern, and the kernels that go by it. Launches belong on one stream.
pub struct Scaling {
    pattern: Arc<HalfPattern>,
    /// The diagonal of D.
    scale: DeviceBuffer<f64>,
    /// Bits of the norms of the columns that were brought in last.
    norms: DeviceBuffer<u64>,
    diagonal: Kernel,
    columns: Kernel,
    into_range: Kernel,
    back: Kernel,
}

/// Steps of an iteration that can be taken back.
pub struct Steps {
    step: Kernel,
}

impl Scaling {
    /// Most columns that are brought in together.
    pub const MOST_COLUMNS: usize = 16;

    /// For the lower half of a symmetric pattern by columns, in each of which the diagonal entry comes first; `pattern` was made of the
    /// same `starts` and `rows`. D is the identity until [`fit`](Self::fit).
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a column without its diagonal entry, or another pattern; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        pattern: &Arc<HalfPattern>,
        starts: &[u64],
        rows: &[u32],
    ) -> Result<Self, GpuError> {
        same(
            "entries of a symmetric matrix",
            rows.len(),
            pattern.entries(),
        )?;
        let n = short("rows", starts.len().saturating_sub(1), 1 << 32)?;
        let entries = rows.len() as u64;
        for (j, pair) in (0..n).zip(starts.windows(2)) {
            if pair[0] >= pair[1] || pair[1] > entries || rows[pair[0] as usize] != j {
                return Err(too_long(
                    "column without its diagonal entry",
                    j.into(),
                    n.into(),
                ));
            }
        }
        same(
            "columns of a symmetric matrix",
            n as usize,
            pattern.n() as usize,
        )?;
        let names = [
            "scale_diagonal",
            "scale_columns",
            "scale_into_range",
            "scale_back",
        ];
        let [diagonal, columns, into_range, back] = kernels(gpu, &PROGRAM, names)?;
        Ok(Self {
            pattern: pattern.clone(),
            scale: stream.to_device(gpu, &vec![1.0; n as usize])?,
            norms: gpu.alloc(Self::MOST_COLUMNS)?,
            diagonal,
            columns,
            into_range,
            back,
        })
    }

    /// The pattern that it was made for.
    #[must_use]
    pub fn pattern(&self) -> &Arc<HalfPattern> {
        &self.pattern
    }

    /// The diagonal of D.
    #[must_use]
    pub fn diagonal(&self) -> DeviceView<'_, f64> {
        self.scale.view()
    }

    /// Enqueues: D becomes that of a matrix with these values.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for another number of values; a failing driver call.
    pub fn fit(&mut self, stream: &Stream, values: DeviceView<'_, f64>) -> Result<(), GpuError> {
        same("values of a matrix", values.len(), self.pattern.entries())?;
        let args: [&dyn Arg; 4] = [
            &self.pattern.starts.ptr(),
            &values.ptr(),
            &self.scale.ptr(),
            &self.pattern.n,
        ];
        // SAFETY: the arguments of the kernel; starts are below the number of values.
        unsafe {
            self.diagonal
                .launch(stream, launch(self.pattern.n, MOST_BLOCKS, 1), &args)
        }
    }

    /// Enqueues `X ← D X U⁻¹` for the columns of `x`, of n numbers each, one behind the other. U holds powers of two: 1 for a column
    /// that single precision can take as it is, else what brings it there.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a length that is no multiple of n, or more than [`MOST_COLUMNS`](Self::MOST_COLUMNS) columns; a
    /// failing driver call.
    pub fn bring_in(&mut self, stream: &Stream, x: DeviceViewMut<'_, f64>) -> Result<(), GpuError> {
        let Some(count) = self.columns_of(x.len())? else {
            return Ok(());
        };
        let (n, norms) = (self.pattern.n, self.norms.ptr());
        stream.fill_bytes(&mut self.norms, 0)?;
        let adding = launch(n, MOST_ADDING, count);
        // SAFETY: the arguments of the kernels; x has `count` columns of n numbers, for which there are norms.
        unsafe {
            let args: [&dyn Arg; 4] = [&self.scale.ptr(), &x.ptr(), &norms, &n];
            self.columns.launch(stream, adding, &args)?;
            let args: [&dyn Arg; 3] = [&x.ptr(), &norms, &n];
            self.into_range
                .launch(stream, launch(n, MOST_BLOCKS, count), &args)
        }
    }

    /// Enqueues `X ← D X U` for the answers to what was [brought in](Self::bring_in) last.
    ///
    /// # Errors
    /// As there.
    pub fn bring_back(&self, stream: &Stream, x: DeviceViewMut<'_, f64>) -> Result<(), GpuError> {
        let Some(count) = self.columns_of(x.len())? else {
            return Ok(());
        };
        let n = self.pattern.n;
        let args: [&dyn Arg; 4] = [&self.scale.ptr(), &x.ptr(), &self.norms.ptr(), &n];
        // SAFETY: as above.
        unsafe {
            self.back
                .launch(stream, launch(n, MOST_BLOCKS, count), &args)
        }
    }

    /// Columns in a matrix of so many numbers; `None` where there is nothing in it.
    fn columns_of(&self, len: usize) -> Result<Option<u32>, GpuError> {
        let Some(count) = len.checked_div(self.pattern.n as usize).filter(|_| len > 0) else {
            same("columns of no numbers", len, 0)?;
            return Ok(None);
        };
        same("columns to be scaled", len, count * self.pattern.n as usize)?;
        let most = Self::MOST_COLUMNS as u64;
        Ok(Some(short("columns to be scaled", count, most + 1)?))
    }
}

impl Steps {
    /// Loads the kernel.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let [step] = kernels(gpu, &PROGRAM, ["scale_step"])?;
        Ok(Self { step })
    }

    /// Enqueues `before ← x`, `x ← x + y`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths; a failing driver call.
    pub fn step(
        &self,
        stream: &Stream,
        x: DeviceViewMut<'_, f64>,
        before: DeviceViewMut<'_, f64>,
        y: DeviceView<'_, f64>,
    ) -> Result<(), GpuError> {
        let n = short("a vector", x.len(), 1 << 32)?;
        same("a step", y.len(), x.len())?;
        same("a step's beginning", before.len(), x.len())?;
        let args: [&dyn Arg; 4] = [&x.ptr(), &before.ptr(), &y.ptr(), &n];
        // SAFETY: the arguments of the kernel; all three have n numbers.
        unsafe { self.step.launch(stream, launch(n, MOST_BLOCKS, 1), &args) }
    }
}

/// A thread for each of n numbers, or fewer, and a row of blocks for each of `columns`.
fn launch(n: u32, most_blocks: u32, columns: u32) -> Launch {
    let blocks = n.div_ceil(THREADS).clamp(1, most_blocks);
    Launch::of([blocks, columns, 1], [THREADS, 1, 1])
}
