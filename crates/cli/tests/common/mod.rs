//! The program, for the tests of this folder.

use std::path::Path;
use std::process::{Command, Output};

/// What it prints and its exit code; `cache` stands for the user's cache folder.
pub fn tamarack(args: &[&str], cache: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tamarack"))
        .args(args)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap()
}
