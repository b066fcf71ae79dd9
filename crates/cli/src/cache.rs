//! Analyses kept in a folder, one file for each pattern, way to order it, device and precision of the factor: a card's orders and
//! supernodes are others, and so may be those that are fastest in the other precision.
//!
//! A file that is damaged, of another version or for another pattern costs a warning and a new
//! analysis, which replaces it; files appear whole or not at all, so that several processes may
//! share the folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamarack::{Analysis, Device, Error, Method, Options, Ordering, Pattern, PlanPrecision};

use crate::failure::Failure;
use crate::progress::Talk;
use crate::{files, input};

/// The analysis of `pattern`: from the folder where it is there, else new, and then kept there.
/// What is ordered by a file is not kept, and a warning says so: the file may be another the next time.
/// Whether its plan fits the memory is not asked.
pub fn analysis(
    folder: Option<&Path>,
    name: &OsStr,
    pattern: &Arc<Pattern>,
    options: &Options,
    talk: Talk,
) -> Result<Analysis, Failure> {
    let given = matches!(
        options.ordering,
        Ordering::Permutation(_)
            | Ordering::Method(Method::Coordinates(_) | Method::PartitionTree(_))
    );
    if given && folder.is_some() {
        talk.warn(&format!(
            "the analysis is not kept: the ordering {} is a file's, which may be another the next time",
            name.display()
        ));
    }
    let Some(folder) = folder.filter(|_| !given) else {
        return Analysis::unbudgeted(pattern, options).map_err(input::analysis_failed(name));
    };
    let path = file(folder, name, options, pattern);
    let useless = |why: &dyn std::fmt::Display| {
        talk.warn(&format!(
            "analyzing anew, as {} is of no use: {why}",
            path.display()
        ));
    };
    match std::fs::read(&path) {
        Ok(bytes) => match restored(&bytes, pattern, options) {
            Err(error @ (Error::Symbolic(_) | Error::OtherPattern { .. })) => useless(&error),
            outcome => return Ok(outcome?),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => useless(&error),
    }
    let analysis = Analysis::unbudgeted(pattern, options)?;
    let kept = std::fs::create_dir_all(folder)
        .map_err(|error| files::cannot_write(folder, &error))
        .and_then(|()| files::write_bytes(&path, &analysis.to_bytes()));
    if let Err(failure) = kept {
        talk.warn(&format!("the analysis is not kept: {}", failure.message));
    }
    Ok(analysis)
}

/// An analysis from its bytes. One that may be for a GPU takes the order alone from them: with `auto` the device may be the other one this time.
fn restored(bytes: &[u8], pattern: &Arc<Pattern>, options: &Options) -> Result<Analysis, Error> {
    match options.device {
        Device::Cpu => Analysis::from_bytes_unbudgeted(bytes, pattern, options),
        Device::Gpu(_) | Device::Auto => Analysis::from_saved_order(bytes, pattern, options),
    }
}

/// Where the analysis of `pattern` by the ordering `name`, for a device and a precision, is kept.
fn file(folder: &Path, name: &OsStr, options: &Options, pattern: &Pattern) -> PathBuf {
    let name: String = name
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let device = match options.device {
        Device::Cpu => "",
        Device::Gpu(_) => "-gpu",
        Device::Auto => "-any",
    };
    let precision = match options.precision.of_factor() {
        PlanPrecision::F64 => "f64",
        PlanPrecision::F32 => "f32",
    };
    let version = env!("CARGO_PKG_VERSION");
    let pattern = pattern.fingerprint();
    folder.join(format!(
        "{pattern:016x}-{name}{device}-{precision}-{version}.analysis"
    ))
}
