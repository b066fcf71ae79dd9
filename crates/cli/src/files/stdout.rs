//! Whether an output file is standard output.

use std::path::Path;

/// Whether what is written at `path` comes out of standard output, or stands in the file that it leads to.
#[cfg(unix)]
pub fn is_stdout(path: &Path) -> bool {
    use std::fs::{self, File, Metadata};
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    let names = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    if names.iter().any(|name| path == Path::new(name)) {
        return true;
    }
    let stdout = std::io::stdout().as_fd().try_clone_to_owned();
    let stdout = stdout.and_then(|fd| File::from(fd).metadata());
    let (Ok(stdout), Ok(there)) = (stdout, fs::metadata(path)) else {
        return false;
    };
    let id = |found: &Metadata| (found.dev(), found.ino());
    // Nobody reads what is sent to /dev/null, on whatever way.
    let is_null = fs::metadata("/dev/null").is_ok_and(|null| id(&null) == id(&stdout));
    id(&there) == id(&stdout) && !is_null
}

#[cfg(not(unix))]
pub fn is_stdout(_: &Path) -> bool {
    false
}
