//! Where bytes come from: a file or any reader, decompressed if it is gzip, with progress.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::IoError;
use super::gzip::Members;

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
        let counted = Counted::new(file, size.unwrap_or(0), progress);
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
            Box::new(Members::new(io::BufReader::with_capacity(1 << 16, whole)))
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

/// Tells a callback how far a file has been read, by all who count with it.
pub(crate) struct Counted<'a, R> {
    inner: Tally<R>,
    total: u64,
    progress: Option<Progress<'a>>,
}

impl<'a, R> Counted<'a, R> {
    /// A reader of which nothing has been read, and of `total` bytes; 0 where that is not known.
    pub fn new(inner: R, total: u64, progress: Option<Progress<'a>>) -> Self {
        let done = Arc::default();
        Self {
            inner: Tally { inner, done },
            total,
            progress,
        }
    }

    /// Another reader of the same file, for another thread, whose bytes count as read too.
    pub fn beside<S>(&self, inner: S) -> Tally<S> {
        let done = self.inner.done.clone();
        Tally { inner, done }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        if let Some(progress) = self.progress {
            let most = if self.total > 0 { self.total } else { u64::MAX };
            progress(self.inner.done.load(Relaxed).min(most), self.total);
        }
        Ok(count)
    }
}

impl<R: io::Seek> io::Seek for Counted<'_, R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Counts the bytes that are read.
pub(crate) struct Tally<R> {
    inner: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Tally<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.done.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}

impl<R: io::Seek> io::Seek for Tally<R> {
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
