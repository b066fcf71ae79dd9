use super::*;
use crate::ElimIdx;

fn vectors(text: &str) -> Result<DenseColumns, String> {
    read_vectors_from(text.as_bytes(), "b.mtx").map_err(|e| e.to_string())
}

fn columns(n: usize, ncols: usize, values: &[f64]) -> Result<DenseColumns, String> {
    Ok(DenseColumns {
        n,
        ncols,
        values: values.to_vec(),
    })
}

const ARRAY: &str = "%%MatrixMarket matrix array real general\n";
const COORDINATE: &str = "%%MatrixMarket matrix coordinate real general\n";

/// A NumPy array of items in row-major order.
fn npy<const N: usize>(dtype: &str, shape: &str, items: &[[u8; N]]) -> Vec<u8> {
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    let head = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    npy.extend((head.len() as u16).to_le_bytes());
    npy.extend(head.as_bytes());
    npy.extend(items.as_flattened());
    npy
}

#[test]
fn all_forms() {
    let two = columns(3, 2, &[1.0, 2.0, 3.0, -4.0, 0.0, 0.5]);
    assert_eq!(
        vectors(&format!("{ARRAY}% c\n3 2\n1\n2\n\n3\n-4\n0d0\n.5")),
        two
    );
    assert_eq!(
        vectors(&format!(
            "{COORDINATE}3 2 5\n1 1 1\n2 1 2\n3 1 3\n3 2 .5\n1 2 -4\n"
        )),
        two
    );
    assert_eq!(vectors("# a table\n1 -4\n2\t0\r\n 3 0.5"), two);
    let values = [1.0f64, -4.0, 2.0, 0.0, 3.0, 0.5];
    let npy = npy(">f8", "(3, 2)", &values.map(f64::to_be_bytes));
    assert_eq!(
        read_vectors_from(&npy[..], "b.npy").map_err(|e| e.to_string()),
        two
    );
    let e = read_vectors_from(&npy[..npy.len() - 1], "b.npy")
        .unwrap_err()
        .to_string();
    assert!(
        e.starts_with("b.npy: the data is truncated or corrupt"),
        "{e}"
    );
    assert_eq!(
        read_vectors_from(&gzip(b"1\n2\n")[..], "b")
            .unwrap()
            .column(0),
        &[1.0, 2.0]
    );
}

