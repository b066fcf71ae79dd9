//! More right-hand sides than there is memory for: an error of resources, wherever the memory ends.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A NumPy array of 1024 rows and so many columns, all zeros, which take no room on disk.
fn zeros(path: &Path, columns: u64, fortran_order: &str) {
    let head = format!(
        "{{'descr': '<f8', 'fortran_order': {fortran_order}, 'shape': (1024, {columns}), }}\n"
    );
    let mut file = File::create(path).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(head.len() as u16).to_le_bytes()).unwrap();
    file.write_all(head.as_bytes()).unwrap();
    file.set_len(10 + head.len() as u64 + 1024 * 8 * columns)
        .unwrap();
}

/// What the program says in `dir`, with little more address space than 64 MB of right-hand sides take.
fn limited(dir: &Path, arguments: &str) -> Output {
    let script = format!("ulimit -v 107520; exec \"$0\" {arguments} --threads 1 --json");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tamarack")])
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .output()
        .unwrap()
}

#[test]
fn right_hand_sides_for_which_there_is_no_memory_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    zeros(&dir.join("rows.npy"), 8000, "False");
    zeros(&dir.join("columns.npy"), 8000, "True");
    let solve = "solve model:p2d5_32 -b";
    for (arguments, why) in [
        // The copy by columns, that of the solver, and that for a bound of the forward error.
        (
            format!("{solve} rows.npy"),
            "values, for which there is no memory",
        ),
        (format!("{solve} columns.npy"), "no memory for vectors"),
        (
            format!("{solve} columns.npy --condition"),
            "8000 right-hand sides take 62.5 MiB",
        ),
        (
            "bench model:p2d5_100 --repeat 1 --rhs 1500".to_owned(),
            "1500 right-hand sides take 114.4 MiB",
        ),
    ] {
        let output = limited(dir, &arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments}: {output:?}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["error"]["kind"], "resources", "{object}");
        let message = object["error"]["message"].as_str().unwrap();
        assert!(message.contains(why), "{arguments}: {message}");
    }
}
