//! An output file that is standard output: the text for people is elsewhere, and an object is not broken.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

fn tamarack(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamarack"));
    command
        .args(args)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"));
    command
}

#[test]
fn a_file_there_is_refused_beside_an_object() {
    let dir = tempfile::tempdir().unwrap();
    let solve = |name| ["solve", "model:p2d5_3", "--json", "-o", name];
    let analyze = ["analyze", "model:p2d5_3", "--json", "--write-permutation"];
    let cases = [
        solve("/dev/stdout").to_vec(),
        solve("/dev/fd/1").to_vec(),
        solve("/proc/self/fd/1").to_vec(),
        // Another name of the pipe.
        solve("/proc/thread-self/fd/1").to_vec(),
        vec!["solve", "model:p2d5_3", "--json", "--profile=/dev/stdout"],
        [&analyze[..], &["/dev/stdout"]].concat(),
    ];
    for args in cases {
        let output = tamarack(dir.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let object: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{args:?}: {e}: {output:?}"));
        assert_eq!(object["error"]["kind"], "usage", "{object}");
        let message = object["error"]["message"].as_str().unwrap();
        assert!(message.contains("is standard output"), "{message}");
    }
    let path = dir.path().join("x.mtx");
    let status = tamarack(dir.path(), &solve("x.mtx"))
        .stdout(File::create(&path).unwrap())
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("is standard output"), "{text}");
    let status = tamarack(dir.path(), &solve("/dev/null"))
        .stdout(Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
}

#[test]
fn a_solution_there_is_all_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["solve", "model:p2d5_3", "-o", "/dev/stdout"];
    let output = tamarack(dir.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let (text, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(text.starts_with("%%MatrixMarket"), "{text}");
    assert_eq!(text.lines().count(), 2 + 9, "{text}");
    assert!(said.contains("backward error"), "{said}");
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        ["solve", "model:p2d5_3", "-o", "/dev/stdout"],
        [
            "analyze",
            "model:p2d5_3",
            "--write-permutation",
            "/dev/stdout",
        ],
    ] {
        let mut child = tamarack(dir.path(), &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(!said.contains("error:"), "{said}");
    }
}
