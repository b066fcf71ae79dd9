//! Files that all drivers read: matrices and permutations in plain binary, native byte order.

use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Read, Result, Write};
use std::path::Path;

use tamarack::io::{ReadOptions, read_matrix};
use tamarack::models::Model;
use tamarack::{Permutation, SymmetricCsc};

use crate::record::largest;

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

/// `nrhs` right-hand sides, one after the other: column c is (c + 1) b, so that columns that a solver
/// mixes up show.
pub fn right_hand_sides(b: &[f64], nrhs: usize) -> Vec<f64> {
    let columns = (0..nrhs).map(|c| (c + 1) as f64);
    columns
        .flat_map(|scale| b.iter().map(move |b| scale * b))
        .collect()
}

/// The larger backward error of the first and the last of the columns of `x`, whose right-hand sides
/// are [`right_hand_sides`] of `b`.
pub fn backward_error(a: &SymmetricCsc<f64>, x: &[f64], b: &[f64]) -> f64 {
    let n = a.n();
    if n == 0 {
        return 0.0;
    }
    let nrhs = x.len() / n;
    let last: Vec<f64> = b.iter().map(|b| nrhs as f64 * b).collect();
    largest([
        column_error(a, &x[..n], b),
        column_error(a, &x[n * (nrhs - 1)..], &last),
    ])
}

/// `‖Ax − b‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)`.
fn column_error(a: &SymmetricCsc<f64>, x: &[f64], b: &[f64]) -> f64 {
    let mut r = vec![0.0; a.n()];
    a.matvec(x, &mut r);
    let norm = |v: &[f64]| largest(v.iter().map(|x| x.abs()));
    let residual = largest(r.iter().zip(b).map(|(r, b)| (r - b).abs()));
    residual / (a.norm_inf() * norm(x) + norm(b))
}

/// Writes an elimination order as [`read_order`] reads it.
pub fn write_order(path: &Path, order: &Permutation) -> Result<()> {
    let bytes = order.user_of_elim().iter().flat_map(|u| u.to_ne_bytes());
    std::fs::write(path, bytes.collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_counts_as_the_first_does() {
        let a = load("model:p2d5_20").unwrap();
        let x: Vec<f64> = (0..a.n()).map(|i| 1.0 + (0.37 * i as f64).sin()).collect();
        let b = right_hand_side(&a);
        let mut x = right_hand_sides(&x, 3);
        assert!(backward_error(&a, &x, &b) < 1e-15);
        let end = x.len() - 1;
        x[end] += 1.0;
        assert!(backward_error(&a, &x, &b) > 1e-3);
        x[end] = f64::NAN;
        assert!(backward_error(&a, &x, &b).is_nan());
    }
}
