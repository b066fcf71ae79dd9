//! `tamarack gpu info` at the shell, with and without a GPU. CI runs `gpu warm`.

use std::process::{Command, Output};

use serde_json::Value;

fn tamarack(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tamarack"))
        .args(args)
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn info_lists_devices_or_says_why_there_are_none() {
    let output = tamarack(&["gpu", "info", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let info = json(&output);
    let devices = info["devices"].as_array().unwrap();
    assert_eq!(devices.is_empty(), info["reason"].is_string());
    for device in devices {
        assert!(device["arch"].as_str().unwrap().starts_with("sm_"));
        assert!(device["free_bytes"].as_u64() <= device["memory_bytes"].as_u64());
    }
    let text = tamarack(&["gpu", "info"]);
    assert_eq!(text.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&text.stdout).contains("NVRTC"));
}
