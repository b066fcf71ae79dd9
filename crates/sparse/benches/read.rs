//! Reading speed.
fn main() {}
