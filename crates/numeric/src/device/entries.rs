//! How entries of a matrix get into the panels of a plan: fronts and rows as the device's kernels look them up.

use tamarack_gpu::dense::{Entries, EntryFront, EntryFronts, EntryMap, Real};
use tamarack_gpu::spmv::HalfPattern;
use tamarack_gpu::{Gpu, GpuError};
use tamarack_sparse::Pattern;

use super::plan::DevicePlan;

/// The way of the entries of matrices of a pattern into the panels of a plan.
pub(super) fn entries_of<T: Real>(
    plan: &DevicePlan,
    gpu: &Gpu,
    pattern: &Pattern,
) -> Result<Entries<T>, GpuError> {
    let (symbolic, stream) = (plan.symbolic(), gpu.stream()?);
    let mut rows = 0;
    let fronts = (0..symbolic.supernodes()).map(|s| {
        // n is below 2^32
        let updates = symbolic.nupd(s) as u32;
        let first = rows;
        rows += u64::from(updates);
        EntryFront {
            column: symbolic.columns(s).start as u32,
            pivots: symbolic.npiv(s) as u32,
            updates,
            rows: first,
            panel: plan.staged().panel_start(s),
        }
    });
    let (starts, all_rows) = (pattern.col_ptr(), symbolic.all_rows());
    let n = symbolic.n() as u32; // below 2^32
    let (half, fronts) = rayon::join(
        || HalfPattern::new(gpu, starts, pattern.row_idx()),
        || EntryFronts::new(n, all_rows.len() as u64, fronts),
    );
    let map = EntryMap {
        pattern: &half?,
        starts,
        position: symbolic.permutation().elim_of_user(),
        order: symbolic.permutation().user_of_elim(),
        rows: all_rows,
        early: plan.filled_at(0).map_or(0, |panels| panels.end),
    };
    Entries::new(gpu, &stream, &map, &fronts?)
}
