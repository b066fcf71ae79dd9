//! Solves with a factor that is on a device: stage by stage, recorded once, replayed.

mod solver;
mod stages;

pub use solver::{Device, DeviceSolver};
