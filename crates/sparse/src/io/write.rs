//! Writers: text that reads back to the same bits, and files that appear whole or not at all.
//!
//! Values are the shortest decimal numbers that round to them.

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::error::{IoError, Spot};
use super::vectors::DenseColumns;
use crate::{Permutation, SymmetricCsc, files};

/// A text format for matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixFormat {
    /// Matrix Market, coordinate, real, symmetric.
    MatrixMarket,
    /// Rutherford-Boeing, `rsa`.
    RutherfordBoeing,
}

impl MatrixFormat {
    /// The format that a file name asks for, `.gz` aside: `.mtx`, `.mm`, `.rb`, `.rsa`.
    pub fn of_name(path: impl AsRef<Path>) -> Option<Self> {
        let name = path
            .as_ref()
            .file_name()?
            .to_string_lossy()
            .to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "mtx" | "mm" => Some(Self::MatrixMarket),
            "rb" | "rsa" => Some(Self::RutherfordBoeing),
            _ => None,
        }
    }
}

/// Writes a matrix to a file, in the format its name asks for, compressed if it ends in `.gz`.
///
/// # Errors
/// [`IoError`]: the name asks for no format that is known, a value is not finite and could not be read back, or the file cannot
/// be written; then what was there before still is.
pub fn write_matrix(path: impl AsRef<Path>, a: &SymmetricCsc<f64>) -> Result<(), IoError> {
    let path = path.as_ref();
    let Some(format) = MatrixFormat::of_name(path) else {
        let message =
            "cannot tell the format from the name; use .mtx, .rb, .rsa, or these with .gz";
        let file = path.display().to_string();
        return Err(IoError::unsupported(&file, Spot::File, message));
    };
    to_file(path, |out| write_matrix_to(out, a, format))
}

/// Writes a matrix as text.
///
/// # Errors
/// Those of `out`; of kind `InvalidInput`, before anything is written, where a value is not finite and could not be read back.
pub fn write_matrix_to(
    out: &mut dyn Write,
    a: &SymmetricCsc<f64>,
    format: MatrixFormat,
) -> io::Result<()> {
    if let Some(k) = a.values().iter().position(|v| !v.is_finite()) {
        let column = a.pattern().col_ptr().partition_point(|&p| p <= k as u64) - 1;
        let (row, value) = (a.pattern().row_idx()[k], a.values()[k]);
        return Err(not_finite(value, row as usize, column));
    }
    match format {
        MatrixFormat::MatrixMarket => matrix_market(out, a),
        MatrixFormat::RutherfordBoeing => rutherford_boeing(out, a),
    }
}

/// Writes vectors to a file, as a Matrix Market array, compressed if the name ends in `.gz`.
///
/// # Errors
/// [`IoError`]: there are not as many values as `x` should have, one is not finite and could not be read back, or the file cannot
/// be written; then what was there before still is.
pub fn write_vectors(path: impl AsRef<Path>, x: &DenseColumns) -> Result<(), IoError> {
    to_file(path.as_ref(), |out| write_vectors_to(out, x))
}

