//! Matrices, vectors and orderings as the command line names them.

use std::ffi::OsStr;
use std::path::Path;

use tamarack::io::{
    DenseColumns, IoError, ReadOptions, read_matrix, read_permutation, read_vectors_of,
};
use tamarack::models::Model;
use tamarack::{Coordinates, Error, Method, Ordering, OrderingError, PartitionTree, SymmetricCsc};

use crate::failure::Failure;
use crate::files::Named;
use crate::progress::Talk;

/// Marks the name of a model problem.
const MODEL: &str = "model:";

/// Marks a file with the coordinates of all unknowns, a row each.
const COORDINATES: &str = "coordinates:";

/// Marks a file with the node of each unknown in a binary tree of separators.
const TREE: &str = "tree:";

/// A matrix with the name it was given and the seconds it took to get.
pub struct Loaded {
    pub source: String,
    pub matrix: SymmetricCsc<f64>,
    pub secs: f64,
}

/// The files that a matrix and an ordering are read from, where they are files.
pub fn files<'a>(source: &'a Path, ordering: Option<&'a OsStr>) -> Vec<Named<'a>> {
    let is_model = source.to_str().is_some_and(|s| s.starts_with(MODEL));
    let matrix = (!is_model).then_some(("the matrix", source));
    let ordering = ordering
        .and_then(ordering_file)
        .map(|path| ("the ordering", path));
    matrix.into_iter().chain(ordering).collect()
}

/// The file that an ordering of this name is read from; none for a method.
fn ordering_file(name: &OsStr) -> Option<&Path> {
    let given = marked(name, COORDINATES).or_else(|| marked(name, TREE));
    given.or_else(|| {
        let path = Path::new(name);
        (method(name).is_err() && path.exists()).then_some(path)
    })
}

/// The file behind a mark. Its name need not be UTF-8.
fn marked<'a>(name: &'a OsStr, mark: &str) -> Option<&'a Path> {
    let bytes = name.as_encoded_bytes().strip_prefix(mark.as_bytes())?;
    // SAFETY: the bytes are those of a whole name but for the text in front of them, which is UTF-8.
    Some(Path::new(unsafe {
        OsStr::from_encoded_bytes_unchecked(bytes)
    }))
}

/// The ordering that goes by this name, without a file.
fn method(name: &OsStr) -> Result<Ordering, Error> {
    name.to_string_lossy().parse()
}

/// Fails where there is no such ordering, or no file that it is to be read from: before anything that takes long.
pub fn check_ordering(name: &OsStr) -> Result<(), Failure> {
    match ordering_file(name) {
        Some(path) => check_file(path),
        None => method(name).map(drop).map_err(unknown),
    }
}

/// Fails where there is no such file. It is not opened: what comes through a pipe can be read only once.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        let message = "`-` is no file; standard input is /dev/stdin";
        return Err(Failure::usage(message.into()));
    }
    if path.as_os_str().is_empty() {
        return Err(Failure::usage("a file's name is empty".into()));
    }
    let found = std::fs::metadata(path).map_err(|source| IoError::Open {
        file: path.display().to_string(),
        source,
    });
    found.map(drop).map_err(|error| Error::from(error).into())
}

/// What a name is that is neither an ordering's nor a file's.
fn unknown(error: Error) -> Failure {
    Failure::usage(format!(
        "{error}, {COORDINATES}FILE, {TREE}FILE, or a file with a permutation; and there is no file of that name"
    ))
}

/// Reads a matrix by so many threads, or as many as there are, or makes a model problem.
pub fn matrix(source: &Path, threads: Option<usize>, talk: Talk) -> Result<Loaded, Failure> {
    let model = source.to_str().and_then(|s| s.strip_prefix(MODEL));
    let (matrix, secs) = if let Some(name) = model {
        let model: Model = name.parse().map_err(Error::from)?;
        let activity = talk.spinner(format!("generating {name}"));
        let matrix = model.generate().map_err(Error::from)?;
        (matrix, activity.done())
    } else {
        check_file(source).map_err(|failure| with_hint(failure, source))?;
        let bytes = std::fs::metadata(source).map_or(0, |m| m.len());
        let rate = |per_sec: f64| format!("{:.0} MB/s", per_sec / 1e6);
        let activity = talk.bar("reading", bytes, rate);
        let moved = |done: u64, _total: u64| activity.set(done);
        let options = ReadOptions {
            progress: Some(&moved),
            threads,
            ..ReadOptions::default()
        };
        let matrix = read_matrix(source, &options).map_err(Error::from)?;
        (matrix, activity.done())
    };
    Ok(Loaded {
        source: source.display().to_string(),
        matrix,
        secs,
    })
}

