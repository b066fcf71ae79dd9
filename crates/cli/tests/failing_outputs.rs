//! Files that cannot be written: said before the work where that is known, else beside the result; nothing is left behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A file that can be opened and not written to.
const FULL: &str = "/dev/full";

/// What the program says in `dir`, where its cache is as well.
fn run(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tamarack"))
        .args(args)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .output()
        .unwrap()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

#[test]
fn a_solution_that_cannot_be_written_costs_no_report() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["solve", "model:p2d5_10", "-o", FULL];
    let output = run(dir.path(), &[&args[..], &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot write /dev/full"), "{said}");
    let report = object(&output);
    assert_eq!(report["accuracy"]["solved"], true, "{report}");
    assert_eq!(report["error"]["kind"], "resources", "{report}");
    let output = run(dir.path(), &args);
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("solved to tolerance"), "{text}");
}

#[test]
fn a_permutation_that_cannot_be_written_costs_no_report() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["analyze", "model:p2d5_10", "--write-permutation", FULL];
    let output = run(dir.path(), &[&args[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let report = object(&output);
    assert!(report["analysis"]["nnz_l"].is_u64(), "{report}");
    assert_eq!(report["error"]["kind"], "resources", "{report}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write /dev/full"), "{said}");
}

#[test]
fn a_solution_that_is_not_finite_is_not_written_and_not_solved() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e-30\n2 2 1e-30\n";
    fs::write(dir.path().join("a.mtx"), matrix).unwrap();
    fs::write(dir.path().join("b.txt"), "1e300\n1\n").unwrap();
    let args = ["solve", "a.mtx", "-b", "b.txt", "-o", "x.mtx", "--json"];
    let output = run(dir.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert_eq!(object(&output)["error"]["kind"], "tolerance");
    assert!(said.contains("x.mtx is not written"), "{said}");
    assert!(!dir.path().join("x.mtx").exists());
}

/// The system ends a program that exceeds this limit by a signal, unless that is ignored.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = "ulimit -f 8; exec \"$0\" generate p2d5_100 -o x.mtx --json";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tamarack")])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let report = object(&output);
    assert_eq!(report["error"]["kind"], "resources");
    let message = report["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("cannot write x.mtx"), "{message}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn names_that_no_file_can_have_are_found_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.mtx"), "old").unwrap();
    let long = format!("{}.mtx", "x".repeat(300));
    for name in ["new/", "x.mtx/", "new/.", &long] {
        let output = run(dir.path(), &["solve", "-v", "model:p2d5_3", "-o", name]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{name}: {said}");
        // What is done is said, so nothing was.
        assert!(said.starts_with("error: cannot write "), "{name}: {said}");
    }
    assert_eq!(fs::read(dir.path().join("x.mtx")).unwrap(), b"old");
}

/// Root may write to any file, so that the program is then run as nobody.
#[test]
fn a_file_that_may_not_be_written_to_is_not_replaced() {
    const NOBODY: u32 = 65534;
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(dir.path(), 0o777);
    let path = dir.path().join("x.mtx");
    fs::write(&path, "old").unwrap();
    mode(&path, 0o444);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamarack"));
    command
        .args(["solve", "-v", "model:p2d5_3", "-o", "x.mtx"])
        .current_dir(dir.path())
        .env("XDG_CACHE_HOME", dir.path().join("cache"));
    if fs::metadata(dir.path()).unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: nobody cannot start the program: {error}");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.starts_with("error: cannot write x.mtx"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
}
