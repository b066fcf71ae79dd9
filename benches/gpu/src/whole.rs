//! What programs that time the whole solver on the first GPU have in common: how they are told what to do, and how they end.

use std::error::Error;
use std::process::ExitCode;

use tamarack::{Device, Options};
use tamarack_gpu::Gpu;

/// What such a program was told: `[--cache DIR] [--nvrtc FILE] [--json FILE] [MODEL…]`.
pub struct Whole {
    /// For the first GPU.
    pub options: Options,
    /// Where results go.
    pub json: Option<String>,
    /// Names of model problems.
    pub models: Vec<String>,
}

impl Whole {
    /// Reads the program's arguments; `other` is asked about options that are not common to all and takes what belongs to them. Without
    /// models those are taken that are given. `None` where something is not understood.
    pub fn from_args(
        models: &[&str],
        mut other: impl FnMut(&str, &mut dyn Iterator<Item = String>) -> Option<()>,
    ) -> Option<Self> {
        let mut whole = Self {
            options: Options::default(),
            json: None,
            models: Vec::new(),
        };
        whole.options.device = Device::Gpu(0);
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => whole.json = Some(args.next()?),
                "--cache" => whole.options.gpu.cache = Some(args.next()?.into()),
                "--nvrtc" => whole.options.gpu.nvrtc = Some(args.next()?.into()),
                "--quick" => {}
                model if !model.starts_with('-') => whole.models.push(arg),
                option => other(option, &mut args)?,
            }
        }
        if whole.models.is_empty() {
            whole.models.extend(models.iter().map(|&m| m.to_owned()));
        }
        Some(whole)
    }
}

/// Runs a program with its arguments, if they were understood, and there is a GPU: else it says that it is skipped.
pub fn run<A>(
    name: &str,
    usage: &str,
    arguments: Option<A>,
    work: impl FnOnce(&A) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let Some(arguments) = arguments else {
        eprintln!("{name}: {usage}");
        return ExitCode::FAILURE;
    };
    if let Err(error) = Gpu::count() {
        eprintln!("{name}: skipped: {error}");
        return ExitCode::SUCCESS;
    }
    match work(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
