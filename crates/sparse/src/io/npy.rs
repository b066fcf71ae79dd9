//! NumPy arrays (`.npy`), as files and as members of archives.
//!
//! Format: NEP 1. Values are converted in chunks as they come, so memory follows the data that is
//! there, not the shape that is promised.

use std::io::Read;

use super::error::{IoError, Spot, shown};
use super::source::Source;
use super::vectors::{DenseColumns, by_columns};
use crate::memory::with_granted_room;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is believed; NumPy's own are below 200 bytes.
const LONGEST_HEADER: usize = 1 << 12;
const CHUNK_BYTES: usize = 1 << 16;

/// Element type of an array: kind (`f`, `i`, `u`, `b`, `S`, `U`, ...), bytes, byte order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dtype {
    kind: u8,
    size: usize,
    big_endian: bool,
}

/// An array whose header has been read; the data comes from the reader.
pub(crate) struct Array<R> {
    dtype: Dtype,
    pub fortran_order: bool,
    pub shape: Vec<u64>,
    reader: R,
    /// Bytes that may come, at most; 0 where that is not known.
    most_bytes: u64,
}

impl<R: Read> Array<R> {
    /// Reads the header.
    pub fn open(mut reader: R) -> Result<Self, String> {
        let mut head = [0; 8];
        read_exact(&mut reader, &mut head, "header")?;
        if head[..6] != *MAGIC {
            return Err("not a NumPy array".to_owned());
        }
        let mut length = [0; 4];
        let bytes = if head[6] == 1 { 2 } else { 4 };
        read_exact(&mut reader, &mut length[..bytes], "header")?;
        let length = u32::from_le_bytes(length) as usize;
        if !(1..=3).contains(&head[6]) || length > LONGEST_HEADER {
            return Err(format!(
                "a NumPy header of version {} and {length} bytes",
                head[6]
            ));
        }
        let mut text = vec![0; length];
        read_exact(&mut reader, &mut text, "header")?;
        let text = String::from_utf8_lossy(&text);
        let bad = || format!("`{}` is not a NumPy header", shown(text.trim().as_bytes()));
        let dtype = value_of(&text, "descr").ok_or_else(bad)?;
        let fortran_order = value_of(&text, "fortran_order").ok_or_else(bad)?;
        let shape = value_of(&text, "shape").ok_or_else(bad)?;
        Ok(Self {
            dtype: dtype_of(dtype)?,
            fortran_order: fortran_order.starts_with("True"),
            shape: shape_of(shape).ok_or_else(bad)?,
            reader,
            most_bytes: 0,
        })
    }

    /// Length of an array of one dimension.
    pub fn length(&self) -> Result<u64, String> {
        match self.shape[..] {
            [length] => Ok(length),
            _ => Err(format!(
                "an array of shape {:?}, where one dimension is expected",
                self.shape
            )),
        }
    }

    /// Number of items in all dimensions together.
    pub fn items(&self) -> Result<u64, String> {
        let product = self.shape.iter().try_fold(1u64, |m, &d| m.checked_mul(d));
        product
            .filter(|&m| m <= isize::MAX as u64 / 16)
            .ok_or_else(|| format!("shape {:?} is more than memory can hold", self.shape))
    }

