//! The entries of a Matrix Market file, one each line.
//!
//! One pass over blocks of whole lines; the inner loop sees a slice and no errors but "this line is not an entry", which is then
//! explained off the hot path. Threads parse parts of a long file; what they find is taken in the order of the file, and a part with
//! anything wrong is parsed again, as one thread would have done.

use super::both_halves::BothHalves;
use super::error::{IoError, shown};
use super::lines::{Fault, Lines};
use super::number::{Real, parse_real, parse_uint, skip_blanks};
use super::turns::{Turns, in_turn, worthwhile};

/// Text of a part, at least.
const PART_BYTES: usize = if cfg!(test) { 64 } else { 1 << 17 };

/// What the size line of a file says.
#[derive(Clone, Copy)]
pub(crate) struct Promise {
    /// Order of the matrix.
    pub n: u64,
    pub entries: u64,
    /// Number of that line.
    pub line: u64,
}

/// Reads all entries; so many threads may parse, as in [`worthwhile`].
pub(crate) fn read(
    lines: &mut Lines,
    promise: Promise,
    halves: &mut BothHalves,
    threads: Option<usize>,
) -> Result<(), IoError> {
    let threads = worthwhile(threads, promise.entries);
    if threads == 1 {
        return read_alone(lines, promise, |_, i, j, v| halves.push(i, j, v));
    }
    let mut parts = Parts {
        lines,
        promise,
        found: 0,
        halves,
        fault: None,
        spare: Vec::new(),
    };
    in_turn(&mut parts, threads, |part| part.parse(promise.n))
}

/// Reads all entries, by the caller, and calls `push(line, row, column, value)` for each, indices from 0.
pub(crate) fn read_alone(
    lines: &mut Lines,
    promise: Promise,
    mut push: impl FnMut(u64, u32, u32, f64),
) -> Result<(), IoError> {
    let mut found = 0;
    loop {
        let first = lines.line;
        let block = lines.block()?;
        if block.is_empty() {
            return all_found(lines, promise, found);
        }
        let length = block.len();
        match parse_block(block, promise, &mut found, |k, i, j, v| {
            push(first + k, i, j, v)
        }) {
            Ok(count) => lines.consume(length, count),
            Err((k, start)) => {
                let message = explain(&block[start..], promise);
                return Err(lines.error_at(first + k, message));
            }
        }
    }
}

/// Whether so many are all.
fn all_found(lines: &Lines, promise: Promise, found: u64) -> Result<(), IoError> {
    let promised = promise.entries;
    if found < promised {
        let message = format!("{promised} entries are promised, the file holds {found}");
        return Err(lines.error_at(promise.line, message));
    }
    Ok(())
}

/// Whole lines, and what stands in them.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    /// Entries, indices from 0, in parallel.
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Number of lines, if nothing is wrong with any.
    lines: Option<u64>,
}

impl Part {
    /// Finds the entries, of a matrix of order `n`.
    fn parse(&mut self, n: u64) {
        let anything = Promise {
            n,
            entries: u64::MAX,
            line: 0,
        };
        self.rows.clear();
        self.columns.clear();
        self.values.clear();
        let push = |_, i, j, v| {
            self.rows.push(i);
            self.columns.push(j);
            self.values.push(v);
        };
        self.lines = parse_block(&self.text, anything, &mut 0, push).ok();
    }
}

/// The entries of a file, part by part.
struct Parts<'p, 'a> {
    lines: &'p mut Lines<'a>,
    promise: Promise,
    /// Entries so far.
    found: u64,
    halves: &'p mut BothHalves,
    /// What reading ended with, to be told in its turn.
    fault: Option<Fault>,
    /// Parts that were taken: their memory is used again.
    spare: Vec<Part>,
}

impl Turns for Parts<'_, '_> {
    type Part = Part;
    type Error = IoError;

    fn next(&mut self) -> Option<Part> {
        let mut part = self.spare.pop().unwrap_or_default();
        part.text.clear();
        while part.text.len() < PART_BYTES && self.fault.is_none() {
            let before = part.text.len();
            self.fault = self.lines.take_block(&mut part.text).err();
            if part.text.len() == before {
                break;
            }
        }
        (!part.text.is_empty()).then_some(part)
    }

    fn take(&mut self, part: Part) -> Result<(), IoError> {
        let most = self.promise.entries - self.found;
        match part.lines.filter(|_| part.values.len() as u64 <= most) {
            Some(lines) => {
                self.halves.append(&part.rows, &part.columns, &part.values);
                self.found += part.values.len() as u64;
                self.lines.line += lines;
            }
            None => self.take_again(&part)?,
        }
        self.spare.push(part);
        Ok(())
    }

    fn end(&mut self) -> Result<(), IoError> {
        match self.fault.take() {
            Some(fault) => Err(self.lines.fault(fault)),
            None => all_found(self.lines, self.promise, self.found),
        }
    }
}

impl Parts<'_, '_> {
    /// Parses a part with something wrong as one thread would have done, to say what.
    #[cold]
    fn take_again(&mut self, part: &Part) -> Result<(), IoError> {
        let push = |_, i, j, v| self.halves.push(i, j, v);
        match parse_block(&part.text, self.promise, &mut self.found, push) {
            Ok(lines) => self.lines.line += lines,
            Err((k, start)) => {
                let message = explain(&part.text[start..], self.promise);
                return Err(self.lines.error_at(self.lines.line + k, message));
            }
        }
        Ok(())
    }
}

/// Parses whole lines; the number of lines, or the line (from 0) that is wrong and its offset.
#[inline(always)]
fn parse_block(
    s: &[u8],
    promise: Promise,
    found: &mut u64,
    mut push: impl FnMut(u64, u32, u32, f64),
) -> Result<u64, (u64, usize)> {
    let (n, promised) = (promise.n, promise.entries);
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
fn explain(rest: &[u8], promise: Promise) -> String {
    let Promise { n, entries, line } = promise;
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
    format!("more entries than the {entries} that line {line} promises")
}
