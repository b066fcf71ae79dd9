use super::super::{Csr, Format, SparseMatrix};
use super::{Owned, awkward_lowers, grid_lower, random, short_lower};
use crate::primitives::{MatrixView, MatrixViewMut, Real};
use crate::testing;

const FULL: [Format; 7] = [
    Format::Coo,
    Format::CsrRows,
    Format::CsrMerge,
    Format::ByColumn,
    Format::Ell,
    Format::Hybrid,
    Format::SlicedEll,
];

const LOWER: [Format; 2] = [Format::SymmetricLower, Format::SymmetricEll];

/// `A x` and `|A| |x|`, by the full matrix or by its lower half.
fn product(a: &Owned, x: &[f64], lower: bool) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut size) = (vec![0.0; a.rows()], vec![0.0; a.rows()]);
    for i in 0..a.rows() {
        for (j, v) in a.row(i) {
            y[i] += v * x[j];
            size[i] += (v * x[j]).abs();
            if lower && i != j {
                y[j] += v * x[i];
                size[j] += (v * x[i]).abs();
            }
        }
    }
    (y, size)
}

fn vector(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.37 + seed).sin()).collect()
}

fn check<T: Real>(a: &Owned, format: Format) {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let narrow = |v: &[f64]| -> Vec<T> { v.iter().map(|&x| T::from_f64(x)).collect() };
    let wide = |v: &[T]| -> Vec<f64> { v.iter().map(|x| x.to_f64()).collect() };
    let values = narrow(&a.values);
    let csr = Csr::new(a.columns, &a.starts, &a.indices, &values).unwrap();
    let matrix = SparseMatrix::with_format(gpu, &stream, &csr, format).unwrap();
    let rounded = Owned {
        columns: a.columns,
        starts: a.starts.clone(),
        indices: a.indices.clone(),
        values: wide(&values),
    };
    let x = narrow(&vector(a.columns as usize, 0.3));
    let b = narrow(&vector(a.rows(), 0.9));
    let (want, size) = product(&rounded, &wide(&x), LOWER.contains(&format));
    let (dx, db) = (
        stream.to_device(gpu, &x).unwrap(),
        stream.to_device(gpu, &b).unwrap(),
    );
    let mut y = gpu.alloc::<T>(a.rows()).unwrap();
    stream.fill_bytes(&mut y, 0xFF).unwrap();
    let unit = if size_of::<T>() == 8 { 2e-16 } else { 1.2e-7 };
    let agree = |y: &[T], want: &dyn Fn(usize) -> f64, what: &str| {
        for (i, got) in y.iter().enumerate() {
            let bound = unit * (60.0 * size[i] + 4.0);
            let error = (got.to_f64() - want(i)).abs();
            assert!(
                error <= bound,
                "{format:?} {what}, row {i} of {}: off by {error}",
                a.rows()
            );
        }
    };
    matrix.multiply(&stream, &dx, &mut y).unwrap();
    let first = stream.to_host(&y).unwrap();
    agree(&first, &|i| want[i], "multiply");
    matrix.residual(&stream, &db, &dx, &mut y).unwrap();
    agree(
        &stream.to_host(&y).unwrap(),
        &|i| b[i].to_f64() - want[i],
        "residual",
    );
    stream.copy(&db, &mut y).unwrap();
    matrix.update(&stream, 2.0, &dx, -0.5, &mut y).unwrap();
    agree(
        &stream.to_host(&y).unwrap(),
        &|i| 2.0 * want[i] - 0.5 * b[i].to_f64(),
        "update",
    );
    for _ in 0..3 {
        stream.fill_bytes(&mut y, 0xFF).unwrap();
        matrix.multiply(&stream, &dx, &mut y).unwrap();
        let again = stream.to_host(&y).unwrap();
        let same = first
            .iter()
            .zip(&again)
            .all(|(a, b)| a.to_f64().to_bits() == b.to_f64().to_bits());
        assert!(same, "{format:?}: bits differ");
    }
    assert!(
        matrix
            .multiply(
                &stream,
                &dx,
                gpu.alloc::<T>(a.rows() + 1).unwrap().view_mut()
            )
            .is_err()
    );
}

/// Sizes around a block of rows, a tile of entries, and odd shapes.
fn matrices() -> Vec<Owned> {
    let mut all = vec![
        Owned::from_rows(3, vec![]),
        Owned::from_rows(5, vec![vec![]; 7]),
        Owned::from_rows(1, vec![vec![0]]),
        // One row of everything, and one column of everything.
        Owned::from_rows(20_011, vec![(0..20_011).collect()]),
        Owned::from_rows(1, vec![vec![0]; 1793]),
        random(10_007, 331, 7, 300, 3),
        random(1009, 10_007, 60, 5000, 4),
        // Rows that end exactly with a tile, and long empty runs.
        Owned::from_rows(
            2000,
            vec![
                (0..1792).collect(),
                vec![],
                (0..1791).collect(),
                (0..2000).collect(),
            ],
        ),
        Owned::from_rows(
            9,
            (0..9000)
                .map(|i| if i % 3000 == 0 { vec![1, 8] } else { vec![] })
                .collect(),
        ),
    ];
    for rows in [31, 32, 33, 255, 256, 257, 1791, 1792, 1793] {
        all.push(random(rows, rows, 9, 40, u64::from(rows)));
    }
    all
}

#[test]
fn every_format_agrees_with_the_host() {
    if testing::gpu().is_none() {
        return;
    }
    for a in matrices() {
        for format in FULL {
            check::<f64>(&a, format);
            check::<f32>(&a, format);
        }
    }
}

