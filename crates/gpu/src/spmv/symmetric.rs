//! A symmetric matrix by its lower half; kernels in `spmv/symmetric.cu`, the cut in [`windows`].
//!
//! [`windows`]: super::windows

use super::windows::{Sizes, cut};
use super::{Csr, Product, Profile, THREADS};
use crate::primitives::{Real, kernels, short};
use crate::{Arg, DeviceBuffer, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("spmv/symmetric.cu");
/// Rows and places of a chunk: 40 KiB of x and y in f64, so that five blocks share a multiprocessor, and
/// 24 rounds of 32 rows (of 512 to 2048 rows measured best on grids of 27 and 81 entries a row).
const ROWS: usize = 768;
const WINDOW: usize = 2560;
/// Depths that the kernels come in.
const DEPTHS: [usize; 4] = [1, 2, 4, 6];

pub(super) struct Symmetric<T> {
    rows: u32,
    window: u32,
    most_pieces: u32,
    shared_bytes: u32,
    chunks: DeviceBuffer<[u32; 12]>,
    pieces: DeviceBuffer<u32>,
    rounds: DeviceBuffer<u32>,
    outside: DeviceBuffer<u32>,
    places: DeviceBuffer<u16>,
    values: DeviceBuffer<T>,
    add_starts: DeviceBuffer<u32>,
    adds: DeviceBuffer<u32>,
    own: DeviceBuffer<T>,
    outer: DeviceBuffer<T>,
    kernels: [Kernel; 2],
}

/// Eights of entries that hold a typical row in one piece.
fn depth(mean: f64) -> usize {
    let fits = DEPTHS.into_iter().find(|&d| 8.0 * d as f64 >= mean);
    fits.unwrap_or(DEPTHS[DEPTHS.len() - 1])
}

impl<T: Real> Symmetric<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, lower: &Csr<'_, T>) -> Result<Self, GpuError> {
        Self::with_windows(gpu, stream, lower, ROWS, WINDOW)
    }

    pub fn with_windows(
        gpu: &Gpu,
        stream: &Stream,
        lower: &Csr<'_, T>,
        rows: usize,
        window: usize,
    ) -> Result<Self, GpuError> {
        lower.require_lower()?;
        let depth = depth(Profile::of(lower).mean);
        // Places take 16 bits, and a part of a long row needs two.
        let sizes = Sizes {
            rows,
            window: window.clamp(2, 1 << 16),
            depth,
        };
        let w = cut(lower, sizes);
        short(
            "outside places of a symmetric matrix",
            w.outside.len(),
            1 << 32,
        )?;
        let values: Vec<T> = w
            .sources
            .iter()
            .map(|&at| lower.values()[at as usize])
            .collect();
        let window = w.window.next_multiple_of(2);
        let shared = 2 * size_of::<T>() * window + 4 * (w.most_pieces + w.most_rounds);
        let names = [
            format!("symmetric_chunks_{}_{depth}", T::NAME),
            format!("symmetric_finish_{}", T::NAME),
        ];
        Ok(Self {
            rows: lower.rows(),
            window: window as u32,
            most_pieces: w.most_pieces as u32,
            shared_bytes: shared as u32,
            chunks: stream.to_device(gpu, &w.chunks)?,
            pieces: stream.to_device(gpu, &w.pieces)?,
            rounds: stream.to_device(gpu, &w.rounds)?,
            outside: stream.to_device(gpu, &w.outside)?,
            places: stream.to_device(gpu, &w.places)?,
            values: stream.to_device(gpu, &values)?,
            add_starts: stream.to_device(gpu, &w.add_starts)?,
            adds: stream.to_device(gpu, &w.adds)?,
            own: gpu.alloc(lower.rows() as usize)?,
            outer: gpu.alloc(w.outside.len())?,
            kernels: kernels(gpu, &PROGRAM, [&names[0], &names[1]])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        let words = self.pieces.len() + self.rounds.len() + self.outside.len() + self.adds.len();
        let entries = (2 + size_of::<T>()) * self.values.len();
        (48 * self.chunks.len() + 4 * (words + self.add_starts.len()) + entries) as u64
    }

    pub fn launch(&self, stream: &Stream, p: Product<T>) -> Result<(), GpuError> {
        let args: [&dyn Arg; 11] = [
            &self.chunks.ptr(),
            &self.window,
            &self.most_pieces,
            &self.pieces.ptr(),
            &self.rounds.ptr(),
            &self.outside.ptr(),
            &self.places.ptr(),
            &self.values.ptr(),
            &p.x,
            &self.own.ptr(),
            &self.outer.ptr(),
        ];
        let grid = Launch::new(self.chunks.len() as u32, THREADS).shared(self.shared_bytes);
        // SAFETY: the arguments of symmetric_chunks_*, with the shared memory of the largest chunk; the
        // matrix was checked, and the vectors' lengths.
        unsafe { self.kernels[0].launch(stream, grid, &args)? };
        let args: [&dyn Arg; 9] = [
            &self.rows,
            &self.add_starts.ptr(),
            &self.adds.ptr(),
            &self.own.ptr(),
            &self.outer.ptr(),
            &p.alpha,
            &p.beta,
            &p.z,
            &p.y,
        ];
        let grid = Launch::new(self.rows.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of symmetric_finish_*.
        unsafe { self.kernels[1].launch(stream, grid, &args) }
    }
}
