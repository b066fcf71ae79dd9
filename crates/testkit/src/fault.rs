//! Readers and writers that fail where a test tells them to.

use std::io::{Error, ErrorKind, Read, Result, Write};

/// Passes on a number of bytes, then fails with an error of the given kind at every call.
#[derive(Clone, Debug)]
pub struct FailingReader<R> {
    inner: R,
    left_bytes: usize,
    kind: ErrorKind,
}

impl<R: Read> FailingReader<R> {
    /// Fails once `after_bytes` bytes have been read.
    pub fn new(inner: R, after_bytes: usize, kind: ErrorKind) -> Self {
        Self {
            inner,
            left_bytes: after_bytes,
            kind,
        }
    }
}

impl<R: Read> Read for FailingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        if self.left_bytes == 0 {
            return Err(Error::new(self.kind, "injected read fault"));
        }
        let room = buf.len().min(self.left_bytes);
        let read = self.inner.read(&mut buf[..room])?;
        self.left_bytes -= read;
        Ok(read)
    }
}

/// Takes a number of bytes, then fails as a full disk does, at every call, `flush` included.
#[derive(Clone, Debug)]
pub struct FailingWriter<W> {
    inner: W,
    left_bytes: usize,
}

impl<W: Write> FailingWriter<W> {
    /// Fails once `after_bytes` bytes have been written.
    pub fn new(inner: W, after_bytes: usize) -> Self {
        Self {
            inner,
            left_bytes: after_bytes,
        }
    }

    fn fault(&self) -> Result<()> {
        if self.left_bytes == 0 {
            return Err(Error::new(
                ErrorKind::StorageFull,
                "injected fault: disk full",
            ));
        }
        Ok(())
    }
}

impl<W: Write> Write for FailingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> Result<usize> {
        self.fault()?;
        let room = buf.len().min(self.left_bytes);
        let written = self.inner.write(&buf[..room])?;
        self.left_bytes -= written;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.fault()?;
        self.inner.flush()
    }
}

/// Hands out at most a few bytes a call, with an `Interrupted` error before every other one: what
/// a pipe may do, and what a reader must not depend on.
#[derive(Clone, Debug)]
pub struct ShortReader<R> {
    inner: R,
    most_bytes: usize,
    interrupt: bool,
}

impl<R: Read> ShortReader<R> {
    /// At most `most_bytes` (at least 1) bytes at a time.
    pub fn new(inner: R, most_bytes: usize) -> Self {
        assert!(most_bytes > 0);
        Self {
            inner,
            most_bytes,
            interrupt: false,
        }
    }
}

impl<R: Read> Read for ShortReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(ErrorKind::Interrupted.into());
        }
        let room = buf.len().min(self.most_bytes);
        self.inner.read(&mut buf[..room])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_fail_where_they_are_told_to() {
        let data: Vec<u8> = (0..100).collect();
        let mut out = Vec::new();
        let mut r = FailingReader::new(&data[..], 37, ErrorKind::TimedOut);
        let e = r.read_to_end(&mut out).unwrap_err();
        assert_eq!(
            (e.kind(), out.as_slice()),
            (ErrorKind::TimedOut, &data[..37])
        );

        let mut w = FailingWriter::new(Vec::new(), 41);
        let e = w.write_all(&data).unwrap_err();
        assert_eq!(
            (e.kind(), w.inner.as_slice()),
            (ErrorKind::StorageFull, &data[..41])
        );
        assert!(w.flush().is_err());

        let mut out = Vec::new();
        ShortReader::new(&data[..], 3)
            .read_to_end(&mut out)
            .unwrap();
        assert_eq!(out, data);
    }
}
