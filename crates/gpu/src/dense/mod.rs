//! Dense kernels on symmetric matrices in packed block columns: products, and partial Cholesky of fronts.
//!
//! Everything is batched over a work list: many problems of different sizes, one launch. A list is made
//! once, on the host, checked and uploaded; launching it allocates nothing, waits for nothing, and can be
//! captured into a graph. All operands of a list stand in one device array, the *arena*, at places that
//! the caller chose: places and stored heights are multiples of [`grain`], so that every column is aligned to 16 bytes.
//! Numbers are f64, or f32: lists are of one type, f64 where none is named.
//!
//! | object | what it does |
//! |---|---|
//! | [`Products`] | `C ← βC ± A Bᵀ`; SYRK into packed block columns |
//! | [`Fronts`] | partial Cholesky of fronts of any size, all in one launch |
//! | [`SmallFronts`] | partial Cholesky of fronts whose panel fits into shared memory, one warp or four each |
//! | [`FusedFronts`] | small fronts, and sequences of them, with the sums of their children |
//! | [`SmallSolves`], [`PanelSolves`] | forward and backward substitution with the panels of fronts |
//! | [`Assembly`] | the update matrices of children, added up in their parents: extend-add |
//! | [`Entries`] | entries of a sparse matrix, on their way into the panels of fronts |
//! | [`FirstBadPivot`] | the first bad pivot of several lists of fronts |
//!
//! Bits repeat: every entry is accumulated by one thread in a fixed order, whatever the schedule.
//! Operands of one list must not overlap, other than `A` and `B`: what is computed is then undefined.

mod assemble;
mod entries;
mod entry_fronts;
mod front;
mod fused;
mod layout;
mod order;
mod product;
mod small;
mod solve;
mod status;
#[cfg(test)]
mod tests;

pub use assemble::{Assembly, Child, Gathered, Parent};
pub use entries::{Entries, EntryMap};
pub use entry_fronts::{EntryFront, EntryFronts};
pub use front::{BadPivot, Front, FrontShape, Fronts};
pub use fused::{FusedFront, FusedFronts};
pub use layout::{BLOCK, Placed, grain};
pub use order::Tile;
pub use product::{Product, Products, Step};
pub use small::SmallFronts;
pub use solve::{
    PanelSolves, RHS_GROUP, SmallSolves, SolveChild, SolveFront, SolveOrder, SolveSpace,
};
pub use status::{FirstBadPivot, Pivots};

use crate::GpuError;
pub use crate::primitives::Real;

/// The error of an operand that does not fit.
pub(crate) fn shape(what: &'static str, got: u64, have: u64) -> GpuError {
    GpuError::Shape { what, got, have }
}
