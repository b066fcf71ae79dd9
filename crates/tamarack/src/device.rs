//! Where factorizations and solves run.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tamarack_gpu::{Gpu, GpuError};
use tamarack_numeric::{DeviceOptions, DevicePlan, DeviceRates, FactorError};
use tamarack_symbolic::{AmalgamationOptions, SymbolicFactor, SymbolicOptions};

use crate::threads::with_threads;
use crate::{Error, Options};

/// Where factorizations and solves run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// On the host's cores.
    #[default]
    Cpu,
    /// On the GPU of this number, counted from 0; an error where that cannot be.
    Gpu(u32),
    /// On the first GPU where there is one, the problem fits and is predicted to be faster there; on the host's
    /// cores otherwise, and [`Analysis::place`](crate::Analysis::place) says why.
    Auto,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu(index) => write!(f, "gpu:{index}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Device {
    type Err = String;

    /// `cpu`, `gpu`, `gpu:N` or `auto`.
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("gpu:")) {
            ("cpu", _) => Ok(Self::Cpu),
            ("gpu", _) => Ok(Self::Gpu(0)),
            ("auto", _) => Ok(Self::Auto),
            (_, Some(index)) => match index.parse() {
                Ok(index) => Ok(Self::Gpu(index)),
                Err(_) => Err(format!("`{index}` is not the number of a GPU")),
            },
            _ => Err(format!("`{text}` is none of cpu, gpu, gpu:N, auto")),
        }
    }
}

/// Where an analysis puts its factors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Place {
    /// On the host's cores.
    Cpu {
        /// Why not on a GPU, where [`Device::Auto`] was asked for.
        reason: Option<String>,
    },
    /// On a GPU.
    #[non_exhaustive]
    Gpu {
        /// Its number.
        index: u32,
        /// Its name.
        name: String,
        /// Where everything stands there, and what it will take.
        plan: Arc<DevicePlan>,
        /// The device.
        #[doc(hidden)]
        gpu: Gpu,
    },
}

/// Predicted seconds on the host below which no GPU is looked for: about what opening one takes.
const WORTH_LOOKING_SECS: f64 = 1.0;
/// What a GPU must be faster by: opening it, and uploading lists.
const MARGIN_SECS: f64 = 0.5;
/// Share of a device's free memory that a plan may take: the rest is for lists and vectors.
const MEMORY_SHARE: f64 = 0.9;

/// Patterns of fewer entries are ordered for a GPU as for the host. A dissection's wide tree is predicted to save so little
/// there (factorizations on an H100, minimum degree against dissection: `p2d5_100` 1.1 and 0.7 ms, `el3d_10` 1.1 and 1.0,
/// `p2d5_300`, the first that is above, 2.5 and 1.3) that it takes longer to find than it saves in tens of them.
pub(crate) const WORTH_DISSECTING: u64 = 200_000;

/// What two waves may cost of predicted time. They take 6 to 9 % less memory than one (predicted on an H100: `p3d7_100` 5.53 GB
/// instead of 5.93, `el3d_40` 2.58 instead of 2.80, `el3d_60` 12.6 instead of 13.7); four save little more, and their many stages
/// made a solve of `p3d7_100` half as long again. `el3d_40` is predicted to take 1.07 times as long with two, takes 1.03 (27.9 and 27.0 ms, on two
/// cards), and 2.61 GB instead of 2.83, where cuDSS takes 2.80.
const WAVES_COST: f64 = 1.10;

/// A device that is being opened, and its programs loaded, while the host does something else.
pub(crate) struct Opening(Opened);

/// On a thread of its own, or at once where the system refuses one.
enum Opened {
    There(JoinHandle<Result<(Gpu, DeviceRates), GpuError>>),
    Here(Result<(Gpu, DeviceRates), GpuError>),
}

/// A device that is open.
pub(crate) struct Open {
    gpu: Gpu,
    rates: DeviceRates,
}

impl Opening {
    /// Begins, unless it is clear at once that there is no such device. `rated` for a place that is chosen by the device's
    /// rates: they are then measured even if they cannot be kept. Whoever wants a profile has the device apart from others.
    pub fn begin(index: u32, options: &Options, rated: bool) -> Result<Self, GpuError> {
        let count = Gpu::count()?;
        if index >= count {
            return Err(GpuError::BadIndex { index, count });
        }
        let (profile, options) = (options.profile, options.gpu.clone());
        let open = move || {
            let rated = rated || options.cache.is_some();
            let gpu = match profile {
                true => Gpu::open_apart(index, options)?,
                false => Gpu::open_with(index, options)?,
            };
            for (_, loaded) in gpu.load_under("dense/") {
                loaded?;
            }
            let rates = rates(&gpu, rated);
            gpu.open_lanes()?;
            Ok((gpu, rates))
        };
        let opened = match std::thread::Builder::new().spawn(open.clone()) {
            Ok(thread) => Opened::There(thread),
            Err(_) => Opened::Here(open()),
        };
        Ok(Self(opened))
    }

