//! Fill-reducing orderings: from the pattern of a symmetric matrix to a permutation.
//!
//! [`order`] runs any [`Method`] on a [`Pattern`](tamarack_sparse::Pattern). Values never matter,
//! and the result depends on nothing but the pattern and the options.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod band;
mod error;
mod graph;
mod guide;
mod method;
mod mindeg;
mod nd;
mod near;
mod parts;
mod rcm;
mod stop;
mod workspace;

pub use error::OrderingError;
pub use graph::Graph;
pub use guide::{Coordinates, PartitionTree};
pub use method::{Method, order, order_until, order_without_fill};
pub use mindeg::{AmdOptions, MmdOptions, Selection};
pub use nd::{MergedGraph, NdOptions};
pub use stop::Stop;
pub use workspace::Workspace;

#[cfg(test)]
mod tests;
