//! Output files: looked at before the work whose result they are for; they appear whole or not at
//! all.

mod distinct;
mod stdout;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use tamarack::io::{IoError, MatrixFormat};
use tamarack::{Error, files};

use crate::failure::Failure;
use crate::out;

pub use distinct::{Named, check_distinct};
use stdout::is_stdout;

/// Formats that vectors and permutations are not written in.
const NOT_MATRIX_MARKET: [&str; 11] = [
    "npy", "npz", "rb", "rsa", "hb", "csv", "tsv", "json", "mat", "h5", "hdf5",
];

/// Fails where no file can be written at `path`, or one in the place of the object of `--json`. Where it is standard output, text for
/// people goes elsewhere from now on.
pub fn check(path: &Path, json: bool) -> Result<(), Failure> {
    if path == Path::new("-") {
        let message = "`-` is no file; what is not JSON or text for people goes to files";
        return Err(Failure::usage(message.into()));
    }
    match (is_stdout(path), json) {
        (true, true) => {
            return Err(Failure::usage(format!(
                "{} is standard output, where the one object of --json goes; write to another file",
                path.display()
            )));
        }
        (true, false) => out::leave_to_file(),
        _ => {}
    }
    files::check(path).map_err(|e| cannot_write(path, &e))
}

/// As [`check`], for a matrix, whose format the name says.
pub fn check_matrix(path: &Path, json: bool) -> Result<(), Failure> {
    if MatrixFormat::of_name(path).is_none() {
        return Err(Failure::usage(format!(
            "{}: the name says no format; use .mtx or .rb (.mtx.gz and .rb.gz compress)",
            path.display()
        )));
    }
    check(path, json)
}

/// As [`check`], for what is written as a Matrix Market array whatever its name says.
pub fn check_array(path: &Path, json: bool) -> Result<(), Failure> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = Path::new(name.strip_suffix(".gz").unwrap_or(&name));
    match name.extension().and_then(|e| e.to_str()) {
        Some(other) if NOT_MATRIX_MARKET.contains(&other) => Err(Failure::usage(format!(
            "{}: a Matrix Market array is written, not .{other}; use .mtx or .mtx.gz",
            path.display()
        ))),
        _ => check(path, json),
    }
}

/// Writes a file through a buffer.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let all = |file: &mut std::fs::File| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    };
    match files::replace(path, all) {
        Err(error) if nobody_reads(path, &error) => Ok(()),
        outcome => outcome.map_err(|e| cannot_write(path, &e)),
    }
}

/// Writes bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write(path, |out| out.write_all(bytes))
}

/// What became of a file that the library wrote.
pub fn written(path: &Path, outcome: Result<(), IoError>) -> Result<(), Failure> {
    match outcome {
        Err(IoError::Write { source, .. }) if nobody_reads(path, &source) => Ok(()),
        outcome => Ok(outcome.map_err(Error::from)?),
    }
}

/// Whether the reader of standard output has gone away, which is not an error there.
fn nobody_reads(path: &Path, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe && is_stdout(path)
}

/// The failure of a file that could not be written.
pub fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::resources(format!("cannot write {}: {error}", path.display()))
}
