//! Libraries print nothing and read no environment, as `docs/architecture.md` promises; the command does both.

use std::fs;
use std::path::{Path, PathBuf};

/// What only the command may do.
const NOT_HERE: [&str; 5] = ["println!", "eprintln!", "dbg!", "env::var", "env::args"];

/// Rust files below a folder, those of tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_test = ["tests", "tests.rs", "testing.rs"].contains(&name.as_str());
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if name.ends_with(".rs") && !is_test {
            found.push(path);
        }
    }
}

#[test]
fn libraries_print_nothing_and_read_no_environment() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !["cli", "testkit"].contains(&name.as_str()) {
            sources(&path.join("src"), &mut files);
        }
    }
    assert!(files.len() > 200, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (line, number) in code.lines().zip(1..) {
            let is_comment = line.trim_start().starts_with("//");
            let bad = NOT_HERE.iter().find(|word| line.contains(*word));
            assert!(
                is_comment || bad.is_none(),
                "{}:{number}: {line}",
                file.display()
            );
        }
    }
}