#[test]
fn wrong_vectors() {
    for (text, message) in [
        (
            format!("{ARRAY}2 2\n1\n2\n3\n"),
            "line 2 of b.mtx: 4 values are promised, the file holds 3",
        ),
        (
            format!("{ARRAY}2 1\n1\n2\n3\n"),
            "line 5 of b.mtx: more values than the 2 that line 2 promises",
        ),
        (
            format!("{ARRAY}2 1\n1\ninf\n"),
            "line 4 of b.mtx: value `inf` is not finite",
        ),
        (
            format!("{ARRAY}2 1\n1\nx\n"),
            "line 4 of b.mtx: `x` is not a number",
        ),
        (
            format!("{ARRAY}2 0\n"),
            "line 2 of b.mtx: the file holds no columns",
        ),
        (
            format!("{ARRAY}1000000000000000000 1000000000000000000\n1\n"),
            "line 2 of b.mtx: 1000000000000000000 rows and 1000000000000000000 columns are more \
             than memory can hold",
        ),
        (
            format!("{ARRAY}100000000000000000 1\n1\n"),
            "line 2 of b.mtx: 100000000000000000 values are promised, the file holds 1",
        ),
        (
            format!("{COORDINATE}100000000000000000 1 1\n1 1 1\n"),
            "line 2 of b.mtx: 100000000000000000 values of which only 1 are stored: not a vector",
        ),
        (
            format!("{COORDINATE}2 1 1\n3 1 1\n"),
            "line 3 of b.mtx: row index 3 is outside 1..=2",
        ),
        (
            format!("{COORDINATE}2 1 1\n1 1\n1\n"),
            "line 4 of b.mtx: an entry needs a line of its own, with row, column and value",
        ),
        (
            format!("{COORDINATE}3 2 3\n1 1 1\n2 2 1e308\n2 2 1e308\n"),
            "b.mtx: the values of row 2, column 2 overflow",
        ),
        (String::new(), "b.mtx: the file holds no numbers"),
        (
            "1 2\n3\n4 5\n".to_owned(),
            "line 3 of b.mtx: the row before has 1 numbers, not 2",
        ),
        (
            "1 2\n3 4 5\n".to_owned(),
            "line 2 of b.mtx: more than the 2 numbers of the first row",
        ),
        (
            "1 2\n3\n".to_owned(),
            "b.mtx: the last row has 1 numbers, not 2",
        ),
    ] {
        assert_eq!(vectors(&text), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn vectors_that_leave_out_mirror_images_are_refused() {
    for symmetry in ["symmetric", "skew-symmetric", "hermitian"] {
        let refused = Err(format!(
            "line 1 of b.mtx: declared `{symmetry}`, which leaves out half of the values; \
             vectors, such as right-hand sides, must be `general`"
        ));
        let array = ARRAY.replace("general", symmetry);
        assert_eq!(vectors(&format!("{array}2 2\n1\n2\n3\n")), refused);
        let coordinate = COORDINATE.replace("general", symmetry);
        let text = format!("{coordinate}2 2 3\n1 1 1\n2 1 2\n2 2 3\n");
        assert_eq!(vectors(&text), refused);
        let e = read_permutation_from(array.as_bytes(), "b.mtx", 1).unwrap_err();
        assert_eq!(Err(e.to_string()), refused);
    }
}

#[test]
fn marks_and_blank_lines_do_not_make_a_table_of_a_matrix_market_file() {
    let three = columns(3, 1, &[4.0, 5.0, 6.0]);
    let body = "3 1 3\n1 1 4\n2 1 5\n3 1 6\n";
    assert_eq!(vectors(&format!("\u{feff}{COORDINATE}{body}")), three);
    assert_eq!(vectors("\u{feff}4\n5\n6\n"), three);
    let empty = "line 1 of b.mtx: the first line is empty; the header, `%%MatrixMarket ...`, must \
                 be on it";
    let hidden = "line 1 of b.mtx: the header does not begin with `%%MatrixMarket`";
    for (start, message) in [("\n", empty), ("\r\n \n", empty), ("# by hand\n\n", hidden)] {
        let text = format!("{start}{COORDINATE}{body}");
        assert_eq!(vectors(&text), Err(message.to_owned()), "{start:?}");
    }
    // Misspelled, it would be a comment of a table, and the sizes a row of it.
    for banner in [
        "%MatrixMarket matrix array real general",
        "%%MatrixMarkt matrix array real general",
        "# matrixmarket matrix array real general",
        "%% matrix coordinate real general",
        "%%Matrix Array real general",
    ] {
        let text = format!("{banner}\n2 1\n5\n6\n");
        assert_eq!(vectors(&text), Err(hidden.to_owned()), "{banner}");
    }
    let table = "% a matrix of loads\n% all of the matrix array\n# market day, an array\n5\n6\n";
    assert_eq!(vectors(table), columns(2, 1, &[5.0, 6.0]));
    let utf16: Vec<u8> = "\u{feff}4\n5\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let message = "line 1 of b: the file is UTF-16 text; save it as UTF-8 or ASCII";
    let e = read_vectors_from(&utf16[..], "b").unwrap_err();
    assert_eq!(e.to_string(), message);
    let e = read_permutation_from(&utf16[..], "b", 2).unwrap_err();
    assert_eq!(e.to_string(), message);
}

#[test]
fn permutations() {
    let order = |text: &str| {
        let p = read_permutation_from(text.as_bytes(), "p.txt", 3);
        p.map(|p| p.user_of_elim().to_vec())
            .map_err(|e| e.to_string())
    };
    let header = "%%MatrixMarket matrix array integer general\n";
    for text in [
        "2\n0\n1\n",
        "3\n1\n2",
        "3 1 2",
        &format!("{header}3 1\n3\n1\n2\n"),
    ] {
        assert_eq!(order(text), Ok(vec![2, 0, 1]), "{text}");
    }
    for (text, message) in [
        ("1\n2\n", "p.txt: 2 indices, the matrix has order 3"),
        (
            "1\n2\n3\n3\n",
            "line 4 of p.txt: more than 3 indices, the order of the matrix",
        ),
        ("1\n2\n2\n", "p.txt: index 2 occurs twice"),
        (
            "1\n4\n2\n",
            "line 2 of p.txt: index 4 is neither in 0..3 nor in 1..=3",
        ),
        (
            "1\n-1\n2\n",
            "line 2 of p.txt: index -1 is neither in 0..3 nor in 1..=3",
        ),
        (
            "1\n1.5\n2\n",
            "line 2 of p.txt: index 1.5 is neither in 0..3 nor in 1..=3",
        ),
        (
            "0\n3\n2\n",
            "p.txt: indices 0 and 3 both occur: they count neither from 0 nor from 1",
        ),
    ] {
        assert_eq!(order(text), Err(message.to_owned()), "{text}");
    }
    let p = read_permutation_from(&b"2 3 1"[..], "p", 3).unwrap();
    assert_eq!(p.user(ElimIdx(0)).0, 1);
}

#[test]
fn permutations_in_numpy_files() {
    let order = |bytes: &[u8]| {
        let p = read_permutation_from(bytes, "p.npy", 3);
        p.map(|p| p.user_of_elim().to_vec())
            .map_err(|e| e.to_string())
    };
    let right = Ok(vec![2, 0, 1]);
    let long = [2i64, 0, 1].map(i64::to_le_bytes);
    assert_eq!(order(&npy("<i8", "(3,)", &long)), right);
    assert_eq!(order(&npy("<i8", "(3, 1)", &long)), right);
    let from_one = [3i32, 1, 2].map(i32::to_be_bytes);
    assert_eq!(order(&npy(">i4", "(3,)", &from_one)), right);
    let unsigned = [3u32, 1, 2].map(u32::to_le_bytes);
    assert_eq!(order(&npy("<u4", "(1, 3)", &unsigned)), right);
    let real = |items: [f64; 3]| npy("<f8", "(3,)", &items.map(f64::to_le_bytes));
    assert_eq!(order(&real([2.0, 0.0, 1.0])), right);
    for (bytes, message) in [
        (
            real([2.5, 0.0, 1.0]),
            "p.npy: index 2.5 is neither in 0..3 nor in 1..=3",
        ),
        (
            real([f64::NAN, 0.0, 1.0]),
            "p.npy: index NaN is neither in 0..3 nor in 1..=3",
        ),
        (real([1.0, 0.0, 1.0]), "p.npy: index 1 occurs twice"),
        (
            npy("<i8", "(2,)", &long[..2]),
            "p.npy: an array of shape [2], the matrix has order 3",
        ),
        (
            npy("|b1", "(3,)", &[[1], [0], [0]]),
            "p.npy: holds booleans, where real or integer ones are expected",
        ),
    ] {
        assert_eq!(order(&bytes), Err(message.to_owned()));
    }
    let e = read_permutation_from(&b"PK\x03\x04"[..], "p.npz", 3).unwrap_err();
    let message = "p.npz: this holds a matrix, not a permutation";
    assert_eq!(e.to_string(), message);
}

#[test]
fn sparse_vectors_of_the_expected_length_may_leave_out_any_number_of_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.mtx");
    let n = 5_000_000;
    std::fs::write(&path, format!("{COORDINATE}{n} 1 1\n{n} 1 2.5\n")).unwrap();
    let b = read_vectors_of(&path, n).unwrap();
    assert_eq!((b.n, b.ncols, b.values[n - 1]), (n, 1, 2.5));
    let refused = |rows| match rows {
        Some(rows) => read_vectors_of(&path, rows).unwrap_err().to_string(),
        None => read_vectors(&path).unwrap_err().to_string(),
    };
    assert!(refused(None).ends_with("not a vector"));
    assert!(refused(Some(n - 1)).ends_with("not a vector"));
    // Nor may there be columns without an entry by the thousand.
    std::fs::write(&path, format!("{COORDINATE}{n} 1000 1\n{n} 1 2.5\n")).unwrap();
    assert!(refused(Some(n)).ends_with("not a vector"));
}
