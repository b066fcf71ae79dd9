//! The matrices of `data/` are what its table says.

use std::path::{Path, PathBuf};

use tamarack_sparse::io::{ReadOptions, read_matrix, read_vectors};
use tamarack_testkit::{dense_cholesky, dense_full};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data")
}

/// `(file, n, nnz)` of the rows of the table.
fn table() -> Vec<(String, usize, u64)> {
    let text = std::fs::read_to_string(data().join("README.md")).unwrap();
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let file = cells[1].trim_matches('`').to_string();
            (file, cells[2].parse().unwrap(), cells[3].parse().unwrap())
        })
        .collect()
}

#[test]
fn every_matrix_has_the_order_and_the_entries_of_the_table() {
    let table = table();
    assert_eq!(table.len(), 10);
    for (file, n, nnz) in table {
        let a = read_matrix(data().join(&file), &ReadOptions::default()).unwrap();
        assert_eq!((a.n(), a.pattern().nnz_full()), (n, nnz), "{file}");
        if n < 1000 && !file.starts_with("not_spd") {
            assert_eq!(dense_cholesky(n, &mut dense_full(&a)), Ok(()), "{file}");
        }
    }
}

#[test]
fn those_that_are_not_positive_definite_fail_where_the_text_says() {
    for (file, column) in [("negative_diagonal", 13), ("free_cube", 72)] {
        let path = data().join(format!("not_spd/{file}.mtx"));
        let a = read_matrix(path, &ReadOptions::default()).unwrap();
        let failed = dense_cholesky(a.n(), &mut dense_full(&a));
        assert_eq!(failed, Err(column - 1), "{file}");
    }
}

#[test]
fn the_right_hand_sides_fit_their_matrix() {
    let b = read_vectors(data().join("nos1_b.mtx")).unwrap();
    let column = b.column(0);
    assert_eq!((column.len(), column.iter().sum::<f64>()), (237, 1.0));
    assert!(b.column(1).iter().all(|v| *v == 0.01));
}
