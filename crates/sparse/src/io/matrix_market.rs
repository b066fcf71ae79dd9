//! Matrix Market files: the coordinate format of matrices.
//!
//! Format: Boisvert, Pozo, Remington 1996. Memory: the entries that were read, never what was promised.

use super::ReadOptions;
use super::both_halves::{Base, BothHalves, Trouble};
use super::entries::{self, Promise};
use super::error::{IoError, Spot};
use super::header::{Header, Symmetry, header, sizes};
use super::lines::Lines;
use super::source::Source;
use crate::SymmetricCsc;

/// Bytes of the shortest line that holds an entry: `1 1 1`.
const SHORTEST_ENTRY_BYTES: u64 = 6;

/// Reads a symmetric matrix; `again` opens the same file once more, to find the lines of entries
/// that turn out not to fit together.
pub(crate) fn read(
    source: Source,
    options: &ReadOptions,
    again: Option<&dyn Fn() -> Result<Source<'static>, IoError>>,
) -> Result<SymmetricCsc<f64>, IoError> {
    let mut lines = Lines::new(source);
    let (header, promise) = preamble(&mut lines)?;
    let symmetric = header.symmetry == Symmetry::Symmetric;
    let halves = BothHalves::new(promise.n as usize, symmetric, Base::One);
    let mut halves = halves.map_err(|e| lines.error_at(promise.line, e.to_string()))?;
    let room = lines.remaining().unwrap_or(0) / SHORTEST_ENTRY_BYTES + 1;
    let entries = promise.entries.min(room);
    if halves.try_reserve(entries as usize).is_err() {
        return Err(IoError::memory(lines.name(), entries, "entries"));
    }
    entries::read(&mut lines, promise, &mut halves, options.threads)?;
    let trouble = match halves.finish(options.duplicates) {
        Ok(a) => return Ok(a),
        Err(trouble) => trouble,
    };
    match (trouble.entries, again) {
        (Some(entry), Some(again)) => Err(locate(again()?, entry, trouble)),
        _ => Err(trouble.in_file(lines.name(), Spot::File)),
    }
}

/// Header and size line of a coordinate file.
fn preamble(lines: &mut Lines) -> Result<(Header, Promise), IoError> {
    let header = header(lines)?;
    if let Symmetry::SkewSymmetric | Symmetry::Hermitian = header.symmetry {
        let message = format!(
            "{} matrices are not supported, only symmetric ones, and general ones that are symmetric",
            header.symmetry
        );
        return Err(lines.unsupported_at(1, message));
    }
    if !header.coordinate {
        let message = "the array format holds vectors; a sparse matrix needs `coordinate`";
        return Err(lines.unsupported_at(1, message));
    }
    let (line, [n, columns, entries]) = sizes::<3>(lines)?;
    BothHalves::check_sizes(n, columns, entries).map_err(|m| lines.error_at(line, m))?;
    Ok((header, Promise { n, entries, line }))
}

/// Finds the lines of an entry and its mirror image, for a message.
#[cold]
fn locate(source: Source, entry: (u32, u32), trouble: Trouble) -> IoError {
    let mut lines = Lines::new(source);
    let mut places = Vec::new();
    let read = preamble(&mut lines).and_then(|(_, promise)| {
        let note = |line, i: u32, j: u32, _| {
            if (i.max(j), i.min(j)) == (entry.0.max(entry.1), entry.0.min(entry.1)) {
                places.push(line);
                places.truncate(3);
            }
        };
        entries::read_alone(&mut lines, promise, note)
    });
    let spot = match (read, places.last()) {
        (Ok(()), Some(&line)) => Spot::Line(line),
        _ => Spot::File,
    };
    let mut trouble = trouble;
    if let [first, _, ..] = places[..] {
        trouble.message += &format!(" (see also line {first})");
    }
    trouble.in_file(lines.name(), spot)
}
