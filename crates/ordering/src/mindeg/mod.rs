//! Minimum degree and minimum fill orderings on a quotient graph.

mod amd;
mod bits;
mod dense;
mod few;
mod fringe;
mod lists;
mod mmd;
mod observer;
mod order;
mod piece;
mod quotient;
mod selection;
mod supervariables;
#[cfg(test)]
mod tests;

pub(crate) use amd::Amd;
pub use amd::AmdOptions;
pub(crate) use dense::DenseLimits;
pub(crate) use fringe::is_fringed;
pub(crate) use lists::{DegreeLists, NONE};
pub(crate) use mmd::Mmd;
pub use mmd::MmdOptions;
pub(crate) use quotient::{MAX_ORDER, QuotientGraph, prefetch};
pub use selection::Selection;
pub(crate) use supervariables::HashTable;
