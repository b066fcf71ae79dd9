//! Chrome's trace format: what every thread did, for Perfetto or `chrome://tracing`.
//!
//! A JSON object with complete events (`ph: X`), one lane (`tid`) for each thread, times in
//! microseconds. Events of a lane nest. A GPU is a process (`pid`) of its own with a lane for each stream, on the same clock.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use tamarack::{Activity, DeviceProfile, DeviceSpan, Event, Profile, Purpose};

use crate::failure::Failure;
use crate::files;

#[derive(Serialize)]
struct Trace<'a> {
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
    #[serde(rename = "traceEvents")]
    events: Vec<Entry<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Named {
        name: &'static str,
        ph: &'static str,
        pid: u32,
        tid: usize,
        args: Name,
    },
    Complete {
        name: &'a str,
        cat: &'static str,
        ph: &'static str,
        ts: f64,
        dur: f64,
        pid: u32,
        tid: usize,
        #[serde(skip_serializing_if = "Args::is_empty")]
        args: Args,
    },
}

#[derive(Serialize)]
struct Name {
    name: String,
}

/// What is known about an event.
#[derive(Default, Serialize)]
struct Args {
    #[serde(skip_serializing_if = "Option::is_none")]
    supernode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    npiv: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nupd: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fronts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl Args {
    fn is_empty(&self) -> bool {
        self.supernode.is_none() && self.stage.is_none() && self.bytes.is_none()
    }

    fn of(event: &Event) -> Self {
        let Some(front) = event.front else {
            return Self::default();
        };
        let subtree = event.activity == Activity::Subtree;
        Self {
            supernode: Some(front.supernode),
            npiv: (!subtree).then_some(front.npiv),
            nupd: (!subtree).then_some(front.nupd),
            fronts: subtree.then_some(event.fronts),
            ..Self::default()
        }
    }

    fn of_piece(piece: &DeviceSpan) -> Self {
        Self {
            stage: stage_name(piece),
            bytes: (piece.bytes > 0).then_some(piece.bytes),
            ..Self::default()
        }
    }
}

/// What a piece of a GPU's work was for, where it is of a factorization or a solve.
fn stage_name(piece: &DeviceSpan) -> Option<String> {
    match Purpose::of_group(piece.group) {
        Purpose::Factorize(k) => Some(format!("factorize {k}")),
        Purpose::Forward(k) => Some(format!("forward {k}")),
        Purpose::Backward(k) => Some(format!("backward {k}")),
        Purpose::Enter => Some("entries".to_owned()),
        Purpose::Other | Purpose::Begin => None,
    }
}

/// The process of the host's threads.
const HOST: u32 = 1;
/// That of the GPU.
const GPU: u32 = 2;

/// Writes the events of a profile to a file, whole or not at all.
pub fn write(
    path: &Path,
    profile: &Profile,
    device: Option<&DeviceProfile>,
) -> Result<(), Failure> {
    let mut events = entries(profile);
    if let Some(device) = device {
        device_entries(device, &mut events);
    }
    let trace = Trace { unit: "ms", events };
    files::write(path, |out| Ok(serde_json::to_writer(out, &trace)?))
}

fn entries(profile: &Profile) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (tid, events) in profile.events.iter().enumerate() {
        entries.push(named("thread_name", HOST, tid, format!("thread {tid}")));
        entries.extend(events.iter().map(|event| Entry::Complete {
            name: event.activity.name(),
            cat: category(event.activity),
            ph: "X",
            ts: micros(event.start_ns),
            dur: micros(event.duration_ns),
            pid: HOST,
            tid,
            args: Args::of(event),
        }));
    }
    entries
}

fn device_entries<'a>(profile: &'a DeviceProfile, entries: &mut Vec<Entry<'a>>) {
    entries.push(named("process_name", HOST, 0, "CPU".to_owned()));
    entries.push(named("process_name", GPU, 0, "GPU".to_owned()));
    let streams: BTreeSet<u32> = profile.pieces.iter().map(|piece| piece.stream).collect();
    for stream in streams {
        entries.push(named(
            "thread_name",
            GPU,
            stream as usize,
            format!("stream {stream}"),
        ));
    }
    entries.extend(profile.pieces.iter().map(|piece| Entry::Complete {
        name: &piece.name,
        cat: if piece.bytes > 0 { "copy" } else { "kernel" },
        ph: "X",
        ts: 1e6 * (profile.origin_secs + piece.start_secs),
        dur: 1e6 * piece.secs,
        pid: GPU,
        tid: piece.stream as usize,
        args: Args::of_piece(piece),
    }));
}

fn named(name: &'static str, pid: u32, tid: usize, is: String) -> Entry<'static> {
    Entry::Named {
        name,
        ph: "M",
        pid,
        tid,
        args: Name { name: is },
    }
}

fn category(activity: Activity) -> &'static str {
    match activity {
        Activity::Call(_) => "call",
        Activity::Phase(_) => "phase",
        Activity::Wait => "idle",
        Activity::Subtree | Activity::Front => "front",
        _ => "part",
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_a_process_on_the_clock_of_the_host() {
        let piece = |name: &str, stream, bytes, purpose: Purpose| DeviceSpan {
            name: name.to_owned(),
            stream,
            start_secs: 0.25,
            secs: 0.125,
            bytes,
            group: purpose.group(),
        };
        let device = DeviceProfile {
            origin_secs: 1.0,
            factorizations: 1,
            stages: Vec::new(),
            kernels: Vec::new(),
            pieces: vec![
                piece("values", 0, 64, Purpose::Other),
                piece("dense_front_64_f64", 3, 0, Purpose::Factorize(7)),
            ],
            dropped: 0,
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.json");
        write(&path, &Profile::default(), Some(&device)).unwrap();
        let trace: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let lanes: Vec<_> = events
            .iter()
            .filter(|e| e["name"] == "thread_name")
            .collect();
        assert_eq!(lanes.len(), 2);
        assert_eq!(lanes[1]["args"]["name"], "stream 3");
        let work: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
        assert_eq!(
            (&work[0]["cat"], &work[0]["args"]["bytes"]),
            (&"copy".into(), &64.into())
        );
        assert_eq!(work[1]["args"]["stage"], "factorize 7");
        for event in work {
            assert_eq!(event["pid"], GPU);
            assert_eq!(event["ts"].as_f64(), Some(1.25e6));
            assert_eq!(event["dur"].as_f64(), Some(0.125e6));
        }
    }
}
