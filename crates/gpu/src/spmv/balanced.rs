//! CSR by merge path, and COO: tiles of equal work; kernels in `spmv/balanced.cu`.

use super::{Csr, Product, THREADS};
use crate::primitives::{Real, blocks, kernels};
use crate::{Arg, DeviceBuffer, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/balanced.cu");
/// Steps of the path, or entries, in a tile.
const TILE: u64 = 256 * 7;

pub(super) struct CsrMerge<T> {
    rows: u32,
    tiles: u32,
    starts: DeviceBuffer<u32>,
    columns: DeviceBuffer<u32>,
    values: DeviceBuffer<T>,
    cuts: DeviceBuffer<u32>,
    carries: DeviceBuffer<T>,
    kernels: [Kernel; 2],
}

impl<T: Real> CsrMerge<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, matrix: &Csr<'_, T>) -> Result<Self, GpuError> {
        let names = ["csr_merge", "csr_merge_carries"].map(|n| format!("{n}_{}", T::NAME));
        let rows = matrix.rows();
        let tiles = blocks(
            "sparse product",
            u64::from(rows) + matrix.entries() as u64,
            TILE,
        )?;
        let starts = stream.to_device(gpu, &matrix.short_starts())?;
        let cuts = gpu.alloc(tiles as usize + 1)?;
        let cut_count = tiles + 1;
        let [cut] = kernels(gpu, &PROGRAM, ["csr_merge_cuts"])?;
        let args: [&dyn Arg; 4] = [&rows, &cut_count, &starts.ptr(), &cuts.ptr()];
        let launch = Launch::new(cut_count.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of csr_merge_cuts; starts has rows + 1 elements, cuts cut_count.
        unsafe { cut.launch(stream, launch, &args)? };
        Ok(Self {
            rows,
            tiles,
            starts,
            columns: stream.to_device(gpu, matrix.all_columns())?,
            values: stream.to_device(gpu, matrix.values())?,
            cuts,
            carries: gpu.alloc(tiles as usize)?,
            kernels: kernels(gpu, &PROGRAM, [&names[0], &names[1]])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        4 * (self.starts.len() + self.columns.len() + self.cuts.len()) as u64
            + (size_of::<T>() * self.values.len()) as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let args: [&dyn Arg; 11] = [
            &self.rows,
            &self.starts.ptr(),
            &self.columns.ptr(),
            &self.values.ptr(),
            &p.x,
            &self.cuts.ptr(),
            &self.carries.ptr(),
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        // SAFETY: the arguments of csr_merge_*; the matrix was checked, and the vectors' lengths.
        unsafe { self.kernels[0].launch(stream, Launch::new(self.tiles, THREADS), &args)? };
        let args: [&dyn Arg; 6] = [
            &self.rows,
            &self.tiles,
            &self.cuts.ptr(),
            &self.carries.ptr(),
            &p.alpha,
            &p.y,
        ];
        let launch = Launch::new(self.tiles.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of csr_merge_carries_*.
        unsafe { self.kernels[1].launch(stream, launch, &args) }
    }
}

pub(super) struct Coo<T> {
    matrix_rows: u64,
    rows: DeviceBuffer<u32>,
    columns: DeviceBuffer<u32>,
    values: DeviceBuffer<T>,
    tiles: u32,
    carries: DeviceBuffer<T>,
    /// The product, its carries, and y = beta * z.
    kernels: [Kernel; 3],
}

impl<T: Real> Coo<T> {
    /// The entries of each row after its first `skipped`.
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        matrix: &Csr<'_, T>,
        skipped: u32,
    ) -> Result<Self, GpuError> {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..matrix.rows() {
            for at in matrix.range(row).skip(skipped as usize) {
                rows.push(row);
                columns.push(matrix.all_columns()[at]);
                values.push(matrix.values()[at]);
            }
        }
        let tiles = blocks("sparse product", rows.len() as u64, TILE)?;
        let names = ["coo", "coo_carries", "coo_scale"].map(|n| format!("{n}_{}", T::NAME));
        Ok(Self {
            matrix_rows: matrix.rows().into(),
            rows: stream.to_device(gpu, &rows)?,
            columns: stream.to_device(gpu, &columns)?,
            values: stream.to_device(gpu, &values)?,
            tiles,
            carries: gpu.alloc(tiles as usize)?,
            kernels: kernels(gpu, &PROGRAM, [&names[0], &names[1], &names[2]])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        (8 + size_of::<T>() as u64) * self.rows.len() as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let grid = blocks("rows", self.matrix_rows, THREADS.into())?;
        let args: [&dyn Arg; 4] = [&self.matrix_rows, &p.beta, &p.z, &p.y];
        // SAFETY: the arguments of coo_scale_*; y and z have that many elements.
        unsafe { self.kernels[2].launch(stream, Launch::new(grid, THREADS), &args)? };
        self.add(stream, p)
    }

    /// `y += alpha * A * x`.
    pub fn add(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        // Below 2^32, as all entries are.
        let entries = self.rows.len() as u32;
        let args: [&dyn Arg; 8] = [
            &entries,
            &self.rows.ptr(),
            &self.columns.ptr(),
            &self.values.ptr(),
            &p.x,
            &self.carries.ptr(),
            &p.alpha,
            &p.y,
        ];
        // SAFETY: the arguments of coo_*; the matrix was checked, and the vectors' lengths.
        unsafe { self.kernels[0].launch(stream, Launch::new(self.tiles, THREADS), &args)? };
        let args: [&dyn Arg; 5] = [
            &self.tiles,
            &self.rows.ptr(),
            &self.carries.ptr(),
            &p.alpha,
            &p.y,
        ];
        let launch = Launch::new(self.tiles.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of coo_carries_*.
        unsafe { self.kernels[1].launch(stream, launch, &args) }
    }
}
