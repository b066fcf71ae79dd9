//! Refactorizations on the first GPU with other tiles and waves than would be chosen.
//!
//! `tiles [--cache DIR] [--json FILE] [--single] [MODEL…] [-- PLAN…]`. A PLAN is `TILE:EXTENT[:WAVES]`: fronts whose pivots and twice their update
//! rows come to EXTENT are cut into tiles of a kind, `64`, `tall`, `128` or `warpgroups`. The plan that would be chosen
//! comes first and last, since rates of a card
//! fall as it heats. `--single` is of factors in f32. Milliseconds, values on the device, medians of the host's clock.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tamarack::models::Model;
use tamarack::{Analysis, Device, DevicePlan, Options, Place, PlanPrecision, SymmetricCsc};
use tamarack_gpu::Gpu;
use tamarack_gpu::dense::Tile;
use tamarack_numeric::{DeviceFactor, DeviceValue};

/// Samples of a time.
const SAMPLES: usize = 5;

/// What is planned in another way than usual.
#[derive(Clone, Copy)]
struct Change {
    tile: Tile,
    extent: u32,
    waves: Option<usize>,
}

struct Arguments {
    options: Options,
    json: Option<String>,
    single: bool,
    models: Vec<String>,
    changes: Vec<Change>,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!(
            "tiles: [--cache DIR] [--json FILE] [--single] [MODEL…] [-- TILE:EXTENT[:WAVES]…]"
        );
        return ExitCode::FAILURE;
    };
    if let Err(error) = Gpu::count() {
        eprintln!("tiles: skipped: {error}");
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tiles: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Option<Arguments> {
    let mut options = Options::default();
    options.device = Device::Gpu(0);
    let (mut json, mut single, mut models) = (None, false, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--single" => single = true,
            "--json" => json = Some(args.next()?),
            "--quick" => {}
            "--cache" => options.gpu.cache = Some(args.next()?.into()),
            "--nvrtc" => options.gpu.nvrtc = Some(args.next()?.into()),
            "--" => break,
            model if !model.starts_with('-') => models.push(arg),
            _ => return None,
        }
    }
    if models.is_empty() {
        models.push("el3d_40".to_owned());
    }
    Some(Arguments {
        options,
        json,
        single,
        models,
        changes: args.map(|plan| change(&plan)).collect::<Option<_>>()?,
    })
}

fn change(plan: &str) -> Option<Change> {
    let mut parts = plan.split(':');
    let tile = match parts.next()? {
        "64" => Tile::T64,
        "tall" => Tile::Tall,
        "128" => Tile::T128,
        "warpgroups" => Tile::Warpgroups,
        _ => return None,
    };
    Some(Change {
        tile,
        extent: parts.next()?.parse().ok()?,
        waves: parts.next().map(str::parse).transpose().ok()?,
    })
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| problem | precision | large tiles | from extent | waves | refactor, ms | arena, GB |"
    );
    println!("|---|---|---|--:|--:|--:|--:|");
    let mut rows = Vec::new();
    for name in &arguments.models {
        let a: SymmetricCsc<f64> = name.parse::<Model>()?.generate()?;
        let analysis = Analysis::new(a.pattern(), &arguments.options)?;
        let Place::Gpu { plan, gpu, .. } = analysis.place() else {
            continue;
        };
        if arguments.single {
            rows.extend(time::<f32>(name, &a.cast(), gpu, plan, &arguments.changes)?);
        } else {
            rows.extend(time::<f64>(name, &a, gpu, plan, &arguments.changes)?);
        }
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, format!("{:#}\n", json!({ "rows": rows })))?;
    }
    Ok(())
}

fn time<T: DeviceValue>(
    name: &str,
    a: &SymmetricCsc<T>,
    gpu: &Gpu,
    chosen: &DevicePlan,
    changes: &[Change],
) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let usual = chosen.options().with_precision(T::PRECISION);
    let own = Change {
        tile: usual.large_tile,
        extent: usual.large_extent,
        waves: None,
    };
    let values = gpu.stream()?.to_device(gpu, a.values())?;
    let mut rows = Vec::new();
    for change in [own].iter().chain(changes).chain([&own]) {
        let mut options = usual;
        (options.large_tile, options.large_extent) = (change.tile, change.extent);
        options.waves = change.waves.unwrap_or(options.waves);
        let plan = Arc::new(DevicePlan::new(chosen.symbolic().clone(), &options)?);
        let mut factor =
            DeviceFactor::<T>::new(plan.clone(), gpu, a.pattern(), &Default::default())?;
        let mut secs = Vec::with_capacity(SAMPLES);
        for sample in 0..=SAMPLES {
            let start = Instant::now();
            factor.refactorize_device(values.view())?;
            if sample > 0 {
                secs.push(start.elapsed().as_secs_f64());
            }
        }
        secs.sort_by(f64::total_cmp);
        let bits = match T::PRECISION {
            PlanPrecision::F64 => "f64",
            PlanPrecision::F32 => "f32",
        };
        let (secs, bytes) = (secs[SAMPLES / 2], plan.arena_bytes());
        println!(
            "| {name} | {bits} | {:?} | {} | {} | {:.2} | {:.3} |",
            options.large_tile,
            options.large_extent,
            options.waves,
            secs * 1e3,
            bytes as f64 * 1e-9
        );
        rows.push(json!({
            "model": name,
            "precision": bits,
            "large_tile": format!("{:?}", options.large_tile),
            "large_extent": options.large_extent,
            "waves": options.waves,
            "refactor_secs": secs,
            "arena_bytes": bytes,
        }));
    }
    Ok(rows)
}
