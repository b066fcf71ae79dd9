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

/// The scaling of matrices of one pattern, and the kernels that go by it. Launches belong on one stream.
pub struct Scaling {
    pattern: Arc<HalfPattern>,
    /// The diagonal of D.
    scale: DeviceBuffer<f64>,
    diagonal: Kernel,
    vector: Kernel,
}

/// Steps of an iteration that can be taken back.
pub struct Steps {
    step: Kernel,
}

impl Scaling {
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
        let names = ["scale_diagonal", "scale_vector"];
        let [diagonal, vector] = kernels(gpu, &PROGRAM, names)?;
        Ok(Self {
            pattern: pattern.clone(),
            scale: stream.to_device(gpu, &vec![1.0; n as usize])?,
            diagonal,
            vector,
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
                .launch(stream, launch(self.pattern.n.into()), &args)
        }
    }

    /// Enqueues `x ← D x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for another length; a failing driver call.
    pub fn apply(&self, stream: &Stream, x: DeviceViewMut<'_, f64>) -> Result<(), GpuError> {
        same("a vector to be scaled", x.len(), self.pattern.n as usize)?;
        let args: [&dyn Arg; 3] = [&self.scale.ptr(), &x.ptr(), &self.pattern.n];
        // SAFETY: the arguments of the kernel; both have n numbers.
        unsafe {
            self.vector
                .launch(stream, launch(self.pattern.n.into()), &args)
        }
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
        unsafe { self.step.launch(stream, launch(n.into()), &args) }
    }
}

fn launch(threads: u64) -> Launch {
    let blocks = threads.div_ceil(THREADS.into()).min(MOST_BLOCKS.into());
    Launch::new(blocks as u32, THREADS) // at most MOST_BLOCKS
}
