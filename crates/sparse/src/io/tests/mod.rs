//! Tests of the readers and writers: right files, wrong files, and files that come back.

mod archives;
mod faults;
mod fixed_width;
mod matrix_market;
mod round_trip;
mod vectors;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Reads a matrix from text; by several threads it is the same matrix or the same error.
fn read(name: &str, text: &[u8]) -> Result<SymmetricCsc<f64>, IoError> {
    let by = |threads| {
        let options = ReadOptions {
            threads: Some(threads),
            ..Default::default()
        };
        read_matrix_from(text, name, &options)
    };
    let (alone, together) = (by(1), by(3));
    match (&alone, &together) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        _ => panic!("by one thread {alone:?}, by three {together:?}"),
    }
    alone
}

/// The message of an input that must be refused.
fn refusal(name: &str, text: &[u8]) -> String {
    match read(name, text) {
        Ok(_) => format!("accepted: {}", text.escape_ascii()),
        Err(e) => e.to_string(),
    }
}

/// Column offsets, rows and values.
fn parts(a: &SymmetricCsc<f64>) -> (&[u64], &[u32], &[f64]) {
    (a.pattern().col_ptr(), a.pattern().row_idx(), a.values())
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(plain).unwrap();
    packed.finish().unwrap()
}
