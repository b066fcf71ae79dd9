//! Wrong inputs at the shell: exit code and message, in text and as JSON; nothing panics.

mod common;

use common::tamarack;

/// Text of a file, arguments (`FILE` stands for it), exit code, part of the message.
type Case = (&'static str, &'static [&'static str], i32, &'static str);

const GOOD: &str = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 2 4\n";

const CASES: &[Case] = &[
    // Usage: 1.
    (GOOD, &[], 1, "Usage"),
    (GOOD, &["frobnicate"], 1, "unrecognized subcommand"),
    (GOOD, &["solve"], 1, "required"),
    (
        GOOD,
        &["solve", "FILE", "--threads", "0"],
        1,
        "number of threads from 1",
    ),
    (
        GOOD,
        &["solve", "FILE", "--precision", "f16"],
        1,
        "invalid value",
    ),
    (
        GOOD,
        &["solve", "FILE", "--ordering", "nosuch"],
        1,
        "nosuch",
    ),
    (
        GOOD,
        &["solve", "FILE", "--ordering", "best:soon"],
        1,
        "best:soon",
    ),
    (
        GOOD,
        &["solve", "FILE", "--ordering", "colamd"],
        1,
        "auto, best, best:SECONDS, natural, rcm, md, mmd, amd, amf, nd, coordinates:",
    ),
    (
        GOOD,
        &["analyze", "FILE", "--ordering", "nd", "--compare"],
        1,
        "cannot be used with",
    ),
    (
        GOOD,
        &["spy", "FILE", "--ordering", "nd", "-o", "picture.svg"],
        1,
        "--permuted|--factor",
    ),
    (
        GOOD,
        &["solve", "FILE", "-o", "x.npy"],
        1,
        "a Matrix Market array is written",
    ),
    (
        GOOD,
        &["generate", "p2d5_3", "-o", "a.txt"],
        1,
        "says no format",
    ),
    (
        GOOD,
        &["solve", "FILE", "--ordering", "tree:nofile"],
        2,
        "cannot open nofile",
    ),
    (
        GOOD,
        &["solve", "FILE", "--refine", "many"],
        1,
        "number of steps",
    ),
    (
        GOOD,
        &["solve", "FILE", "--memory", "12X"],
        1,
        "expected bytes",
    ),
    (GOOD, &["convert", "FILE", "out.xyz"], 1, "says no format"),
    (
        GOOD,
        &["spy", "FILE", "-o", "picture.gif"],
        1,
        ".png or a .svg",
    ),
    (GOOD, &["tree", "FILE", "-o", "tree.png"], 1, ".svg"),
    (GOOD, &["generate", "p2d5_10"], 1, "required"),
    (
        GOOD,
        &["generate", "--list", "p2d5_10"],
        1,
        "cannot be used with",
    ),
    (
        GOOD,
        &["generate", "--list", "-o", "list.mtx"],
        1,
        "cannot be used with",
    ),
    (
        GOOD,
        &["gpu", "warm", "--arch", "sm_80,avx"],
        1,
        "is not an architecture",
    ),
    // Bad input: 2.
    (
        GOOD,
        &["solve", "no/such/file.mtx"],
        2,
        "cannot open no/such/file.mtx",
    ),
    (
        GOOD,
        &["solve", "model:p9d9_3"],
        2,
        "is not a model problem",
    ),
    (
        "1\n0\n1\n1\n",
        &["solve", "model:p2d5_2", "--ordering", "tree:FILE"],
        2,
        "FILE: row 2 is 0",
    ),
    (
        "2\n3\n2\n3\n",
        &["solve", "model:p2d5_2", "--ordering", "tree:FILE"],
        2,
        "FILE: unknowns 1 and 0",
    ),
    (GOOD, &["solve", "model:p3d7_0"], 2, "size"),
    (GOOD, &["solve", "model:p3d7_99999"], 2, "unknowns"),
    ("", &["solve", "FILE"], 2, "FILE"),
    ("hello\n", &["solve", "FILE"], 2, "FILE"),
    (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n3 2 4\n",
        &["solve", "FILE"],
        2,
        "line 4 of FILE",
    ),
    (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 2 nan\n",
        &["solve", "FILE"],
        2,
        "line 4 of FILE",
    ),
    (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 2 4\n",
        &["solve", "FILE"],
        2,
        "3",
    ),
    (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 1000000000000000000\n1 1 4\n",
        &["solve", "FILE"],
        2,
        "FILE",
    ),
    (
        "%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n",
        &["solve", "FILE"],
        2,
        "pattern",
    ),
    (
        "%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 0\n",
        &["solve", "FILE"],
        2,
        "complex",
    ),
    (
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n",
        &["solve", "FILE"],
        2,
        "skew",
    ),
    (
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 2 4\n2 1 1\n",
        &["solve", "FILE"],
        2,
        "FILE",
    ),
    (
        "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n",
        &["solve", "model:p2d5_2", "-b", "FILE"],
        2,
        "has 3 rows; the matrix has order 4",
    ),
    (
        "1\n1\n",
        &["solve", "model:p2d5_2", "--ordering", "FILE"],
        2,
        "FILE",
    ),
    // Not positive definite: 3.
    (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 2 -1\n",
        &["solve", "FILE"],
        3,
        "column 1",
    ),
    (
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1 4\n",
        &["solve", "FILE", "--precision", "mixed"],
        3,
        "zero or missing",
    ),
    // Resources: 4.
    (
        GOOD,
        &["solve", "model:p3d7_20", "--memory", "1000"],
        4,
        "may be used",
    ),
    (
        GOOD,
        &["plan", "model:p3d7_20", "--memory", "1000"],
        4,
        "may be used",
    ),
    (
        GOOD,
        &["generate", "p2d5_3", "-o", "no/such/folder/a.mtx"],
        4,
        "cannot write",
    ),
    (
        GOOD,
        &[
            "gpu",
            "warm",
            "--arch",
            "sm_80",
            "--nvrtc",
            "no/such/libnvrtc.so",
        ],
        4,
        "NVRTC",
    ),
    (
        GOOD,
        &["solve", "FILE", "--profile=no/such/folder/trace.json"],
        4,
        "cannot write no/such/folder/trace.json",
    ),
    // Tolerance not met: 5.
    (
        GOOD,
        &[
            "solve",
            "model:p2d5_20",
            "--precision",
            "f32",
            "--refine",
            "off",
            "--tolerance",
            "1e-14",
        ],
        5,
        "above the tolerance",
    ),
];

#[test]
fn every_wrong_input_has_its_exit_code_and_message() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.mtx");
    let name = path.to_str().unwrap();
    for (text, args, code, message) in CASES {
        std::fs::write(&path, text).unwrap();
        let args: Vec<String> = args.iter().map(|a| a.replace("FILE", name)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = tamarack(&args, dir.path());
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let message = message.replace("FILE", name);
        assert_eq!(output.status.code(), Some(*code), "{args:?}\n{out}\n{err}");
        assert!(err.contains(&message), "{args:?}: no `{message}` in\n{err}");
        assert!(!err.contains("panicked"), "{args:?}\n{err}");
    }
}

#[test]
fn json_carries_the_error_on_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.mtx");
    let name = path.to_str().unwrap();
    for (text, args, code, _) in CASES {
        std::fs::write(&path, text).unwrap();
        let args: Vec<String> = args.iter().map(|a| a.replace("FILE", name)).collect();
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        args.push("--json");
        let output = tamarack(&args, dir.path());
        assert_eq!(output.status.code(), Some(*code), "{args:?}");
        let object: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
                panic!("{args:?}: {e}: {}", String::from_utf8_lossy(&output.stdout))
            });
        // Where the result itself is printed the error is on standard error only.
        if object.get("error").is_none() {
            assert!(matches!(code, 4 | 5), "{args:?}: {object}");
            assert!(!output.stderr.is_empty());
        } else {
            assert!(object["error"]["kind"].is_string() && object["error"]["message"].is_string());
        }
        if *code == 3 {
            assert!(object["error"]["column"].is_u64(), "{object}");
        }
    }
}

#[test]
fn a_usage_error_as_json_says_what_is_missing_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let message = |args: &[&str]| {
        let output = tamarack(args, dir.path());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        object["error"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        message(&["solve", "--json"]),
        "the following required arguments were not provided: <A>"
    );
    let choice = message(&["solve", "A.mtx", "--precision", "f16", "--json"]);
    assert!(
        choice.ends_with("[possible values: f64, f32, mixed]"),
        "{choice}"
    );
}
