use std::io::Cursor;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;

/// A NumPy array.
fn npy(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let head = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((head.len() as u16).to_le_bytes());
    out.extend(head.as_bytes());
    out.extend(data);
    out
}

/// The members of an archive, in the order of `NAMES`.
type Members = [Vec<u8>; 5];
const NAMES: [&str; 5] = ["format", "shape", "indptr", "indices", "data"];

fn members(format: &str, n: i64, indptr: &[i32], indices: &[i32], data: &[f64]) -> Members {
    let bytes = |x: &[i32]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let shape = [n.to_le_bytes(), n.to_le_bytes()].concat();
    let values: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    let length = |x: usize| format!("({x},)");
    [
        npy("|S3", "()", format.as_bytes()),
        npy("<i8", "(2,)", &shape),
        npy("<i4", &length(indptr.len()), &bytes(indptr)),
        npy("<i4", &length(indices.len()), &bytes(indices)),
        npy("<f8", &length(data.len()), &values),
    ]
}

fn archive(members: &Members, method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, data) in NAMES
        .iter()
        .zip(members)
        .filter(|(_, data)| !data.is_empty())
    {
        zip.start_file(format!("{name}.npy"), options.large_file(true))
            .unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn stored(members: &Members) -> Vec<u8> {
    archive(members, CompressionMethod::Stored)
}

fn lower() -> Members {
    members(
        "csc",
        3,
        &[0, 2, 4, 5],
        &[0, 1, 1, 2, 2],
        &[4.0, -1.0, 4.0, -1.0, 4.0],
    )
}

#[test]
fn one_triangle_or_both_by_columns_or_rows() {
    let full: [&[i32]; 2] = [&[0, 2, 5, 7], &[0, 1, 0, 1, 2, 1, 2]];
    let values = [4.0, -1.0, -1.0, 4.0, -1.0, -1.0, 4.0];
    let unsorted: [&[i32]; 2] = [&[0, 2, 4, 5], &[1, 0, 2, 1, 2]];
    for (what, m) in [
        ("lower csc", lower()),
        (
            "upper csr",
            members(
                "csr",
                3,
                &[0, 2, 4, 5],
                &[0, 1, 1, 2, 2],
                &[4.0, -1.0, 4.0, -1.0, 4.0],
            ),
        ),
        (
            "lower csr",
            members(
                "csr",
                3,
                &[0, 1, 3, 5],
                &[0, 0, 1, 1, 2],
                &[4.0, -1.0, 4.0, -1.0, 4.0],
            ),
        ),
        ("full csc", members("csc", 3, full[0], full[1], &values)),
        ("full csr", members("csr", 3, full[0], full[1], &values)),
        (
            "unsorted",
            members(
                "csc",
                3,
                unsorted[0],
                unsorted[1],
                &[-1.0, 4.0, -1.0, 4.0, 4.0],
            ),
        ),
    ] {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let a = read("A.npz", &archive(&m, method)).unwrap();
            let expected: (&[u64], &[u32], &[f64]) = (
                &[0, 2, 4, 5],
                &[0, 1, 1, 2, 2],
                &[4.0, -1.0, 4.0, -1.0, 4.0],
            );
            assert_eq!(parts(&a), expected, "{what}");
        }
    }
    let mut single = lower();
    let data: Vec<u8> = [4f32, -1.0, 4.0, -1.0, 4.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    single[4] = npy("<f4", "(5,)", &data);
    let a = read("A.npz", &stored(&single)).unwrap();
    assert_eq!(a.values(), &[4.0, -1.0, 4.0, -1.0, 4.0]);
}

#[test]
fn an_archive_that_changes_meanwhile_is_an_error() {
    let diagonal = members("csc", 3, &[0, 1, 2, 3], &[0, 1, 2], &[4.0; 3]);
    let (first, other) = (stored(&lower()), stored(&diagonal));
    for (threads, [first, other]) in [
        (1, [&first, &other]),
        (2, [&first, &other]),
        (2, [&other, &first]),
    ] {
        let options = ReadOptions {
            threads: Some(threads),
            ..Default::default()
        };
        let readers = (Cursor::new(&first[..]), Cursor::new(&other[..]));
        let e = npz::read(readers, "A.npz", &options)
            .unwrap_err()
            .to_string();
        let known = e.contains("the last offset is") || e.contains("offset 2 is 4, outside 2..=3");
        assert!(known, "{e}");
    }
    // Where offsets are the same.
    let mut fewer = lower();
    fewer[3] = diagonal[3].clone();
    let (first, other) = (stored(&lower()), stored(&fewer));
    let readers = (Cursor::new(&first[..]), Cursor::new(&other[..]));
    let e = npz::read(readers, "A.npz", &ReadOptions::default()).unwrap_err();
    let changed =
        "member indices.npy of A.npz: 3 indices after 5: the file was changed while it was read";
    assert_eq!(e.to_string(), changed);
}

#[test]
fn wrong_arrays() {
    let five = [4.0, -1.0, 4.0, -1.0, 4.0];
    let wrong = |change: &dyn Fn(&mut Members)| {
        let mut m = lower();
        change(&mut m);
        refusal("A.npz", &stored(&m))
    };
    for (got, message) in [
        (
            wrong(&|m| m[0].clear()),
            "A.npz: no member format.npy: not written by scipy.sparse.save_npz",
        ),
        (
            wrong(&|m| m[0] = npy("|S3", "()", b"coo")),
            "A.npz: sparse format `coo`; save it with .tocsc() or .tocsr()",
        ),
        (
            wrong(&|m| {
                m[1] = npy(
                    "<i8",
                    "(2,)",
                    &[[3u8, 0, 0, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0, 0]].concat(),
                )
            }),
            "member shape.npy of A.npz: 3 rows and 4 columns: a symmetric matrix is square",
        ),
        (
            wrong(&|m| *m = members("csc", 1 << 60, &[0], &[], &[])),
            "member shape.npy of A.npz: order 1152921504606846976 is too large: at most \
             4294967294 unknowns are supported",
        ),
        (
            wrong(&|m| *m = members("csc", 1 << 30, &[0], &[], &[])),
            "member shape.npy of A.npz: order 1073741824 with 0 entries: at least 1073741824 \
             columns would be empty",
        ),
        (
            wrong(&|m| m[2] = npy("<i4", "(3,)", &[0; 12])),
            "member indptr.npy of A.npz: 3 offsets, where order 3 needs 4",
        ),
        (
            wrong(&|m| *m = members("csc", 3, &[0, 3, 2, 5], &[0, 1, 1, 2, 2], &five)),
            "member indptr.npy of A.npz: offset 2 is 2, outside 3..=5",
        ),
        (
            wrong(&|m| *m = members("csc", 3, &[0, 2, 4, 4], &[0, 1, 1, 2, 2], &five)),
            "member indptr.npy of A.npz: the last offset is 4, for 5 entries",
        ),
        (
            wrong(&|m| *m = members("csc", 3, &[0, 2, 4, 5], &[0, 1, -1, 2, 2], &five)),
            "member indices.npy of A.npz: index -1 of entry 2 is outside 0..3",
        ),
        (
            wrong(&|m| *m = members("csc", 3, &[0, 2, 4, 5], &[0, 1, 1, 2, 2], &five[1..])),
            "member data.npy of A.npz: 4 values, for 5 indices",
        ),
        (
            wrong(&|m| {
                *m = members(
                    "csc",
                    3,
                    &[0, 2, 4, 5],
                    &[0, 1, 1, 2, 2],
                    &[1.0, 2.0, f64::NAN, 0.0, 0.0],
                )
            }),
            "member data.npy of A.npz: value 2 is NaN, not finite",
        ),
        (
            wrong(&|m| m[4] = npy("|O", "(5,)", &[0; 40])),
            "member data.npy of A.npz: holds Python objects, where real or integer ones are \
             expected",
        ),
        (
            wrong(&|m| m[4] = npy("<c16", "(5,)", &[0; 80])),
            "member data.npy of A.npz: holds complex numbers, where real or integer ones are \
             expected",
        ),
        (
            wrong(&|m| *m = members("csc", 2, &[0, 2, 4], &[0, 1, 0, 1], &[1.0, 2.0, 3.0, 4.0])),
            "A.npz: not symmetric: entry (1, 0) is 2e0 and entry (0, 1) is 3e0",
        ),
        (
            wrong(&|m| {
                *m = members(
                    "csc",
                    3,
                    &[0, 2, 3, 4],
                    &[0, 1, 0, 1],
                    &[4.0, -1.0, -1.0, 2.0],
                )
            }),
            "A.npz: not symmetric: entry (1, 2) is stored and entry (2, 1) is not",
        ),
        (
            wrong(&|m| {
                *m = members(
                    "csr",
                    2,
                    &[0, 1, 4],
                    &[0, 0, 0, 1],
                    &[1.0, 9e307, 9e307, 1.0],
                )
            }),
            "A.npz: the duplicates of entry (1, 0) overflow",
        ),
    ] {
        assert_eq!(got, message);
    }
    let promised = wrong(&|m| {
        m[3] = npy("<i4", "(1000000000000000000,)", &[0; 4]);
    });
    assert!(promised.starts_with("member indptr.npy of A.npz: the last offset is 5, for 10000"));
    let cut = stored(&lower());
    let message = refusal("A.npz", &cut[..cut.len() / 2]);
    assert!(
        message.starts_with("A.npz: not a readable zip archive ("),
        "{message}"
    );
}
