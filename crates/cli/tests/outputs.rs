//! What is written where some of it cannot be: no result is lost for another's sake.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

fn tamarack(cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamarack"));
    command.env("XDG_CACHE_HOME", cache);
    command
}

/// A file that can be opened and not written to.
#[cfg(target_os = "linux")]
const FULL: &str = "/dev/full";

#[cfg(target_os = "linux")]
#[test]
fn standard_error_that_is_full_costs_no_solution() {
    let dir = tempfile::tempdir().unwrap();
    let x = dir.path().join("x.mtx");
    let full = || File::options().write(true).open(FULL).unwrap();
    let status = tamarack(dir.path())
        .args(["solve", "-v", "model:p2d5_10", "-o"])
        .arg(&x)
        .stderr(full())
        .output()
        .unwrap()
        .status;
    assert_eq!(status.code(), Some(0));
    assert!(x.exists());
    let output = tamarack(dir.path())
        .args(["solve", "nosuch.mtx"])
        .stderr(full())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_cannot_be_written_costs_neither_solution_nor_report() {
    let dir = tempfile::tempdir().unwrap();
    let x = dir.path().join("x.mtx");
    let output = tamarack(dir.path())
        .args(["solve", "model:p2d5_10", "--json", "-o"])
        .arg(&x)
        .arg(format!("--profile={FULL}"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["accuracy"]["solved"], true);
    assert!(x.exists());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("cannot write /dev/full"), "{error}");
}

/// What `tamarack solve MODEL ARGUMENTS -o x.mtx` says in `dir`, in a shell with these limits; there is an old x.mtx.
#[cfg(target_os = "linux")]
fn solve_limited(dir: &Path, limits: &str, arguments: &str) -> String {
    let x = dir.join("x.mtx");
    fs::write(&x, "old").unwrap();
    let script = format!("{limits}; exec \"$0\" solve {arguments} -o \"$1\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_tamarack")])
        .arg(&x)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert_eq!(fs::read(&x).unwrap(), b"old");
    error
}

/// A limit on the size of files ends a write in the middle, as a full disk does; the signal that comes with it is ignored.
#[cfg(target_os = "linux")]
#[test]
fn a_solution_that_does_not_fit_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let limits = "trap '' XFSZ; ulimit -f 8";
    let error = solve_limited(dir.path(), limits, "model:p2d5_100");
    assert!(
        error.contains("cannot write") && error.contains("x.mtx"),
        "{error}"
    );
    let unfinished = fs::read_dir(dir.path()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains(".tmp")
    });
    assert_eq!(unfinished.count(), 0);
}

