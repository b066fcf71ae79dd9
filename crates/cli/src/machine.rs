//! The machine's rates: measured once, kept in the user's cache folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tamarack::{GpuOptions, OnNotSpd, Options, Ordering, Precision, Rates, calibrate};

use crate::args::{MachineArgs, PrecisionArg};
use crate::files;
use crate::progress::Talk;

/// What the cache file holds.
#[derive(Debug, Serialize, Deserialize)]
struct Cached {
    /// Processor and program that the rates are for.
    key: String,
    rates: Rates,
}

/// Options from the arguments, with the rates of this machine.
pub fn options(args: &MachineArgs, ordering: Ordering, talk: Talk) -> Options {
    let mut options = Options::default();
    options.ordering = ordering;
    options.precision = match args.precision {
        PrecisionArg::F64 => Precision::F64,
        PrecisionArg::F32 => Precision::F32,
        PrecisionArg::Mixed => Precision::Mixed,
    };
    options.device = args.device;
    options.gpu = gpu_options();
    options.threads = args.threads;
    options.memory_bytes = args.memory;
    options.on_not_spd = OnNotSpd::Fail;
    options.rates = rates(talk);
    options
}

/// Rates from the cache, or measured and cached.
fn rates(talk: Talk) -> Rates {
    let key = format!("{} {}", processor(), env!("CARGO_PKG_VERSION"));
    let path = cache_file();
    if let Some(text) = path.as_ref().and_then(|p| std::fs::read_to_string(p).ok()) {
        match serde_json::from_str::<Cached>(&text) {
            Ok(cached) if cached.key == key => return cached.rates,
            Ok(_) => {}
            Err(error) => talk.warn(&format!(
                "measuring the machine again: its cache says {error}"
            )),
        }
    }
    let activity = talk.spinner("measuring the machine, once");
    let rates = calibrate();
    activity.done();
    if let Some(path) = path
        && let Ok(text) = serde_json::to_string_pretty(&Cached { key, rates })
        && let Some(folder) = path.parent()
    {
        // Without a cache the next run measures again.
        let _ = std::fs::create_dir_all(folder);
        let _ = files::write_bytes(&path, text.as_bytes());
    }
    rates
}

fn cache_file() -> Option<PathBuf> {
    Some(cache_folder()?.join("machine.json"))
}

/// `$XDG_CACHE_HOME/tamarack`, by default under `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(folder.join("tamarack"))
}

/// An environment variable that names a file or folder; an empty one counts as not set.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
}

/// Compiled kernels in the user's cache folder, and NVRTC where `TAMARACK_NVRTC` says.
pub fn gpu_options() -> GpuOptions {
    let mut options = GpuOptions::default();
    options.cache = cache_folder().map(|folder| folder.join("gpu"));
    options.nvrtc = variable("TAMARACK_NVRTC");
    options
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(
        || std::env::consts::ARCH.to_string(),
        |(_, name)| name.trim().to_string(),
    )
}
