//! Symbolic Cholesky analysis: from a pattern and an ordering to the assembly tree.
//!
//! The result, [`SymbolicFactor`], is immutable and shared: it holds everything about the factor
//! that does not depend on values, devices or thread counts.

mod factor;

pub use factor::{Entries, Stats, SymbolicFactor};
