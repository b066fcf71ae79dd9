//! Symbolic Cholesky analysis: from a pattern and an ordering to the assembly tree.
//!
//! The result, [`SymbolicFactor`], is immutable and shared: it holds everything about the factor
//! that does not depend on values, devices or thread counts. The steps, each a module: unknowns with the same
//! neighbors become `nodes`, the lower triangle of `P A Pᵀ` (`permuted`), Liu's elimination tree (`etree`) and its
//! `postorder`, column `counts`, `fundamental` `supernodes` and small subtrees that are one from the beginning, among them `leaves` with the
//! same rows, all of which `amalgamate` joins into
//! larger ones (`merging`, by predicted `costs`), the final order of the `assembly` tree and of the `columns` in each supernode, and the row `structure` of every supernode.
//!
//! Counts, merging and structures are found for disjoint subtrees (`parts`) at the same time, the elimination tree for
//! ranges of rows, on the threads of the rayon pool that the caller is in; the result is the same for any number
//! of threads.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod aggregates;
mod amalgamate;
mod analyze;
mod analyzed;
mod assembly;
mod columns;
mod costs;
mod counts;
mod entries;
mod error;
mod etree;
mod factor;
mod flops;
mod fundamental;
mod leaves;
mod merging;
mod nodes;
mod options;
mod parts;
mod permuted;
mod postorder;
mod saved;
mod stack;
mod structure;
mod sums;
mod supernodes;
mod sweep;
#[cfg(test)]
mod tests;
mod threads;
mod walk;

pub use analyze::SymbolicDraft;
pub use entries::{Block, NodeEntries};
pub use error::SymbolicError;
pub use factor::{Stats, SymbolicFactor};
pub use flops::{front_flops, mean_column_flops};
pub use options::{AmalgamationOptions, SymbolicOptions};
