//! Times Tamarack and its peers on the same matrices, phases apart.
//!
//! `drive` runs one solver on one matrix in a process of its own and prints a [`Record`] as one line
//! of JSON; the C drivers in `peers/cpu` print the same line. `compare` runs them all by turns and
//! writes what came out into a folder.

#![allow(clippy::missing_errors_doc)] // a bench ends with whatever went wrong

pub mod exchange;
pub mod machine;
pub mod ours;
pub mod peer;
pub mod plot;
pub mod record;
pub mod solvers;
pub mod summary;
pub mod timing;

pub use record::Record;

/// Whatever goes wrong in a benchmark ends it with its message.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
