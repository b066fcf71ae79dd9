//! Where bytes come from: a file or any reader, decompressed if it is gzip, with progress.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::IoError;

/// Called while a file is read, with the bytes done and the bytes in all (of the file on disk,
/// compressed if it is compressed; the total is 0 where it is not known).
pub type Progress<'a> = &'a dyn Fn(u64, u64);

/// A stream of bytes with the name it has in messages.
pub(crate) struct Source<'a> {
    pub name: String,
    /// Most bytes that may still come, where that is known: the size of a plain file.
    pub size: Option<u64>,
    /// Whether the bytes are decompressed on the way.
    pub gzip: bool,
    pub reader: Box<dyn Read + 'a>,
}

impl<'a> Source<'a> {
    /// Opens a file; gzip is known by its first bytes, whatever the name.
    pub fn open(path: &Path, progress: Option<Progress<'a>>) -> Result<Self, IoError> {
        let name = path.display().to_string();
        let open = |source| IoError::Open {
            file: name.clone(),
            source,
        };
        let file = File::open(path).map_err(open)?;
        let meta = file.metadata().map_err(open)?;
        if meta.is_dir() {
            return Err(open(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let size = meta.is_file().then_some(meta.len());
        let counted = Counted {
            inner: file,
            done: 0,
            total: size.unwrap_or(0),
            progress,
        };
        let mut source = Self::new(counted, &name)?;
        source.size = size.filter(|_| !source.gzip);
        Ok(source)
    }

    /// Wraps a reader; gzip is known by its first bytes.
    pub fn new(mut reader: impl Read + 'a, name: &str) -> Result<Self, IoError> {
        let head = peek(&mut reader, name, 2)?;
        let gzip = head == [0x1f, 0x8b];
        let whole = io::Cursor::new(head).chain(reader);
        let reader: Box<dyn Read + 'a> = if gzip {
            // The decoder wants its input buffered; it reads no further than its members.
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
                1 << 16,
                whole,
            )))
        } else {
            Box::new(whole)
        };
        Ok(Self {
            name: name.to_owned(),
            size: None,
            gzip,
            reader,
        })
    }
}

/// The first bytes of a stream, up to `count`.
pub(crate) fn peek(reader: &mut impl Read, name: &str, count: u64) -> Result<Vec<u8>, IoError> {
    let mut head = Vec::new();
    let read = reader.take(count).read_to_end(&mut head);
    match read {
        Ok(_) => Ok(head),
        Err(source) => Err(IoError::Read {
            file: name.to_owned(),
            source,
        }),
    }
}

/// Tells a callback how far a file has been read.
pub(crate) struct Counted<'a, R> {
    pub inner: R,
    pub done: u64,
    pub total: u64,
    pub progress: Option<Progress<'a>>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.done += count as u64;
        if let Some(progress) = self.progress {
            let most = if self.total > 0 { self.total } else { u64::MAX };
            progress(self.done.min(most), self.total);
        }
        Ok(count)
    }
}

impl<R: io::Seek> io::Seek for Counted<'_, R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// A reader that fails once, and then ends.
pub(crate) struct Failed(pub Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
