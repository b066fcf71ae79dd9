//! What a good run prints.

mod common;

use common::tamarack;

#[test]
fn a_good_run_prints_the_keys_that_scripts_rely_on() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.mtx");
    let args = [
        "solve",
        "model:el3d_4",
        "--json",
        "-o",
        out.to_str().unwrap(),
    ];
    let output = tamarack(&args, dir.path());
    assert_eq!(output.status.code(), Some(0));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for path in [
        "/matrix/source",
        "/matrix/n",
        "/matrix/nnz",
        "/analysis/ordering",
        "/analysis/nnz_l",
        "/analysis/flops",
        "/analysis/supernodes",
        "/analysis/seconds/order",
        "/analysis/seconds/symbolic",
        "/analysis/seconds/plan",
        "/factorize/seconds",
        "/factorize/gflops",
        "/factorize/threads",
        "/factorize/device",
        "/factorize/precision",
        "/factorize/peak_bytes",
        "/factorize/predicted_bytes",
        "/factorize/predicted_seconds",
        "/solve/seconds",
        "/solve/rhs",
        "/solve/refinement_steps",
        "/accuracy/normwise_backward_error",
        "/accuracy/componentwise_backward_error",
        "/accuracy/forward_error",
    ] {
        assert!(
            object.pointer(path).is_some(),
            "{path} is missing in {object}"
        );
    }
    let x = std::fs::read_to_string(out).unwrap();
    assert!(x.starts_with("%%MatrixMarket matrix array real general"));
    for args in [
        &["--help"][..],
        &["--version"],
        &["solve", "--help"],
        &["generate", "--list"],
    ] {
        assert_eq!(
            tamarack(args, dir.path()).status.code(),
            Some(0),
            "{args:?}"
        );
    }
}

#[test]
fn the_list_of_models_is_one_object() {
    let dir = tempfile::tempdir().unwrap();
    let output = tamarack(&["generate", "--list", "--json"], dir.path());
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let models = object["models"].as_array().unwrap();
    // And a line each, of which names and descriptions stand apart.
    let output = tamarack(&["generate", "--list"], dir.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), models.len());
    for (model, line) in models.iter().zip(text.lines()) {
        let [name, what] = ["example", "description"].map(|of| model[of].as_str().unwrap());
        let between = line.strip_prefix(name).and_then(|l| l.strip_suffix(what));
        assert!(between.is_some_and(|b| b.len() >= 2), "{line}");
    }
}

#[test]
fn a_matrix_without_entries_has_no_range_of_its_diagonal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("empty.mtx");
    let text = "%%MatrixMarket matrix coordinate real symmetric\n0 0 0\n";
    std::fs::write(&path, text).unwrap();
    let output = tamarack(&["info", path.to_str().unwrap()], dir.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("inf to"), "{text}");
}

#[test]
fn orderings_are_compared_by_name_and_the_matrix_may_come_last() {
    let dir = tempfile::tempdir().unwrap();
    let compared = |args: &[&str]| {
        let args = [&["analyze", "--json"], args].concat();
        let output = tamarack(&args, dir.path());
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let analyses = object["analyses"].as_array().expect("analyses").iter();
        let name = |a: &serde_json::Value| a["ordering"].as_str().unwrap().to_owned();
        analyses.map(name).collect::<Vec<_>>().join(" ")
    };
    let all = "natural rcm md mmd amd amf nd";
    assert_eq!(compared(&["--compare", "model:p2d5_5"]), all);
    assert_eq!(compared(&["model:p2d5_5", "--compare"]), all);
    assert_eq!(compared(&["--compare=amd,nd", "model:p2d5_5"]), "amd nd");
    let others = "amd natural rcm md mmd amf nd";
    assert_eq!(compared(&["model:p2d5_5", "--compare=amd,all"]), others);
    assert_eq!(compared(&["model:p2d5_5", "--compare=all,amd"]), all);
}

