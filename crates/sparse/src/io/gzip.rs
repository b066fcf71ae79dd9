//! Gzip as the program of that name takes it: members one after the other, with zeros behind the last.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The bytes of all members of a stream, one behind the other (Deutsch 1996, section 2.2).
///
/// Tapes, and disks that are copied by blocks, leave zeros behind a file; anything else there is an error.
pub(crate) struct Members<R> {
    /// None behind the last member, and where it is not known whether it was the last.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    /// A stream that begins with a member.
    pub fn new(stream: R) -> Self {
        Self {
            member: Some(GzDecoder::new(stream)),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buf)?;
            if count > 0 || buf.is_empty() {
                return Ok(count);
            }
            let ended = self.member.take().map(GzDecoder::into_inner);
            self.member = ended.map(next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// What comes behind a member and zeros, if anything does.
fn next_member<R: BufRead>(mut stream: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let bytes = match stream.fill_buf() {
            Ok([]) => return Ok(None),
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let is_all = zeros == bytes.len();
        stream.consume(zeros);
        if !is_all {
            return Ok(Some(GzDecoder::new(stream)));
        }
    }
}
