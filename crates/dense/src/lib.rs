//! CPU kernels on dense blocks and on packed block columns.

mod layout;

pub use layout::BlockColumns;
