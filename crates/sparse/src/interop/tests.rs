//! Round trips through each crate, either triangle, and what is refused.

use super::*;
use crate::interop::Lower;
use crate::models::Model;

fn samples() -> Vec<SymmetricCsc<f64>> {
    let mut samples: Vec<_> = ["el3d_2", "rgg_100", "jump2d_4", "p3d7_1"]
        .iter()
        .map(|name| name.parse::<Model>().unwrap().generate().unwrap())
        .collect();
    samples.push(SymmetricCsc::lower(0, &[0], &[] as &[u32], &[]).unwrap());
    samples
}

/// From dense columns; only entries that are not 0 are stored.
fn from_dense<const N: usize>(columns: [[f64; N]; N]) -> Result<SymmetricCsc<f64>, InteropError> {
    let stored: Vec<(Vec<u32>, Vec<f64>)> = columns
        .iter()
        .map(|c| {
            let entries = (0..N as u32).zip(*c);
            entries.filter(|(_, v)| *v != 0.0).unzip()
        })
        .collect();
    symmetric(N, N, |j| (&stored[j].0[..], &stored[j].1[..]))
}

#[test]
fn sprs_full_lower_and_transposed() {
    for a in samples() {
        let full = sprs::CsMat::from(&a);
        assert_eq!(full.nnz() as u64, a.pattern().nnz_full());
        assert_eq!(SymmetricCsc::try_from(&full).unwrap(), a);
        assert_eq!(SymmetricCsc::try_from(&full.view()).unwrap(), a);
        assert_eq!(SymmetricCsc::try_from(&full.to_csr()).unwrap(), a);
        let lower = sprs::CsMat::from(Lower(&a));
        assert_eq!(lower.nnz() as u64, a.pattern().nnz_lower());
        assert_eq!(SymmetricCsc::try_from(&lower).unwrap(), a);
        assert_eq!(SymmetricCsc::try_from(&lower.to_csr()).unwrap(), a);
        let upper = lower.transpose_view();
        assert_eq!(SymmetricCsc::try_from(&upper).unwrap(), a);
        assert_eq!(SymmetricCsc::try_from(&upper.to_csc()).unwrap(), a);
    }
    let small: sprs::CsMatI<f32, u32> = sprs::CsMatI::new_csc(
        (2, 2),
        vec![0, 2, 4],
        vec![0, 1, 0, 1],
        vec![2.0, 1.0, 1.0, 2.0],
    );
    let a = SymmetricCsc::try_from(&small).unwrap();
    assert_eq!(a.values(), &[2.0f32, 1.0, 2.0]);
}

#[test]
fn a_product_with_the_full_matrix_is_a_product_with_ours() {
    for a in samples() {
        let full = sprs::CsMat::from(&a);
        let x: Vec<f64> = (0..a.n()).map(|i| 1.0 + (i % 7) as f64).collect();
        let mut y = vec![0.0; a.n()];
        a.matvec(&x, &mut y);
        let mut z = vec![0.0; a.n()];
        for (&v, (i, j)) in &full {
            z[i] += v * x[j];
        }
        let scale = 1e-14 * a.norm_inf() * 7.0;
        assert!(y.iter().zip(&z).all(|(y, z)| (y - z).abs() <= scale));
    }
}

#[cfg(feature = "faer")]
#[test]
fn faer_full_lower_and_small_indices() {
    use ::faer::sparse::{SparseColMat, SymbolicSparseColMat};
    for a in samples() {
        let full = SparseColMat::from(&a);
        assert_eq!(full.compute_nnz() as u64, a.pattern().nnz_full());
        assert_eq!(SymmetricCsc::try_from(&full).unwrap(), a);
        let lower = SparseColMat::from(Lower(&a));
        assert_eq!(lower.compute_nnz() as u64, a.pattern().nnz_lower());
        assert_eq!(SymmetricCsc::try_from(lower.as_ref()).unwrap(), a);
    }
    // Not compressed: column 0 has room for a third entry.
    let counts = Some(vec![2u32, 1]);
    let symbolic =
        SymbolicSparseColMat::new_checked(2, 2, vec![0u32, 3, 4], counts, vec![0, 1, 0, 1]);
    let theirs = SparseColMat::new(symbolic, vec![2.0, 1.0, f64::NAN, 3.0]);
    let a = SymmetricCsc::try_from(&theirs).unwrap();
    assert_eq!(a.values(), &[2.0, 1.0, 3.0]);
}

#[cfg(feature = "nalgebra")]
#[test]
fn nalgebra_full_and_lower() {
    use nalgebra_sparse::CscMatrix;
    for a in samples() {
        let full = CscMatrix::from(&a);
        assert_eq!(full.nnz() as u64, a.pattern().nnz_full());
        assert_eq!(SymmetricCsc::try_from(&full).unwrap(), a);
        let lower = CscMatrix::from(Lower(&a));
        assert_eq!(lower.nnz() as u64, a.pattern().nnz_lower());
        assert_eq!(SymmetricCsc::try_from(&lower).unwrap(), a);
    }
}

