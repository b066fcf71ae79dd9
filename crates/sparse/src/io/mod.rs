//! Readers and writers of matrix, vector and permutation files.
//!
//! | file | matrix | vectors | permutation |
//! |---|---|---|---|
//! | Matrix Market, `.mtx` | coordinate; real, integer; symmetric, or general and symmetric | array, coordinate | array |
//! | Rutherford-Boeing, Harwell-Boeing, `.rb` `.rsa` `.hb` | `rsa`, `isa` | | |
//! | SciPy, `.npz` | csc, csr; one triangle or both | | |
//! | NumPy, `.npy` | | one or two dimensions | integers, a list |
//! | plain text | | one row per line | one index per line |
//!
//! What a file is shows in its first bytes; its name decides only where these do not. Text may be
//! compressed by gzip. Indices count from 1 in text and from 0 in archives; messages count as the
//! file does.
//!
//! Readers stream: memory follows what a file holds, never what it promises. Every error names the
//! file, and the line or the member of an archive where it is about one that is still known. Numbers are rounded correctly. NaN and infinity
//! are refused. Writers write to a temporary file in the same folder and rename it at the end, so
//! that a full disk or a killed process leaves what was there before.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use crate::{Duplicates, Permutation, SymmetricCsc};

mod both_halves;
mod entries;
mod error;
mod fortran;
mod gzip;
mod header;
mod lines;
mod matrix_market;
mod nearest;
mod npy;
mod npz;
mod number;
mod order;
mod rutherford_boeing;
mod source;
#[cfg(test)]
mod tests;
mod turns;
mod vectors;
mod write;

pub use error::{IoError, Place, Spot};
pub use source::Progress;
pub use vectors::DenseColumns;
pub use write::{
    MatrixFormat, write_matrix, write_matrix_to, write_permutation, write_permutation_to,
    write_vectors, write_vectors_to,
};

use error::shown;
use source::{Counted, Source};

/// How to read a matrix.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// What to do with entries that occur more than once; by default they are added up.
    pub duplicates: Duplicates,
    /// Called while the file is read, with the bytes done and the bytes in all.
    pub progress: Option<Progress<'a>>,
    /// Threads that may read a long file at a time, the caller's with them; as many as the process may run on if `None`. What is read does
    /// not depend on it.
    pub threads: Option<usize>,
}

/// What the first bytes of a file say that it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Content {
    MatrixMarket,
    RutherfordBoeing,
    Zip,
    Npy,
    Unknown,
}

/// Bytes that are looked at: the first four lines of a Rutherford-Boeing file, with room.
const HEAD_BYTES: u64 = 512;

fn content(head: &[u8]) -> Content {
    let starts = |with: &[u8]| head.starts_with(with);
    let third = head.split(|&c| c == b'\n').nth(2).and_then(|l| l.get(..3));
    if header::has_banner(head) {
        Content::MatrixMarket
    } else if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") {
        Content::Zip
    } else if starts(npy::MAGIC) {
        Content::Npy
    } else if third.is_some_and(rutherford_boeing::looks_like_type) {
        Content::RutherfordBoeing
    } else {
        Content::Unknown
    }
}

/// Reads a symmetric matrix from a file.
///
/// # Errors
/// [`IoError`], which names the file and the place in it.
pub fn read_matrix(
    path: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<SymmetricCsc<f64>, IoError> {
    let path = path.as_ref();
    let (source, head) = with_head(Source::open(path, options.progress)?)?;
    let kind = match content(&head) {
        Content::Unknown => by_name(path),
        kind => kind,
    };
    // A pipe cannot be read twice, nor from its end.
    let regular = path.metadata().is_ok_and(|m| m.is_file());
    if kind == Content::Zip && !source.gzip && regular {
        // An archive is read from its end, by seeking in the file.
        drop(source);
        return read_archive(path, options);
    }
    if kind == Content::MatrixMarket {
        let again = || Source::open(path, None);
        return matrix_market::read(source, options, regular.then_some(&again));
    }
    read_source(source, kind, &head, options)
}

/// Reads a symmetric matrix from a stream of bytes; `name` stands for it in messages. An archive
/// is first read into memory.
///
/// # Errors
/// [`IoError`], which names `name` and the place in it.
pub fn read_matrix_from(
    reader: impl Read,
    name: &str,
    options: &ReadOptions,
) -> Result<SymmetricCsc<f64>, IoError> {
    let counted = Counted::new(reader, 0, options.progress);
    let (source, head) = with_head(Source::new(counted, name)?)?;
    let kind = match content(&head) {
        Content::Unknown => by_name(Path::new(name)),
        kind => kind,
    };
    read_source(source, kind, &head, options)
}

/// Reads dense vectors, such as right-hand sides: Matrix Market, `.npy`, or a plain table.
///
/// # Errors
/// [`IoError`], which names the file and the place in it.
pub fn read_vectors(path: impl AsRef<Path>) -> Result<DenseColumns, IoError> {
    vectors_of(Source::open(path.as_ref(), None)?, None)
}

/// Reads dense vectors that should have `n` rows, such as right-hand sides for a matrix of order `n`. A coordinate file of such
/// vectors may leave out any number of zeros, which from a file of unknown length are refused beyond a limit. The length is not
/// checked.
///
/// # Errors
/// [`IoError`], which names the file and the place in it.
pub fn read_vectors_of(path: impl AsRef<Path>, n: usize) -> Result<DenseColumns, IoError> {
    vectors_of(Source::open(path.as_ref(), None)?, Some(n))
}

/// Reads dense vectors from a stream of bytes; `name` stands for it in messages.
///
/// # Errors
/// [`IoError`], which names `name` and the place in it.
pub fn read_vectors_from(reader: impl Read, name: &str) -> Result<DenseColumns, IoError> {
    vectors_of(Source::new(reader, name)?, None)
}

/// Reads a permutation of `n` unknowns: item `k` is the unknown eliminated at step `k`. Indices
/// count from 0 if one of them is 0, otherwise from 1.
///
/// # Errors
/// [`IoError`], which names the file and the place in it.
pub fn read_permutation(path: impl AsRef<Path>, n: usize) -> Result<Permutation, IoError> {
    order_of(Source::open(path.as_ref(), None)?, n)
}

/// Reads a permutation of `n` unknowns from a stream of bytes; `name` stands for it in messages.
///
/// # Errors
/// [`IoError`], which names `name` and the place in it.
pub fn read_permutation_from(
    reader: impl Read,
    name: &str,
    n: usize,
) -> Result<Permutation, IoError> {
    order_of(Source::new(reader, name)?, n)
}

/// Looks at the first bytes, and puts them back.
fn with_head(mut source: Source) -> Result<(Source, Vec<u8>), IoError> {
    let mut head = Vec::new();
    let mut fault = None;
    if let Err(e) = (&mut source.reader).take(HEAD_BYTES).read_to_end(&mut head) {
        fault = Some(e); // is met again by whoever reads on, with a line to name
    }
    let again = Cursor::new(head.clone());
    let Source { reader, .. } = source;
    source.reader = match fault {
        None => Box::new(again.chain(reader)),
        Some(e) => Box::new(again.chain(source::Failed(Some(e)))),
    };
    Ok((source, head))
}

fn by_name(path: &Path) -> Content {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "mtx" | "mm" => Content::MatrixMarket,
        "rb" | "rsa" | "hb" | "rua" | "pua" | "psa" | "cua" | "isa" => Content::RutherfordBoeing,
        "npz" => Content::Zip,
        _ => Content::Unknown,
    }
}

