//! Valid inputs of every format, and their broken forms.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use tamarack_sparse::io::{MatrixFormat, write_matrix_to};
use tamarack_sparse::{Duplicates, Triplets};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::mutate::{Rng, bytes, splice, text};

/// An input of a format, broken a few times (sometimes not at all).
pub fn broken(format: &str, rng: &mut Rng) -> Vec<u8> {
    match format {
        "npz" => {
            let archive = npz(rng);
            if rng.one_in(3) {
                bytes(rng, &archive)
            } else {
                archive
            }
        }
        "gz" => {
            let plain = if rng.one_in(3) { rb(rng) } else { mtx(rng) };
            let plain = if rng.one_in(2) {
                text(rng, &plain)
            } else {
                plain
            };
            let mut packed = gzip(&plain);
            if rng.one_in(4) {
                packed.extend(gzip(b"1 1 1\n"));
            }
            if rng.one_in(2) {
                bytes(rng, &packed)
            } else {
                packed
            }
        }
        _ => {
            let valid = |rng: &mut Rng| match format {
                "array" => vectors(rng),
                "rb" => rb(rng),
                "perm" => permutation(rng),
                _ => mtx(rng),
            };
            let mut input = valid(rng);
            for _ in 0..rng.below(4) {
                input = text(rng, &input);
            }
            match rng.below(12) {
                0 => {
                    let other = valid(rng);
                    splice(rng, &input, &other)
                }
                1 => bytes(rng, &input),
                _ => input,
            }
        }
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(plain)
        .and_then(|()| packed.finish())
        .unwrap_or_default()
}

fn value(rng: &mut Rng) -> f64 {
    match rng.below(4) {
        0 => rng.below(10) as f64 - 4.0,
        1 => f64::from_bits(rng.next() >> 2),
        _ => rng.next() as f64 / 1e18 - 9.0,
    }
}

/// Entries of a small matrix: lower triangle, from 0, in any order.
fn entries(rng: &mut Rng) -> (usize, Vec<(usize, usize, f64)>) {
    let n = rng.below(12);
    let mut entries: Vec<_> = (0..n).map(|j| (j, j, value(rng))).collect();
    for _ in 0..rng.below(3 * n + 1) {
        let (i, j) = (rng.below(n), rng.below(n));
        entries.push((i.max(j), i.min(j), value(rng)));
    }
    if rng.one_in(2) {
        entries.sort_by_key(|e| (e.1, e.0));
        entries.dedup_by_key(|e| (e.1, e.0));
    }
    (n, entries)
}

fn mtx(rng: &mut Rng) -> Vec<u8> {
    let (n, entries) = entries(rng);
    let general = rng.one_in(3);
    let mut body = String::new();
    let mut count = 0;
    for &(i, j, v) in &entries {
        let _ = writeln!(body, "{} {} {v:e}", i + 1, j + 1);
        count += 1;
        if general && i != j {
            let _ = writeln!(body, "{} {} {v:?}", j + 1, i + 1);
            count += 1;
        }
    }
    let symmetry = if general { "general" } else { "symmetric" };
    let comment = ["", "% a comment\n", "%\n\n%\n"][rng.below(3)];
    format!("%%MatrixMarket matrix coordinate real {symmetry}\n{comment}{n} {n} {count}\n{body}")
        .into_bytes()
}

fn rb(rng: &mut Rng) -> Vec<u8> {
    let (n, entries) = entries(rng);
    let mut triplets = Triplets::new(n).unwrap_or_else(|e| panic!("{e}"));
    for (i, j, v) in entries {
        let _ = triplets.push(i as u32, j as u32, v);
    }
    let mut out = Vec::new();
    if let Ok(a) = triplets.into_symmetric(Duplicates::Sum) {
        let _ = write_matrix_to(&mut out, &a, MatrixFormat::RutherfordBoeing);
    }
    if rng.one_in(3) {
        out = include_bytes!("../../src/io/tests/example.hb").to_vec();
    }
    out
}

fn vectors(rng: &mut Rng) -> Vec<u8> {
    let (n, ncols) = (rng.below(8), 1 + rng.below(3));
    let mut out = String::new();
    match rng.below(4) {
        0 => {
            let _ = writeln!(out, "%%MatrixMarket matrix coordinate real general");
            let _ = writeln!(out, "{n} {ncols} {n}");
            for i in 1..=n {
                let _ = writeln!(out, "{i} {} {:e}", 1 + rng.below(ncols), value(rng));
            }
        }
        1 => {
            for _ in 0..n {
                let row: Vec<_> = (0..ncols).map(|_| format!("{:e}", value(rng))).collect();
                let _ = writeln!(out, "{}", row.join(" "));
            }
        }
        2 => {
            let data: Vec<u8> = (0..n * ncols)
                .flat_map(|_| value(rng).to_le_bytes())
                .collect();
            return npy(rng, "<f8", &format!("({n}, {ncols})"), &data);
        }
        _ => {
            let _ = writeln!(out, "%%MatrixMarket matrix array real general\n{n} {ncols}");
            for _ in 0..n * ncols {
                let _ = writeln!(out, "{:e}", value(rng));
            }
        }
    }
    out.into_bytes()
}

fn permutation(rng: &mut Rng) -> Vec<u8> {
    let mut order: Vec<usize> = (0..40).collect();
    for k in (1..40).rev() {
        order.swap(k, rng.below(k + 1));
    }
    let base = rng.below(2);
    let mut out = String::new();
    if rng.one_in(2) {
        out.push_str("%%MatrixMarket matrix array integer general\n40 1\n");
    }
    for i in order {
        let _ = writeln!(out, "{}", i + base);
    }
    out.into_bytes()
}

/// A NumPy array; its header is sometimes broken.
fn npy(rng: &mut Rng, dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dtype = match rng.below(20) {
        0 => rng.pick(&[
            "|O",
            "<c16",
            "|b1",
            "<f2",
            ">f8",
            "<i8",
            "|S3",
            "<U3",
            "",
            "<f99999999",
        ]),
        _ => dtype,
    };
    let shape = match rng.below(20) {
        0 => rng.pick(&[
            "(1000000000000000000,)",
            "()",
            "(-1,)",
            "(2, 2)",
            "(0,)",
            "(",
            "(3.5,)",
        ]),
        _ => shape,
    };
    let fortran = if rng.one_in(9) { "True" } else { "False" };
    let head = format!("{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((head.len() as u16).to_le_bytes());
    out.extend(head.as_bytes());
    out.extend(data);
    if rng.one_in(15) {
        bytes(rng, &out)
    } else {
        out
    }
}

fn npz(rng: &mut Rng) -> Vec<u8> {
    let (n, mut entries) = entries(rng);
    if rng.one_in(2) {
        let mirrored = entries.iter().filter(|e| e.0 != e.1);
        let mirrored: Vec<_> = mirrored.map(|e| (e.1, e.0, e.2)).collect();
        entries.extend(mirrored);
    }
    entries.sort_by_key(|e| (e.1, e.0));
    let mut indptr = vec![0i64; n + 1];
    entries.iter().for_each(|e| indptr[e.1 + 1] += 1);
    (0..n).for_each(|j| indptr[j + 1] += indptr[j]);
    if rng.one_in(10) {
        let k = rng.below(n + 1);
        indptr[k] = [-1, 7, i64::MAX, 0][rng.below(4)];
    }
    let odd = if rng.one_in(10) { rng.next() as i32 } else { 0 };
    let wide = rng.one_in(2);
    let index = |x: i64| -> Vec<u8> {
        if wide {
            x.to_le_bytes().to_vec()
        } else {
            (x as i32).to_le_bytes().to_vec()
        }
    };
    let kind = if wide { "<i8" } else { "<i4" };
    let indptr: Vec<u8> = indptr.iter().flat_map(|&x| index(x)).collect();
    let indices: Vec<u8> = entries
        .iter()
        .flat_map(|e| index(e.0 as i64 ^ i64::from(odd)))
        .collect();
    let data: Vec<u8> = entries.iter().flat_map(|e| e.2.to_le_bytes()).collect();
    let rows = if rng.one_in(20) { i64::MAX } else { n as i64 };
    let shape = [rows.to_le_bytes(), rows.to_le_bytes()].concat();
    let format = rng.pick(&["csc", "csr", "csc", "csr", "csc", "csr", "coo"]);
    let members = [
        (
            "indices.npy",
            npy(rng, kind, &format!("({},)", entries.len()), &indices),
        ),
        (
            "indptr.npy",
            npy(rng, kind, &format!("({},)", n + 1), &indptr),
        ),
        ("format.npy", npy(rng, "|S3", "()", format.as_bytes())),
        ("shape.npy", npy(rng, "<i8", "(2,)", &shape)),
        (
            "data.npy",
            npy(rng, "<f8", &format!("({},)", entries.len()), &data),
        ),
    ];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let method = if rng.one_in(2) {
        zip::CompressionMethod::Stored
    } else {
        zip::CompressionMethod::Deflated
    };
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, data) in members {
        if !rng.one_in(60) {
            let _ = zip.start_file(name, options.large_file(rng.one_in(2)));
            let _ = zip.write_all(&data);
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}
