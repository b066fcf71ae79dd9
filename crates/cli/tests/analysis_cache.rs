//! `--analysis-cache`: the second run takes the analysis of the first, and bad files do no harm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Solves a model with the cache in `dir`; the solution goes to `dir/NAME.mtx`.
fn solve(dir: &Path, model: &str, name: &str) -> (String, Output) {
    let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
        .args(["solve", &format!("model:{model}"), "--json"])
        .args(["--threads", "2", "--ordering", "nd", "--analysis-cache"])
        .arg(dir.join("kept"))
        .arg("-o")
        .arg(dir.join(name).with_extension("mtx"))
        .env("XDG_CACHE_HOME", dir)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ordering = report["analysis"]["ordering"].as_str().unwrap();
    (ordering.to_owned(), output)
}

fn only_file(dir: &Path) -> PathBuf {
    let files: Vec<_> = fs::read_dir(dir.join("kept")).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].as_ref().unwrap().path()
}

fn warning(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_second_run_takes_the_analysis_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let (first, _) = solve(dir.path(), "p3d7_8", "first");
    let (second, output) = solve(dir.path(), "p3d7_8", "second");
    assert_eq!((first.as_str(), second.as_str()), ("nd", "saved"));
    assert_eq!(warning(&output), "");
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert_eq!(read("first.mtx"), read("second.mtx"));
    // Another pattern has a file of its own.
    assert_eq!(solve(dir.path(), "p3d7_9", "other").0, "nd");
    assert_eq!(fs::read_dir(dir.path().join("kept")).unwrap().count(), 2);
}

#[test]
fn an_analysis_for_another_device_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    // The order alone is taken from one that may be for a card.
    let runs = [
        ("cpu", "nd"),
        ("auto", "nd"),
        ("cpu", "saved"),
        ("auto", "saved"),
    ];
    for (device, expected) in runs {
        let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
            .args(["plan", "model:p3d7_8", "--json", "--ordering", "nd"])
            .args(["--device", device, "--analysis-cache"])
            .arg(dir.path().join("kept"))
            .env("XDG_CACHE_HOME", dir.path())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["analysis"]["ordering"], expected, "{device}");
    }
    assert_eq!(fs::read_dir(dir.path().join("kept")).unwrap().count(), 2);
}

#[test]
fn an_analysis_for_another_precision_of_the_factor_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    // Mixed precision has a factor in single precision.
    let runs = [
        ("f64", false),
        ("f32", false),
        ("f64", true),
        ("mixed", true),
    ];
    for (precision, saved) in runs {
        let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
            .args(["plan", "model:p3d7_8", "--json"])
            .args(["--precision", precision, "--analysis-cache"])
            .arg(dir.path().join("kept"))
            .env("XDG_CACHE_HOME", dir.path())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ordering = report["analysis"]["ordering"].as_str().unwrap();
        assert_eq!(ordering == "saved", saved, "{precision}: {ordering}");
    }
}

#[test]
fn damaged_and_foreign_files_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    solve(dir.path(), "p3d7_9", "foreign");
    let foreign = fs::read(only_file(dir.path())).unwrap();
    fs::remove_file(only_file(dir.path())).unwrap();
    solve(dir.path(), "p3d7_8", "good");
    let path = only_file(dir.path());
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    for bad in [
        &foreign[..],
        &good[..good.len() / 2],
        &flipped[..],
        b"",
        b"text",
    ] {
        fs::write(&path, bad).unwrap();
        let (ordering, output) = solve(dir.path(), "p3d7_8", "again");
        assert_eq!(ordering, "nd");
        assert!(warning(&output).contains("analyzing anew"), "{output:?}");
        assert_eq!(fs::read(&path).unwrap(), good);
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("kept"), "a file").unwrap();
    let (ordering, output) = solve(dir.path(), "p3d7_8", "x");
    assert_eq!(ordering, "nd");
    assert!(warning(&output).contains("not kept"), "{output:?}");
}

#[test]
fn an_ordering_from_a_file_is_not_kept_and_a_warning_says_so_once() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("p.txt"), "4\n3\n2\n1\n").unwrap();
    let numbers = "%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n1\n";
    fs::write(at("x.mtx"), numbers).unwrap();
    let orderings = [at("p.txt"), format!("coordinates:{}", at("x.mtx"))];
    for (command, ordering) in ["solve", "plan"].iter().zip(&orderings) {
        let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
            .args([command, "model:p2d5_2", "--ordering", ordering])
            .args(["--analysis-cache", &at("kept")])
            .env("XDG_CACHE_HOME", dir.path())
            .output()
            .unwrap();
        let said = warning(&output);
        assert!(output.status.success(), "{said}");
        let warnings: Vec<_> = said.lines().filter(|l| l.contains("is not kept")).collect();
        assert_eq!(warnings.len(), 1, "{said}");
        assert!(warnings[0].contains(ordering), "{said}");
        assert!(!dir.path().join("kept").exists());
    }
}
