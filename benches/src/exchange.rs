//! Files that all drivers read: matrices and permutations in plain binary, native byte order.

use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Read, Result, Write};
use std::path::Path;

use tamarack::io::{ReadOptions, read_matrix};
use tamarack::models::Model;
use tamarack::{Permutation, SymmetricCsc};

/// A matrix from a file in any format, or from `model:NAME`.
pub fn load(source: &str) -> Result<SymmetricCsc<f64>> {
    let other = |e: &dyn std::fmt::Display| Error::other(format!("{source}: {e}"));
    match source.strip_prefix("model:") {
        Some(name) => {
            let model: Model = name.parse().map_err(|e| other(&e))?;
            model.generate().map_err(|e| other(&e))
        }
        None => read_matrix(source, &ReadOptions::default()).map_err(|e| other(&e)),
    }
}

/// Writes the lower triangle: `i64` n and nnz, `i64` column offsets (n + 1), `i32` rows, `f64` values.
pub fn write_matrix(path: &Path, a: &SymmetricCsc<f64>) -> Result<()> {
    let pattern = a.pattern();
    let mut file = BufWriter::new(File::create(path)?);
    for word in [pattern.n() as u64, pattern.nnz_lower()]
        .iter()
        .chain(pattern.col_ptr())
    {
        file.write_all(&word.to_ne_bytes())?;
    }
    for row in pattern.row_idx() {
        file.write_all(&row.to_ne_bytes())?;
    }
    for value in a.values() {
        file.write_all(&value.to_ne_bytes())?;
    }
    file.flush()
}

/// Reads what [`write_matrix`] wrote.
pub fn read_back(path: &Path) -> Result<SymmetricCsc<f64>> {
    let mut file = File::open(path)?;
    let mut head = [0u8; 16];
    file.read_exact(&mut head)?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    let word = |b: &[u8]| u64::from_ne_bytes(b.try_into().unwrap_or_default());
    let (n, nnz) = (word(&head[..8]) as usize, word(&head[8..]) as usize);
    if rest.len() != 8 * (n + 1) + 12 * nnz {
        return Err(Error::new(ErrorKind::InvalidData, "not a matrix of ours"));
    }
    let (ptr, rest) = rest.split_at(8 * (n + 1));
    let (rows, values) = rest.split_at(4 * nnz);
    let ptr: Vec<usize> = ptr.chunks(8).map(|b| word(b) as usize).collect();
    let rows: Vec<usize> = rows
        .chunks(4)
        .map(|b| u32::from_ne_bytes(b.try_into().unwrap_or_default()) as usize)
        .collect();
    let values: Vec<f64> = values
        .chunks(8)
        .map(|b| f64::from_ne_bytes(b.try_into().unwrap_or_default()))
        .collect();
    SymmetricCsc::lower(n, &ptr, &rows, &values).map_err(Error::other)
}

/// Reads an elimination order: `i32`, the user's index of every step.
pub fn read_order(path: &Path) -> Result<Permutation> {
    let bytes = std::fs::read(path)?;
    let order: Vec<u32> = bytes
        .chunks(4)
        .map(|b| b.try_into().map(u32::from_ne_bytes))
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::other)?;
    Permutation::from_elimination_order(&order).map_err(Error::other)
}

/// The right-hand side of every driver: `b = A x` with `x_i = 1 + sin(0.37 i)`.
pub fn right_hand_side(a: &SymmetricCsc<f64>) -> Vec<f64> {
    let x: Vec<f64> = (0..a.n()).map(|i| 1.0 + (0.37 * i as f64).sin()).collect();
    let mut b = vec![0.0; a.n()];
    a.matvec(&x, &mut b);
    b
}

/// `‖Ax − b‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)`.
pub fn backward_error(a: &SymmetricCsc<f64>, x: &[f64], b: &[f64]) -> f64 {
    let mut r = vec![0.0; a.n()];
    a.matvec(x, &mut r);
    let largest = |v: &mut dyn Iterator<Item = f64>| {
        v.fold(0.0f64, |m, x| if x.abs() <= m { m } else { x.abs() })
    };
    let residual = largest(&mut r.iter().zip(b).map(|(r, b)| r - b));
    let (x, b) = (
        largest(&mut x.iter().copied()),
        largest(&mut b.iter().copied()),
    );
    residual / (a.norm_inf() * x + b)
}
