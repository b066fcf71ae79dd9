//! The arrows between the crates, as `docs/architecture.md` draws them.

use std::process::Command;

use serde_json::Value;

/// Each crate and what it may depend on.
const ARROWS: [(&str, &[&str]); 15] = [
    ("sparse", &[]),
    ("dense", &[]),
    ("store", &[]),
    ("gpu", &[]),
    ("ordering", &["sparse"]),
    ("symbolic", &["sparse"]),
    ("plan", &["symbolic", "dense"]),
    (
        "numeric",
        &["sparse", "symbolic", "plan", "dense", "store", "gpu"],
    ),
    (
        "solve",
        &["sparse", "symbolic", "plan", "dense", "numeric", "gpu"],
    ),
    (
        "tamarack",
        &[
            "sparse", "ordering", "symbolic", "plan", "dense", "store", "numeric", "solve", "gpu",
        ],
    ),
    ("cli", &["tamarack", "gpu"]),
    ("testkit", &["sparse"]),
    ("tests", &["tamarack"]),
    ("benches", &["tamarack"]),
    ("gpu-benches", &["tamarack", "numeric", "solve", "gpu"]),
];

fn short(name: &str) -> &str {
    name.strip_prefix("tamarack-").unwrap_or(name)
}

#[test]
fn no_crate_reaches_beyond_its_arrows() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert_eq!(packages.len(), ARROWS.len(), "a crate is missing here");
    for package in packages {
        let name = short(package["name"].as_str().unwrap());
        let (_, allowed) = ARROWS.iter().find(|(n, _)| *n == name).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let ours = to == "tamarack" || to.starts_with("tamarack-");
            if ours && dependency["kind"].is_null() {
                assert!(
                    allowed.contains(&short(to)),
                    "{name} must not depend on {to}"
                );
            }
            assert!(
                to != "cudarc" || name == "gpu",
                "only gpu may depend on cudarc, not {name}"
            );
        }
    }
}
