//! Chrome's trace format: what every thread did, for Perfetto or `chrome://tracing`.
//!
//! A JSON object with complete events (`ph: X`), one lane (`tid`) for each thread, times in
//! microseconds. Events of a lane nest.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use tamarack::{Activity, Event, Profile};

use crate::atomic;
use crate::failure::Failure;

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
    Thread {
        name: &'static str,
        ph: &'static str,
        pid: u32,
        tid: usize,
        args: ThreadName,
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
struct ThreadName {
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
}

impl Args {
    fn is_empty(&self) -> bool {
        self.supernode.is_none()
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
        }
    }
}

/// Writes the events of a profile to a file, whole or not at all.
pub fn write(path: &Path, profile: &Profile) -> Result<(), Failure> {
    let trace = Trace {
        unit: "ms",
        events: entries(profile),
    };
    atomic::write(path, |temporary| {
        let failed = |e: &dyn std::fmt::Display| atomic::cannot_write(path, e);
        let mut out = BufWriter::new(File::create(temporary).map_err(|e| failed(&e))?);
        serde_json::to_writer(&mut out, &trace).map_err(|e| failed(&e))?;
        out.flush().map_err(|e| failed(&e))
    })
}

fn entries(profile: &Profile) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (tid, events) in profile.events.iter().enumerate() {
        entries.push(Entry::Thread {
            name: "thread_name",
            ph: "M",
            pid: 1,
            tid,
            args: ThreadName {
                name: format!("thread {tid}"),
            },
        });
        entries.extend(events.iter().map(|event| Entry::Complete {
            name: event.activity.name(),
            cat: category(event.activity),
            ph: "X",
            ts: micros(event.start_ns),
            dur: micros(event.duration_ns),
            pid: 1,
            tid,
            args: Args::of(event),
        }));
    }
    entries
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
