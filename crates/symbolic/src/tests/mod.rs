//! Property tests against naive elimination.

mod naive;
mod properties;
mod random;
mod saved;
mod tree;