#[test]
fn objects_have_what_the_text_has() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (svg, mtx) = (at("a.svg"), at("a.mtx"));
    let model = "model:p2d5_20";
    let cases: [(&[&str], &[&str]); 8] = [
        (&["analyze", model], &["/matrix/n", "/analysis/nnz_l_kept"]),
        (
            &["bench", "--repeat", "1", model],
            &["/place/device", "/place/predicted_bytes"],
        ),
        (
            &["plan", model],
            &[
                "/analysis/nnz_l_kept",
                "/analysis/flops_done",
                "/plan/subtree_tasks",
                "/plan/shared_fronts",
            ],
        ),
        (
            &["plan", "--precision", "mixed", model],
            &["/fallback_bytes"],
        ),
        (
            &["tree", model, "-o", &svg],
            &[
                "/matrix/source",
                "/matrix/n",
                "/analysis/ordering",
                "/analysis/nnz_l",
                "/analysis/seconds/order",
            ],
        ),
        (
            &["spy", model, "--pixels", "7", "-o", &svg],
            &["/matrix/source", "/cells"],
        ),
        (
            &["generate", model, "-o", &mtx],
            &["/matrix/source", "/matrix/nnz", "/matrix/seconds"],
        ),
        (
            &["convert", model, &mtx],
            &["/matrix/source", "/matrix/nnz", "/matrix/seconds"],
        ),
    ];
    for (args, pointers) in cases {
        let output = tamarack(&[args, &["--json"]].concat(), dir.path());
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for pointer in pointers {
            assert!(object.pointer(pointer).is_some(), "{pointer}: {object}");
        }
        let file = args.last().filter(|a| **a != model);
        let said = object.get("picture").or(object.get("output"));
        assert_eq!(said.and_then(|s| s.as_str()), file.copied(), "{object}");
        let text = String::from_utf8(tamarack(args, dir.path()).stdout).unwrap();
        assert!(file.is_none_or(|file| text.contains(file)), "{text}");
    }
}

#[test]
fn a_plan_says_whether_the_fallback_of_mixed_precision_fits() {
    let dir = tempfile::tempdir().unwrap();
    let plan = |more: &[&str]| {
        let args = ["plan", "--precision", "mixed", "model:p2d5_20"];
        tamarack(&[&args, more].concat(), dir.path())
    };
    let object: serde_json::Value = serde_json::from_slice(&plan(&["--json"]).stdout).unwrap();
    let bytes = |pointer: &str| object.pointer(pointer).unwrap().as_u64().unwrap();
    let (single, both) = (bytes("/plan/predicted_bytes"), bytes("/fallback_bytes"));
    assert!(single < both);
    for (memory, verdict) in [
        (both, "(enough)"),
        (both - 1, "(enough, but not for double precision)"),
        (single - 1, "(NOT enough)"),
    ] {
        let output = plan(&["--memory", &memory.to_string()]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("double precision") && text.contains(verdict),
            "{text}"
        );
        assert_eq!(output.status.success(), memory >= single, "{text}");
    }
}

#[test]
fn orders_do_not_depend_on_how_fast_the_machine_seems() {
    // A solid whose dissection is just worth it, or just not.
    let args = ["plan", "model:p3d7_34x34x33", "--json", "--threads", "2"];
    let order = |cache: &std::path::Path| {
        let output = tamarack(&args, cache);
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let seconds = object.pointer("/plan/predicted_seconds").unwrap().as_f64();
        (
            object.pointer("/analysis/ordering").unwrap().clone(),
            seconds.unwrap(),
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let (ordering, secs) = order(dir.path());
    let rates = dir.path().join("tamarack/machine.json");
    let measured: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&rates).unwrap()).unwrap();
    for factor in [0.2, 5.0] {
        let mut other = measured.clone();
        for (name, rate) in other["rates"]["f64"].as_object_mut().unwrap() {
            if name != "per_flop_secs" {
                *rate = (rate.as_f64().unwrap() * factor).into();
            }
        }
        std::fs::write(&rates, other.to_string()).unwrap();
        let (as_before, other_secs) = order(dir.path());
        assert_eq!(as_before, ordering);
        assert_ne!(other_secs, secs);
    }
}

