//! Normal equations `B S Bᵀ + 1e-3 · I` of a staircase linear program, as interior point methods
//! factorize them.
//!
//! B has `m` rows and `5m/2` columns; a column has 2 to 4 entries around its place on the diagonal,
//! one column in twenty also has one in the first 250 rows, which link distant parts and become
//! dense in the product. S is diagonal, `10^u` with u uniform in [−1, 1).

use super::ModelError;
use super::columns::probe;
use super::math::{Xorshift, power_of_ten};
use crate::{Duplicates, Scalar, SymmetricCsc, Triplets};

/// The matrix of order `m >= 2`.
pub(super) fn normal_equations<T: Scalar>(m: usize) -> Result<SymmetricCsc<T>, ModelError> {
    probe(18 * m as u128, 64)?;
    let mut random = Xorshift::new();
    let link = 250.min(m / 2);
    let width = 5 * m / 2;
    let columns: Vec<Vec<(usize, f64)>> = (0..width)
        .map(|j| column(j, width, m, link, &mut random))
        .collect();
    let mut entries = Triplets::new(m)?;
    entries.reserve(7 * width + m);
    for column in &columns {
        let scale = power_of_ten(-1.0 + 2.0 * random.unit());
        for &(i, p) in column {
            for &(j, q) in column {
                if i >= j {
                    entries.push(i as u32, j as u32, T::from_f64(scale * p * q))?;
                }
            }
        }
    }
    for i in 0..m as u32 {
        entries.push(i, i, T::from_f64(1e-3))?;
    }
    Ok(entries.into_symmetric(Duplicates::Sum)?)
}

/// Entries `(row, value)` of column `j`, rows distinct.
fn column(
    j: usize,
    width: usize,
    m: usize,
    link: usize,
    random: &mut Xorshift,
) -> Vec<(usize, f64)> {
    let wanted = 2 + random.bits() % 3;
    let center = link as f64 + (j as f64 / width as f64 * (m - link) as f64).floor();
    let mut column: Vec<(usize, f64)> = Vec::with_capacity(5);
    for _ in 0..wanted {
        let spread = (random.unit() + random.unit() - 1.0) * 150.0;
        let row = (center + spread.trunc()).clamp(link as f64, (m - 1) as f64) as usize;
        if column.iter().all(|(r, _)| *r != row) {
            column.push((row, 2.0 * random.unit() - 1.0));
        }
    }
    if random.unit() < 0.05 {
        let row = (random.bits() % link as u64) as usize;
        column.push((row, random.unit()));
    }
    column
}
