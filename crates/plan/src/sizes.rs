//! How large things are that a plan makes room for.

use tamarack_dense::{
    BlockColumns, Isa, Strips, is_small, packed_len as packed_of, workspace_bytes as workspace_of,
};
use tamarack_symbolic::SymbolicFactor;

use crate::error::PlanError;
use crate::leaves::Leaves;
use crate::options::{PlanOptions, Precision};
use crate::plan::UpdatePlace;

/// What the largest fronts need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Largest {
    /// Order of the largest front, and of the largest that is eliminated in one piece.
    pub orders: [usize; 2],
    /// Numbers of the largest panel in block columns that is going to be in strips.
    pub panel_room: usize,
}

impl Largest {
    /// Of fronts with block columns of `block` columns.
    pub fn of(symbolic: &SymbolicFactor, block: usize) -> Self {
        let mut largest = Self::default();
        for (npiv, nupd) in symbolic.front_sizes() {
            let [order, small] = &mut largest.orders;
            *order = (*order).max(npiv + nupd);
            if is_small(npiv, nupd) {
                *small = (*small).max(npiv + nupd);
            }
            if Strips::are_for(npiv, nupd) {
                let len = BlockColumns::panel(npiv, nupd, block).len();
                largest.panel_room = largest.panel_room.max(len);
            }
        }
        largest
    }
}

pub(crate) fn bytes(numbers: u64, value_bytes: usize) -> Result<u64, PlanError> {
    numbers
        .checked_mul(value_bytes as u64)
        .ok_or(PlanError::TooLarge)
}

/// Packing buffers of the kernels, the run list of extend-add, and the visits of leaves, for every thread.
pub(crate) fn workspace_bytes(
    options: &PlanOptions,
    orders: [usize; 2],
    leaves: &Leaves,
    threads: usize,
) -> u64 {
    let [largest_front, largest_small] = orders;
    let kernel = match options.precision {
        Precision::F64 => workspace_of::<f64>(options.block, largest_small),
        Precision::F32 => workspace_of::<f32>(options.block, largest_small),
    };
    // A run is three `u32`.
    ((kernel + 12 * largest_front + leaves.workspace_bytes()) * threads) as u64
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
