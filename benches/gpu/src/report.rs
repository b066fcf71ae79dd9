//! Rows as a table for people and as JSON for programs.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::json;
use tamarack_gpu::GpuInfo;

use crate::suite::Row;

/// A Markdown table; ours beside the fastest peer of the same problem and size.
pub(crate) fn table(info: &GpuInfo, rows: &[Row]) -> String {
    let mut text = format!(
        "{}, {}, driver CUDA {}.{}; medians\n\n| problem | size | by | µs | TFLOP/s | GB/s | × peer |\n|---|---|---|---|---|---|---|\n",
        info.name, info.arch, info.driver_version.0, info.driver_version.1
    );
    for row in rows {
        let case = &row.case;
        let rate = |work: f64, unit: f64| {
            if work > 0.0 {
                format!("{:.3}", work / row.median_secs / unit)
            } else {
                String::new()
            }
        };
        let ratio = best_peer(rows, row).map_or(String::new(), |secs| {
            format!("{:.2}", secs / row.median_secs)
        });
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.2} | {} | {} | {ratio} |",
            case.problem,
            case.size,
            case.by,
            1e6 * row.median_secs,
            rate(case.flops, 1e12),
            rate(case.bytes, 1e9),
        );
    }
    text
}

/// The fastest peer's time on the row's problem and size; none for a peer's own row.
fn best_peer(rows: &[Row], row: &Row) -> Option<f64> {
    if row.case.peer {
        return None;
    }
    rows.iter()
        .filter(|r| r.case.peer)
        .filter(|r| r.case.problem == row.case.problem && r.case.size == row.case.size)
        .map(|r| r.median_secs)
        .min_by(f64::total_cmp)
}

/// One line while the program runs.
pub(crate) fn line(row: &Row) -> String {
    let case = &row.case;
    format!(
        "{:24} {:24} {:24} {:12.2} µs",
        case.problem,
        case.size,
        case.by,
        1e6 * row.median_secs
    )
}

pub(crate) fn write_json(path: &Path, name: &str, info: &GpuInfo, rows: &[Row]) -> io::Result<()> {
    let report = json!({
        "suite": name,
        "device": info.name,
        "arch": info.arch.to_string(),
        "multiprocessors": info.multiprocessors,
        "driver": format!("{}.{}", info.driver_version.0, info.driver_version.1),
        "rows": rows,
    });
    std::fs::write(path, format!("{report:#}\n"))
}
