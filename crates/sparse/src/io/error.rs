//! What can go wrong with a file: one error type, whose message names the file and the place in it.

use std::fmt;
use std::io;

use thiserror::Error;

/// Why a file could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    /// The file could not be opened.
    #[error("cannot open {file}: {source}")]
    Open {
        /// The file as it was named.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file could not be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file as it was named.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file could not be written; a file of that name from before is still as it was.
    #[error("cannot write {file}: {source}")]
    Write {
        /// The file as it was named.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// What the file holds does not fit into memory.
    #[error("{file} has {count} {what}, for which there is no memory")]
    Memory {
        /// The file as it was named.
        file: String,
        /// How many, as far as the file is long enough for them.
        count: u64,
        /// Entries or values.
        what: &'static str,
    },
    /// The file breaks the rules of its format, or what it holds cannot be used.
    #[error("{place}: {message}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong, and what to do where that is not obvious.
        message: String,
    },
    /// The file is well-formed, but of a kind that is not supported.
    #[error("{place}: {message}")]
    Unsupported {
        /// Where the file says so.
        place: Place,
        /// What it is, and what is supported.
        message: String,
    },
}

/// A file, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// The place within it.
    pub spot: Spot,
}

/// A place within a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spot {
    /// The file as a whole.
    File,
    /// A line of a text file, from 1.
    Line(u64),
    /// A member of an archive.
    Member(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spot {
            Spot::File => f.write_str(&self.file),
            Spot::Line(line) => write!(f, "line {line} of {}", self.file),
            Spot::Member(member) => write!(f, "member {member} of {}", self.file),
        }
    }
}

impl IoError {
    pub(crate) fn malformed(file: &str, spot: Spot, message: impl Into<String>) -> Self {
        let (file, message) = (file.to_owned(), message.into());
        Self::Malformed {
            place: Place { file, spot },
            message,
        }
    }

    pub(crate) fn memory(file: &str, count: u64, what: &'static str) -> Self {
        let file = file.to_owned();
        Self::Memory { file, count, what }
    }

    pub(crate) fn unsupported(file: &str, spot: Spot, message: impl Into<String>) -> Self {
        let (file, message) = (file.to_owned(), message.into());
        Self::Unsupported {
            place: Place { file, spot },
            message,
        }
    }

    /// The line the error is on, where it is on one, from 1.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Malformed { place, .. } | Self::Unsupported { place, .. } => match place.spot {
                Spot::Line(line) => Some(line),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Bytes of a file as they may stand in a message: printable, and not long.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let mut text = bytes[..bytes.len().min(MOST)].escape_ascii().to_string();
    if bytes.len() > MOST {
        text.push_str("...");
    }
    text
}