/// A file that there is not may be a model problem without its mark.
fn with_hint(mut failure: Failure, source: &Path) -> Failure {
    let name = source.to_str().unwrap_or_default();
    if name.parse::<Model>().is_ok() {
        failure.message += &format!("; the model problem is `{MODEL}{name}`");
    }
    failure
}

/// Reads right-hand sides for a matrix of order `n`.
pub fn right_sides(path: &Path, n: usize) -> Result<DenseColumns, Failure> {
    let b = read_vectors_of(path, n).map_err(Error::from)?;
    if b.n != n {
        let message = format!(
            "{} has {} rows; the matrix has order {n}",
            path.display(),
            b.n
        );
        return Err(Failure::input(message));
    }
    Ok(b)
}

/// An ordering by name, from a file, or by what a file knows of the unknowns.
pub fn ordering(name: &OsStr, n: usize) -> Result<Ordering, Failure> {
    if let Some(path) = marked(name, COORDINATES) {
        let places = right_sides(path, n)?;
        let places = Coordinates::from_columns(n, places.values).map_err(said_of(path))?;
        return Ok(Method::Coordinates(places).into());
    }
    if let Some(path) = marked(name, TREE) {
        let nodes = nodes(path, n)?;
        if let Some(k) = nodes.iter().position(|&node| node == 0) {
            let message = format!("row {} is 0; nodes count from 1, the root", k + 1);
            return Err(Failure::input(message).about(&path.display().to_string()));
        }
        let tree = PartitionTree::binary(&nodes).map_err(said_of(path))?;
        return Ok(Method::PartitionTree(tree).into());
    }
    match method(name) {
        Ok(ordering) => Ok(ordering),
        Err(_) if Path::new(name).exists() => {
            let permutation = read_permutation(name, n).map_err(Error::from)?;
            Ok(permutation.into())
        }
        Err(error) => Err(unknown(error)),
    }
}

/// What an ordering's file has wrong, said of that file.
fn said_of(path: &Path) -> impl Fn(OrderingError) -> Failure + '_ {
    move |error| Failure::from(Error::from(error)).about(&path.display().to_string())
}

/// Why there is no analysis in the order `name`; what its file has wrong is said of that file.
pub fn analysis_failed(name: &OsStr) -> impl Fn(Error) -> Failure + '_ {
    move |error| {
        let of_file = matches!(error, Error::Ordering(OrderingError::NotSeparated { .. }));
        let failure = Failure::from(error);
        match ordering_file(name).filter(|_| of_file) {
            Some(path) => failure.about(&path.display().to_string()),
            None => failure,
        }
    }
}

/// Reads the node of each of `n` unknowns.
fn nodes(path: &Path, n: usize) -> Result<Vec<u32>, Failure> {
    let read = right_sides(path, n)?;
    if read.ncols != 1 {
        let message = format!(
            "{} has {} columns; one is needed, with the node of each unknown",
            path.display(),
            read.ncols
        );
        return Err(Failure::input(message));
    }
    let node = |(k, &value): (usize, &f64)| {
        let whole = value as u32; // saturates
        if f64::from(whole) == value {
            return Ok(whole);
        }
        Err(Failure::input(format!(
            "{}: row {} is {value}, which is no number of a node",
            path.display(),
            k + 1
        )))
    };
    read.values.iter().enumerate().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_hand_sides_of_large_matrices_may_be_sparse() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.mtx");
        let n = 5_000_000;
        let header = "%%MatrixMarket matrix coordinate real general";
        std::fs::write(&path, format!("{header}\n{n} 1 1\n{n} 1 2.5\n")).unwrap();
        let b = right_sides(&path, n).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert_eq!((b.n, b.ncols, b.values[n - 1]), (n, 1, 2.5));
    }
}
