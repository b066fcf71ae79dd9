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
    assert!(records.iter().all(|r| r.order == "Tamarack's"));
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("### refactorize") && summary.contains("| p3d7_6 |"));
    assert!(summary.contains("- all peers but faer: no --drivers"));
    assert!(summary.contains("| p2d5_20 | Tamarack's | faer, tamarack |"));
    assert!(folder.path().join("refactor-1.svg").exists());
}

#[test]
fn a_missing_matrix_is_skipped_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--threads", "1", "--rounds", "1", "--out"])
        .arg(folder.path())
        .args(["model:no_such_model", "model:p2d5_5"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("- no_such_model:"), "{summary}");
    assert!(summary.contains("| p2d5_5 | tamarack |"), "{summary}");
}

#[test]
fn a_comparison_of_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--threads", "1", "--out"])
        .arg(folder.path())
        .arg("no_such_file.mtx")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("error: nothing was compared"));
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("- no_such_file:"), "{summary}");
}

#[test]
fn the_order_of_metis_without_its_driver_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--ordering", "metis", "--out"])
        .arg(folder.path())
        .arg("model:p2d5_20")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("needs the driver `metis`"));
    assert!(!folder.path().join("summary.md").exists());
}

#[cfg(unix)]
#[test]
fn a_matrix_that_metis_cannot_order_is_skipped() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let driver = folder.path().join("metis");
    std::fs::write(&driver, "#!/bin/sh\necho out of memory >&2; exit 1\n").unwrap();
    std::fs::set_permissions(&driver, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--threads", "1", "--drivers"])
        .args([folder.path(), "--out".as_ref(), folder.path()])
        .args(["model:p2d5_20", "model:p2d5_5"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap();
    for name in ["p2d5_20", "p2d5_5"] {
        assert!(summary.contains(&format!("- {name}: ")), "{summary}");
    }
    assert!(summary.contains("out of memory"), "{summary}");
}