/// The arena is larger than all the memory there may be; what comes before it takes a few megabytes.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_refuses_is_an_error_and_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = "model:el3d_22 --threads 1 --memory 100GiB";
    let error = solve_limited(dir.path(), "ulimit -v 180000", arguments);
    assert!(error.contains("cannot allocate"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_that_does_not_fit_into_memory_is_an_error_of_resources() {
    let dir = tempfile::tempdir().unwrap();
    let error = solve_limited(dir.path(), "ulimit -v 180000", "model:p3d7_300 --threads 1");
    assert!(error.contains("does not fit into memory"), "{error}");
}

#[test]
fn a_picture_replaces_what_a_link_points_to() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("a.png"), dir.path().join("link.png"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink("a.png", &link).unwrap();
    let spy = tamarack(dir.path())
        .args(["spy", "model:p2d5_3", "-o"])
        .arg(&link)
        .output()
        .unwrap();
    assert!(spy.status.success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read(&file).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_folder_that_is_missing_is_found_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let commands: [&[&str]; 6] = [
        &["solve", "model:p2d5_3", "-o", "no/x.mtx"],
        &["solve", "model:p2d5_3", "--profile=no/x.mtx"],
        &["generate", "p2d5_3", "-o", "no/x.mtx"],
        &["convert", "model:p2d5_3", "no/x.mtx"],
        &["analyze", "model:p2d5_3", "--write-permutation", "no/x.mtx"],
        &["tree", "model:p2d5_3", "-o", "no/x.svg"],
    ];
    for arguments in commands {
        let mut command = tamarack(dir.path());
        command.current_dir(dir.path()).args(arguments).arg("-v");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        // What is done is said, so nothing was.
        let wrong = error.starts_with("error: cannot write no/x.") && !error.contains(".tmp");
        assert!(wrong, "{arguments:?}: {error}");
    }
}

/// Runs in `dir` and expects a usage error that names `both`.
fn refused(dir: &Path, arguments: &[&str], both: [&str; 2]) {
    let mut command = tamarack(&dir.join("cache"));
    let output = command.current_dir(dir).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    assert!(error.contains("is the same file as"), "{error}");
    assert!(both.iter().all(|name| error.contains(name)), "{error}");
}

#[test]
fn an_output_that_is_an_input_is_refused_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // Neither is looked at.
    let files = ["a.mtx", "b.mtx", "p.txt", "a.svg"];
    for name in files {
        fs::write(dir.join(name), name).unwrap();
    }
    std::os::unix::fs::symlink("a.mtx", dir.join("link.mtx")).unwrap();
    let cases: [(&[&str], [&str; 2]); 13] = [
        (&["solve", "a.mtx", "-o", "a.mtx"], ["solution", "matrix"]),
        (&["solve", "a.mtx", "-o", "./a.mtx"], ["./a.mtx", "matrix"]),
        (
            &["solve", "link.mtx", "-o", "a.mtx"],
            [" a.mtx", "link.mtx"],
        ),
        (
            &["solve", "a.mtx", "-o", "link.mtx"],
            ["link.mtx", " a.mtx"],
        ),
        (
            &["solve", "model:p2d5_3", "-b", "b.mtx", "-o", "b.mtx"],
            ["the solution b.mtx", "the right-hand side b.mtx"],
        ),
        (
            &["solve", "a.mtx", "--profile=a.mtx"],
            ["profile", "matrix"],
        ),
        (
            &[
                "solve",
                "a.mtx",
                "--ordering",
                "coordinates:p.txt",
                "-o",
                "p.txt",
            ],
            ["solution", "the ordering p.txt"],
        ),
        (
            &[
                "solve",
                "a.mtx",
                "--ordering",
                "tree:p.txt",
                "--profile=p.txt",
            ],
            ["profile", "the ordering p.txt"],
        ),
        (
            &["analyze", "a.mtx", "--write-permutation", "a.mtx"],
            ["permutation", "matrix"],
        ),
        (
            &[
                "analyze",
                "a.mtx",
                "--ordering",
                "p.txt",
                "--write-permutation",
                "p.txt",
            ],
            ["permutation", "ordering"],
        ),
        (&["convert", "a.mtx", "a.mtx"], ["new matrix", "the matrix"]),
        (&["spy", "a.svg", "-o", "a.svg"], ["picture", "matrix"]),
        (&["tree", "a.svg", "-o", "a.svg"], ["picture", "matrix"]),
    ];
    for (arguments, both) in cases {
        refused(dir, arguments, both);
    }
    for name in files {
        assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), name);
    }
}

#[test]
fn two_outputs_in_one_file_are_refused_unless_it_is_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let both = ["the profile y.mtx", "the solution y.mtx"];
    let solve = ["solve", "model:p2d5_3", "-o", "y.mtx", "--profile=y.mtx"];
    refused(dir, &solve, both);
    assert!(!dir.join("y.mtx").exists());
    for device in ["/dev/null", "/dev/stdout"] {
        let output = tamarack(dir)
            .args(["solve", "model:p2d5_3", "-o", device])
            .arg(format!("--profile={device}"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{device}");
    }
}

#[test]
fn a_solution_in_the_file_of_standard_output_is_alone_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.txt");
    let output = tamarack(dir.path())
        .args(["solve", "model:p2d5_3", "-o", "/dev/stdout"])
        .stdout(File::create(&path).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("%%MatrixMarket"), "{text}");
    assert!(!text.contains("backward error"), "{text}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("backward error"), "{said}");
}

// Elsewhere not every name is allowed.
#[cfg(target_os = "linux")]
#[test]
fn names_need_not_be_utf_8() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsStr::from_bytes(b"a\xff.mtx"));
    for arguments in [
        [
            OsStr::new("convert"),
            OsStr::new("model:p2d5_3"),
            path.as_os_str(),
        ],
        [OsStr::new("solve"), path.as_os_str(), OsStr::new("--quiet")],
    ] {
        let output = tamarack(dir.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}
