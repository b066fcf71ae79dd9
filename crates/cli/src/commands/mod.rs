//! The commands, one a file.

pub mod analyze;
pub mod bench;
pub mod convert;
pub mod device_profile;
pub mod generate;
pub mod gpu;
pub mod info;
pub mod plan;
pub mod profile;
pub mod report;
pub mod solve;
pub mod spy;
pub mod tree;
