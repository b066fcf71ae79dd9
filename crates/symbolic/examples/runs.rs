//! How long the runs are in which rows of a child stand in its parent, with and without sorted columns:
//!
//! ```sh
//! cargo run --release -p tamarack-symbolic --example runs -- p3d7_80 order.mtx   # model, its order (default: the user's)
//! ```

use tamarack_sparse::models::Model;
use tamarack_sparse::{Permutation, io};
use tamarack_symbolic::{SymbolicFactor, SymbolicOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model: Model = args.next().as_deref().unwrap_or("p2d5_100").parse()?;
    let a = model.generate::<f64>()?;
    let order = match args.next() {
        Some(file) => io::read_permutation(&file, a.n())?,
        None => Permutation::from_elimination_order(&(0..a.n() as u32).collect::<Vec<_>>())?,
    };
    for sorted_columns in [false, true] {
        let options = SymbolicOptions {
            sorted_columns,
            ..SymbolicOptions::default()
        };
        let factor = SymbolicFactor::analyze(a.pattern(), &order, &options)?;
        let (numbers, pieces) = (0..factor.supernodes())
            .map(|s| added(factor.relative(s)))
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        println!(
            "sorted {sorted_columns:5}: {:.1} million numbers in runs of {:.1}",
            numbers as f64 / 1e6,
            numbers as f64 / pieces.max(1) as f64
        );
    }
    Ok(())
}

/// Numbers of an update matrix, a lower triangle, and pieces of runs in its columns.
fn added(relative: &[u32]) -> (usize, usize) {
    let (mut numbers, mut pieces, mut from) = (0, 0, 0);
    for run in relative.chunk_by(|a, b| a + 1 == *b) {
        numbers += from * run.len() + run.len() * (run.len() + 1) / 2;
        pieces += from + run.len();
        from += run.len();
    }
    (numbers, pieces)
}
