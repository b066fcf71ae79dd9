//! Dense vectors: Matrix Market array and coordinate files, plain tables of numbers, `.npy`.
//!
//! Memory: what was read. A coordinate file of sparse vectors may be larger dense than on disk: a
//! fixed number of values beyond its size is allowed for, and any number in vectors of the length that the caller expects.

use super::error::{IoError, shown};
use super::header::{has_banner, sizes, vectors_header};
use super::lines::Lines;
use super::number::{Real, parse_real, skip_blanks, token_end};
use super::source::Source;

/// Several dense vectors of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseColumns {
    /// Length of each vector.
    pub n: usize,
    /// Number of vectors.
    pub ncols: usize,
    /// Values, one vector after the other, length `n * ncols`.
    pub values: Vec<f64>,
}

impl DenseColumns {
    /// Vector `j`, of length n.
    ///
    /// # Panics
    /// If there is no vector `j`.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.n..(j + 1) * self.n]
    }
}

/// Values that a coordinate file may leave out.
const MOST_ZEROS: u64 = 1 << 22;

/// Reads text; `rows` is the length that the vectors should have, where that is known.
pub(crate) fn read(source: Source, rows: Option<usize>) -> Result<DenseColumns, IoError> {
    let mut lines = Lines::new(source);
    if has_banner(lines.block()?) {
        if vectors_header(&mut lines)? {
            coordinate(&mut lines, rows)
        } else {
            array(&mut lines)
        }
    } else {
        table(&mut lines)
    }
}

/// Calls `each(value, whether it is the first of its line)` for all numbers to the end of the file;
/// lines that begin with `%` or `#` are comments.
pub(crate) fn numbers(
    lines: &mut Lines,
    mut each: impl FnMut(f64, bool) -> Result<(), String>,
) -> Result<(), IoError> {
    loop {
        let block = lines.block()?;
        if block.is_empty() {
            return Ok(());
        }
        let (mut p, mut line, mut fresh) = (0, 0, true);
        let fault = loop {
            p = skip_blanks(block, p);
            match block.get(p) {
                None => break None,
                Some(b'\n') => {
                    (p, line, fresh) = (p + 1, line + 1, true);
                    continue;
                }
                Some(b'%' | b'#') if fresh => {
                    p += memchr::memchr(b'\n', &block[p..]).unwrap_or(block.len() - p);
                    continue;
                }
                Some(_) => {}
            }
            let word = || shown(&block[p..token_end(block, p)]);
            match parse_real(block, p, false) {
                (Real::Finite(x), end) => {
                    if let Err(message) = each(x, fresh) {
                        break Some(message);
                    }
                    (p, fresh) = (end, false);
                }
                (Real::NotFinite, _) => break Some(format!("value `{}` is not finite", word())),
                (Real::Bad, _) => break Some(format!("`{}` is not a number", word())),
            }
        };
        if let Some(message) = fault {
            return Err(lines.error_at(lines.line + line, message));
        }
        lines.consume(p, line);
    }
}

/// The size of dense columns as the size line has it, if it is possible at all.
fn dense_size(lines: &Lines, line: u64, n: u64, ncols: u64) -> Result<u64, IoError> {
    if ncols == 0 {
        return Err(lines.error_at(line, "the file holds no columns"));
    }
    n.checked_mul(ncols)
        .filter(|&m| m <= isize::MAX as u64 / 8)
        .ok_or_else(|| {
            let message = format!("{n} rows and {ncols} columns are more than memory can hold");
            lines.error_at(line, message)
        })
}

fn array(lines: &mut Lines) -> Result<DenseColumns, IoError> {
    let (size_line, [n, ncols]) = sizes::<2>(lines)?;
    let promised = dense_size(lines, size_line, n, ncols)?;
    let room = lines.remaining().unwrap_or(0) / 2 + 1;
    let count = promised.min(room);
    let mut values = with_room(lines.name(), count as usize)?;
    let mut full = false;
    let read = numbers(lines, |x, _| {
        if values.len() as u64 == promised {
            return Err(format!(
                "more values than the {promised} that line {size_line} promises"
            ));
        }
        full = !push(&mut values, x);
        if full { Err(String::new()) } else { Ok(()) }
    });
    read.map_err(|error| stopped(lines, full, values.len(), error))?;
    let found = values.len() as u64;
    if found < promised {
        let message = format!("{promised} values are promised, the file holds {found}");
        return Err(lines.error_at(size_line, message));
    }
    Ok(DenseColumns {
        n: n as usize,
        ncols: ncols as usize,
        values,
    })
}

/// Appends an item, if there is memory for it.
fn push<T>(list: &mut Vec<T>, item: T) -> bool {
    let room = list.len() < list.capacity() || list.try_reserve(1).is_ok();
    if room {
        list.push(item);
    }
    room
}