#[test]
fn what_does_not_do_is_an_error_in_the_object_too() {
    let dir = tempfile::tempdir().unwrap();
    let inaccurate = &["solve", "model:p2d5_20", "--tolerance", "1e-30"][..];
    let too_large = &["plan", "model:p2d5_20", "--memory", "1KiB"][..];
    let kept = dir.path().join("kept");
    let kept = ["--analysis-cache", kept.to_str().unwrap()];
    for (args, code, kind) in [
        (inaccurate, 5, "tolerance"),
        (too_large, 4, "resources"),
        // With an analysis that was kept as with a new one.
        (&[too_large, &kept].concat(), 4, "resources"),
        (&[too_large, &kept].concat(), 4, "resources"),
    ] {
        let output = tamarack(&[args, &["--json"]].concat(), dir.path());
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(code), "{object}");
        assert_eq!(object.pointer("/error/kind").unwrap(), kind);
        assert!(object.pointer("/analysis/nnz_l").is_some(), "{object}");
        let message = object.pointer("/error/message").unwrap().as_str().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(message), "{said}");
    }
}

/// Names of all keys in an object, and in those within it.
fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                keys(value, found);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_explained() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (matrix, picture) = (file("a.mtx"), file("a.svg"));
    let model = "model:p2d5_20";
    let bad = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/not_spd/negative_diagonal.mtx"
    );
    let mut found = std::collections::BTreeSet::new();
    for args in [
        &[
            "solve",
            model,
            "--condition",
            "--profile",
            "--precision",
            "mixed",
        ][..],
        &["solve", bad, "--shift"],
        &["solve", bad],
        &["plan", model, "--precision", "mixed", "--device", "auto"],
        &["info", model],
        &["analyze", model],
        &["analyze", model, "--compare=amd,nd"],
        &["bench", model, "--repeat", "1"],
        &["generate", "p2d5_20", "-o", &matrix],
        &["generate", "--list"],
        &["convert", &matrix, &file("b.mtx")],
        &["spy", model, "-o", &picture],
        &["tree", model, "-o", &picture],
    ] {
        let output = tamarack(&[args, &["--json"]].concat(), dir.path());
        let object = serde_json::from_slice(&output.stdout).unwrap();
        keys(&object, &mut found);
    }
    assert!(found.len() > 90, "{}", found.len());
    for key in found {
        assert!(
            page.contains(&format!("`{key}`")),
            "docs/json.md does not explain `{key}`"
        );
    }
}

#[test]
fn a_matrix_that_rounding_let_pass_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("loose.mtx");
    let solved = |last: f64, more: &[&str]| {
        let text = format!(
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 -1\n2 2 {last:e}\n"
        );
        std::fs::write(&path, text).unwrap();
        let args = [&["solve", path.to_str().unwrap(), "--json"], more].concat();
        let output = tamarack(&args, dir.path());
        assert_eq!(output.status.code(), Some(0));
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let vanished = object.pointer("/accuracy/smallest_pivot/vanished").cloned();
        let warned = String::from_utf8(output.stderr)
            .unwrap()
            .contains("singular");
        (vanished.unwrap().as_bool().unwrap(), warned)
    };
    let two_roundings = 1.0 + 8.0 * f64::EPSILON;
    assert_eq!(solved(two_roundings, &[]), (true, true));
    assert_eq!(solved(2.0, &[]), (false, false));
    // Of single precision nothing is said that refinement makes good.
    let mixed = ["--precision", "mixed"];
    assert_eq!(solved(1.0 + 1e-6, &mixed), (false, false));
}
