//! Building blocks on device arrays: moving, transposing, reducing, scanning, counting, sorting,
//! merging, and breadth-first levels.
//!
//! Each operation is a small object that holds its kernels, made once for a device: making one compiles
//! its program if neither this process nor the cache on disk has it. Operations are enqueued on a stream
//! and wait for nothing, except where they return a number of their own. Workspace is held by the object
//! or handed in, so that nothing is allocated in between; operations that share one object's workspace
//! belong on one stream.
//!
//! Everything here gives the same bits in every run: integers are exact, floating-point sums have an
//! order that depends on the length alone, and what atomics decide is not visible in a result.

mod copy;
mod histogram;
mod levels;
mod matrix;
mod merge;
mod number;
mod radix_sort;
mod reduce;
mod scan;
#[cfg(test)]
mod tests;
mod transpose;

pub use copy::Copies;
pub use histogram::Histogram;
pub use levels::{Adjacency, LevelSets, Levels};
pub use matrix::{MatrixView, MatrixViewMut};
pub use merge::{Merge, MergeWork};
pub use number::{Real, Word};
pub use radix_sort::{RadixSort, SortKey, SortWork};
pub use reduce::{Reduce, Reduction};
pub use scan::{Scan, ScanPair, ScanWork};
pub use transpose::Transpose;

use crate::{Gpu, GpuError, Kernel, Program};

/// Kernels of one program, by name.
pub(crate) fn kernels<const N: usize>(
    gpu: &Gpu,
    program: &Program,
    names: [&str; N],
) -> Result<[Kernel; N], GpuError> {
    let module = gpu.load(program)?;
    let mut found = Vec::with_capacity(N);
    for name in names {
        found.push(module.kernel(name)?);
    }
    found.try_into().map_err(|_| too_long("kernels", 0, 0))
}

/// Blocks that take `per_block` of `items` each.
pub(crate) fn blocks(what: &'static str, items: u64, per_block: u64) -> Result<u32, GpuError> {
    let blocks = items.div_ceil(per_block);
    match u32::try_from(blocks) {
        Ok(blocks) if blocks <= i32::MAX as u32 => Ok(blocks),
        _ => Err(too_long(what, items, per_block * i32::MAX as u64)),
    }
}

pub(crate) fn too_long(what: &'static str, got: u64, have: u64) -> GpuError {
    GpuError::Shape { what, got, have }
}

/// An error unless both lengths are equal.
pub(crate) fn same(what: &'static str, got: usize, have: usize) -> Result<(), GpuError> {
    if got == have {
        return Ok(());
    }
    Err(too_long(what, got as u64, have as u64))
}

/// `len` as 32 bits, for lengths below `limit`.
pub(crate) fn short(what: &'static str, len: usize, limit: u64) -> Result<u32, GpuError> {
    match u32::try_from(len) {
        Ok(short) if u64::from(short) < limit => Ok(short),
        _ => Err(too_long(what, len as u64, limit - 1)),
    }
}

/// Blocks of this kernel that are resident at once on the whole device, at least one.
pub(crate) fn resident(
    gpu: &Gpu,
    kernel: &Kernel,
    threads: u32,
    shared_bytes: u32,
) -> Result<u32, GpuError> {
    let per_multiprocessor = kernel.blocks_per_multiprocessor(threads, shared_bytes)?;
    Ok((per_multiprocessor * gpu.info().multiprocessors).max(1))
}
