//! Outputs that are no other file of the same command.
//!
//! Names are compared by the files they lead to, through links and folders; only regular files
//! count, as nothing is lost where two write to a terminal, a pipe or `/dev/null`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tamarack::files;

use crate::failure::Failure;

/// A file of a command: what it is to it, and its name.
pub type Named<'a> = (&'static str, &'a Path);

/// Fails where an output would destroy an input, or another output.
pub fn check_distinct(inputs: &[Named], outputs: &[Named]) -> Result<(), Failure> {
    let mut seen: Vec<(Place, Named)> = Vec::new();
    for &input in inputs {
        seen.extend(Place::of(input.1).map(|place| (place, input)));
    }
    for &output in outputs {
        let Some(place) = Place::of(output.1) else {
            continue;
        };
        if let Some((_, other)) = seen.iter().find(|(p, _)| *p == place) {
            let ((what, path), (other, lost)) = (output, *other);
            return Err(Failure::usage(format!(
                "{what} {} is the same file as {other} {}, which would be lost; write to another file",
                path.display(),
                lost.display()
            )));
        }
        seen.push((place, output));
    }
    Ok(())
}

/// What a name leads to: the same for all names of a regular file.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    There(Id),
    /// No file yet: its folder, and its name in it.
    New(Id, OsString),
}

impl Place {
    /// None for what is not a regular file, and where no file can be: whoever opens it says why.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => return id(path).map(Self::There),
            Ok(_) => return None,
            Err(_) => {}
        }
        let path = &files::target(path).ok()?;
        let name = path.file_name()?.to_owned();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Some(Self::New(id(folder)?, name))
    }
}

/// Device and number.
#[cfg(unix)]
type Id = (u64, u64);

#[cfg(unix)]
fn id(path: &Path) -> Option<Id> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The path without links.
#[cfg(not(unix))]
type Id = std::path::PathBuf;

#[cfg(not(unix))]
fn id(path: &Path) -> Option<Id> {
    fs::canonicalize(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_are_the_same_place() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "").unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        let again = |name: &str| dir.path().join("sub").join("..").join(name);
        assert_eq!(Place::of(&old), Place::of(&again("old")));
        assert_eq!(Place::of(&new), Place::of(&again("new")));
        assert!(Place::of(&new).is_some() && Place::of(&new) != Place::of(&old));
        assert_ne!(Place::of(&new), Place::of(&dir.path().join("sub/new")));
        assert_eq!(Place::of(dir.path()), None);
        assert_eq!(Place::of(&dir.path().join("no/new")), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_same_place_and_devices_to_none() {
        let dir = tempfile::tempdir().unwrap();
        let (old, link) = (dir.path().join("old"), dir.path().join("link"));
        fs::write(&old, "").unwrap();
        std::os::unix::fs::symlink("old", &link).unwrap();
        assert_eq!(Place::of(&old), Place::of(&link));
        fs::remove_file(&old).unwrap();
        assert!(Place::of(&old).is_some());
        assert_eq!(Place::of(&old), Place::of(&link));
        assert_eq!(Place::of(Path::new("/dev/null")), None);
    }

    #[test]
    fn the_failure_names_both() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let check = |inputs: &[Named], outputs: &[Named]| check_distinct(inputs, outputs);
        assert!(check(&[("the matrix", &a)], &[("the solution", &b)]).is_ok());
        // Reading a file twice destroys nothing.
        assert!(check(&[("the matrix", &a), ("the right-hand sides", &a)], &[]).is_ok());
        let both = [("the solution", b.as_path()), ("the profile", b.as_path())];
        let failure = check(&[("the matrix", &a)], &both).unwrap_err();
        let shown = b.display();
        let expected = format!("the profile {shown} is the same file as the solution {shown},");
        assert!(
            failure.message.starts_with(&expected),
            "{}",
            failure.message
        );
    }
}