#[test]
fn a_missing_diagonal_becomes_a_zero() {
    let a = from_dense([[0.0, 5.0, 0.0], [5.0, 1.0, 0.0], [0.0, 0.0, 0.0]]).unwrap();
    assert_eq!(a.pattern().row_idx(), &[0, 1, 1, 2]);
    assert_eq!(a.values(), &[0.0, 5.0, 1.0, 0.0]);
    let upper = from_dense([[0.0, 0.0], [5.0, 1.0]]).unwrap();
    assert_eq!(upper.values(), &[0.0, 5.0, 1.0]);
}

#[test]
fn triangles_that_disagree_are_named() {
    let not = |row, column, below, above| InteropError::NotSymmetric {
        row,
        column,
        below,
        above,
    };
    let case = |columns: [[f64; 3]; 3]| from_dense(columns).unwrap_err();
    let at = case([[4.0, 1.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 4.0]]);
    assert_eq!(at, not(1, 0, 1.0, 2.0));
    assert!(
        at.to_string()
            .contains("entry (1, 0) is 1e0 and entry (0, 1) is 2e0")
    );
    // Only below, then met by a later entry, or by none.
    let at = case([[4.0, 1.0, 1.0], [0.0, 4.0, 0.0], [1.0, 0.0, 4.0]]);
    assert_eq!(at, not(1, 0, 1.0, 0.0));
    let at = case([[4.0, 1.0, 3.0], [1.0, 4.0, 0.0], [0.0, 0.0, 4.0]]);
    assert_eq!(at, not(2, 0, 3.0, 0.0));
    // Only above.
    let at = case([[4.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 3.0, 4.0]]);
    assert_eq!(at, not(2, 1, 0.0, 3.0));
    let nan = case([[4.0, 1.0, 0.0], [f64::NAN, 4.0, 0.0], [0.0, 0.0, 4.0]]);
    assert!(matches!(nan, InteropError::NotSymmetric { .. }));
}

#[test]
fn rounding_is_forgiven() {
    let a = from_dense([[4.0, 1.0, 1e-17], [1.0 + 1e-15, 4.0, 0.0], [0.0, 0.0, 4.0]]).unwrap();
    assert_eq!(a.column(0).1, &[4.0, 1.0, 1e-17]);
    let nan = f64::NAN;
    assert!(from_dense([[4.0, nan], [nan, 4.0]]).is_ok());
}

#[test]
fn bad_shapes_and_indices_are_errors() {
    let empty: (&[i64], &[f64]) = (&[], &[]);
    assert_eq!(
        symmetric(2, 3, |_| empty).unwrap_err(),
        InteropError::NotSquare {
            rows: 2,
            columns: 3
        }
    );
    let structure = |rows: &'static [i64]| match symmetric(2, 2, |_| (rows, &[1.0, 1.0][..])) {
        Err(InteropError::Structure(e)) => e,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        structure(&[1, 0]),
        StructureError::NotSorted { column: 0, row: 0 }
    );
    assert_eq!(
        structure(&[1, 1]),
        StructureError::NotSorted { column: 0, row: 1 }
    );
    let out = |row| StructureError::RowOutOfRange {
        column: 0,
        row,
        n: 2,
    };
    assert_eq!(structure(&[0, 2]), out(2));
    assert_eq!(structure(&[-3, 1]), out(-1));
    let too_large = symmetric(1 << 40, 1 << 40, |_| empty).unwrap_err();
    assert!(matches!(
        too_large,
        InteropError::Structure(StructureError::OrderTooLarge { .. })
    ));
}

#[test]
fn storage_that_says_something_else_each_time_makes_no_wrong_pattern() {
    let told = [[0u32, 1, 2], [0, 1, 2], [0, 1, 2]];
    let lies = [[0u32, 300_000_000, 2], [2, 1, 1], [0, 1, 2]];
    let values = [4.0, 0.0, 0.0];
    for upper in [false, true] {
        for honest in 0..12 {
            let looks = std::cell::Cell::new(0);
            let found = symmetric(3, 3, |j| {
                looks.set(looks.get() + 1);
                let rows = if looks.get() > honest {
                    &lies[j]
                } else {
                    &told[j]
                };
                let own = if upper { 0..=j } else { j..=2 };
                (&rows[own.clone()], &values[own])
            });
            if let Ok(a) = found {
                let p = a.pattern();
                assert_eq!(
                    Pattern::lower(3, p.col_ptr(), p.row_idx()).as_ref(),
                    Ok(&**p)
                );
            }
        }
    }
}
