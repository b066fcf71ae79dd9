//! `order_pattern MATRIX METHOD OUT`: orders a matrix file, or `model:NAME`.
//!
//! Writes the elimination order to `OUT.perm` (`i32`) and the pattern to `OUT.bin` (`i64` n and nnz,
//! `i64` column offsets, `i32` rows; lower triangle with diagonal), both native endian, and prints
//! the best time of several runs in seconds. The driver in `benches/peers/amd` uses it.

use std::error::Error;
use std::time::Instant;

use tamarack_ordering::{Method, Workspace, order};
use tamarack_sparse::io::{ReadOptions, read_matrix};
use tamarack_sparse::models::Model;
use tamarack_sparse::{Pattern, SymmetricCsc};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, input, method, output] = &args[..] else {
        return Err("usage: order_pattern MATRIX METHOD OUT".into());
    };
    let matrix: SymmetricCsc<f64> = match input.strip_prefix("model:") {
        Some(name) => name.parse::<Model>()?.generate()?,
        None => read_matrix(input, &ReadOptions::default())?,
    };
    let pattern = matrix.pattern();
    let method: Method = method.parse()?;
    let mut ws = Workspace::new();
    let (mut best, mut total) = (f64::INFINITY, 0.0);
    let mut runs = 0;
    let permutation = loop {
        let start = Instant::now();
        let permutation = order(pattern, &method, &mut ws)?;
        let secs = start.elapsed().as_secs_f64();
        (best, total, runs) = (best.min(secs), total + secs, runs + 1);
        if runs >= 15 || total > 3.0 {
            break permutation;
        }
    };
    let order = permutation.user_of_elim().iter();
    let bytes: Vec<u8> = order.flat_map(|i| i.to_ne_bytes()).collect();
    std::fs::write(format!("{output}.perm"), bytes)?;
    std::fs::write(format!("{output}.bin"), pattern_bytes(pattern))?;
    println!("{best:.6}");
    Ok(())
}

fn pattern_bytes(pattern: &Pattern) -> Vec<u8> {
    let head = [pattern.n() as u64, pattern.nnz_lower()];
    let words = head.iter().chain(pattern.col_ptr());
    let rows = pattern.row_idx().iter().flat_map(|r| r.to_ne_bytes());
    words.flat_map(|w| w.to_ne_bytes()).chain(rows).collect()
}