    /// The same array, known to have so many bytes at most, whatever its shape promises.
    pub fn of_at_most(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// An empty list for its items, with room for those that may come.
    pub fn list<T>(&self) -> Vec<T> {
        let most = self.most_bytes / self.dtype.size.max(1) as u64;
        let items = self.items().map_or(0, |promised| promised.min(most));
        with_granted_room(items as usize)
    }

    /// Reads all items as reals; calls `each` for some at a time, in their order.
    pub fn reals(self, mut each: impl FnMut(&[f64]) -> Result<(), String>) -> Result<(), String> {
        match (self.dtype.kind, self.dtype.size) {
            (b'f', 8) => self.words(f64::from_le_bytes, each),
            (b'f', 4) => self.words(|w| f64::from(f32::from_le_bytes(w)), each),
            (b'i' | b'u', _) => {
                let mut reals = Vec::new();
                self.integers(|items| {
                    reals.clear();
                    reals.extend(items.iter().map(|&x| x as f64));
                    each(&reals)
                })
            }
            _ => Err(self.wrong_type("real or integer")),
        }
    }

    /// Reads all items as integers; calls `each` for some at a time, in their order.
    pub fn integers(
        self,
        mut each: impl FnMut(&[i64]) -> Result<(), String>,
    ) -> Result<(), String> {
        match (self.dtype.kind, self.dtype.size) {
            (b'i', 8) => self.words(i64::from_le_bytes, each),
            (b'i', 4) => self.words(|w| i32::from_le_bytes(w).into(), each),
            (b'i', 2) => self.words(|w| i16::from_le_bytes(w).into(), each),
            (b'i', 1) => self.words(|w| i8::from_le_bytes(w).into(), each),
            // What is too large for a signed integer shows as a negative one.
            (b'u', 8) => self.words(i64::from_le_bytes, |items| {
                match items.iter().find(|&&x| x < 0) {
                    Some(&x) => Err(format!("{} is too large", x as u64)),
                    None => each(items),
                }
            }),
            (b'u', 4) => self.words(|w| u32::from_le_bytes(w).into(), each),
            (b'u', 2) => self.words(|w| u16::from_le_bytes(w).into(), each),
            (b'u', 1) => self.words(|[byte]| byte.into(), each),
            _ => Err(self.wrong_type("integer")),
        }
    }

    /// Reads a short string, the only item.
    pub fn text(mut self) -> Result<String, String> {
        if !matches!(self.dtype.kind, b'S' | b'U') || self.dtype.size > 256 {
            return Err(self.wrong_type("text"));
        }
        let mut bytes = vec![0; self.dtype.size];
        read_exact(&mut self.reader, &mut bytes, "data")?;
        bytes.retain(|&c| c != 0); // padding, and the upper bytes of UTF-32
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn wrong_type(&self, expected: &str) -> String {
        let Dtype { kind, size, .. } = self.dtype;
        let name = match kind {
            b'c' => "complex numbers".to_owned(),
            b'O' => "Python objects".to_owned(),
            b'b' => "booleans".to_owned(),
            _ => format!("items of type `{}{size}`", (kind as char).escape_default()),
        };
        format!("holds {name}, where {expected} ones are expected")
    }

    /// Reads all items of `N` bytes, made of little-endian bytes by `item`.
    fn words<const N: usize, T>(
        mut self,
        item: impl Fn([u8; N]) -> T,
        mut each: impl FnMut(&[T]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut left = self.items()?;
        let mut chunk = vec![[0; N]; CHUNK_BYTES / N];
        let mut items = Vec::with_capacity(chunk.len());
        while left > 0 {
            let count = left.min(chunk.len() as u64);
            let words = &mut chunk[..count as usize];
            read_exact(&mut self.reader, words.as_flattened_mut(), "data")?;
            if self.dtype.big_endian {
                words.iter_mut().for_each(|word| word.reverse());
            }
            items.clear();
            items.extend(words.iter().map(|&word| item(word)));
            each(&items)?;
            left -= count;
        }
        // The end of a compressed member checks its sum; more data than the shape is an error.
        match self.reader.read(&mut [0; 1]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(format!("more data than shape {:?} has", self.shape)),
            Err(e) => Err(format!("the data is corrupt ({e})")),
        }
    }
}

fn read_exact(reader: &mut impl Read, bytes: &mut [u8], what: &str) -> Result<(), String> {
    reader
        .read_exact(bytes)
        .map_err(|e| format!("the {what} is truncated or corrupt ({e})"))
}

/// What follows `'key':` in the text of a Python dictionary.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn dtype_of(text: &str) -> Result<Dtype, String> {
    let word = text
        .strip_prefix('\'')
        .and_then(|t| t.split_once('\''))
        .map(|(word, _)| word.as_bytes())
        .ok_or_else(|| "records are not supported, only plain numbers".to_owned())?;
    let bad = || format!("unknown type of items `{}`", shown(word));
    let (order, word_rest) = match word {
        [order @ (b'<' | b'>' | b'|' | b'='), rest @ ..] => (*order, rest),
        _ => (b'|', word),
    };
    let (&kind, digits) = word_rest.split_first().ok_or_else(bad)?;
    let size: usize = match std::str::from_utf8(digits).map(str::parse) {
        Ok(Ok(size)) => size,
        _ if kind == b'O' => 0,
        _ => return Err(bad()),
    };
    let size = if kind == b'U' {
        size.saturating_mul(4)
    } else {
        size
    };
    Ok(Dtype {
        kind,
        size,
        big_endian: order == b'>',
    })
}

fn shape_of(text: &str) -> Option<Vec<u64>> {
    let (inner, _) = text.strip_prefix('(')?.split_once(')')?;
    inner
        .split(',')
        .map(|d| d.trim().trim_end_matches('L'))
        .filter(|d| !d.is_empty())
        .map(|d| d.parse().ok())
        .collect()
}

/// Appends numbers to those before them, if all are finite; `what` they are is for the message.
pub(crate) fn append_finite(all: &mut Vec<f64>, new: &[f64], what: &str) -> Result<(), String> {
    if let Some(k) = new.iter().position(|x| !x.is_finite()) {
        return Err(format!(
            "{what} {} is {}, not finite",
            all.len() + k,
            new[k]
        ));
    }
    all.extend_from_slice(new);
    Ok(())
}

/// Reads vectors from a `.npy` file: one dimension is one vector, two are its rows and columns.
pub(crate) fn read_vectors(source: Source) -> Result<DenseColumns, IoError> {
    let fail = |message| IoError::malformed(&source.name, Spot::File, message);
    let array = Array::open(source.reader).map_err(fail)?;
    let array = array.of_at_most(source.size.unwrap_or(0));
    let items = array.items().map_err(fail)?;
    let (n, ncols) = match array.shape[..] {
        [n] => (n, 1),
        [n, ncols] if items > 0 => (n, ncols),
        _ => {
            return Err(fail(format!(
                "an array of shape {:?}, not vectors",
                array.shape
            )));
        }
    };
    let (n, ncols, by_rows) = (n as usize, ncols as usize, !array.fortran_order);
    let (mut values, mut full) = (array.list(), false);
    let read = array.reals(|items| {
        full = values.try_reserve(items.len()).is_err();
        if full {
            return Err(String::new());
        }
        append_finite(&mut values, items, "item")
    });
    if full {
        return Err(IoError::memory(&source.name, items, "values"));
    }
    read.map_err(fail)?;
    if by_rows {
        values = by_columns(&source.name, n, ncols, values)?;
    }
    Ok(DenseColumns { n, ncols, values })
}
