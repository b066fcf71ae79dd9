//! Matrices that tests know by name.

use tamarack_sparse::models::Model;
use tamarack_sparse::{Duplicates, SymmetricCsc, Triplets};

/// A model problem by its name.
pub fn model(name: &str) -> SymmetricCsc<f64> {
    let model: Model = name.parse().expect("the name of a model");
    model.generate().expect("a small model")
}

/// The Hilbert matrix `1 / (i + j + 1)`: its condition number is 3.5e13 for order 10, and in single precision it has no positive
/// pivot from order 8 or so.
pub fn hilbert(n: u32) -> SymmetricCsc<f64> {
    let mut entries = Vec::new();
    for j in 0..n {
        entries.extend((j..n).map(|i| (i, j, 1.0 / f64::from(i + j + 1))));
    }
    sum(n, entries)
}

/// Springs in a row, every third one `stiff`, the others 1, held at one end: condition about `stiff·n²`.
pub fn chain(n: u32, stiff: f64) -> SymmetricCsc<f64> {
    let mut entries = Vec::new();
    for i in 0..n {
        let spring = if i % 3 == 0 { stiff } else { 1.0 };
        entries.push((i, i, spring));
        if i > 0 {
            entries.extend([(i - 1, i - 1, spring), (i, i - 1, -spring)]);
        }
    }
    sum(n, entries)
}

fn sum(n: u32, entries: Vec<(u32, u32, f64)>) -> SymmetricCsc<f64> {
    let mut t = Triplets::new(n as usize).expect("a small order");
    for (i, j, v) in entries {
        t.push(i, j, v).expect("indices below n");
    }
    t.into_symmetric(Duplicates::Sum).expect("finite entries")
}