fn read_source(
    mut source: Source,
    kind: Content,
    head: &[u8],
    options: &ReadOptions,
) -> Result<SymmetricCsc<f64>, IoError> {
    match kind {
        Content::MatrixMarket => matrix_market::read(source, options, None),
        Content::RutherfordBoeing => rutherford_boeing::read(source, options),
        Content::Zip if source.gzip => {
            let message = "an archive inside gzip; decompress it first";
            Err(IoError::unsupported(&source.name, Spot::File, message))
        }
        Content::Zip => {
            let mut bytes = Vec::new();
            let read = source.reader.read_to_end(&mut bytes);
            read.map_err(|e| IoError::Read {
                file: source.name.clone(),
                source: e,
            })?;
            let again = || Cursor::new(&bytes[..]);
            npz::read((again(), again()), &source.name, options)
        }
        Content::Npy => {
            let message = "a dense NumPy array; a sparse matrix is saved by scipy.sparse.save_npz";
            Err(IoError::unsupported(&source.name, Spot::File, message))
        }
        Content::Unknown => Err(unknown(&mut source, head)),
    }
}

/// Why a file that begins with `head` is none that is known: a reader that failed so early is the reason.
fn unknown(source: &mut Source, head: &[u8]) -> IoError {
    let name = source.name.clone();
    if let Err(fault) = source::peek(&mut source.reader, &name, HEAD_BYTES) {
        return fault;
    }
    if head.is_empty() {
        return IoError::malformed(&name, Spot::File, "the file is empty");
    }
    if lines::is_utf16(head) {
        return IoError::unsupported(&name, Spot::Line(1), lines::UTF16);
    }
    let head = head.split(|&c| c == b'\n').next().unwrap_or_default();
    let message = format!(
        "not a matrix file that is known (Matrix Market, Rutherford-Boeing, .npz): \
         it begins with `{}`",
        shown(head)
    );
    IoError::unsupported(&name, Spot::File, message)
}

fn read_archive(path: &Path, options: &ReadOptions) -> Result<SymmetricCsc<f64>, IoError> {
    const BUFFER_BYTES: usize = 1 << 16;
    let name = path.display().to_string();
    let failed = |source| IoError::Open {
        file: name.clone(),
        source,
    };
    let open = || File::open(path).map_err(failed);
    let file = open()?;
    let total = file.metadata().map_err(failed)?.len();
    let counted = Counted::new(file, total, options.progress);
    let other = BufReader::with_capacity(BUFFER_BYTES, counted.beside(open()?));
    let reader = BufReader::with_capacity(BUFFER_BYTES, counted);
    npz::read((reader, other), &name, options)
}

fn vectors_of(source: Source, rows: Option<usize>) -> Result<DenseColumns, IoError> {
    let (source, head) = with_head(source)?;
    match content(&head) {
        Content::Npy => npy::read_vectors(source),
        Content::Zip | Content::RutherfordBoeing => {
            let message = "this holds a matrix, not vectors";
            Err(IoError::unsupported(&source.name, Spot::File, message))
        }
        Content::MatrixMarket | Content::Unknown => vectors::read(source, rows),
    }
}

fn order_of(source: Source, n: usize) -> Result<Permutation, IoError> {
    let (source, head) = with_head(source)?;
    match content(&head) {
        Content::Npy => order::read_npy(source, n),
        Content::Zip | Content::RutherfordBoeing => {
            let message = "this holds a matrix, not a permutation";
            Err(IoError::unsupported(&source.name, Spot::File, message))
        }
        Content::MatrixMarket | Content::Unknown => order::read(source, n),
    }
}
