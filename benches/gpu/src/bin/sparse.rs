//! The whole solver on the first GPU, phase by phase, beside cuDSS where its log is given.
//!
//! `sparse [--cache DIR] [--json FILE] [--peer LOG] [MODEL…]`. LOG is what `cudss_bench` printed for the same models on
//! the same machine. Values and vectors are on the device, as they are for the peer; times are medians of the host's clock until
//! the device is done.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tamarack::models::Model;
use tamarack::{Analysis, Control, DevicePlan, Error, Factor, Options, Place, SymmetricCsc};

use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::{DeviceViewMut, Gpu, GpuError};
use tamarack_gpu_benches::whole::{self, Whole};
use tamarack_gpu_benches::{Floor, Peer};
use tamarack_solve::{DeviceSolver, MixedFactor, Solver};

const MODELS: [&str; 11] = [
    "p2d5_1000",
    "p2d5_2000",
    "p3d7_60",
    "p3d7_100",
    "p3d7_128",
    "p3d27_64",
    "el3d_20",
    "el3d_30",
    "el3d_40",
    "el3d_60",
    "el3d_80",
];
/// Samples of a time.
const SAMPLES: usize = 7;

struct Arguments {
    whole: Whole,
    peer: Option<String>,
}

fn main() -> ExitCode {
    let usage = "[--cache DIR] [--nvrtc FILE] [--json FILE] [--peer LOG] [MODEL…]";
    whole::run("sparse", usage, arguments(), run)
}

fn arguments() -> Option<Arguments> {
    let mut peer = None;
    let whole = Whole::from_args(&MODELS, |option, args| {
        peer = match option {
            "--peer" => Some(args.next()?),
            _ => return None,
        };
        Some(())
    })?;
    Some(Arguments { whole, peer })
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let log = arguments.peer.as_ref().map(std::fs::read_to_string);
    let log = log.transpose()?.unwrap_or_default();
    // The context is made before all phases, as the peer's is.
    let _context = Gpu::open_with(0, arguments.whole.options.gpu.clone())?;
    println!("{}", Peer::HEAD);
    let mut rows = Vec::new();
    for name in &arguments.whole.models {
        let mut row = time(name, &arguments.whole.options)?;
        let peer = Peer::find(&log, name);
        println!("{}", Peer::line(name, &row, peer.as_ref()));
        row["model"] = json!(name);
        row["cudss"] = json!(peer);
        rows.push(row);
    }
    if let Some(path) = &arguments.whole.json {
        std::fs::write(path, format!("{:#}\n", json!({ "rows": rows })))?;
    }
    Ok(())
}

/// All phases of one model.
fn time(name: &str, options: &Options) -> Result<Value, Box<dyn std::error::Error>> {
    let a: SymmetricCsc<f64> = name.parse::<Model>()?.generate()?;
    let start = Instant::now();
    let analysis = Analysis::new(a.pattern(), options)?;
    let analysis_secs = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let factor = analysis.factorize(&a)?;
    let first_secs = start.elapsed().as_secs_f64();
    let mut row = end_to_end(&a, factor)?;
    let stats = analysis.symbolic().stats();
    let seconds = analysis.seconds();
    row["analysis_secs"] = json!(analysis_secs);
    row["order_secs"] = json!(seconds.order_secs);
    row["symbolic_secs"] = json!(seconds.symbolic_secs);
    row["first_secs"] = json!(first_secs);
    row["flops"] = json!(stats.flops as f64);
    row["nnz_l"] = json!(stats.nnz_l);
    if let Place::Gpu { plan, gpu, .. } = analysis.place() {
        row["predicted_secs"] = json!(plan.predicted_secs());
        row["floor_secs"] = json!(Floor::of(plan.symbolic()).secs());
        row["waves"] = json!(plan.options().waves);
        row["stages"] = json!(plan.staged().stages());
        row["predicted_bytes"] = json!(plan.device_bytes());
        on_device(&a, gpu, plan, &mut row)?;
        mixed(&a, gpu, plan, &mut row)?;
    }
    Ok(row)
}

/// The first solve, with a vector from the host, and a refined one.
fn end_to_end(a: &SymmetricCsc<f64>, mut factor: Factor) -> Result<Value, Error> {
    let mut x = right_sides(a.n(), 1);
    let start = Instant::now();
    factor.solve(&mut x)?;
    let first_solve_secs = start.elapsed().as_secs_f64();
    let mut x = right_sides(a.n(), 1);
    let report = factor.solve_refined(a, &mut x)?;
    Ok(json!({
        "first_solve_secs": first_solve_secs,
        "normwise_backward_error": report.normwise_backward_error(),
        "componentwise_backward_error": report.componentwise_backward_error(),
    }))
}

