//! Archives written by `scipy.sparse.save_npz`: csc and csr, one triangle or both.
//!
//! A zip archive of five arrays: `format`, `shape`, `indptr`, `indices`, `data`. A sorted lower
//! triangle with its diagonal is taken as it stands; anything else is assembled. Memory: the
//! arrays as they are read, never their promised shapes.

use std::io::{Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use super::ReadOptions;
use super::both_halves::{Base, BothHalves};
use super::error::{IoError, Spot};
use super::npy::{Array, append_finite};
use super::turns::{both, worthwhile};
use crate::{Pattern, SymmetricCsc};

/// Bytes that come of one at most (zlib's technical details: 1032).
const MOST_INFLATED: u64 = 1032;

/// An open archive and its name.
struct Archive<'a, R> {
    zip: ZipArchive<R>,
    name: &'a str,
}

impl<'a, R: Read + Seek> Archive<'a, R> {
    fn open(reader: R, name: &'a str) -> Result<Self, IoError> {
        let zip = ZipArchive::new(reader).map_err(|e| broken(name, Spot::File, e))?;
        Ok(Self { zip, name })
    }

    /// Opens a member and does something with its array; errors name the member.
    fn with<T>(
        &mut self,
        member: &str,
        act: impl FnOnce(Array<&mut dyn Read>) -> Result<T, String>,
    ) -> Result<T, IoError> {
        let name = format!("{member}.npy");
        let mut file = match self.zip.by_name(&name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => {
                let message = format!("no member {name}: not written by scipy.sparse.save_npz");
                return Err(IoError::malformed(self.name, Spot::File, message));
            }
            Err(e) => return Err(broken(self.name, Spot::Member(name), e)),
        };
        let most_bytes = file.compressed_size().saturating_mul(MOST_INFLATED);
        Array::open(&mut file as &mut dyn Read)
            .and_then(|array| act(array.of_at_most(most_bytes)))
            .map_err(|message| IoError::malformed(self.name, Spot::Member(name), message))
    }
}

fn broken(file: &str, spot: Spot, error: ZipError) -> IoError {
    match error {
        ZipError::UnsupportedArchive(what) => {
            IoError::unsupported(file, spot, format!("this kind of zip archive: {what}"))
        }
        e => IoError::malformed(file, spot, format!("not a readable zip archive ({e})")),
    }
}

/// Reads a symmetric matrix from two readers of an archive, by two threads where so many may read: values by the caller, the structure by
/// another.
pub(crate) fn read(
    (reader, other): (impl Read + Seek, impl Read + Seek + Send),
    name: &str,
    options: &ReadOptions,
) -> Result<SymmetricCsc<f64>, IoError> {
    let mut archive = Archive::open(reader, name)?;
    let format = archive.with("format", |a| a.text())?;
    if format != "csc" && format != "csr" {
        let format = format.escape_default();
        let message = format!("sparse format `{format}`; save it with .tocsc() or .tocsr()");
        return Err(IoError::unsupported(name, Spot::File, message));
    }
    let [n, columns] = archive.with("shape", sizes)?;
    let entries = archive.with("indices", |a| a.length())?;
    let in_shape = |message| IoError::malformed(name, Spot::Member("shape.npy".into()), message);
    BothHalves::check_sizes(n, columns, entries).map_err(in_shape)?;
    let structure = || {
        let mut archive = Archive::open(other, name)?;
        let col_ptr = archive.with("indptr", |a| offsets(a, n, entries))?;
        let indices = archive.with("indices", |a| indices(a, n, entries))?;
        let is_lower = format == "csc" && is_lower(&col_ptr, &indices);
        Ok((col_ptr, indices, is_lower))
    };
    let threads = worthwhile(options.threads, entries);
    let (structure, values) = both(threads, structure, || {
        archive.with("data", |a| values(a, entries))
    });
    let ((col_ptr, indices, is_lower), values) = (structure?, values?);
    if is_lower {
        let pattern = Pattern::from_checked(n as usize, col_ptr, indices);
        return SymmetricCsc::new(pattern.shared(), values)
            .map_err(|e| IoError::malformed(name, Spot::File, e.to_string()));
    }
    assemble(n, &format, &col_ptr, &indices, &values, options)
        .map_err(|message| IoError::malformed(name, Spot::File, message))
}