    /// Waits until the device is open, as everybody must who has begun: a process must not end while the driver starts in it.
    pub fn wait(self) -> Result<Open, FactorError> {
        let opened = match self.0 {
            Opened::Here(opened) => Ok(opened),
            Opened::There(thread) => thread.join(),
        };
        let (gpu, rates) = match opened {
            Ok(opened) => opened?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(Open { gpu, rates })
    }
}

impl Open {
    /// Places a factorization on the device.
    pub fn place(
        self,
        symbolic: &Arc<SymbolicFactor>,
        options: &Options,
    ) -> Result<Place, FactorError> {
        let Self { gpu, rates } = self;
        Ok(Place::Gpu {
            index: gpu.info().index,
            name: gpu.info().name.clone(),
            plan: Arc::new(fitting_plan(symbolic, options, &gpu, rates)?),
            gpu,
        })
    }
}

/// The rates of a device, from this process, from the folder of its kernels, or measured, where that is `wanted`; those of an
/// H100 otherwise, and where they cannot be measured. What is wrong with the device shows itself in its work.
fn rates(gpu: &Gpu, wanted: bool) -> DeviceRates {
    static MEASURED: Mutex<Vec<(String, DeviceRates)>> = Mutex::new(Vec::new());
    let info = gpu.info();
    let device = format!("{} {:?}", info.name, info.driver_version);
    // Whoever comes while they are measured waits, and measures nothing.
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, rates)) = measured.iter().find(|(name, _)| *name == device) {
        return *rates;
    }
    match wanted.then(|| DeviceRates::of(gpu)) {
        Some(Ok(rates)) => {
            measured.push((device, rates));
            rates
        }
        _ => DeviceRates::default(),
    }
}

/// A plan, the bytes it takes on the device, and its seconds on an H100.
struct Priced {
    plan: DevicePlan,
    bytes: u64,
    secs: f64,
}

/// A plan that fits the device's free memory, and what of it the caller allows: with more waves than one if they do not cost much time, since they take
/// less memory, or if they must. What they cost is looked up for an H100, so that no measurement changes a plan.
fn fitting_plan(
    symbolic: &Arc<SymbolicFactor>,
    options: &Options,
    gpu: &Gpu,
    rates: DeviceRates,
) -> Result<DevicePlan, FactorError> {
    let (free_bytes, _) = gpu.memory()?;
    let share = (MEMORY_SHARE * free_bytes as f64) as u64;
    let usable_bytes = options.memory_bytes.unwrap_or(u64::MAX).min(share);
    let priced = |waves| -> Result<Priced, FactorError> {
        let device_options = DeviceOptions {
            waves,
            rates,
            ..DeviceOptions::default()
        };
        let device_options = device_options.with_precision(options.precision.of_factor());
        let plan = DevicePlan::new(symbolic.clone(), &device_options)?;
        Ok(Priced {
            bytes: plan.device_bytes(),
            secs: plan.predicted_secs_by(&DeviceRates::default()),
            plan,
        })
    };
    let fits = |plan: &Priced| plan.bytes <= usable_bytes;
    let (one, two) = with_threads(options.thread_count(), || {
        rayon::join(|| priced(1), || priced(2))
    });
    let (one, two) = (one?, two?);
    let cheap = two.secs <= WAVES_COST * one.secs;
    if fits(&one) && !cheap {
        return Ok(one.plan);
    }
    let mut needed_bytes = two.bytes;
    if fits(&two) {
        return Ok(two.plan);
    }
    for waves in [4, 16] {
        let more = priced(waves)?;
        if fits(&more) {
            return Ok(more.plan);
        }
        needed_bytes = needed_bytes.min(more.bytes);
    }
    Err(FactorError::DeviceMemory {
        index: gpu.info().index,
        needed_bytes,
        usable_bytes,
        precision: options.precision.of_factor(),
    })
}

/// Predicted seconds of a factorization on an H100: by them orderings for any card are told apart, as those for any host by one machine's.
pub(crate) fn judged_secs(
    symbolic: SymbolicFactor,
    precision: tamarack_plan::Precision,
) -> Result<f64, FactorError> {
    let options = DeviceOptions::default().with_precision(precision);
    Ok(DevicePlan::new(Arc::new(symbolic), &options)?.predicted_secs())
}

/// Decides where a factorization runs that is predicted to take `host_secs` on the host.
pub(crate) fn choose(symbolic: &Arc<SymbolicFactor>, options: &Options, host_secs: f64) -> Place {
    let on_host = |reason: String| Place::Cpu {
        reason: Some(reason),
    };
    if host_secs < WORTH_LOOKING_SECS {
        return on_host(format!("the CPU is predicted to take {host_secs:.3} s"));
    }
    let opened = Opening::begin(0, options, true).map_err(FactorError::from);
    let opened = opened.and_then(Opening::wait);
    match opened.and_then(|open| open.place(symbolic, options)) {
        Ok(Place::Gpu { plan, .. }) if plan.predicted_secs() + MARGIN_SECS > host_secs => {
            let device_secs = plan.predicted_secs();
            on_host(format!(
                "the CPU is predicted to take {host_secs:.2} s, the GPU {device_secs:.2} s and the way there"
            ))
        }
        Ok(place) => place,
        Err(error) => on_host(error.to_string()),
    }
}

/// The options as they suit a device: larger supernodes, unless the caller has chosen.
pub(crate) fn for_device(options: &Options) -> Options {
    let mut options = options.clone();
    if options.symbolic.amalgamation == SymbolicOptions::default().amalgamation {
        options.symbolic.amalgamation = Some(amalgamation());
    }
    options
}

/// Rates of a device with 132 multiprocessors, shared by many fronts: measured on an H100, these caps make
/// factorizations 5 to 20 % faster than the host's and take 0 to 25 % more memory.
fn amalgamation() -> AmalgamationOptions {
    AmalgamationOptions {
        front_secs: 2e-8,
        column_secs: 5e-9,
        secs_per_byte: 1.0 / 2.5e12,
        peak_flops_per_sec: 4e13,
        half_rate_columns: 64.0,
        max_zero_fraction: 0.1,
        small_zero_fraction: 0.6,
        small_columns: 32,
        ..AmalgamationOptions::default()
    }
}

impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        Self::Factor(error.into())
    }
}
