//! `tamarack solve --profile`: the tables, the JSON and the trace.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn solve(args: &[&str], cache: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tamarack"))
        .args(["solve", "model:p3d7_16", "--threads", "2"])
        .args(args)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tables_for_people_have_aligned_columns() {
    let dir = tempfile::tempdir().unwrap();
    let text = solve(&["--profile"], dir.path());
    let (_, tables) = text.split_once("limits of 2 threads").unwrap();
    for title in ["factorize ", "solve ", "front order ", "thread "] {
        assert!(tables.contains(title), "no {title}in\n{text}");
    }
    // Within a table all full rows are as long as the title.
    let fronts: Vec<&str> = tables
        .lines()
        .skip_while(|line| !line.starts_with("front order"))
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(fronts.len() > 3, "{text}");
    assert!(
        fronts.iter().all(|line| line.len() == fronts[0].len()),
        "{text}"
    );
    assert!(!solve(&[], dir.path()).contains("front order"));
}

#[test]
fn json_adds_up() {
    let dir = tempfile::tempdir().unwrap();
    let object: Value = serde_json::from_str(&solve(&["--profile", "--json"], dir.path())).unwrap();
    let profile = &object["profile"];
    let number = |value: &Value| value.as_f64().unwrap();
    let fronts = profile["fronts"].as_array().unwrap();
    let counted: f64 = fronts.iter().map(|class| number(&class["fronts"])).sum();
    assert_eq!(counted, number(&object["analysis"]["supernodes"]));
    for (call, seconds) in [
        ("factorize", number(&object["factorize"]["seconds"])),
        ("solve", number(&object["solve"]["seconds"])),
    ] {
        let call = &profile[call];
        // The command's clock also has what stands around the call, which on a busy machine may be much.
        let within = number(&call["seconds"]);
        assert!(within > 0.0 && within <= seconds, "{profile}");
        let phases = call["phases"].as_array().unwrap();
        let sum: f64 = phases.iter().map(|phase| number(&phase["seconds"])).sum();
        assert!((sum - number(&call["seconds"])).abs() < 1e-9);
        for thread in call["threads"].as_array().unwrap() {
            let parts = ["entries", "extend_add", "factor", "other", "idle"];
            let all: f64 = parts.iter().map(|part| number(&thread[part])).sum();
            assert!(
                (all / number(&call["seconds"]) - 1.0).abs() < 0.05,
                "{profile}"
            );
        }
    }
    assert!(number(&profile["limits"]["gflops"]) > 0.0);
    assert!(number(&profile["limits"]["gb_per_second"]) > 0.0);
    let plain: Value = serde_json::from_str(&solve(&["--json"], dir.path())).unwrap();
    assert!(plain.get("profile").is_none());
}

#[test]
fn the_trace_has_a_lane_for_each_thread_and_its_events_nest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.json");
    solve(&[&format!("--profile={}", path.display())], dir.path());
    let trace: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for tid in 0..2u64 {
        let mine: Vec<&Value> = events.iter().filter(|e| e["tid"] == tid).collect();
        assert_eq!(mine[0]["ph"], "M");
        assert_eq!(mine[0]["args"]["name"], format!("thread {tid}"));
        // Microseconds with three digits: exact in nanoseconds.
        let ns = |value: &Value| (value.as_f64().unwrap() * 1e3).round() as u64;
        let mut open: Vec<u64> = Vec::new();
        for event in &mine[1..] {
            assert_eq!(event["ph"], "X");
            let start = ns(&event["ts"]);
            let end = start + ns(&event["dur"]);
            open.retain(|&outer| outer > start);
            assert!(open.iter().all(|&outer| end <= outer), "{event}");
            open.push(end);
        }
    }
    for name in [
        "factorize",
        "subtrees",
        "subtree",
        "solve",
        "forward",
        "backward",
    ] {
        assert!(events.iter().any(|e| e["name"] == name), "no {name}");
    }
}
