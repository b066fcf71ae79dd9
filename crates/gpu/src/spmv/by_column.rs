//! Windows of rows whose entries are taken by column; kernels in `spmv/by_column.cu`, the dealing in [`rounds`].
//!
//! [`rounds`]: super::rounds

use super::rounds::{NONE, Sizes, deal};
use super::{Csr, Product, THREADS};
use crate::primitives::{Real, kernels};
use crate::{Arg, DeviceBuffer, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/by_column.cu");
/// Threads of a window's block.
const BLOCK: u32 = 1024;
/// Entries of a thread in a round, as in the kernel.
const DEPTH: u32 = 2;
/// Shared memory that a window leaves for the first-level cache, in bytes.
const CACHE_BYTES: u32 = 48 << 10;
/// Most sums of a window: places take 16 bits.
const MOST_PLACES: usize = 65_000;

pub(super) struct ByColumn<T> {
    rows: u32,
    cut: u32,
    shared_bytes: u32,
    windows: DeviceBuffer<[u32; 8]>,
    columns: DeviceBuffer<u32>,
    places: DeviceBuffer<u16>,
    values: DeviceBuffer<T>,
    several: DeviceBuffer<u32>,
    cut_rows: DeviceBuffer<u32>,
    segment_starts: DeviceBuffer<u32>,
    segments: DeviceBuffer<T>,
    kernels: [Kernel; 2],
}

impl<T: Real> ByColumn<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, matrix: &Csr<'_, T>) -> Result<Self, GpuError> {
        let names = [
            format!("by_column_{}", T::NAME),
            format!("by_column_segments_{}", T::NAME),
        ];
        let info = gpu.info();
        let bytes = info.shared_per_block_bytes.saturating_sub(CACHE_BYTES) as usize;
        let sizes = Sizes {
            at_once: info.multiprocessors.into(),
            places: (bytes / size_of::<T>()).clamp(256, MOST_PLACES),
            round: (BLOCK * DEPTH) as usize,
        };
        let rounds = deal(matrix, sizes);
        let value = |&at: &u32| match at {
            NONE => T::default(),
            at => matrix.values()[at as usize],
        };
        let values: Vec<T> = rounds.sources.iter().map(value).collect();
        let segments = rounds.segment_starts.last().copied().unwrap_or(0);
        Ok(Self {
            rows: matrix.rows(),
            cut: rounds.cut_rows.len() as u32, // fewer than rows
            shared_bytes: (rounds.most_places * size_of::<T>()) as u32,
            windows: stream.to_device(gpu, &rounds.windows)?,
            columns: stream.to_device(gpu, &rounds.columns)?,
            places: stream.to_device(gpu, &rounds.places)?,
            values: stream.to_device(gpu, &values)?,
            several: stream.to_device(gpu, &rounds.several)?,
            cut_rows: stream.to_device(gpu, &rounds.cut_rows)?,
            segment_starts: stream.to_device(gpu, &rounds.segment_starts)?,
            segments: gpu.alloc(segments as usize)?,
            kernels: kernels(gpu, &PROGRAM, [&names[0], &names[1]])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        let words = self.several.len() + self.cut_rows.len() + self.segment_starts.len();
        let entries = (6 + size_of::<T>()) * self.values.len();
        (32 * self.windows.len() + 4 * words + entries) as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let args: [&dyn Arg; 12] = [
            &self.rows,
            &self.windows.ptr(),
            &self.columns.ptr(),
            &self.places.ptr(),
            &self.values.ptr(),
            &self.several.ptr(),
            &p.x,
            &self.segments.ptr(),
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        let grid = Launch::new(self.windows.len() as u32, BLOCK).shared(self.shared_bytes);
        // SAFETY: the arguments of by_column_*, with the shared memory of the largest window; the matrix was checked,
        // and the vectors' lengths.
        unsafe { self.kernels[0].launch(stream, grid, &args)? };
        let args: [&dyn Arg; 6] = [
            &self.cut,
            &self.segment_starts.ptr(),
            &self.cut_rows.ptr(),
            &self.segments.ptr(),
            &p.alpha,
            &p.y,
        ];
        let grid = Launch::new(self.cut.div_ceil(THREADS / 32), THREADS);
        // SAFETY: the arguments of by_column_segments_*; there is nothing to launch where no row was cut.
        unsafe { self.kernels[1].launch(stream, grid, &args) }
    }
}
