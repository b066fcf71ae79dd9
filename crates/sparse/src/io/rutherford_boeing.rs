//! Rutherford-Boeing files, and the Harwell-Boeing files they grew from: symmetric matrices
//! (`rsa`, `isa`) in compressed columns, as fixed-width Fortran text.
//!
//! Format: Duff, Grimes, Lewis 1989, 1997. Fields are cut by width, because they may touch.
//! Memory: what was read, never what the header promises.

use super::ReadOptions;
use super::both_halves::{Base, BothHalves};
use super::error::{IoError, Spot, shown};
use super::fortran::{Format, integer_field, real_field};
use super::lines::Lines;
use super::number::parse_uint;
use super::source::Source;
use crate::SymmetricCsc;

/// What the header says.
struct Header {
    n: u64,
    entries: u64,
    pointers: Format,
    rows: Format,
    values: Format,
    /// Right-hand sides follow the values.
    rhs: bool,
}

/// A line of the header; the file must have it.
fn line(lines: &mut Lines, what: &str) -> Result<(u64, Vec<u8>), IoError> {
    match lines.next_line()? {
        Some((line, text)) => Ok((line, text.to_vec())),
        None => {
            let message = format!("the file ends before its {what}: not a Rutherford-Boeing file");
            Err(lines.error_in_file(message))
        }
    }
}

/// The integers in words of a line, as far as they are integers.
fn integers(text: &[u8]) -> Vec<u64> {
    text.split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
        .map_while(|w| parse_uint(w, 0).filter(|&(_, end)| end == w.len()))
        .map(|(x, _)| x)
        .collect()
}

/// The formats on line 4: stretches from one `(` to the `)` that closes it.
fn formats(text: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0u32, 0);
    for (k, &c) in text.iter().enumerate() {
        match c {
            b'(' => {
                if depth == 0 {
                    start = k;
                }
                depth += 1;
            }
            b')' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    found.push(&text[start..=k]);
                }
            }
            _ => {}
        }
    }
    found
}

fn header(lines: &mut Lines) -> Result<Header, IoError> {
    if lines.block()?.is_empty() {
        return Err(lines.error_in_file("the file is empty"));
    }
    line(lines, "title")?;
    let (at, text) = line(lines, "line counts")?;
    let counts = integers(&text);
    if counts.len() < 4 {
        let message = format!(
            "four line counts are needed, not `{}`",
            shown(text.trim_ascii())
        );
        return Err(lines.error_at(at, message));
    }
    let rhs = counts.get(4).is_some_and(|&count| count > 0);
    let (at, text) = line(lines, "matrix type")?;
    check_type(lines, at, &text)?;
    let sizes = integers(&text[3..]);
    let &[rows, columns, entries, ..] = &sizes[..] else {
        let text = shown(text.trim_ascii());
        let message = format!("rows, columns and entries are needed, not `{text}`");
        return Err(lines.error_at(at, message));
    };
    BothHalves::check_sizes(rows, columns, entries).map_err(|m| lines.error_at(at, m))?;
    let (at, text) = line(lines, "formats")?;
    let found = formats(&text);
    let [pointers, rows_format, values] = [0, 1, 2].map(|k| {
        let text = found.get(k).copied().unwrap_or_default();
        Format::parse(text).map_err(|why| (text, why))
    });
    let format = |what: &str, found: Result<Format, (&[u8], &str)>| {
        found.map_err(|(text, why)| {
            let text = shown(text);
            match why {
                "" => lines.error_at(at, format!("`{text}` is not a format for {what}")),
                why => lines.unsupported_at(at, format!("`{text}` for {what}: {why}")),
            }
        })
    };
    let header = Header {
        n: rows,
        entries,
        pointers: format("column pointers", pointers)?,
        rows: format("row indices", rows_format)?,
        values: format("values", values)?,
        rhs,
    };
    if !header.pointers.integer || !header.rows.integer {
        return Err(lines.error_at(at, "pointers and row indices need integer formats"));
    }
    if rhs {
        line(lines, "right-hand side type")?;
    }
    Ok(header)
}

