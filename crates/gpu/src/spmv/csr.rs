//! CSR by rows; kernels in `spmv/csr.cu`.

use super::{Csr, Product, Profile, THREADS};
use crate::primitives::{MatrixView, MatrixViewMut, Real, blocks, kernels};
use crate::{Arg, DeviceBuffer, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/csr.cu");
/// Vectors in one reading of the matrix.
const VECTORS: u32 = 8;

pub(super) struct CsrRows<T> {
    rows: u32,
    lanes: u32,
    multi_lanes: u32,
    starts: DeviceBuffer<u32>,
    columns: DeviceBuffer<u32>,
    values: DeviceBuffer<T>,
    kernel: Kernel,
    /// For up to 4 vectors, and up to 8.
    multi: [Kernel; 2],
}

/// Threads of a row: measured best where each has at most 40 bytes of values, five f64 or ten f32.
fn lanes<T>(mean: f64) -> u32 {
    let most = 40.0 / size_of::<T>() as f64;
    let mut lanes = 1;
    while lanes < 32 && f64::from(lanes) * most < mean {
        lanes *= 2;
    }
    lanes
}

impl<T: Real> CsrRows<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, matrix: &Csr<'_, T>) -> Result<Self, GpuError> {
        let mean = Profile::of(matrix).mean;
        Self::with_lanes(gpu, stream, matrix, lanes::<T>(mean))
    }

    pub fn with_lanes(
        gpu: &Gpu,
        stream: &Stream,
        matrix: &Csr<'_, T>,
        lanes: u32,
    ) -> Result<Self, GpuError> {
        let multi_lanes = if lanes <= 2 {
            2
        } else if lanes <= 16 {
            8
        } else {
            32
        };
        let multi = |v: u32| format!("csr_multi_{}_{multi_lanes}_{v}", T::NAME);
        let name = format!("csr_{}_{lanes}", T::NAME);
        let [kernel] = kernels(gpu, &PROGRAM, [&name])?;
        Ok(Self {
            rows: matrix.rows(),
            lanes,
            multi_lanes,
            starts: stream.to_device(gpu, &matrix.short_starts())?,
            columns: stream.to_device(gpu, matrix.all_columns())?,
            values: stream.to_device(gpu, matrix.values())?,
            kernel,
            multi: kernels(gpu, &PROGRAM, [&multi(4), &multi(8)])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        4 * (self.starts.len() + self.columns.len()) as u64
            + (size_of::<T>() * self.values.len()) as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let grid = blocks("rows", self.rows.into(), (THREADS / self.lanes).into())?;
        let args: [&dyn Arg; 9] = [
            &self.rows,
            &self.starts.ptr(),
            &self.columns.ptr(),
            &self.values.ptr(),
            &p.x,
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        // SAFETY: the arguments of csr_*; the matrix was checked, and the vectors' lengths.
        unsafe {
            self.kernel
                .launch(stream, Launch::new(grid, THREADS), &args)
        }
    }

    pub fn multiply_many(
        &self,
        stream: &Stream,
        x: MatrixView<'_, T>,
        y: MatrixViewMut<'_, T>,
    ) -> Result<(), GpuError> {
        let (kernel, at_once) = if x.columns <= VECTORS / 2 {
            (&self.multi[0], VECTORS / 2)
        } else {
            (&self.multi[1], VECTORS)
        };
        let per_block = u64::from(THREADS / self.multi_lanes);
        let grid = [
            blocks("rows", self.rows.into(), per_block)?,
            x.columns.div_ceil(at_once),
            1,
        ];
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let (x_ptr, y_ptr) = (x.data.ptr(), y.data.ptr());
        let args: [&dyn Arg; 13] = [
            &self.rows,
            &x.columns,
            &self.starts.ptr(),
            &self.columns.ptr(),
            &self.values.ptr(),
            &x_ptr,
            &x.ld,
            &one,
            &zero,
            &y_ptr,
            &y.ld,
            &y_ptr,
            &y.ld,
        ];
        // SAFETY: the arguments of csr_multi_*; the matrix was checked, and the vectors' shapes.
        unsafe { kernel.launch(stream, Launch::of(grid, [THREADS, 1, 1]), &args) }
    }
}