/// Writes vectors as a Matrix Market array.
///
/// # Errors
/// Those of `out`; of kind `InvalidInput`, before anything is written, where there are not as many values as `x` should have, or
/// one is not finite and could not be read back.
pub fn write_vectors_to(out: &mut dyn Write, x: &DenseColumns) -> io::Result<()> {
    if x.n.checked_mul(x.ncols) != Some(x.values.len()) {
        let (n, ncols, found) = (x.n, x.ncols, x.values.len());
        let message = format!("{ncols} vectors of length {n} do not have {found} values");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    if let Some(k) = x.values.iter().position(|v| !v.is_finite()) {
        return Err(not_finite(x.values[k], k % x.n, k / x.n));
    }
    writeln!(out, "%%MatrixMarket matrix array real general")?;
    writeln!(out, "{} {}", x.n, x.ncols)?;
    x.values
        .iter()
        .try_for_each(|&v| writeln!(out, "{}", Shortest(v)))
}

/// Writes a permutation to a file: Matrix Market array of integers from 1, compressed if the name
/// ends in `.gz`. Item `k` is the unknown that is eliminated at step `k`.
///
/// # Errors
/// [`IoError`]: the file cannot be written; then what was there before still is.
pub fn write_permutation(path: impl AsRef<Path>, order: &Permutation) -> Result<(), IoError> {
    to_file(path.as_ref(), |out| write_permutation_to(out, order))
}

/// Writes a permutation as a Matrix Market array of integers from 1.
///
/// # Errors
/// Those of `out`.
pub fn write_permutation_to(out: &mut dyn Write, order: &Permutation) -> io::Result<()> {
    writeln!(out, "%%MatrixMarket matrix array integer general")?;
    writeln!(out, "{} 1", order.len())?;
    let mut indices = order.user_of_elim().iter();
    indices.try_for_each(|&i| writeln!(out, "{}", u64::from(i) + 1))
}

/// Why a value is not written: readers refuse it. Row and column count from 0.
fn not_finite(value: f64, row: usize, column: usize) -> io::Error {
    let (row, column) = (row + 1, column + 1);
    let message = format!("the value of row {row}, column {column} is {value}, not finite");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Shortest decimal number that reads back, with an exponent where that is shorter.
struct Shortest(f64);

impl fmt::Display for Shortest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size == 0.0 || (1e-5..1e16).contains(&size) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

fn matrix_market(out: &mut dyn Write, a: &SymmetricCsc<f64>) -> io::Result<()> {
    let (n, entries) = (a.n(), a.pattern().nnz_lower());
    writeln!(out, "%%MatrixMarket matrix coordinate real symmetric")?;
    writeln!(out, "{n} {n} {entries}")?;
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (&i, &v) in rows.iter().zip(values) {
            writeln!(out, "{} {} {}", u64::from(i) + 1, j + 1, Shortest(v))?;
        }
    }
    Ok(())
}

/// Lines that `count` fields take.
fn cards(count: u64, per_line: u64) -> u64 {
    count.div_ceil(per_line)
}

fn rutherford_boeing(out: &mut dyn Write, a: &SymmetricCsc<f64>) -> io::Result<()> {
    let (n, entries) = (a.n() as u64, a.pattern().nnz_lower());
    let width = |most: u64| most.to_string().len() as u64 + 1;
    let (pointer_width, row_width) = (width(entries + 1), width(n));
    let (pointers, rows) = (80 / pointer_width, 80 / row_width);
    let counts = [
        cards(n + 1, pointers),
        cards(entries, rows),
        cards(entries, 3),
    ];
    writeln!(
        out,
        "{:<72}{:<8}",
        "Symmetric matrix, lower triangle", "matrix"
    )?;
    let [p, i, v] = counts;
    writeln!(out, "{:>14}{p:>14}{i:>14}{v:>14}", p + i + v)?;
    writeln!(out, "{:<14}{n:>14}{n:>14}{entries:>14}{:>14}", "rsa", 0)?;
    let formats = [
        format!("({pointers}I{pointer_width})"),
        format!("({rows}I{row_width})"),
        "(3E26.16E3)".to_owned(),
    ];
    writeln!(
        out,
        "{:<16}{:<16}{:<20}",
        formats[0], formats[1], formats[2]
    )?;
    let offsets = a.pattern().col_ptr().iter().map(|&p| p + 1);
    fields(out, offsets, pointer_width as usize, pointers)?;
    let indices = a.pattern().row_idx().iter().map(|&i| u64::from(i) + 1);
    fields(out, indices, row_width as usize, rows)?;
    fields(out, a.values().iter().map(|&v| fortran_real(v)), 26, 3)
}

/// Right-aligned fields, so many to a line.
fn fields<T: fmt::Display>(
    out: &mut dyn Write,
    items: impl Iterator<Item = T>,
    width: usize,
    per_line: u64,
) -> io::Result<()> {
    let mut on_line = 0;
    for item in items {
        write!(out, "{item:>width$}")?;
        on_line += 1;
        if on_line == per_line {
            writeln!(out)?;
            on_line = 0;
        }
    }
    if on_line > 0 {
        writeln!(out)?;
    }
    Ok(())
}

/// Seventeen digits with a point and a Fortran exponent, at most 24 characters.
fn fortran_real(v: f64) -> String {
    let text = format!("{v:.16e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
            Some(digits) => format!("{mantissa}E-{digits:0>3}"),
            None => format!("{mantissa}E+{exponent:0>3}"),
        },
        None => text, // what is not finite, and was refused
    }
}

/// Writes through a temporary file of the same folder; a name that ends in `.gz` is compressed.
pub(super) fn to_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), IoError> {
    let gzip = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let all = |file: &mut fs::File| -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, file);
        if gzip {
            let mut packed =
                BufWriter::with_capacity(1 << 16, GzEncoder::new(&mut out, Compression::default()));
            write(&mut packed)?;
            packed
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?
                .finish()?;
        } else {
            write(&mut out)?;
        }
        out.flush()
    };
    files::replace(path, all).map_err(|source| IoError::Write {
        file: path.display().to_string(),
        source,
    })
}
