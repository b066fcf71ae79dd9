//! CPU kernels on dense blocks and on packed block columns, `f64` and `f32`.
//!
//! Three layers: vectors of an instruction set (`simd`), microtiles in registers (`tile`), and the
//! blocked algorithms on top: free-standing kernels on column-major storage ([`gemm_nt`],
//! [`syrk_lower`], [`trsm_right_lower_transposed`], [`potrf`]) and the operations of a front in
//! packed block columns ([`partial_cholesky`], [`Steps`], [`PanelRef`]).
//!
//! Invariant of all of them: on one machine a result does not depend on how its rows are cut into
//! tiles, so parallel and sequential runs agree bit for bit.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod assembly;
mod blas;
mod floor;
mod front;
mod layout;
mod leaf;
mod pack;
mod product;
mod real;
mod simd;
mod steps;
mod strips;
mod substitution;
mod thin;
mod tile;
mod tiny;
mod unit;
mod vector;
mod vectors;
mod workspace;

#[cfg(test)]
mod tests;

pub use assembly::{Run, extend_add, extend_add_each, find_runs, prefetch};
pub use blas::{PivotFailure, gemm_nt, potrf, syrk_lower, trsm_right_lower_transposed};
pub use floor::Floor;
pub use front::{FrontMut, is_small, panel_cholesky, partial_cholesky};
pub use layout::{BlockColumns, PanelLayout, Strips};
pub use leaf::{Band, Leaf, subtract_products};
pub use real::{InstructionSet, Isa, Real};
pub use steps::{Steps, packed_len};
pub use strips::{StripsRef, write_strips};
pub use substitution::{MAX_RHS, PanelRef, rhs_stride};
pub use thin::{THIN, ThinFront, backward_thin, forward_thin};
pub use tile::UpdateMode;
pub use tiny::{eliminate_tiny, is_tiny};
pub use workspace::{WIDEST, Workspace, unwritten, workspace_bytes};
