//! `tamarack gpu`: the GPUs there are, and their kernels compiled ahead of time.

use std::fmt::{self, Write};
use std::time::Instant;

use serde::Serialize;
use tamarack::DeviceRates;
use tamarack_gpu::{Arch, Compiler, Gpu, GpuError, GpuOptions, KernelReport, Module, Program};

use crate::args::{GpuArgs, WarmArgs};
use crate::commands::report::row;
use crate::failure::Failure;
use crate::progress::Talk;
use crate::{machine, out};

/// What `gpu info` prints.
#[derive(Debug, Serialize)]
struct Info {
    devices: Vec<Device>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Version of NVRTC, or why there is none.
    nvrtc: String,
    /// Folder of compiled kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<String>,
}

#[derive(Debug, Serialize)]
struct Device {
    index: u32,
    name: String,
    arch: String,
    multiprocessors: u32,
    memory_bytes: u64,
    free_bytes: u64,
    l2_bytes: u64,
    shared_per_block_bytes: u32,
    /// CUDA version of the driver.
    driver: String,
    /// What it was measured to do, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<Rates>,
}

/// [`DeviceRates`] as they are printed.
#[derive(Debug, Serialize)]
struct Rates {
    f64_flops_per_sec: f64,
    f32_flops_per_sec: f64,
    copy_bytes_per_sec: f64,
    upload_bytes_per_sec: f64,
    tile_secs: f64,
    graph_secs: f64,
}

impl From<DeviceRates> for Rates {
    fn from(rates: DeviceRates) -> Self {
        Self {
            f64_flops_per_sec: rates.f64_flops_per_sec,
            f32_flops_per_sec: rates.f32_flops_per_sec,
            copy_bytes_per_sec: rates.copy_bytes_per_sec,
            upload_bytes_per_sec: rates.upload_bytes_per_sec,
            tile_secs: rates.tile_secs,
            graph_secs: rates.graph_secs,
        }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |secs: f64| 1e6 * secs;
        write!(
            f,
            "{:.3} TFLOP/s in f64, {:.3} in f32; copies {:.0} GB/s, uploads {:.1} GB/s; diagonal tile {:.1} µs, small graph \
             {:.1} µs",
            self.f64_flops_per_sec / 1e12,
            self.f32_flops_per_sec / 1e12,
            self.copy_bytes_per_sec / 1e9,
            self.upload_bytes_per_sec / 1e9,
            micros(self.tile_secs),
            micros(self.graph_secs)
        )
    }
}

