//! Real matrices end to end: those of `data/`, and those of `../shared` where it is.

use std::path::{Path, PathBuf};

use tamarack::io::{ReadOptions, read_matrix};
use tamarack::{Analysis, Error, ErrorKind, Options};
use tamarack_testkit::{shared_matrices, shared_not_spd};
use tamarack_tests::check;

/// Matrices above this order, and the one below that fills like a dense one, take too long here:
/// the `acceptance` program does them.
const LARGEST: usize = 20_000;

fn data(folder: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data")
        .join(folder);
    let files = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let matrix = |p: &PathBuf| {
        let name = p.file_name().unwrap().to_string_lossy().into_owned();
        !name.ends_with("_b.mtx") && [".mtx", ".rb", ".gz"].iter().any(|end| name.ends_with(end))
    };
    files.filter(matrix).collect()
}

#[test]
fn every_matrix_of_data_keeps_the_promises() {
    let files = data("");
    assert!(files.len() >= 8);
    for path in files {
        let row = check(&path).unwrap();
        assert!(row.holds(), "{}: {row:?}", path.display());
    }
}

#[test]
fn every_shared_matrix_keeps_the_promises() {
    let Some(files) = shared_matrices() else {
        eprintln!("skipped: ../shared/matrices is not here");
        return;
    };
    for path in files {
        let a = read_matrix(&path, &ReadOptions::default()).unwrap();
        if a.n() >= LARGEST {
            eprintln!("skipped: {} is large", path.display());
            continue;
        }
        let row = check(&path).unwrap();
        assert!(row.holds(), "{}: {row:?}", path.display());
    }
}

/// All thread counts name the same column, of the user's order.
fn refused(path: &Path) {
    let a = read_matrix(path, &ReadOptions::default()).unwrap();
    let mut columns = Vec::new();
    for threads in [1, 2, 5] {
        let mut options = Options::default();
        options.threads = Some(threads);
        let error: Error = Analysis::new(a.pattern(), &options)
            .unwrap()
            .factorize(&a)
            .unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::NotPositiveDefinite,
            "{}",
            path.display()
        );
        columns.push(error.not_positive_definite().unwrap().column);
    }
    assert!(
        columns.iter().all(|c| *c == columns[0] && c.get() < a.n()),
        "{columns:?}"
    );
}

#[test]
fn what_is_not_positive_definite_is_refused() {
    for path in data("not_spd") {
        refused(&path);
    }
    let Some(files) = shared_not_spd() else {
        eprintln!("skipped: ../shared/matrices/not_spd is not here");
        return;
    };
    for path in files {
        refused(&path);
    }
}
