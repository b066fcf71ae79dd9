//! Text as a stream of whole lines, in blocks, so that parsers run over plain slices.
//!
//! Invariant: a block handed out ends with a line feed (one is supplied at the end of a file that
//! has none). Memory: one buffer, which grows only to hold one line, up to a limit.

use std::io::{self, ErrorKind, Read};

use super::error::{IoError, Spot};
use super::source::Source;

const BLOCK_BYTES: usize = if cfg!(test) { 1 << 7 } else { 1 << 18 };
/// A longer line is an error: no format here has any, and memory stays bounded.
const LONGEST_LINE_BYTES: usize = 1 << 20;

/// Why a block cannot be read.
pub(crate) enum Fault {
    /// A line is longer than the longest.
    LongLine,
    /// The file begins as UTF-16 does.
    Utf16,
    /// The source says no.
    Read(io::Error),
}

/// A mark that some editors put before text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The message about text that [`is_utf16`] knows.
pub(crate) const UTF16: &str = "the file is UTF-16 text; save it as UTF-8 or ASCII";

/// What is left of the first bytes of a text without a byte order mark.
pub(crate) fn without_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head)
}

/// Whether first bytes are those of text in UTF-16: a byte order mark, or a `%` of two bytes.
pub(crate) fn is_utf16(head: &[u8]) -> bool {
    let marks: [&[u8]; 4] = [b"\xff\xfe", b"\xfe\xff", b"%\0", b"\0%"];
    marks.iter().any(|mark| head.starts_with(mark))
}

/// A text source, line by line or block by block.
pub(crate) struct Lines<'a> {
    source: Source<'a>,
    buf: Vec<u8>,
    /// The bytes `buf[start..lines]` are whole lines; `buf[lines..filled]` begins another.
    start: usize,
    lines: usize,
    filled: usize,
    ended: bool,
    /// Number of the next line, from 1.
    pub line: u64,
    /// Bytes handed out as lines so far.
    taken: u64,
}

impl<'a> Lines<'a> {
    pub fn new(source: Source<'a>) -> Self {
        Self {
            source,
            buf: Vec::new(),
            start: 0,
            lines: 0,
            filled: 0,
            ended: false,
            line: 1,
            taken: 0,
        }
    }

    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Most bytes that may still come, if that is known.
    pub fn remaining(&self) -> Option<u64> {
        Some(self.source.size?.saturating_sub(self.taken))
    }

    /// Whole lines that have not been consumed; empty at the end of the file.
    pub fn block(&mut self) -> Result<&[u8], IoError> {
        self.ready().map_err(|fault| self.fault(fault))?;
        Ok(&self.buf[self.start..self.lines])
    }

    /// As [`block`](Self::block), at the end of `block`, and consumed but for the number of its lines. What is wrong is to be told when
    /// all lines before are counted, by [`fault`](Self::fault).
    pub fn take_block(&mut self, block: &mut Vec<u8>) -> Result<(), Fault> {
        self.ready()?;
        block.extend_from_slice(&self.buf[self.start..self.lines]);
        self.consume(self.lines - self.start, 0);
        Ok(())
    }

    /// Sees to it that there is a block, unless the file has ended.
    fn ready(&mut self) -> Result<(), Fault> {
        if self.start == self.lines && !self.ended {
            self.fill()?;
            if self.taken == 0 {
                self.begin()?;
            }
        }
        Ok(())
    }

    /// Goes on by `bytes` of the block, which held `lines` line feeds.
    pub fn consume(&mut self, bytes: usize, lines: u64) {
        self.start = (self.start + bytes).min(self.lines);
        self.line += lines;
        self.taken += bytes as u64;
    }

    /// The next line without its line feed (and carriage return), and its number; `None` at the
    /// end of the file.
    pub fn next_line(&mut self) -> Result<Option<(u64, &[u8])>, IoError> {
        let block = self.block()?;
        let Some(length) = memchr::memchr(b'\n', block) else {
            return Ok(None);
        };
        let (line, start) = (self.line, self.start);
        self.consume(length + 1, 1);
        let text = &self.buf[start..start + length];
        Ok(Some((line, text.strip_suffix(b"\r").unwrap_or(text))))
    }

    /// Goes past a byte order mark at the beginning of the file.
    fn begin(&mut self) -> Result<(), Fault> {
        let head = &self.buf[..self.lines];
        if is_utf16(head) {
            return Err(Fault::Utf16);
        }
        let mark = head.len() - without_mark(head).len();
        self.consume(mark, 0);
        Ok(())
    }

    /// Reads on until there is a whole line, or the file ends.
    fn fill(&mut self) -> Result<(), Fault> {
        self.buf.copy_within(self.lines..self.filled, 0);
        self.filled -= self.lines;
        (self.start, self.lines) = (0, 0);
        loop {
            if self.filled == self.buf.len() {
                if self.filled > LONGEST_LINE_BYTES {
                    return Err(Fault::LongLine);
                }
                self.buf.resize((2 * self.filled).max(BLOCK_BYTES), 0);
            }
            let count = match self.source.reader.read(&mut self.buf[self.filled..]) {
                Ok(count) => count,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(Fault::Read(e)),
            };
            let new = self.filled..self.filled + count;
            self.filled = new.end;
            if let Some(last) = memchr::memrchr(b'\n', &self.buf[new.clone()]) {
                self.lines = new.start + last + 1;
                return Ok(());
            }
            if count == 0 {
                self.ended = true;
                if self.filled > 0 {
                    self.buf.truncate(self.filled);
                    self.buf.push(b'\n');
                    self.filled += 1;
                    self.lines = self.filled;
                }
                return Ok(());
            }
        }
    }

    /// What is wrong at the next line.
    pub fn fault(&self, fault: Fault) -> IoError {
        match fault {
            Fault::LongLine => self.error("the line is longer than 1 MiB"),
            Fault::Utf16 => self.unsupported_at(1, UTF16),
            Fault::Read(source) => self.read_error(source),
        }
    }

    fn read_error(&self, source: io::Error) -> IoError {
        use ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        if self.source.gzip && matches!(source.kind(), InvalidData | InvalidInput | UnexpectedEof) {
            return self.error(format!(
                "the gzip data is truncated or corrupt, or followed by something else ({source})"
            ));
        }
        IoError::Read {
            file: self.source.name.clone(),
            source,
        }
    }

    /// An error at the next line.
    pub fn error(&self, message: impl Into<String>) -> IoError {
        self.error_at(self.line, message)
    }

    /// An error at a line.
    pub fn error_at(&self, line: u64, message: impl Into<String>) -> IoError {
        IoError::malformed(self.name(), Spot::Line(line), message)
    }

    /// An error about the file as a whole.
    pub fn error_in_file(&self, message: impl Into<String>) -> IoError {
        IoError::malformed(self.name(), Spot::File, message)
    }

    /// Well-formed, but not supported, as a line says.
    pub fn unsupported_at(&self, line: u64, message: impl Into<String>) -> IoError {
        IoError::unsupported(self.name(), Spot::Line(line), message)
    }
}