/// Lists the devices; that there are none is an answer, not a failure.
pub fn info(args: &GpuArgs, json: bool) -> Result<(), Failure> {
    let options = options(args);
    let (devices, reason) = match devices(&options) {
        Ok(devices) => (devices, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let compiler = Compiler::new(options.nvrtc.as_deref(), None);
    let info = Info {
        devices,
        reason,
        nvrtc: compiler.version().map_or_else(
            |error| error.to_string(),
            |(major, minor)| format!("{major}.{minor}"),
        ),
        cache: options.cache.map(|folder| folder.display().to_string()),
    };
    if json {
        return out::json(&info);
    }
    let mut text = String::new();
    for d in &info.devices {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let about = format!(
            "{}  {}, {} multiprocessors, {:.1} GiB of memory, {:.1} GiB free, driver for CUDA {}",
            d.name,
            d.arch,
            d.multiprocessors,
            gib(d.memory_bytes),
            gib(d.free_bytes),
            d.driver
        );
        text += &row(&format!("GPU {}", d.index), &about);
        let rates = match &d.rates {
            Some(rates) => rates.to_string(),
            None => {
                "not measured yet; `gpu warm` does that, as does the first analysis".to_string()
            }
        };
        text += &row("rates", &rates);
    }
    if let Some(reason) = &info.reason {
        text += &row("GPU", reason);
    }
    text += &row("NVRTC", &info.nvrtc);
    text += &row("cache", info.cache.as_deref().unwrap_or("none"));
    out::text(&text)
}

fn devices(options: &GpuOptions) -> Result<Vec<Device>, GpuError> {
    let describe = |index| {
        let gpu = Gpu::open_with(index, options.clone())?;
        let (info, (free_bytes, _)) = (gpu.info(), gpu.memory()?);
        Ok(Device {
            index,
            name: info.name.clone(),
            arch: info.arch.to_string(),
            multiprocessors: info.multiprocessors,
            memory_bytes: info.memory_bytes,
            free_bytes,
            l2_bytes: info.l2_bytes,
            shared_per_block_bytes: info.shared_per_block_bytes,
            driver: format!("{}.{}", info.driver_version.0, info.driver_version.1),
            rates: DeviceRates::kept(&gpu).map(Rates::from),
        })
    };
    (0..Gpu::count()?).map(describe).collect()
}

/// A kernel as `gpu warm` prints it.
#[derive(Debug, Serialize)]
struct Line {
    program: &'static str,
    arch: String,
    kernel: String,
    registers: u32,
    shared_bytes: u32,
    /// More than 0 is a defect in a kernel that matters.
    local_bytes: u32,
}

impl Line {
    fn new(program: Program, arch: Arch, report: KernelReport) -> Self {
        Self {
            program: program.path(),
            arch: arch.to_string(),
            kernel: report.name,
            registers: report.registers,
            shared_bytes: report.shared_bytes,
            local_bytes: report.local_bytes,
        }
    }
}

/// What `gpu warm` prints.
#[derive(Debug, Serialize)]
struct Warm {
    kernels: Vec<Line>,
    /// Why programs could not be compiled.
    failures: Vec<String>,
    /// What the device does, where the kernels are for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<Rates>,
    seconds: f64,
    /// Why it is not done, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

pub fn warm(args: &WarmArgs, json: bool, talk: Talk) -> Result<(), Failure> {
    let options = options(&args.gpu);
    let begin = Instant::now();
    let activity = talk.spinner("compiling kernels");
    let mut warm = Warm {
        kernels: Vec::new(),
        failures: Vec::new(),
        rates: None,
        seconds: 0.0,
        error: None,
    };
    if args.arch.is_empty() {
        let gpu = Gpu::open_with(args.device, options)?;
        let arch = gpu.info().arch;
        for (program, outcome) in gpu.load_all() {
            match outcome.and_then(|module| loaded(&module)) {
                Ok(reports) => warm.take(program, arch, reports),
                Err(error) => warm.failures.push(error.to_string()),
            }
        }
        if warm.failures.is_empty() {
            warm.rates = Some(DeviceRates::of(&gpu)?.into());
        }
    } else {
        let compiler = Compiler::new(options.nvrtc.as_deref(), options.cache.as_deref());
        compiler.version()?;
        for (program, arch, outcome) in compiler.get_all(&args.arch) {
            match outcome {
                Ok(binary) => warm.take(program, arch, binary.kernels),
                Err(error) => warm.failures.push(error.to_string()),
            }
        }
    }
    warm.seconds = begin.elapsed().as_secs_f64();
    activity.done();
    let count = warm.failures.len();
    let failed = || Failure::resources(format!("{count} programs do not compile")).after_result();
    warm.error = (count > 0).then(failed);
    if json {
        out::json(&warm)?;
    } else {
        for failure in &warm.failures {
            out::say(failure);
        }
        out::text(&warm.table())?;
    }
    warm.error.map_or(Ok(()), Err)
}

/// What the kernels of a loaded module take, as the driver reports it.
fn loaded(module: &Module) -> Result<Vec<KernelReport>, GpuError> {
    let kernels = module.reports().iter();
    kernels.map(|k| module.kernel(&k.name)?.report()).collect()
}

impl Warm {
    fn take(&mut self, program: Program, arch: Arch, reports: Vec<KernelReport>) {
        let lines = reports.into_iter().map(|r| Line::new(program, arch, r));
        self.kernels.extend(lines);
    }

    fn table(&self) -> String {
        let mut text = String::new();
        for k in &self.kernels {
            let mark = if k.local_bytes > 0 {
                "  local memory"
            } else {
                ""
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{:8} {:32} {:3} registers {:6} bytes shared {:5} local{mark}",
                k.arch, k.kernel, k.registers, k.shared_bytes, k.local_bytes
            );
        }
        let slow = self.kernels.iter().filter(|k| k.local_bytes > 0).count();
        let _ = writeln!(
            text,
            "{} kernels in {}; {slow} with local memory",
            self.kernels.len(),
            out::secs(self.seconds)
        );
        if let Some(rates) = &self.rates {
            let _ = writeln!(text, "{rates}");
        }
        text
    }
}

fn options(args: &GpuArgs) -> GpuOptions {
    let mut options = machine::gpu_options();
    options.cache = args.cache.clone().or(options.cache);
    options.nvrtc = args.nvrtc.clone().or(options.nvrtc);
    options
}
