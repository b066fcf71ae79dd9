//! Short texts about a device, kept beside the compiled kernels: what was measured once need not be measured again.
//!
//! One file for each name, device and CUDA version of the driver. As with kernels, a file appears whole or not at all, and
//! nothing is lost with the folder but time.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::cache::write_whole;
use crate::{Gpu, GpuInfo};

/// Longer texts are not ours.
const MOST_BYTES: u64 = 1 << 16;

impl Gpu {
    /// What was [kept](Self::keep) under a name for devices like this one, with this driver; `None` without a cache folder.
    /// Anybody may have written it.
    #[must_use]
    pub fn kept(&self, name: &str) -> Option<String> {
        read(&self.compiler().folder()?.join(file(name, self.info())))
    }

    /// Keeps a text of at most 64 KiB; where that is not possible, or there is no cache folder, nothing happens.
    pub fn keep(&self, name: &str, text: &str) {
        let Some(folder) = self.compiler().folder() else {
            return;
        };
        let path = folder.join(file(name, self.info()));
        if let Err(error) = write_whole(folder, &path, text.as_bytes()) {
            tracing::warn!("{}: {error}; {name} are not kept", path.display());
        }
    }
}

/// The file of a text.
fn file(name: &str, info: &GpuInfo) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let device: String = info.name.chars().map(plain).take(100).collect();
    let (major, minor) = info.driver_version;
    format!("{name}-{device}-cuda{major}.{minor}.txt")
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_short_text_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        assert_eq!(read(&path), None);
        write_whole(folder.path(), &path, b"rates 1\n").unwrap();
        assert_eq!(read(&path).as_deref(), Some("rates 1\n"));
        write_whole(folder.path(), &path, &[0xFF; 20]).unwrap();
        assert_eq!(read(&path), None);
        write_whole(folder.path(), &path, &vec![b'a'; 1 << 20]).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, MOST_BYTES);
        assert_eq!(read(folder.path()), None);
    }

    #[test]
    fn texts_are_kept_for_the_device() {
        let Some(gpu) = crate::testing::gpu() else {
            return;
        };
        gpu.keep("test", "a text");
        assert_eq!(gpu.kept("test").as_deref(), Some("a text"));
        assert_eq!(gpu.kept("another test"), None);
        let bare = Gpu::open(gpu.info().index).unwrap();
        bare.keep("test", "nowhere");
        assert_eq!(bare.kept("test"), None);
        assert_eq!(gpu.kept("test").as_deref(), Some("a text"));
    }
}
