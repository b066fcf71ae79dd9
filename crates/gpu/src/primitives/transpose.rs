//! Transposition out of place; kernels in `primitives/transpose.cu`.
//!
//! Cost: each entry is read and written once, in runs of 256 bytes.

use super::{MatrixView, MatrixViewMut, Real, blocks, kernels, same};
use crate::{Arg, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("primitives/transpose.cu");
const THREADS: u32 = 256;
const TILE: u64 = 64;

/// The kernels that transpose.
pub struct Transpose {
    kernels: [Kernel; 2],
}

impl Transpose {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let kernels = kernels(gpu, &PROGRAM, ["transpose_f64", "transpose_f32"])?;
        Ok(Self { kernels })
    }

    /// `to = fromᵀ`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] unless `to` has the columns of `from` as rows and its rows as columns; a
    /// failing driver call.
    pub fn run<T: Real>(
        &self,
        stream: &Stream,
        from: MatrixView<'_, T>,
        to: MatrixViewMut<'_, T>,
    ) -> Result<(), GpuError> {
        same(
            "rows of a transpose",
            to.rows as usize,
            from.columns as usize,
        )?;
        same(
            "columns of a transpose",
            to.columns as usize,
            from.rows as usize,
        )?;
        let tiles = u64::from(from.rows).div_ceil(TILE) * u64::from(from.columns).div_ceil(TILE);
        let grid = Launch::new(blocks("transpose", tiles, 1)?, THREADS);
        let (source, target) = (from.data.ptr(), to.data.ptr());
        let args: [&dyn Arg; 6] = [
            &from.rows,
            &from.columns,
            &source,
            &from.ld,
            &target,
            &to.ld,
        ];
        // SAFETY: the arguments of transpose_*; both shapes fit their data.
        unsafe { self.kernels[T::KIND].launch(stream, grid, &args) }
    }
}
