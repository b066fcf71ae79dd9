//! Property tests against naive elimination.

mod naive;
mod properties;
pub(crate) mod random;
mod saved;
mod tree;