/// Rows and columns, from the shape.
fn sizes(array: Array<&mut dyn Read>) -> Result<[u64; 2], String> {
    if array.length()? != 2 {
        return Err("the matrix does not have two dimensions".to_owned());
    }
    let mut sizes = Vec::new();
    array.integers(|items| {
        for &x in items {
            sizes.push(u64::try_from(x).map_err(|_| format!("a size of {x}"))?);
        }
        Ok(())
    })?;
    Ok([sizes[0], sizes[1]])
}

/// Offsets of columns (or rows), length `n + 1`, from 0 to `entries`.
fn offsets(array: Array<&mut dyn Read>, n: u64, entries: u64) -> Result<Vec<u64>, String> {
    if array.length()? != n + 1 {
        return Err(format!(
            "{} offsets, where order {n} needs {}",
            array.length()?,
            n + 1
        ));
    }
    let mut offsets: Vec<u64> = array.list();
    array.integers(|items| {
        for &x in items {
            let low = offsets.last().copied().unwrap_or(0);
            let p = u64::try_from(x).ok().filter(|&p| p >= low && p <= entries);
            let p = p.filter(|&p| p == 0 || !offsets.is_empty());
            let k = offsets.len();
            offsets.push(p.ok_or_else(|| format!("offset {k} is {x}, outside {low}..={entries}"))?);
        }
        Ok(())
    })?;
    match offsets.last() {
        Some(&last) if last != entries => {
            Err(format!("the last offset is {last}, for {entries} entries"))
        }
        _ => Ok(offsets),
    }
}

fn indices(array: Array<&mut dyn Read>, n: u64, entries: u64) -> Result<Vec<u32>, String> {
    // They were counted by another reader.
    if array.length()? != entries {
        let message = "the file was changed while it was read";
        return Err(format!(
            "{} indices after {entries}: {message}",
            array.length()?
        ));
    }
    let mut indices = array.list();
    array.integers(|items| {
        // Negative ones are large without their sign.
        if let Some(k) = items.iter().position(|&x| x as u64 >= n) {
            let (x, entry) = (items[k], indices.len() + k);
            return Err(format!("index {x} of entry {entry} is outside 0..{n}"));
        }
        indices.extend(items.iter().map(|&x| x as u32));
        Ok(())
    })?;
    Ok(indices)
}

fn values(array: Array<&mut dyn Read>, entries: u64) -> Result<Vec<f64>, String> {
    if array.length()? != entries {
        return Err(format!("{} values, for {entries} indices", array.length()?));
    }
    let mut values = array.list();
    array.reals(|items| append_finite(&mut values, items, "value"))?;
    Ok(values)
}

/// Whether the columns are sorted, without duplicates, and begin with their diagonal.
fn is_lower(col_ptr: &[u64], indices: &[u32]) -> bool {
    col_ptr.windows(2).enumerate().all(|(j, w)| {
        let rows = &indices[w[0] as usize..w[1] as usize];
        rows.first() == Some(&(j as u32)) && rows.is_sorted_by(|a, b| a < b)
    })
}

fn assemble(
    n: u64,
    format: &str,
    col_ptr: &[u64],
    indices: &[u32],
    values: &[f64],
    options: &ReadOptions,
) -> Result<SymmetricCsc<f64>, String> {
    let mut halves = BothHalves::new(n as usize, false, Base::Zero).map_err(|e| e.to_string())?;
    for (j, w) in col_ptr.windows(2).enumerate() {
        for e in w[0] as usize..w[1] as usize {
            let (i, j) = (indices[e], j as u32);
            if format == "csc" {
                halves.push(i, j, values[e]);
            } else {
                halves.push(j, i, values[e]);
            }
        }
    }
    halves.one_triangle_will_do();
    halves.finish(options.duplicates).map_err(|t| t.message)
}