#[test]
fn the_lower_half_multiplies_as_the_whole() {
    if testing::gpu().is_none() {
        return;
    }
    for a in awkward_lowers() {
        for format in LOWER {
            check::<f64>(&a, format);
            check::<f32>(&a, format);
        }
    }
}

#[test]
fn symmetric_matrices_choose_and_agree() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    for a in [grid_lower(12), grid_lower(50), short_lower(50)] {
        let matrix = SparseMatrix::symmetric(gpu, &stream, &a.csr()).unwrap();
        let x = vector(a.rows(), 0.1);
        let (want, size) = product(&a, &x, true);
        let dx = stream.to_device(gpu, &x).unwrap();
        let mut y = gpu.alloc::<f64>(a.rows()).unwrap();
        stream.fill_bytes(&mut y, 0xFF).unwrap();
        matrix.multiply(&stream, &dx, &mut y).unwrap();
        for (i, got) in stream.to_host(&y).unwrap().iter().enumerate() {
            assert!(
                (got - want[i]).abs() <= 1e-14 * size[i],
                "{:?}",
                matrix.format()
            );
        }
    }
    let full = random(40, 40, 9, 9, 5);
    assert!(SparseMatrix::symmetric(gpu, &stream, &full.csr()).is_err());
}

#[test]
fn several_vectors_at_once() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    for a in [
        random(1009, 503, 3, 3, 6),
        random(700, 800, 20, 20, 7),
        random(300, 900, 200, 200, 8),
    ] {
        for format in [Format::CsrRows, Format::SlicedEll, Format::CsrMerge] {
            let matrix = SparseMatrix::with_format(gpu, &stream, &a.csr(), format).unwrap();
            for vectors in [1_u32, 3, 4, 5, 8, 17] {
                let (ldx, ldy) = (a.columns as usize + 3, a.rows() + 1);
                let x = vector(ldx * vectors as usize, 0.2);
                let dx = stream.to_device(gpu, &x).unwrap();
                let mut y = gpu.alloc::<f64>(ldy * vectors as usize).unwrap();
                stream.fill_bytes(&mut y, 0xFF).unwrap();
                let view = MatrixView::new(&dx, a.columns, vectors, ldx).unwrap();
                let target = MatrixViewMut::new(&mut y, a.rows() as u32, vectors, ldy).unwrap();
                matrix.multiply_many(&stream, view, target).unwrap();
                let y = stream.to_host(&y).unwrap();
                for v in 0..vectors as usize {
                    let (want, size) =
                        product(&a, &x[v * ldx..v * ldx + a.columns as usize], false);
                    for i in 0..a.rows() {
                        let error = (y[v * ldy + i] - want[i]).abs();
                        assert!(error <= 1e-14 * size[i], "{format:?}, vector {v}, row {i}");
                    }
                    assert!(y[v * ldy + a.rows()].is_nan(), "wrote into a gap");
                }
            }
        }
    }
}

#[test]
fn nan_and_infinity_reach_exactly_the_rows_that_touch_them() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let full = random(2003, 2003, 9, 100, 9);
    let lower = grid_lower(13);
    let cases = FULL
        .map(|f| (f, &full))
        .into_iter()
        .chain(LOWER.map(|f| (f, &lower)));
    for (format, a) in cases {
        let matrix = SparseMatrix::with_format(gpu, &stream, &a.csr(), format).unwrap();
        let mut x = vector(a.rows(), 0.5);
        x[77] = f64::NAN;
        x[1500] = f64::INFINITY;
        let symmetric = LOWER.contains(&format);
        let (want, _) = product(a, &x, symmetric);
        let dx = stream.to_device(gpu, &x).unwrap();
        let mut y = gpu.alloc::<f64>(a.rows()).unwrap();
        stream.fill_bytes(&mut y, 0xFF).unwrap();
        matrix.multiply(&stream, &dx, &mut y).unwrap();
        for (i, got) in stream.to_host(&y).unwrap().iter().enumerate() {
            let right =
                got.is_nan() == want[i].is_nan() && got.is_infinite() == want[i].is_infinite();
            assert!(right, "{format:?}, row {i}: {got} for {}", want[i]);
        }
    }
}

#[test]
fn bits_repeat_over_a_hundred_runs() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let full = random(30_011, 30_011, 12, 4000, 10);
    let lower = grid_lower(31);
    let cases = FULL
        .map(|f| (f, &full))
        .into_iter()
        .chain(LOWER.map(|f| (f, &lower)));
    for (format, a) in cases {
        // Padding to the longest row would take 120 million entries.
        if format == Format::Ell {
            continue;
        }
        let matrix = SparseMatrix::with_format(gpu, &stream, &a.csr(), format).unwrap();
        let dx = stream.to_device(gpu, &vector(a.rows(), 0.7)).unwrap();
        let mut y = gpu.alloc::<f64>(a.rows()).unwrap();
        let mut first: Option<Vec<u64>> = None;
        for _ in 0..100 {
            stream.fill_bytes(&mut y, 0xFF).unwrap();
            matrix.multiply(&stream, &dx, &mut y).unwrap();
            let bits: Vec<u64> = stream
                .to_host(&y)
                .unwrap()
                .iter()
                .map(|v| v.to_bits())
                .collect();
            let first = first.get_or_insert_with(|| bits.clone());
            assert!(*first == bits, "{format:?}");
        }
    }
}
