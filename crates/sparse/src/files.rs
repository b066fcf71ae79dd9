//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name in its own folder, flushed to disk, and renamed. A
//! program that is interrupted can remove what it has not finished: [`abandon`].

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// Symbolic links that are followed one after another, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// The temporary files that there are. Whoever makes or renames one holds the lock, so that a file
/// that exists is in the list.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets `write` fill a file that then stands at `path`, with the mode of the file that was there.
/// What is not a regular file, such as a pipe, is written to, not replaced, and so are standard output and error by their
/// names, such as `/dev/stdout`, where the shell leads them to a file, too; through a
/// symbolic link, the file it points to is replaced, or made.
///
/// # Errors
/// Those of `write` and of the operating system; then what was there before still is. A file that may not be written to is
/// not replaced.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    if let Some(stream) = stream(path) {
        return write(&mut stream?);
    }
    if is_special(path) {
        return write(&mut fs::OpenOptions::new().write(true).open(path)?);
    }
    let mut new = Unfinished::beside(path)?;
    write(new.file.as_file_mut())?;
    new.finish()
}

/// Whether [`replace`] could begin at `path`, so that nobody works long for a file that cannot be
/// written. Nothing stays of the attempt.
///
/// # Errors
/// Those of the operating system: there is no such folder, it cannot be written to, `path` is
/// itself a folder or is named like one, or there is a file that may not be written to.
pub fn check(path: &Path) -> io::Result<()> {
    if let Some(stream) = stream(path) {
        return stream.map(drop);
    }
    if is_special(path) {
        return Ok(());
    }
    Unfinished::beside(path).map(drop)
}

/// The file that [`replace`] makes or replaces: that at the end of the symbolic links from `path`,
/// also where there is none yet.
///
/// # Errors
/// Those of the operating system, and links that lead to no end.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..=MOST_LINKS {
        if fs::metadata(&target).is_ok() {
            return fs::canonicalize(&target);
        }
        // What is no link is a new file, or who makes it will be told why not.
        let Ok(next) = fs::read_link(&target) else {
            return Ok(target);
        };
        target.pop();
        target.push(next);
    }
    let message = format!("{} is a loop of symbolic links", path.display());
    Err(io::Error::other(message))
}

/// Removes every file that [`replace`] has not finished, for a process that is about to end: a
/// thread that begins or finishes one afterwards waits for the end.
pub fn abandon() {
    let mut paths = unfinished();
    for path in paths.drain(..) {
        // What cannot be removed stays; there is nobody left to tell.
        let _ = fs::remove_file(path);
    }
    mem::forget(paths);
}

/// Standard output or error, where a name stands for it: also where the shell leads it to a file, which keeps what else is printed.
#[cfg(unix)]
fn stream(path: &Path) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let stream = match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => {
            io::stdout().as_fd().try_clone_to_owned()
        }
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => {
            io::stderr().as_fd().try_clone_to_owned()
        }
        _ => return None,
    };
    Some(stream.map(File::from))
}

#[cfg(not(unix))]
fn stream(_: &Path) -> Option<io::Result<File>> {
    None
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Fails where no file can be renamed to `target`, or the one that is there should not be lost.
fn check_target(target: &Path) -> io::Result<()> {
    if target.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // `a/` and `a/.` are folders, also where there is no `a` yet.
    let bytes = target.as_os_str().as_encoded_bytes();
    let names_file = |name: &OsStr| bytes.ends_with(name.as_encoded_bytes());
    if !target.file_name().is_some_and(names_file) {
        let message = "this is no name of a file";
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, message));
    }
    match fs::symlink_metadata(target) {
        // A rename asks only for the folder's permission, not for the file's.
        Ok(_) => fs::OpenOptions::new().write(true).open(target).map(drop),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A file under a temporary name, removed unless it is finished.
struct Unfinished {
    file: NamedTempFile,
    target: PathBuf,
    listed: Listed,
}

impl Unfinished {
    fn beside(path: &Path) -> io::Result<Self> {
        let target = target(path)?;
        check_target(&target)?;
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tamarack-").suffix(".tmp");
        let mut paths = unfinished();
        // The mode is the usual one, and errors do not show the temporary name: hence not `tempfile_in`.
        let file = builder.make_in(folder, |path| File::create_new(path))?;
        let listed = Listed(file.path().to_path_buf());
        paths.push(listed.0.clone());
        drop(paths);
        Ok(Self {
            file,
            target,
            listed,
        })
    }

    fn finish(self) -> io::Result<()> {
        let Self {
            file,
            target,
            listed,
        } = self;
        if let Ok(old) = fs::metadata(&target) {
            fs::set_permissions(file.path(), old.permissions())?;
        }
        file.as_file().sync_all()?;
        let paths = unfinished();
        let renamed = file.persist(&target);
        drop(paths);
        drop(listed);
        renamed.map(drop).map_err(|e| e.error)
    }
}

/// A path in the list, for as long as this lives.
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        fs::read_dir(folder).unwrap().map(name).collect()
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mtx");
        replace(&path, |out| out.write_all(b"old")).unwrap();
        let outcome = replace(&path, |out| {
            out.write_all(b"ne")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replace(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["x.mtx"]);
    }

    #[test]
    fn a_check_leaves_nothing_behind_and_names_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("x.mtx")).unwrap();
        assert!(names(folder.path()).is_empty());
        assert!(check(folder.path()).is_err(), "a folder is no file");
        let missing = check(&folder.path().join("no/x.mtx")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(!missing.to_string().contains(".tmp"), "{missing}");
        assert!(unfinished().iter().all(|p| !p.starts_with(folder.path())));
    }

    #[test]
    fn names_that_no_file_can_have_are_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "old").unwrap();
        let long = "x".repeat(300);
        for name in ["new/", "new/.", "old/", "new/..", "old/.", &long] {
            assert!(check(&at(name)).is_err(), "{name}");
            let written = replace(&at(name), |out| out.write_all(b"new"));
            assert!(written.is_err(), "{name}");
        }
        assert!(check(Path::new("")).is_err());
        let error = check(&at("new/")).unwrap_err().to_string();
        assert_eq!(error, "this is no name of a file");
        assert_eq!(names(folder.path()), ["old"]);
        assert_eq!(fs::read(at("old")).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_may_not_be_written_to_is_not_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        if fs::OpenOptions::new().write(true).open(&path).is_ok() {
            eprintln!("skipped: this user may write to any file");
            return;
        }
        let refused = |outcome: io::Result<()>| outcome.unwrap_err().kind();
        assert_eq!(refused(check(&path)), io::ErrorKind::PermissionDenied);
        let replaced = replace(&path, |out| out.write_all(b"new"));
        assert_eq!(refused(replaced), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["old"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_modes_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("x"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("x", &link).unwrap();
        replace(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_no_file_yet_stays_and_a_loop_is_an_error() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("sub/second", at("first")).unwrap();
        symlink("../new", at("sub/second")).unwrap();
        check(&at("first")).unwrap();
        assert!(!at("new").exists());
        replace(&at("first"), |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(at("new")).unwrap(), b"new");
        for link in ["first", "sub/second"] {
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
        }
        symlink("round", at("about")).unwrap();
        symlink("about", at("round")).unwrap();
        let error = check(&at("about")).unwrap_err().to_string();
        assert!(error.contains("about is a loop"), "{error}");
        symlink("no/file", at("nowhere")).unwrap();
        let missing = check(&at("nowhere")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
