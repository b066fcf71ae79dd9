//! The programs together on tiny systems, without any library of others.

use std::process::Command;

use tamarack_benches::Record;

#[test]
fn a_comparison_without_drivers_runs_tamarack_and_faer() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--rounds", "2", "--threads", "1", "--out"])
        .arg(folder.path())
        .args(["model:p2d5_20", "model:p3d7_6"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let raw = std::fs::read_to_string(folder.path().join("raw.jsonl")).unwrap();
    let records: Vec<Record> = raw
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(records.len(), 8);
    let solvers: Vec<&str> = records[..3].iter().map(|r| r.solver.as_str()).collect();
    assert_eq!(solvers, ["tamarack", "faer", "tamarack"]);
    assert!(records.iter().all(|r| r.backward_error < 1e-14));
    assert!(records.iter().all(|r| r.backward_error_16 < 1e-14));
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("### refactorize") && summary.contains("| p3d7_6 |"));
    assert!(summary.contains("- all peers but faer: no --drivers"));
    assert!(folder.path().join("refactor-1.svg").exists());
}

#[test]
fn a_missing_matrix_is_skipped_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--threads", "1", "--out"])
        .arg(folder.path())
        .arg("model:no_such_model")
        .output()
        .unwrap();
    assert!(output.status.success());
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("- no_such_model:"), "{summary}");
}
