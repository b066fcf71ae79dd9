//! Ctrl-C and its like: exit code 130, an object where JSON was asked for, and no files left.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn start(program: &[&str], args: &[&str], dir: &Path) -> Child {
    Command::new(program[0])
        .args(&program[1..])
        .args(args)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

/// Temporary files in a folder.
fn unfinished(dir: &Path) -> usize {
    let names = std::fs::read_dir(dir).unwrap();
    let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
    names
        .filter(|e| hidden(&e.as_ref().unwrap().file_name()))
        .count()
}

/// Waits until the child, which takes seconds to write it, has begun a file that is not empty.
fn wait_for_a_file(dir: &Path) {
    let began = Instant::now();
    while unfinished(dir) == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "no file is begun"
        );
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
}

fn assert_interrupted(output: &Output) {
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["error"]["kind"], "cancelled");
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_tamarack");
const WRITE: [&str; 5] = ["generate", "p3d7_90", "-o", "a.mtx.gz", "--json"];

#[test]
fn an_interrupt_while_a_file_is_written_leaves_none() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["INT", "TERM", "XCPU"] {
        let child = start(&[PROGRAM], &WRITE, dir.path());
        wait_for_a_file(dir.path());
        signal(&child, name);
        assert_interrupted(&child.wait_with_output().unwrap());
        assert_eq!(unfinished(dir.path()), 0, "{name}");
        assert!(!dir.path().join("a.mtx.gz").exists());
    }
}

#[test]
fn a_hangup_that_was_ignored_from_the_start_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let shell = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\"", PROGRAM];
    let mut child = start(&shell, &WRITE, dir.path());
    wait_for_a_file(dir.path());
    signal(&child, "HUP");
    sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, "TERM");
    assert_interrupted(&child.wait_with_output().unwrap());
}

#[test]
fn an_interrupt_ends_the_solves_of_a_benchmark() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "bench",
        "model:p2d5_100",
        "--repeat",
        "1",
        "--rhs",
        "3000",
        "-v",
        "--json",
    ];
    let mut child = start(&[PROGRAM], &args, dir.path());
    // When the machine is measured, the analysis and the factorizations take milliseconds.
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let measured = stderr
        .lines()
        .any(|line| line.unwrap().contains("measuring the machine"));
    assert!(measured);
    sleep(Duration::from_millis(100));
    signal(&child, "INT");
    assert_interrupted(&child.wait_with_output().unwrap());
}
