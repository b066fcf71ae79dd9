//! Orderings by name and by file, alone and compared.

mod common;

use std::fs;
use std::path::Path;

use common::tamarack;
use serde_json::Value;

/// What `tamarack analyze model:p2d5_2 --json ARGUMENT` prints; the matrix has order 4.
fn analyzed(argument: &str, dir: &Path) -> Value {
    let output = tamarack(&["analyze", "model:p2d5_2", "--json", argument], dir);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// Four indices as NumPy saves them.
fn numpy(indices: [i64; 4]) -> Vec<u8> {
    let head = "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.as_bytes());
    bytes.extend(indices.map(i64::to_le_bytes).as_flattened());
    bytes
}

#[test]
fn a_permutation_may_be_a_numpy_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.npy");
    fs::write(&path, numpy([3, 2, 1, 0])).unwrap();
    let report = analyzed(&format!("--ordering={}", path.display()), dir.path());
    assert_eq!(report["analysis"]["ordering"], "given", "{report}");
}

#[test]
fn compared_orderings_say_what_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (p, q) = (file("p.txt", "1\n2\n3\n4\n"), file("q.txt", "4\n3\n2\n1\n"));
    let compare = format!("--compare=auto,amd,{p},{q}");
    let report = analyzed(&compare, dir.path());
    let list = report["analyses"].as_array().unwrap();
    let asked: Vec<_> = list.iter().map(|a| a["asked"].as_str().unwrap()).collect();
    assert_eq!(asked, ["auto", "amd", &p, &q]);
    assert_eq!(list[2]["ordering"], "given");
    let taken = list[0]["ordering"].as_str().unwrap();
    let output = tamarack(&["analyze", "model:p2d5_2", &compare], dir.path());
    let text = String::from_utf8(output.stdout).unwrap();
    for label in [
        format!("{taken} (auto) "),
        "amd ".to_owned(),
        format!("given ({p}) "),
        format!("given ({q}) "),
    ] {
        assert!(
            text.lines().any(|l| l.starts_with(&label)),
            "{label}: {text}"
        );
    }
}

// Elsewhere not every name is allowed.
#[cfg(target_os = "linux")]
#[test]
fn names_of_their_files_need_not_be_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(OsStr::from_bytes(b"\xff")), "1\n2\n3\n1\n").unwrap();
    fs::write(dir.path().join(OsStr::from_bytes(b"p\xff")), "4\n3\n2\n1\n").unwrap();
    let cases: [(&[u8], &str); 3] = [
        (b"--ordering=p\xff", "given"),
        (b"--ordering=coordinates:\xff", "coordinates"),
        (b"--compare=p\xff", "given"),
    ];
    for (argument, ordering) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
            .args(["analyze", "model:p2d5_2"])
            .arg(OsStr::from_bytes(argument))
            .current_dir(dir.path())
            .env("XDG_CACHE_HOME", dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text.contains(ordering), "{text}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
        .args(["analyze", "model:p2d5_2", "--ordering"])
        .arg(OsStr::from_bytes(b"no\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