/// Accepts `rsa` and `isa`, in either case.
fn check_type(lines: &Lines, at: u64, text: &[u8]) -> Result<(), IoError> {
    let kind = text.get(..3).unwrap_or_default().to_ascii_lowercase();
    let refuse = |what: &str| {
        let message = format!("a matrix of type `{}`: {what}", shown(&kind));
        Err(lines.unsupported_at(at, message))
    };
    if !looks_like_type(&kind) {
        let message = format!("`{}` is not a matrix type such as `rsa`", shown(&kind));
        return Err(lines.error_at(at, message));
    }
    match (kind[0], kind[1], kind[2]) {
        (_, _, b'e') => refuse("unassembled elements are not supported, only assembled matrices"),
        (b'p' | b'q', ..) => refuse("a pattern without values; `rsa` is needed"),
        (b'c', ..) => refuse("complex values are not supported; `rsa` is needed"),
        (_, b's', _) => Ok(()),
        _ => refuse("only symmetric matrices (`rsa`) are supported"),
    }
}

/// Whether three bytes are a matrix type: values, symmetry, assembled or not.
pub(crate) fn looks_like_type(kind: &[u8]) -> bool {
    let one_of = |k: usize, set: &[u8]| {
        let c = kind.get(k).map(u8::to_ascii_lowercase);
        c.is_some_and(|c| set.contains(&c))
    };
    kind.len() == 3 && one_of(0, b"rcpiq") && one_of(1, b"suhzr") && one_of(2, b"ae")
}

/// Reads a symmetric matrix; a file gives one triangle, mostly the lower.
pub(crate) fn read(source: Source, options: &ReadOptions) -> Result<SymmetricCsc<f64>, IoError> {
    let mut lines = Lines::new(source);
    let Header {
        n,
        entries,
        pointers,
        rows: rows_format,
        values: values_format,
        rhs,
    } = header(&mut lines)?;

    let mut col_ptr: Vec<u64> = Vec::new();
    pointers.read(&mut lines, "column pointers", n + 1, |field| {
        let p = integer_field(field)?;
        let low = col_ptr.last().map_or(1, |&last| last + 1);
        if p < low || p - 1 > entries || (col_ptr.is_empty() && p != 1) {
            return Err(format!(
                "column pointer {p} is not in {low}..={}",
                entries.saturating_add(1)
            ));
        }
        col_ptr.push(p - 1);
        Ok(())
    })?;
    if col_ptr.last() != Some(&entries) {
        let last = col_ptr.last().map_or(0, |p| p + 1);
        let message = format!("the last column pointer is {last}, for {entries} entries");
        return Err(lines.error(message));
    }
    let mut rows: Vec<u32> = Vec::new();
    rows_format.read(&mut lines, "row indices", entries, |field| {
        let i = integer_field(field)?;
        if i < 1 || i > n {
            return Err(format!("row index {i} is outside 1..={n}"));
        }
        rows.push((i - 1) as u32);
        Ok(())
    })?;
    let halves = BothHalves::new(n as usize, true, Base::One);
    let mut halves = halves.map_err(|e| lines.error_in_file(e.to_string()))?;
    let (mut e, mut column) = (0, 0);
    values_format.read(&mut lines, "values", entries, |field| {
        let value = real_field(field, values_format)?;
        while col_ptr.get(column + 1).is_some_and(|&end| end <= e) {
            column += 1;
        }
        halves.push(rows[e as usize], column as u32, value);
        e += 1;
        Ok(())
    })?;
    while let Some((at, text)) = lines.next_line()? {
        if !rhs && !text.trim_ascii().is_empty() {
            let message = format!("more than the {entries} values that are promised");
            return Err(lines.error_at(at, message));
        }
    }
    halves
        .finish(options.duplicates)
        .map_err(|trouble| trouble.in_file(lines.name(), Spot::File))
}
