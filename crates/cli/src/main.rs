//! The `tamarack` command.

fn main() {}
