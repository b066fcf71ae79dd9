//! Matrices, vectors and orderings as the command line names them.

use std::path::Path;

use tamarack::io::{DenseColumns, ReadOptions, read_matrix, read_permutation, read_vectors};
use tamarack::models::Model;
use tamarack::{Error, Ordering, SymmetricCsc};

use crate::failure::Failure;
use crate::progress::Talk;

/// Marks the name of a model problem.
const MODEL: &str = "model:";

/// A matrix with the name it was given and the seconds it took to get.
pub struct Loaded {
    pub source: String,
    pub matrix: SymmetricCsc<f64>,
    pub secs: f64,
}

/// Reads a matrix, or makes a model problem.
pub fn matrix(source: &str, talk: Talk) -> Result<Loaded, Failure> {
    let (matrix, secs) = if let Some(name) = source.strip_prefix(MODEL) {
        let model: Model = name.parse().map_err(Error::from)?;
        let activity = talk.spinner(format!("generating {name}"));
        let matrix = model.generate().map_err(Error::from)?;
        (matrix, activity.done())
    } else {
        let bytes = std::fs::metadata(source).map_or(0, |m| m.len());
        let rate = |per_sec: f64| format!("{:.0} MB/s", per_sec / 1e6);
        let activity = talk.bar("reading", bytes, rate);
        let moved = |done: u64, _total: u64| activity.set(done);
        let options = ReadOptions {
            progress: Some(&moved),
            ..ReadOptions::default()
        };
        let matrix = read_matrix(source, &options).map_err(Error::from)?;
        (matrix, activity.done())
    };
    Ok(Loaded {
        source: source.to_string(),
        matrix,
        secs,
    })
}

/// Reads right-hand sides for a matrix of order `n`.
pub fn right_sides(path: &Path, n: usize) -> Result<DenseColumns, Failure> {
    let b = read_vectors(path).map_err(Error::from)?;
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

/// An ordering by name, or from a file.
pub fn ordering(name: &str, n: usize) -> Result<Ordering, Failure> {
    match name.parse::<Ordering>() {
        Ok(ordering) => Ok(ordering),
        Err(_) if Path::new(name).exists() => {
            let permutation = read_permutation(name, n).map_err(Error::from)?;
            Ok(permutation.into())
        }
        Err(error) => Err(Failure::usage(format!(
            "{error}; and there is no file of that name"
        ))),
    }
}
