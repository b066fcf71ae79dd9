//! Header and size line of Matrix Market files.

use std::fmt;

use super::error::{IoError, shown};
use super::lines::{Lines, without_mark};
use super::number::parse_uint;

/// Whether the first bytes of a file are those of a Matrix Market file. It is one even if blank
/// lines or comments are before its banner, or the banner is misspelled, which [`header`] refuses: as a table of
/// numbers, its banner would be a comment, and its sizes numbers.
pub(crate) fn has_banner(head: &[u8]) -> bool {
    let mut text = without_mark(head).trim_ascii_start();
    while let Some(b'%' | b'#') = text.first() {
        let length = memchr::memchr(b'\n', text).unwrap_or(text.len());
        if is_meant_as_banner(&text[..length]) {
            return true;
        }
        text = text[length..].trim_ascii_start();
    }
    false
}

/// Whether a comment is a banner, or was one before somebody changed it: its first word begins as the banner's does, or it says
/// what kind of matrix follows.
fn is_meant_as_banner(comment: &[u8]) -> bool {
    let text = comment.to_ascii_lowercase();
    let words: Vec<&[u8]> = text
        .split(|c| c.is_ascii_whitespace() || matches!(c, b'%' | b'#'))
        .filter(|word| !word.is_empty())
        .collect();
    let named = words.first().is_some_and(|w| w.starts_with(b"matrixmark"));
    let described = |pair: &[&[u8]]| {
        pair == [b"matrix", &b"array"[..]] || pair == [b"matrix", &b"coordinate"[..]]
    };
    let begin = &words[..words.len().min(3)]; // later it is a sentence
    named || begin.windows(2).any(described)
}

/// What the header line says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Header {
    /// Coordinate format; otherwise array.
    pub coordinate: bool,
    /// Whether entries stand for their mirror images, and how.
    pub symmetry: Symmetry,
}

/// What the header says of entries and their mirror images: only a general file has both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Symmetry {
    General,
    Symmetric,
    SkewSymmetric,
    Hermitian,
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::SkewSymmetric => "skew-symmetric",
            Self::Hermitian => "hermitian",
        })
    }
}

/// Reads the header line. Words may be in upper or lower case.
pub(crate) fn header(lines: &mut Lines) -> Result<Header, IoError> {
    let Some((line, text)) = lines.next_line()? else {
        return Err(lines.error_in_file("the file is empty"));
    };
    let words: Vec<String> = text
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
        .map(|w| shown(&w.to_ascii_lowercase()))
        .collect();
    if words.is_empty() {
        let message = "the first line is empty; the header, `%%MatrixMarket ...`, must be on it";
        return Err(lines.error_at(line, message));
    }
    if words[0] != "%%matrixmarket" {
        return Err(lines.error_at(line, "the header does not begin with `%%MatrixMarket`"));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [_, object, format, field, symmetry] = words[..] else {
        let example = "`%%MatrixMarket matrix coordinate real symmetric`";
        return Err(lines.error_at(
            line,
            format!("the header must have five words, as {example}"),
        ));
    };
    if object != "matrix" {
        return Err(lines.unsupported_at(line, format!("a `{object}`, not a matrix")));
    }
    let coordinate = match format {
        "coordinate" => true,
        "array" => false,
        _ => return Err(lines.error_at(line, format!("unknown format `{format}`"))),
    };
    match field {
        "real" | "integer" | "double" => {}
        "pattern" => {
            let message = "a pattern has no values; a real or integer matrix is needed";
            return Err(lines.unsupported_at(line, message));
        }
        "complex" => {
            let message = "complex values are not supported, only real and integer ones";
            return Err(lines.unsupported_at(line, message));
        }
        _ => return Err(lines.error_at(line, format!("unknown kind of values `{field}`"))),
    }
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::SkewSymmetric,
        "hermitian" => Symmetry::Hermitian,
        _ => return Err(lines.error_at(line, format!("unknown symmetry `{symmetry}`"))),
    };
    Ok(Header {
        coordinate,
        symmetry,
    })
}

/// Reads the header line of vectors: whether they are in coordinate format. They must be general,
/// since any other file leaves out the mirror images of its entries.
pub(crate) fn vectors_header(lines: &mut Lines) -> Result<bool, IoError> {
    let Header {
        coordinate,
        symmetry,
    } = header(lines)?;
    if symmetry != Symmetry::General {
        let message = format!(
            "declared `{symmetry}`, which leaves out half of the values; vectors, such as \
             right-hand sides, must be `general`"
        );
        return Err(lines.unsupported_at(1, message));
    }
    Ok(coordinate)
}

/// Reads the size line, `N` integers, behind comments and blank lines; with its line number.
pub(crate) fn sizes<const N: usize>(lines: &mut Lines) -> Result<(u64, [u64; N]), IoError> {
    loop {
        let Some((line, text)) = lines.next_line()? else {
            return Err(lines.error_in_file("the file ends before the size line"));
        };
        let text = text.trim_ascii();
        if text.is_empty() || text[0] == b'%' {
            continue;
        }
        let words = text
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty())
            .map(|w| parse_uint(w, 0).filter(|&(_, end)| end == w.len()));
        let sizes: Option<Vec<u64>> = words.map(|w| Some(w?.0)).collect();
        if let Some(sizes) = sizes.and_then(|s| <[u64; N]>::try_from(s).ok()) {
            return Ok((line, sizes));
        }
        let expected = if N == 3 {
            "rows, columns and entries"
        } else {
            "rows and columns"
        };
        let message = format!("the size line needs {expected}, not `{}`", shown(text));
        return Err(lines.error_at(line, message));
    }
}
