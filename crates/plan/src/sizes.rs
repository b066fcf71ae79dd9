//! How large things are that a plan makes room for.

use tamarack_dense::{
    BlockColumns, Isa, Strips, is_small, packed_len as packed_of, workspace_bytes as workspace_of,
};
use tamarack_symbolic::SymbolicFactor;

use crate::error::PlanError;
use crate::options::{PlanOptions, Precision};
use crate::plan::UpdatePlace;

/// Order of the largest front, and of the largest that is eliminated in one piece.
pub(crate) fn largest_orders(symbolic: &SymbolicFactor) -> [usize; 2] {
    let mut largest = [0; 2];
    for s in 0..symbolic.supernodes() {
        let (npiv, nupd) = (symbolic.npiv(s), symbolic.nupd(s));
        largest[0] = largest[0].max(npiv + nupd);
        if is_small(npiv, nupd) {
            largest[1] = largest[1].max(npiv + nupd);
        }
    }
    largest
}

/// Numbers of the largest panel in block columns that is going to be in strips.
pub(crate) fn panel_room(symbolic: &SymbolicFactor, block: usize) -> usize {
    let room = |s| match (symbolic.npiv(s), symbolic.nupd(s)) {
        (npiv, nupd) if Strips::are_for(npiv, nupd) => BlockColumns::panel(npiv, nupd, block).len(),
        _ => 0,
    };
    (0..symbolic.supernodes()).map(room).max().unwrap_or(0)
}

pub(crate) fn bytes(numbers: u64, value_bytes: usize) -> Result<u64, PlanError> {
    numbers
        .checked_mul(value_bytes as u64)
        .ok_or(PlanError::TooLarge)
}

/// Packing buffers of the kernels, and the run list of extend-add, for every thread.
pub(crate) fn workspace_bytes(options: &PlanOptions, orders: [usize; 2], threads: usize) -> u64 {
    let [largest_front, largest_small] = orders;
    let kernel = match options.precision {
        Precision::F64 => workspace_of::<f64>(options.block, largest_small),
        Precision::F32 => workspace_of::<f32>(options.block, largest_small),
    };
    // A run is three `u32`.
    ((kernel + 12 * largest_front) * threads) as u64
}

/// Numbers for the packed rows of a front, a multiple of a cache line: none if it is small or has no
/// pivots.
pub(crate) fn packed_len(options: &PlanOptions, npiv: usize, nupd: usize) -> u64 {
    if npiv == 0 || is_small(npiv, nupd) {
        return 0;
    }
    let (block, isa) = (options.block, Isa::detect());
    let len = match options.precision {
        Precision::F64 => packed_of::<f64>(npiv, nupd, block, isa),
        Precision::F32 => packed_of::<f32>(npiv, nupd, block, isa),
    };
    len.next_multiple_of(16) as u64
}

pub(crate) fn plan_bytes(supernodes: usize) -> u64 {
    (supernodes * (size_of::<u64>() + size_of::<UpdatePlace>())) as u64
}