/// Refactorizations and solves with data on the device, and the memory they take.
fn on_device(
    a: &SymmetricCsc<f64>,
    gpu: &Gpu,
    plan: &Arc<DevicePlan>,
    row: &mut Value,
) -> Result<(), Box<dyn std::error::Error>> {
    let stream = gpu.stream()?;
    let mut x = stream.to_device(gpu, &right_sides(a.n(), 16))?;
    let values = stream.to_device(gpu, a.values())?;
    let (free, _) = gpu.memory()?;
    let mut solver = DeviceSolver::<f64>::new(plan.clone(), gpu, a.pattern(), &Default::default())?;
    solver.refactorize(a, &Control::default())?;
    let n = a.n();
    solver.apply_device(first(x.view_mut(), n, 1)?)?;
    row["device_bytes"] = json!(free - gpu.memory()?.0);
    let secs = median(|| Ok(solver.factor_mut().refactorize_device(values.view())?))?;
    row["refactor_secs"] = json!(secs);
    row["launches"] = json!(solver.factor().launches());
    for (count, key) in [(1, "solve_secs"), (16, "solve_16_secs")] {
        let secs = median(|| Ok(solver.apply_device(first(x.view_mut(), n, count)?)?))?;
        row[key] = json!(secs);
    }
    Ok(())
}

/// The first `count` columns of `n` numbers.
fn first(
    x: DeviceViewMut<'_, f64>,
    n: usize,
    count: u32,
) -> Result<MatrixViewMut<'_, f64>, GpuError> {
    MatrixViewMut::new(x, n as u32, count, n)
}

/// Mixed precision to the backward error of double: a refactorization and a refined solve, of data on the device.
fn mixed(
    a: &SymmetricCsc<f64>,
    gpu: &Gpu,
    plan: &Arc<DevicePlan>,
    row: &mut Value,
) -> Result<(), Box<dyn std::error::Error>> {
    let (stream, n) = (gpu.stream()?, a.n());
    let values = stream.to_device(gpu, a.values())?;
    let b = stream.to_device(gpu, &right_sides(n, 1))?;
    let mut x = gpu.alloc::<f64>(n)?;
    stream.synchronize()?;
    let (free, _) = gpu.memory()?;
    let engine = Box::new(tamarack_solve::Device::new(gpu.clone(), plan.clone()));
    let (pattern, options) = (a.pattern(), Default::default());
    let mut factor = MixedFactor::factorize_device(engine, pattern, values.view(), &options)?;
    let (mut error, mut steps) = (0.0, 0);
    let mut solve = |factor: &mut MixedFactor| -> Result<(), Box<dyn std::error::Error>> {
        let right = MatrixView::new(b.view(), n as u32, 1, n)?;
        let x = first(x.view_mut(), n, 1)?;
        let report = factor.solve_refined_device(right, x, &Default::default())?;
        error = report.refine.componentwise_backward_error();
        steps = report.refine.columns.iter().map(|c| c.steps).sum();
        Ok(())
    };
    let refactor = median(|| Ok(factor.refactorize_device(values.view())?))?;
    let both = median(|| {
        factor.refactorize_device(values.view())?;
        solve(&mut factor)
    })?;
    row["mixed_bytes"] = json!(free - gpu.memory()?.0);
    row["mixed_refactor_secs"] = json!(refactor);
    row["mixed_secs"] = json!(both);
    row["mixed_steps"] = json!(steps);
    row["mixed_componentwise_backward_error"] = json!(error);
    Ok(())
}

/// Seconds of `call`: the median after two that are not counted.
fn median(
    mut call: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<f64, Box<dyn std::error::Error>> {
    call()?;
    call()?;
    let mut secs = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let start = Instant::now();
        call()?;
        secs.push(start.elapsed().as_secs_f64());
    }
    secs.sort_by(f64::total_cmp);
    Ok(secs[SAMPLES / 2])
}

fn right_sides(n: usize, count: usize) -> Vec<f64> {
    (0..n * count)
        .map(|i| ((i * 37 % 101) as f64 - 50.5) / 7.0)
        .collect()
}
