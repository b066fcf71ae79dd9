//! Symmetric sparse matrices: storage, permutations, file formats and model problems.
//!
//! The central object is [`SymmetricCsc`], the lower triangle of a real symmetric matrix in
//! compressed sparse columns: rows sorted within each column, the diagonal present and therefore
//! first. Its structure alone is a [`Pattern`], which is shared (`Arc`) by every matrix that has it.
//!
//! Two numberings of the unknowns exist, and the types [`UserIdx`] and [`ElimIdx`] keep them apart:
//! the *user order* of the input and the *elimination order* after the fill-reducing permutation.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a 64-bit target is needed: sizes of factors are counted in `usize`");

mod fingerprint;
mod index;
mod lists;
mod pattern;
mod permutation;
mod runs;
mod scalar;
mod symmetric;
mod symmetry;
mod triplets;

pub mod files;
pub mod interop;
pub mod io;
pub mod memory;
pub mod models;

pub use index::{ElimIdx, IndexLike, UserIdx};
pub use lists::concatenated;
pub use pattern::{Pattern, StructureError};
pub use permutation::{Permutation, PermutationError};
pub use runs::Runs;
pub use scalar::Scalar;
pub use symmetric::SymmetricCsc;
pub use triplets::{Duplicates, Places, TripletError, Triplets};