/// Why reading stopped at this many values or entries: there was no memory for more, or `otherwise`.
fn stopped(lines: &Lines, full: bool, count: usize, otherwise: IoError) -> IoError {
    match full {
        true => IoError::memory(lines.name(), count as u64 + 1, "values"),
        false => otherwise,
    }
}

fn coordinate(lines: &mut Lines, rows: Option<usize>) -> Result<DenseColumns, IoError> {
    let (size_line, [n, ncols, promised]) = sizes::<3>(lines)?;
    let size = dense_size(lines, size_line, n, ncols)?;
    let mut entries: Vec<(u64, f64)> = Vec::new();
    let (mut item, mut row, mut column, mut full) = (0, 0, 0, false);
    let read = numbers(lines, |x, first| {
        if first != (item == 0) {
            return Err("an entry needs a line of its own, with row, column and value".to_owned());
        }
        let limit = [n, ncols, u64::MAX][item];
        if item < 2 && (x.fract() != 0.0 || x < 1.0 || x > limit as f64) {
            let what = ["row", "column"][item];
            return Err(format!("{what} index {x} is outside 1..={limit}"));
        }
        match item {
            0 => row = x as u64 - 1,
            1 => column = x as u64 - 1,
            _ if entries.len() as u64 == promised => {
                return Err(format!(
                    "more entries than the {promised} that line {size_line} promises"
                ));
            }
            _ if push(&mut entries, (column * n + row, x)) => {}
            _ => {
                full = true;
                return Err(String::new());
            }
        }
        item = (item + 1) % 3;
        Ok(())
    });
    read.map_err(|error| stopped(lines, full, entries.len(), error))?;
    let found = entries.len() as u64;
    if found < promised || item != 0 {
        let message = format!("{promised} entries are promised, the file holds {found}");
        return Err(lines.error_at(size_line, message));
    }
    let expected = rows.is_some_and(|rows| rows as u64 == n) && ncols <= found.max(1);
    if !expected && size > found.saturating_mul(16).saturating_add(MOST_ZEROS) {
        let message = format!("{size} values of which only {found} are stored: not a vector");
        return Err(lines.error_at(size_line, message));
    }
    let mut values = with_room(lines.name(), size as usize)?;
    values.resize(size as usize, 0.0);
    for (k, x) in entries {
        let Some(v) = values.get_mut(k as usize) else {
            return Err(lines.error_in_file("an index is out of range"));
        };
        *v += x;
        if !v.is_finite() {
            let (row, column) = (k % n + 1, k / n + 1);
            let message = format!("the values of row {row}, column {column} overflow");
            return Err(lines.error_in_file(message));
        }
    }
    Ok(DenseColumns {
        n: n as usize,
        ncols: ncols as usize,
        values,
    })
}

/// Numbers in lines: a line is a row.
fn table(lines: &mut Lines) -> Result<DenseColumns, IoError> {
    let (mut values, mut full) = (Vec::new(), false);
    let (mut n, mut ncols, mut in_row) = (0usize, 0usize, 0usize);
    let read = numbers(lines, |x, first| {
        if first {
            if n == 1 {
                ncols = in_row;
            }
            if n > 0 && in_row != ncols {
                return Err(format!("the row before has {in_row} numbers, not {ncols}"));
            }
            (n, in_row) = (n + 1, 0);
        }
        in_row += 1;
        if n > 1 && in_row > ncols {
            return Err(format!("more than the {ncols} numbers of the first row"));
        }
        full = !push(&mut values, x);
        if full { Err(String::new()) } else { Ok(()) }
    });
    read.map_err(|error| stopped(lines, full, values.len(), error))?;
    if n == 0 {
        return Err(lines.error_in_file("the file holds no numbers"));
    }
    if n == 1 {
        ncols = in_row;
    }
    if in_row != ncols {
        let message = format!("the last row has {in_row} numbers, not {ncols}");
        return Err(lines.error_in_file(message));
    }
    Ok(DenseColumns {
        n,
        ncols,
        values: by_columns(lines.name(), n, ncols, values)?,
    })
}

/// Column-major order from row-major order, of what the file `name` holds.
pub(crate) fn by_columns(
    name: &str,
    n: usize,
    ncols: usize,
    rows: Vec<f64>,
) -> Result<Vec<f64>, IoError> {
    if ncols == 1 || n == 1 {
        return Ok(rows);
    }
    let mut values = with_room(name, rows.len())?;
    for j in 0..ncols {
        values.extend(rows.iter().skip(j).step_by(ncols));
    }
    Ok(values)
}

/// An empty list with room for so many values of the file `name`.
fn with_room(name: &str, count: usize) -> Result<Vec<f64>, IoError> {
    let mut values = Vec::new();
    match values.try_reserve_exact(count) {
        Ok(()) => Ok(values),
        Err(_) => Err(IoError::memory(name, count as u64, "values")),
    }
}
