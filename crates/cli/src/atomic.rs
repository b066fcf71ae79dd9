//! Output files appear whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

/// The file that is being written, so that an interrupt can take it away.
static PENDING: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Lets `write` make a file beside `path`, then puts it in its place.
///
/// The temporary name ends like `path`, so that writers can choose the format by it.
pub fn write<T>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let name = path
        .file_name()
        .ok_or_else(|| Failure::usage(format!("{} is not the name of a file", path.display())))?;
    // A device or pipe, such as /dev/stdout, is written in place.
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return write(path);
    }
    let temporary = path.with_file_name(format!(
        ".{}.{}",
        std::process::id(),
        name.to_string_lossy()
    ));
    *PENDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(temporary.clone());
    let outcome = write(&temporary).and_then(|value| {
        fs::rename(&temporary, path).map_err(|e| cannot_write(path, &e))?;
        Ok(value)
    });
    if outcome.is_err() {
        remove_pending();
    }
    *PENDING.lock().unwrap_or_else(PoisonError::into_inner) = None;
    outcome
}

/// Writes bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write(path, |temporary| {
        fs::write(temporary, bytes).map_err(|e| cannot_write(path, &e))
    })
}

/// Removes the half-written file, where there is one.
pub fn remove_pending() {
    if let Some(path) = PENDING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
    {
        // It may not have been created yet; then there is nothing to remove.
        let _ = fs::remove_file(path);
    }
}

/// The failure of a file that could not be written.
pub fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::resources(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.mtx");
        write_bytes(&path, b"old").unwrap();
        let outcome = write(&path, |temporary| {
            fs::write(temporary, b"ne").unwrap();
            Err::<(), _>(Failure::resources("disk full".into()))
        });
        assert!(outcome.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write_bytes(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
