//! The collection of real matrices that lies beside the repository, where there is one.

use std::path::{Path, PathBuf};

/// `../shared` seen from the repository's root, or `None` where there is none: a test then says
/// that it is skipped.
pub fn shared_dir() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    dir.canonicalize().ok().filter(|d| d.is_dir())
}

/// Matrix files of the collection (all positive definite), smallest file first, or `None` where
/// the collection is missing.
pub fn shared_matrices() -> Option<Vec<PathBuf>> {
    matrix_files(&shared_dir()?.join("matrices"))
}

/// Matrix files of the collection that are not positive definite, smallest file first.
pub fn shared_not_spd() -> Option<Vec<PathBuf>> {
    matrix_files(&shared_dir()?.join("matrices/not_spd"))
}

fn matrix_files(dir: &Path) -> Option<Vec<PathBuf>> {
    const ENDS: [&str; 5] = [".mtx", ".mtx.gz", ".rb", ".rb.gz", ".npz"];
    let mut files: Vec<(u64, PathBuf)> = std::fs::read_dir(dir)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let name = name.to_str()?;
            let is_matrix = ENDS.iter().any(|end| name.ends_with(end));
            is_matrix.then_some((entry.metadata().ok()?.len(), entry.path()))
        })
        .collect();
    files.sort();
    Some(files.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_the_collection_where_it_is() {
        let Some(files) = shared_matrices() else {
            eprintln!("skipped: no ../shared/matrices beside the repository");
            return;
        };
        assert!(files.len() > 50);
        assert!(files.iter().all(|f| f.is_file()));
        assert_eq!(shared_not_spd().map(|f| f.len() >= 3), Some(true));
    }
}
