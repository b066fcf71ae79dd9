//! Reading speed on plain text, warm page cache, by one thread and by all: `cargo bench --bench read -- [MB]`.
//!
//! Two Matrix Market files are made in the temporary folder: a 5-point Laplacian (small integers)
//! and a stiffness-like matrix (27 entries a column, 17 digits); the second also with its lines in
//! random order. Reported: median and best of five reads, in MB/s of file size, matrix built.

use std::fs::{self, File};
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tamarack_sparse::io::{ReadOptions, read_matrix};

/// A number that looks like a stiffness: 17 digits, some powers of ten apart.
fn value(seed: u64) -> f64 {
    let z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let unit = (z >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    unit * [1e3, 1e5, 1e8, 1e-2][(z % 4) as usize]
}

fn laplacian(path: &Path, megabytes: usize) -> Result<()> {
    let side = ((megabytes * 1_000_000 / 50) as f64).sqrt() as usize;
    let (n, entries) = (side * side, 3 * side * side - 2 * side);
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(
        out,
        "%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {entries}"
    )?;
    for j in 0..n {
        writeln!(out, "{} {} 4", j + 1, j + 1)?;
        if (j + 1) % side != 0 {
            writeln!(out, "{} {} -1", j + 2, j + 1)?;
        }
        if j + side < n {
            writeln!(out, "{} {} -1", j + side + 1, j + 1)?;
        }
    }
    out.flush()
}

fn stiffness(path: &Path, megabytes: usize, shuffled: bool) -> Result<()> {
    let n = megabytes * 1_000_000 / (38 * 27);
    let mut entries: Vec<(usize, usize)> = (0..n)
        .flat_map(|j| (0..27).map(move |k| (j + k * (1 + k * n / 8000), j)))
        .collect();
    entries.retain(|e| e.0 < n);
    if shuffled {
        for k in (1..entries.len()).rev() {
            let z = (k as u64 + 1).wrapping_mul(0xD134_2543_DE82_EF95) >> 17;
            entries.swap(k, (z % (k as u64 + 1)) as usize);
        }
    }
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(
        out,
        "%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}",
        entries.len()
    )?;
    for (k, (i, j)) in entries.iter().enumerate() {
        writeln!(out, "{} {} {:.16e}", i + 1, j + 1, value(k as u64))?;
    }
    out.flush()
}

fn time(name: &str, path: PathBuf) {
    let megabytes = fs::metadata(&path).map_or(0, |m| m.len()) as f64 / 1e6;
    let mut rates = [Some(1), None].map(|threads| (threads, Vec::new()));
    for _ in 0..5 {
        for (threads, rates) in &mut rates {
            let options = ReadOptions {
                threads: *threads,
                ..ReadOptions::default()
            };
            let start = Instant::now();
            let a = read_matrix(&path, &options).unwrap_or_else(|e| panic!("{e}"));
            let seconds = start.elapsed().as_secs_f64();
            std::hint::black_box(a);
            rates.push(megabytes / seconds);
        }
    }
    print!("{name:<24} {megabytes:6.1} MB");
    for (threads, mut rates) in rates {
        rates.sort_by(f64::total_cmp);
        let by = if threads == Some(1) {
            "one thread"
        } else {
            "all"
        };
        print!("  {by} {:7.1} MB/s best {:7.1}", rates[2], rates[4]);
    }
    println!();
    let _ = fs::remove_file(path);
}

fn main() -> Result<()> {
    let args = std::env::args().skip(1);
    let megabytes = args.filter_map(|a| a.parse().ok()).next().unwrap_or(200);
    let file = |name| std::env::temp_dir().join(format!("tamarack-{}-{name}", std::process::id()));
    laplacian(&file("laplacian.mtx"), megabytes)?;
    time("5-point Laplacian", file("laplacian.mtx"));
    stiffness(&file("stiffness.mtx"), megabytes, false)?;
    time("stiffness, 17 digits", file("stiffness.mtx"));
    stiffness(&file("shuffled.mtx"), megabytes, true)?;
    time("the same, shuffled", file("shuffled.mtx"));
    Ok(())
}
