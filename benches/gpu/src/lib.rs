//! Timing kernels on a GPU: the harness that every program in `src/bin` uses.
//!
//! One program for each group of kernels: its `main` makes a [`Suite`], calls [`Suite::time`] for each
//! kernel and size, ours and the peer's in the same run, and ends with [`Suite::finish`], which prints
//! a table and writes JSON. A program put into `src/bin` is built, bundled and run with no other change.
//!
//! ```text
//! PROGRAM [--json FILE] [--filter TEXT]... [--quick] [--cache DIR] [--nvrtc FILE]
//! ```

//!
//! `sparse` and `many` are others: the whole solver on model problems, beside cuDSS's log, and with many right-hand sides.

pub mod cub;
pub mod cusparse;
mod floor;
pub mod matrices;
pub mod nvidia;
mod peer;
mod report;
mod suite;
pub mod whole;

pub use floor::Floor;
pub use peer::Peer;
pub use suite::{Calls, Case, Suite};
