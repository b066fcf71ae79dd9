//! Stable merge of two sorted lists of pairs; kernels in `primitives/merge.cu`.
//!
//! Every tile of the result finds by co-ranking (Siebert, Träff 2012) how much of each list it takes, so
//! that all tiles are equal work whatever the lists hold. Cost: every pair is read and written once.

use super::{SortKey, blocks, kernels, same, too_long};
use crate::{
    Arg, DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("primitives/merge.cu");
const THREADS: u32 = 256;
/// Results of one block.
const TILE: u64 = 2048;

/// The kernels that merge.
pub struct Merge {
    cuts: [Kernel; 2],
    tiles: [Kernel; 2],
}

/// Workspace of a merge: where the tiles begin.
pub struct MergeWork {
    cuts: DeviceBuffer<u32>,
}

impl Merge {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            cuts: kernels(gpu, &PROGRAM, ["merge_cuts_u32", "merge_cuts_u64"])?,
            tiles: kernels(gpu, &PROGRAM, ["merge_tiles_u32", "merge_tiles_u64"])?,
        })
    }

    /// Workspace for results of up to `len` pairs: 4 bytes for each 2048.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn workspace(&self, gpu: &Gpu, len: usize) -> Result<MergeWork, GpuError> {
        let cuts = gpu.alloc((len as u64).div_ceil(TILE) as usize + 1)?;
        Ok(MergeWork { cuts })
    }

    /// The pairs of `a` and `b`, each sorted by key, in one sorted list; of equal keys those of `a` come
    /// first. Lists that are not sorted give an order that is not specified.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for lengths that do not match, 2^32 pairs or more, or too small a workspace;
    /// a failing driver call.
    pub fn run<K: SortKey>(
        &self,
        stream: &Stream,
        work: &mut MergeWork,
        a: (DeviceView<'_, K>, DeviceView<'_, u32>),
        b: (DeviceView<'_, K>, DeviceView<'_, u32>),
        out: (DeviceViewMut<'_, K>, DeviceViewMut<'_, u32>),
    ) -> Result<(), GpuError> {
        same("values to merge", a.1.len(), a.0.len())?;
        same("values to merge", b.1.len(), b.0.len())?;
        let total = a.0.len() as u64 + b.0.len() as u64;
        same("keys of a merge", out.0.len(), total as usize)?;
        same("values of a merge", out.1.len(), total as usize)?;
        if total > u64::from(u32::MAX) - TILE {
            return Err(too_long(
                "pairs to merge",
                total,
                u64::from(u32::MAX) - TILE,
            ));
        }
        let tiles = blocks("merge", total, TILE)?;
        let cut_count = tiles + 1;
        if u64::from(cut_count) > work.cuts.len() as u64 {
            let have = work.cuts.len() as u64;
            return Err(too_long("workspace of a merge", cut_count.into(), have));
        }
        let (na, nb, cuts) = (a.0.len() as u32, b.0.len() as u32, work.cuts.ptr());
        let args: [&dyn Arg; 6] = [&na, &nb, &cut_count, &a.0.ptr(), &b.0.ptr(), &cuts];
        let launch = Launch::new(cut_count.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of merge_cuts_*; `cuts` holds cut_count words.
        unsafe { self.cuts[K::KIND].launch(stream, launch, &args)? };
        let args: [&dyn Arg; 9] = [
            &na,
            &nb,
            &cuts,
            &a.0.ptr(),
            &a.1.ptr(),
            &b.0.ptr(),
            &b.1.ptr(),
            &out.0.ptr(),
            &out.1.ptr(),
        ];
        // SAFETY: the arguments of merge_tiles_*; lengths as checked.
        unsafe { self.tiles[K::KIND].launch(stream, Launch::new(tiles, THREADS), &args) }
    }
}
