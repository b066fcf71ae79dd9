//! Sum, dot product, 2-norm and largest magnitude; kernels in `primitives/reduce.cu`.
//!
//! Everything is accumulated in f64, for f32 too, in an order that depends on the length alone: equal
//! input, equal bits, on every card. The 2-norm neither overflows nor underflows (Blue 1978). NaN and
//! infinity are carried. Cost: one launch, each operand read once.

use super::{Real, kernels, same};
use crate::{
    Arg, DeviceBuffer, DevicePtr, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch,
    Program, Stream,
};

const PROGRAM: Program = Program::at("primitives/reduce.cu");
const THREADS: u32 = 256;
/// Most blocks of a launch, so that the partial results stay few.
const MOST_BLOCKS: u64 = 4096;
/// Bytes of each operand that a block takes at a time.
const TILE_BYTES: u64 = 256 * 4 * 16;

/// What to reduce to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// `Σ x[i]`.
    Sum,
    /// `√Σ x[i]²`.
    Nrm2,
    /// `max |x[i]|`; 0 for no elements, NaN if any element is.
    Amax,
}

/// The kernels that reduce, with their workspace: calls on one object belong on one stream.
pub struct Reduce {
    kernels: [[Kernel; 2]; 4],
    partials: DeviceBuffer<f64>,
    ticket: DeviceBuffer<u32>,
}

impl Reduce {
    /// Loads the kernels and makes the workspace, about 100 KB.
    ///
    /// # Errors
    /// As [`Gpu::load`]; [`GpuError::OutOfMemory`].
    pub fn new(gpu: &Gpu, stream: &Stream) -> Result<Self, GpuError> {
        let pair = |names| kernels(gpu, &PROGRAM, names);
        let mut ticket = gpu.alloc(1)?;
        stream.fill_bytes(&mut ticket, 0)?;
        Ok(Self {
            kernels: [
                pair(["sum_f64", "sum_f32"])?,
                pair(["nrm2_f64", "nrm2_f32"])?,
                pair(["amax_f64", "amax_f32"])?,
                pair(["dot_f64", "dot_f32"])?,
            ],
            partials: gpu.alloc(3 * MOST_BLOCKS as usize)?,
            ticket,
        })
    }

    /// `out[0]` = the reduction of `x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] unless `out` has one element; a failing driver call.
    pub fn run<'a, 'b, T: Real>(
        &mut self,
        stream: &Stream,
        reduction: Reduction,
        x: impl Into<DeviceView<'a, T>>,
        out: impl Into<DeviceViewMut<'b, f64>>,
    ) -> Result<(), GpuError> {
        let x = x.into();
        let which = match reduction {
            Reduction::Sum => 0,
            Reduction::Nrm2 => 1,
            Reduction::Amax => 2,
        };
        self.launch(stream, which, x, x.ptr(), out.into())
    }

    /// `out[0] = Σ x[i] y[i]`; the products of f32 are exact.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for different lengths, or unless `out` has one element; a failing driver call.
    pub fn dot<'a, 'b, 'c, T: Real>(
        &mut self,
        stream: &Stream,
        x: impl Into<DeviceView<'a, T>>,
        y: impl Into<DeviceView<'b, T>>,
        out: impl Into<DeviceViewMut<'c, f64>>,
    ) -> Result<(), GpuError> {
        let (x, y) = (x.into(), y.into());
        same("dot", y.len(), x.len())?;
        self.launch(stream, 3, x, y.ptr(), out.into())
    }

    fn launch<T: Real>(
        &mut self,
        stream: &Stream,
        which: usize,
        x: DeviceView<'_, T>,
        y: DevicePtr<T>,
        out: DeviceViewMut<'_, f64>,
    ) -> Result<(), GpuError> {
        same("result of a reduction", out.len(), 1)?;
        let n = x.len() as u64;
        let tile = TILE_BYTES / size_of::<T>() as u64;
        let chunk = tile * n.div_ceil(tile * MOST_BLOCKS).max(1);
        // At most MOST_BLOCKS by the choice of the chunk; one block even for nothing.
        let grid = Launch::new(n.div_ceil(chunk).max(1) as u32, THREADS);
        let (partials, ticket) = (self.partials.ptr(), self.ticket.ptr());
        let args: [&dyn Arg; 7] = [&n, &chunk, &x.ptr(), &y, &partials, &ticket, &out.ptr()];
        // SAFETY: the arguments of the reductions; x and y have n elements; the workspace holds 3
        // numbers for each block.
        unsafe { self.kernels[which][T::KIND].launch(stream, grid, &args) }
    }
}
