//! ELL and sliced ELL; kernels in `spmv/ell.cu`.

use super::choose::{SLICE, SORT_WINDOW};
use super::{Csr, Product, THREADS};
use crate::primitives::{MatrixView, MatrixViewMut, Real, blocks, kernels, too_long};
use crate::{Arg, DeviceBuffer, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/ell.cu");
/// Column of a padding entry, row of a padding line.
const NONE: u32 = u32::MAX;

pub(super) struct Ell<T> {
    rows: u32,
    width: u32,
    pitch: u64,
    columns: DeviceBuffer<u32>,
    values: DeviceBuffer<T>,
    kernel: Kernel,
}

/// An error unless `entries`, padding included, can be counted in 32 bits.
pub(super) fn countable(entries: u64) -> Result<usize, GpuError> {
    let limit = u64::from(u32::MAX);
    if entries > limit {
        return Err(too_long(
            "entries of an ELL matrix, padding included",
            entries,
            limit,
        ));
    }
    Ok(entries as usize)
}

impl<T: Real> Ell<T> {
    /// The first `width` entries of each row.
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        matrix: &Csr<'_, T>,
        width: u32,
    ) -> Result<Self, GpuError> {
        let rows = matrix.rows();
        let pitch = u64::from(rows).next_multiple_of(SLICE as u64);
        let total = countable(pitch.saturating_mul(width.into()))?;
        let (mut columns, mut values) = (vec![NONE; total], vec![T::default(); total]);
        for row in 0..rows {
            for (k, at) in matrix.range(row).take(width as usize).enumerate() {
                let place = k * pitch as usize + row as usize;
                columns[place] = matrix.all_columns()[at];
                values[place] = matrix.values()[at];
            }
        }
        let name = format!("ell_{}", T::NAME);
        let [kernel] = kernels(gpu, &PROGRAM, [&name])?;
        Ok(Self {
            rows,
            width,
            pitch,
            columns: stream.to_device(gpu, &columns)?,
            values: stream.to_device(gpu, &values)?,
            kernel,
        })
    }

    pub fn bytes(&self) -> u64 {
        (4 + size_of::<T>() as u64) * self.columns.len() as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let args: [&dyn Arg; 10] = [
            &self.rows,
            &self.width,
            &self.pitch,
            &self.columns.ptr(),
            &self.values.ptr(),
            &p.x,
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        let grid = Launch::new(self.rows.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of ell_*; the matrix was checked, and the vectors' lengths.
        unsafe { self.kernel.launch(stream, grid, &args) }
    }
}

pub(super) struct SlicedEll<T> {
    slices: u32,
    starts: DeviceBuffer<u32>,
    rows: DeviceBuffer<u32>,
    columns: DeviceBuffer<u32>,
    values: DeviceBuffer<T>,
    kernel: Kernel,
    /// For up to 4 vectors, and up to 8.
    multi: [Kernel; 2],
}

impl<T: Real> SlicedEll<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, matrix: &Csr<'_, T>) -> Result<Self, GpuError> {
        let mut rows: Vec<u32> = (0..matrix.rows()).collect();
        for window in rows.chunks_mut(SORT_WINDOW) {
            window.sort_by_key(|&row| std::cmp::Reverse(matrix.row(row).len()));
        }
        rows.resize(rows.len().next_multiple_of(SLICE), NONE);
        let mut starts = vec![0_u32];
        let mut total = 0;
        for slice in rows.chunks(SLICE) {
            let present = slice.iter().filter(|&&row| row != NONE);
            let width = present.map(|&row| matrix.row(row).len()).max();
            total += (width.unwrap_or(0) * SLICE) as u64;
            countable(total)?;
            starts.push(total as u32);
        }
        let total = total as usize;
        let (mut columns, mut values) = (vec![NONE; total], vec![T::default(); total]);
        for (place, &row) in rows.iter().enumerate().filter(|(_, row)| **row != NONE) {
            let first = starts[place / SLICE] as usize + place % SLICE;
            for (k, at) in matrix.range(row).enumerate() {
                columns[first + k * SLICE] = matrix.all_columns()[at];
                values[first + k * SLICE] = matrix.values()[at];
            }
        }
        let names = ["sell", "sell_multi"].map(|n| format!("{n}_{}", T::NAME));
        let multi = [4, 8].map(|v| format!("{}_{v}", names[1]));
        let [kernel] = kernels(gpu, &PROGRAM, [&names[0]])?;
        Ok(Self {
            slices: starts.len() as u32 - 1,
            starts: stream.to_device(gpu, &starts)?,
            rows: stream.to_device(gpu, &rows)?,
            columns: stream.to_device(gpu, &columns)?,
            values: stream.to_device(gpu, &values)?,
            kernel,
            multi: kernels(gpu, &PROGRAM, [&multi[0], &multi[1]])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        4 * (self.starts.len() + self.rows.len()) as u64
            + (4 + size_of::<T>() as u64) * self.columns.len() as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let args: [&dyn Arg; 10] = [
            &self.slices,
            &self.starts.ptr(),
            &self.rows.ptr(),
            &self.columns.ptr(),
            &self.values.ptr(),
            &p.x,
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        let places = u64::from(self.slices) * SLICE as u64;
        let grid = Launch::new(blocks("rows", places, THREADS.into())?, THREADS);
        // SAFETY: the arguments of sell_*; the matrix was checked, and the vectors' lengths.
        unsafe { self.kernel.launch(stream, grid, &args) }
    }

    pub fn multiply_many(
        &self,
        stream: &Stream,
        x: MatrixView<'_, T>,
        y: MatrixViewMut<'_, T>,
    ) -> Result<(), GpuError> {
        let (kernel, at_once) = if x.columns <= 4 {
            (&self.multi[0], 4)
        } else {
            (&self.multi[1], 8)
        };
        let places = u64::from(self.slices) * SLICE as u64;
        let grid = [
            blocks("rows", places, THREADS.into())?,
            x.columns.div_ceil(at_once),
            1,
        ];
        let (x_ptr, y_ptr) = (x.data.ptr(), y.data.ptr());
        let args: [&dyn Arg; 10] = [
            &self.slices,
            &x.columns,
            &self.starts.ptr(),
            &self.rows.ptr(),
            &self.columns.ptr(),
            &self.values.ptr(),
            &x_ptr,
            &x.ld,
            &y_ptr,
            &y.ld,
        ];
        // SAFETY: the arguments of sell_multi_*; the matrix was checked, and the vectors' shapes.
        unsafe { kernel.launch(stream, Launch::of(grid, [THREADS, 1, 1]), &args) }
    }
}
