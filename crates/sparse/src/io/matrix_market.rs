//! Matrix Market files: the coordinate format of matrices.
//!
//! Format: Boisvert, Pozo, Remington 1996. One pass over blocks of whole lines; the inner loop sees
//! a slice and no errors but "this line is not an entry", which is then explained off the hot
//! path. Memory: the entries that were read, never what was promised.

use super::ReadOptions;
use super::both_halves::{Base, BothHalves, Trouble};
use super::error::{IoError, Spot, shown};
use super::header::{Header, Symmetry, header, sizes};
use super::lines::Lines;
use super::number::{Real, parse_real, parse_uint, skip_blanks};
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
    let (header, n, size_line, promised) = preamble(&mut lines)?;
    let symmetric = header.symmetry == Symmetry::Symmetric;
    let halves = BothHalves::new(n as usize, symmetric, Base::One);
    let mut halves = halves.map_err(|e| lines.error_at(size_line, e.to_string()))?;
    let room = lines.remaining().unwrap_or(0) / SHORTEST_ENTRY_BYTES + 1;
    halves.reserve(promised.min(room) as usize);
    entries(&mut lines, n, size_line, promised, |_, i, j, v| {
        halves.push(i, j, v);
    })?;
    let trouble = match halves.finish(options.duplicates) {
        Ok(a) => return Ok(a),
        Err(trouble) => trouble,
    };
    match (trouble.entries, again) {
        (Some(entry), Some(again)) => Err(locate(again()?, entry, trouble)),
        _ => Err(trouble.in_file(lines.name(), Spot::File)),
    }
}

/// Header and size line of a coordinate file: header, order, line of the sizes, entries promised.
fn preamble(lines: &mut Lines) -> Result<(Header, u64, u64, u64), IoError> {
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
    let (line, [n, columns, promised]) = sizes::<3>(lines)?;
    BothHalves::check_sizes(n, columns, promised).map_err(|m| lines.error_at(line, m))?;
    Ok((header, n, line, promised))
}

/// Reads all entries, and calls `push(line, row, column, value)` for each, indices from 0.
fn entries(
    lines: &mut Lines,
    n: u64,
    size_line: u64,
    promised: u64,
    mut push: impl FnMut(u64, u32, u32, f64),
) -> Result<(), IoError> {
    let mut found = 0;
    loop {
        let first = lines.line;
        let block = lines.block()?;
        if block.is_empty() {
            break;
        }
        let length = block.len();
        match parse_block(block, n, promised, &mut found, |k, i, j, v| {
            push(first + k, i, j, v);
        }) {
            Ok(count) => lines.consume(length, count),
            Err((k, start)) => {
                let message = explain(&block[start..], n, promised, size_line);
                return Err(lines.error_at(first + k, message));
            }
        }
    }
    if found < promised {
        let message = format!("{promised} entries are promised, the file holds {found}");
        return Err(lines.error_at(size_line, message));
    }
    Ok(())
}

/// Parses whole lines; the number of lines, or the line (from 0) that is wrong and its offset.
#[inline(always)]
fn parse_block(
    s: &[u8],
    n: u64,
    promised: u64,
    found: &mut u64,
    mut push: impl FnMut(u64, u32, u32, f64),
) -> Result<u64, (u64, usize)> {
    let (mut p, mut line) = (0, 0);
    while p < s.len() {
        let start = p;
        p = skip_blanks(s, p);
        let Some((row, end)) = parse_uint(s, p) else {
            match s.get(p) {
                Some(b'\n') => p += 1,
                Some(b'%') => p += memchr::memchr(b'\n', &s[p..]).map_or(s.len() - p, |k| k + 1),
                _ => return Err((line, start)),
            }
            line += 1;
            continue;
        };
        p = skip_blanks(s, end);
        let Some((column, end)) = parse_uint(s, p).filter(|_| p > end) else {
            return Err((line, start));
        };
        p = skip_blanks(s, end);
        let (Real::Finite(value), after) = parse_real(s, p, false) else {
            return Err((line, start));
        };
        let (i, j) = (row.wrapping_sub(1), column.wrapping_sub(1));
        let separate = p > end;
        p = skip_blanks(s, after);
        if !separate || i >= n || j >= n || s.get(p) != Some(&b'\n') || *found == promised {
            return Err((line, start));
        }
        *found += 1;
        push(line, i as u32, j as u32, value);
        p += 1;
        line += 1;
    }
    Ok(line)
}

/// What is wrong with the line that `rest` begins with.
#[cold]
fn explain(rest: &[u8], n: u64, promised: u64, size_line: u64) -> String {
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let text = &rest[..end];
    let words: Vec<&[u8]> = text
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
        .take(4)
        .collect();
    for (what, word) in ["row", "column"].iter().zip(&words) {
        match parse_uint(word, 0) {
            Some((x, end)) if end == word.len() => {
                if !(1..=n).contains(&x) {
                    let x = shown(word); // as it stands: it may not fit any integer type
                    return format!("{what} index {x} is outside 1..={n}");
                }
            }
            _ if word.first() == Some(&b'-') && parse_uint(word, 1).is_some() => {
                return format!("{what} index {} is outside 1..={n}", shown(word));
            }
            _ => return format!("`{}` is not a {what} index", shown(word)),
        }
    }
    let Some(value) = words.get(2) else {
        let text = shown(text.trim_ascii());
        return format!("an entry needs row, column and value, not `{text}`");
    };
    match parse_real(value, 0, false).0 {
        Real::Finite(_) => {}
        Real::NotFinite => return format!("value `{}` is not finite", shown(value)),
        Real::Bad => return format!("`{}` is not a number", shown(value)),
    }
    if let Some(word) = words.get(3) {
        return format!("unexpected `{}` after the value", shown(word));
    }
    format!("more entries than the {promised} that line {size_line} promises")
}

/// Finds the lines of an entry and its mirror image, for a message.
#[cold]
fn locate(source: Source, entry: (u32, u32), trouble: Trouble) -> IoError {
    let mut lines = Lines::new(source);
    let mut places = Vec::new();
    let read = preamble(&mut lines).and_then(|(_, n, size_line, promised)| {
        entries(&mut lines, n, size_line, promised, |line, i, j, _| {
            if (i.max(j), i.min(j)) == (entry.0.max(entry.1), entry.0.min(entry.1)) {
                places.push(line);
                places.truncate(3);
            }
        })
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
