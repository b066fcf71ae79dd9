use super::*;

const SYMMETRIC: &str = "%%MatrixMarket matrix coordinate real symmetric\n";
const GENERAL: &str = "%%MatrixMarket matrix coordinate real general\n";

fn symmetric(body: &str) -> SymmetricCsc<f64> {
    read("A.mtx", format!("{SYMMETRIC}{body}").as_bytes()).unwrap()
}

#[test]
fn all_that_is_allowed_at_once() {
    let text = "%%matrixmarket MATRIX Coordinate REAL Symmetric\r\n% comment\r\n%\r\n\r\n  3 3\t5 \r\n\
                1 1 4\r\n\t2  1 -1.5D+03\r\n\r\n% between\r\n1 3 +.5e1\r\n +2 2 4.\r\n3 3 1d-1";
    let a = read("A.mtx", text.as_bytes()).unwrap();
    let expected: (&[u64], &[u32], &[f64]) = (
        &[0, 3, 4, 5],
        &[0, 1, 2, 1, 2],
        &[4.0, -1500.0, 5.0, 4.0, 0.1],
    );
    assert_eq!(parts(&a), expected);
    assert_eq!(
        parts(&read("A.mtx.gz", &gzip(text.as_bytes())).unwrap()),
        expected
    );
    let mut two = gzip(&text.as_bytes()[..40]);
    two.extend(gzip(&text.as_bytes()[40..]));
    assert_eq!(parts(&read("no name", &two).unwrap()), expected);
    // As a tape leaves it, longer than what is read at once.
    two.extend([0; 70_000]);
    assert_eq!(parts(&read("no name", &two).unwrap()), expected);
}

#[test]
fn integers_and_missing_diagonals() {
    let text = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n2 1 -7\n";
    let a = read("A.mtx", text.as_bytes()).unwrap();
    assert_eq!(
        parts(&a),
        (&[0, 2, 3][..], &[0, 1, 1][..], &[0.0, -7.0, 0.0][..])
    );
    assert_eq!(symmetric("0 0 0\n").n(), 0);
}

/// A file of many parts: `read` has each read by one thread and by several.
#[test]
fn threads_find_what_one_does_and_the_same_first_error() {
    let line = |k: usize| format!("{} {} {k}.5\n", k + 1, k / 2 + 1);
    let header = |entries| format!("{SYMMETRIC}% comment\n500 500 {entries}\n");
    let file = |entries: usize, wrong: &[(usize, &str)]| {
        let mut lines: Vec<String> = (0..500).map(line).collect();
        wrong.iter().for_each(|&(k, text)| lines[k] = text.into());
        header(entries) + &lines.concat()
    };
    let whole = file(500, &[]);
    assert_eq!(
        read("A.mtx", whole.as_bytes())
            .unwrap()
            .pattern()
            .nnz_lower(),
        999
    );
    for k in [0, 7, 123, 499] {
        let wrong = file(500, &[(k, "1 1 x\n"), (499, "1 501 1\n")]);
        let e = refusal("A.mtx", wrong.as_bytes());
        let wrong = if k == 499 {
            "column index 501 is outside 1..=500"
        } else {
            "`x` is not a number"
        };
        assert_eq!(e, format!("line {} of A.mtx: {wrong}", k + 4));
        let blank = file(499, &[(k, "\n% one less\n")]);
        read("A.mtx", blank.as_bytes()).unwrap();
        let e = refusal("A.mtx", file(k + 1, &[(499, "")]).as_bytes());
        let more = format!(
            "line {} of A.mtx: more entries than the {} that line 3 promises",
            k + 5,
            k + 1
        );
        let fewer = "line 3 of A.mtx: 500 entries are promised, the file holds 499";
        assert_eq!(e, if k == 499 { fewer } else { &more });
    }
    let e = refusal("A.mtx", file(499, &[]).as_bytes());
    assert_eq!(
        e,
        "line 503 of A.mtx: more entries than the 499 that line 3 promises"
    );
    // What is wrong in a line comes before what is wrong with the bytes behind it.
    let packed = gzip(whole.as_bytes());
    let e = refusal("A.mtx.gz", &packed[..packed.len() - 100]);
    assert!(e.contains("truncated or corrupt"), "{e}");
    let packed = gzip(file(500, &[(3, "1 1 x\n")]).as_bytes());
    let e = refusal("A.mtx.gz", &packed[..packed.len() - 100]);
    assert_eq!(e, "line 7 of A.mtx.gz: `x` is not a number");
}

#[test]
fn duplicates_are_added_or_refused() {
    let text = format!("{SYMMETRIC}2 2 4\n1 1 1\n2 1 5\n2 1 0.5\n2 2 1\n");
    let a = read("A.mtx", text.as_bytes()).unwrap();
    assert_eq!(a.values(), &[1.0, 5.5, 1.0]);
    let options = ReadOptions {
        duplicates: Duplicates::Refuse,
        ..Default::default()
    };
    let e = read_matrix_from(text.as_bytes(), "A.mtx", &options).unwrap_err();
    assert_eq!(e.to_string(), "A.mtx: entry (2, 1) occurs more than once");
    // From a file, which can be read again, with the lines.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.mtx");
    std::fs::write(&path, &text).unwrap();
    let e = read_matrix(&path, &options).unwrap_err();
    let place = format!("line 5 of {}", path.display());
    let expected = format!("{place}: entry (2, 1) occurs more than once (see also line 4)");
    assert_eq!(e.to_string(), expected);
}

#[test]
fn entries_may_be_on_either_side_of_the_diagonal_but_not_on_both() {
    let expected: (&[u64], &[u32], &[f64]) = (
        &[0, 3, 5, 6],
        &[0, 1, 2, 1, 2, 2],
        &[4.0, -1.0, 2.5, 5.0, 3.0, 6.0],
    );
    for body in [
        "2 1 -1\n3 1 2\n3 1 .5\n3 2 3",
        "1 2 -1\n1 3 2\n1 3 .5\n2 3 3",
        "2 1 -1\n1 3 2\n3 2 3\n1 3 .5",
        "1 2 -1\n3 1 2\n2 3 3\n3 1 .5",
    ] {
        let a = symmetric(&format!("3 3 7\n1 1 4\n2 2 5\n{body}\n3 3 6\n"));
        assert_eq!(parts(&a), expected, "{body}");
    }
    for (body, entries) in [
        ("2 1 -1\n1 2 -1", "(2, 1) and (1, 2)"),
        ("1 2 -1\n2 1 -1", "(2, 1) and (1, 2)"),
        ("3 1 1\n2 3 0\n3 2 0", "(3, 2) and (2, 3)"),
    ] {
        let text = format!("{SYMMETRIC}3 3 {}\n{body}\n", body.lines().count());
        let message = format!(
            "A.mtx: entries {entries} are both stored, although the file declares symmetry, \
             where one stands for both; store one of them, or declare the file general"
        );
        assert_eq!(refusal("A.mtx", text.as_bytes()), message, "{body}");
    }
    // From a file, with the lines.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.mtx");
    std::fs::write(&path, format!("{SYMMETRIC}2 2 2\n2 1 1\n1 2 1\n")).unwrap();
    let e = read_matrix(&path, &ReadOptions::default()).unwrap_err();
    assert_eq!(e.line(), Some(4));
    assert!(e.to_string().ends_with(" (see also line 3)"), "{e}");
}

#[test]
fn general_files_that_are_symmetric() {
    let body = "3 3 7\n1 1 4\n2 1 -1\n3 1 2\n1 2 -1.0000000000000002\n2 2 4\n1 3 2\n3 3 1\n";
    let a = read("A.mtx", format!("{GENERAL}{body}").as_bytes()).unwrap();
    assert_eq!(a.values(), &[4.0, -1.0, 2.0, 4.0, 1.0]);
    let diagonal = read("A.mtx", format!("{GENERAL}1 1 1\n1 1 4\n").as_bytes()).unwrap();
    assert_eq!(diagonal.values(), &[4.0]);
    for (body, message) in [
        (
            "2 2 4\n1 1 1\n2 1 3\n1 2 4\n2 2 1\n",
            "A.mtx: not symmetric: entry (2, 1) is 3e0 and entry (1, 2) is 4e0",
        ),
        (
            "3 3 5\n1 1 1\n2 1 3\n2 2 1\n3 3 1\n1 3 2\n",
            "A.mtx: not symmetric: entry (2, 1) is stored and entry (1, 2) is not",
        ),
        (
            "3 3 6\n1 1 1\n2 1 3\n1 2 3\n2 2 1\n3 3 1\n1 3 2\n",
            "A.mtx: not symmetric: entry (1, 3) is stored and entry (3, 1) is not",
        ),
        (
            "2 2 3\n1 1 1\n1 2 3\n2 2 1\n",
            "A.mtx: a general matrix with entries in the upper triangle only; if it is meant to \
             be symmetric, declare it `symmetric`",
        ),
    ] {
        assert_eq!(
            refusal("A.mtx", format!("{GENERAL}{body}").as_bytes()),
            message
        );
    }
}

#[test]
fn general_files_may_store_a_zero_on_one_side() {
    for body in ["2 1 0", "1 2 0", "1 2 -0"] {
        let text = format!("{GENERAL}2 2 3\n1 1 4\n{body}\n2 2 5\n");
        let a = read("A.mtx", text.as_bytes()).unwrap();
        let expected: (&[u64], &[u32], &[f64]) = (&[0, 2, 3], &[0, 1, 1], &[4.0, 0.0, 5.0]);
        assert_eq!(parts(&a), expected, "{body}");
    }
    let body = "3 3 7\n1 1 4\n2 1 0\n2 2 5\n1 3 0\n2 3 -1\n3 2 -1\n3 3 6\n";
    let a = read("A.mtx", format!("{GENERAL}{body}").as_bytes()).unwrap();
    let expected: (&[u64], &[u32], &[f64]) = (
        &[0, 3, 5, 6],
        &[0, 1, 2, 1, 2, 2],
        &[4.0, 0.0, 0.0, 5.0, -1.0, 6.0],
    );
    assert_eq!(parts(&a), expected);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_header() {
    let text = format!("\u{feff}{SYMMETRIC}1 1 1\n1 1 4\n");
    for input in [text.as_bytes(), &gzip(text.as_bytes())] {
        assert_eq!(read("A", input).unwrap().values(), &[4.0]);
    }
    let wrong = format!("\u{feff}{SYMMETRIC}1 1 1\n1 1 x\n");
    assert_eq!(
        refusal("A", wrong.as_bytes()),
        "line 3 of A: `x` is not a number"
    );
}

#[test]
fn what_hides_the_header_is_named() {
    let text = format!("{SYMMETRIC}1 1 1\n1 1 4\n");
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
    for utf16 in [
        marked(b"\xff\xfe", &little),
        marked(b"\xfe\xff", &big),
        little,
        big,
    ] {
        for name in ["A.mtx", "A"] {
            let message =
                format!("line 1 of {name}: the file is UTF-16 text; save it as UTF-8 or ASCII");
            assert_eq!(refusal(name, &utf16), message);
        }
    }
    for blank in ["\n", " \t\r\n\n"] {
        for name in ["A.mtx", "A"] {
            let message = format!(
                "line 1 of {name}: the first line is empty; the header, `%%MatrixMarket ...`, must \
                 be on it"
            );
            assert_eq!(refusal(name, format!("{blank}{text}").as_bytes()), message);
        }
    }
}

#[test]
fn wrong_headers() {
    let five = "line 1 of A.mtx: the header must have five words, as \
                `%%MatrixMarket matrix coordinate real symmetric`";
    for (text, message) in [
        ("", "A.mtx: the file is empty"),
        (
            "1 1 1\n",
            "line 1 of A.mtx: the header does not begin with `%%MatrixMarket`",
        ),
        ("%%MatrixMarket\n", five),
        ("%%MatrixMarket matrix coordinate real\n", five),
        (
            "%%MatrixMarket vector coordinate real general\n",
            "line 1 of A.mtx: a `vector`, not a matrix",
        ),
        (
            "%%MatrixMarket matrix sparse real general\n",
            "line 1 of A.mtx: unknown format `sparse`",
        ),
        (
            "%%MatrixMarket matrix array real symmetric\n2 2\n",
            "line 1 of A.mtx: the array format holds vectors; a sparse matrix needs `coordinate`",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n",
            "line 1 of A.mtx: a pattern has no values; a real or integer matrix is needed",
        ),
        (
            "%%MatrixMarket matrix coordinate complex hermitian\n",
            "line 1 of A.mtx: complex values are not supported, only real and integer ones",
        ),
        (
            "%%MatrixMarket matrix coordinate quaternion symmetric\n",
            "line 1 of A.mtx: unknown kind of values `quaternion`",
        ),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n",
            "line 1 of A.mtx: skew-symmetric matrices are not supported, only symmetric ones, \
             and general ones that are symmetric",
        ),
        (
            "%%MatrixMarket matrix coordinate real diagonal\n",
            "line 1 of A.mtx: unknown symmetry `diagonal`",
        ),
        (SYMMETRIC, "A.mtx: the file ends before the size line"),
    ] {
        assert_eq!(refusal("A.mtx", text.as_bytes()), message, "{text}");
    }
}

#[test]
fn wrong_bodies() {
    for (body, message) in [
        (
            "3 3\n",
            "line 2 of A.mtx: the size line needs rows, columns and entries, not `3 3`",
        ),
        (
            "3 3 -1\n",
            "line 2 of A.mtx: the size line needs rows, columns and entries, not `3 3 -1`",
        ),
        (
            "%\n3 4 1\n",
            "line 3 of A.mtx: 3 rows and 4 columns: a symmetric matrix is square",
        ),
        (
            "4294967295 4294967295 4294967295\n",
            "line 2 of A.mtx: order 4294967295 is too large: at most 4294967294 unknowns are \
             supported",
        ),
        (
            "4000000000 4000000000 2\n1 1 1\n2 2 1\n",
            "line 2 of A.mtx: order 4000000000 with 2 entries: at least 3999999998 columns would \
             be empty",
        ),
        (
            "2 2 1000000000000000000\n1 1 1\n",
            "line 2 of A.mtx: 1000000000000000000 entries are promised, the file holds 1",
        ),
        (
            "2 2 3\n1 1 1\n2 2 1\n",
            "line 2 of A.mtx: 3 entries are promised, the file holds 2",
        ),
        (
            "2 2 1\n1 1 1\n2 2 1\n",
            "line 4 of A.mtx: more entries than the 1 that line 2 promises",
        ),
        (
            "2 2 1\n3 1 1\n",
            "line 3 of A.mtx: row index 3 is outside 1..=2",
        ),
        (
            "2 2 1\n0 1 1\n",
            "line 3 of A.mtx: row index 0 is outside 1..=2",
        ),
        (
            "2 2 1\n1 -1 1\n",
            "line 3 of A.mtx: column index -1 is outside 1..=2",
        ),
        (
            "2 2 1\n\n1 99999999999999999999999 1\n",
            "line 4 of A.mtx: column index 99999999999999999999999 is outside 1..=2",
        ),
        (
            "2 2 1\n1.5 1 1\n",
            "line 3 of A.mtx: `1.5` is not a row index",
        ),
        (
            "2 2 1\n1 x 1\n",
            "line 3 of A.mtx: `x` is not a column index",
        ),
        (
            "2 2 1\n1 1\n",
            "line 3 of A.mtx: an entry needs row, column and value, not `1 1`",
        ),
        (
            "2 2 1\n1 1 nan\n",
            "line 3 of A.mtx: value `nan` is not finite",
        ),
        (
            "2 2 1\n1 1 -Infinity\n",
            "line 3 of A.mtx: value `-Infinity` is not finite",
        ),
        (
            "2 2 1\n1 1 1e999\n",
            "line 3 of A.mtx: value `1e999` is not finite",
        ),
        ("2 2 1\n1 1 1,5\n", "line 3 of A.mtx: `1,5` is not a number"),
        (
            "2 2 1\n1 1 1 1\n",
            "line 3 of A.mtx: unexpected `1` after the value",
        ),
        (
            "2 2 1\n1 1 \x01\n",
            "line 3 of A.mtx: `\\x01` is not a number",
        ),
        (
            "1 1 2\n1 1 1.7e308\n1 1 1.7e308\n",
            "A.mtx: the duplicates of entry (1, 1) overflow",
        ),
    ] {
        let text = format!("{SYMMETRIC}{body}");
        assert_eq!(refusal("A.mtx", text.as_bytes()), message, "{body}");
    }
    let long = format!("{SYMMETRIC}{}", "1".repeat(3 << 20));
    assert_eq!(
        refusal("A.mtx", long.as_bytes()),
        "line 2 of A.mtx: the line is longer than 1 MiB"
    );
}

#[test]
fn wrong_lines_far_into_a_file_have_their_number() {
    let n = 100_000;
    let mut text = format!("{SYMMETRIC}{n} {n} {n}\n");
    (1..=n).for_each(|i| text.push_str(&format!("{i} {i} 1.25\n")));
    assert_eq!(read("A.mtx", text.as_bytes()).unwrap().n(), n);
    let wrong = text.replace("\n90000 90000 ", "\n90000 100001 ");
    let message = "line 90002 of A.mtx: column index 100001 is outside 1..=100000";
    assert_eq!(refusal("A.mtx", wrong.as_bytes()), message);
}

#[test]
fn broken_gzip() {
    let n = 20_000;
    let mut text = format!("{SYMMETRIC}{n} {n} {n}\n");
    (1..=n).for_each(|i| text.push_str(&format!("{i} {i} {}\n", 1.0 / i as f64)));
    let packed = gzip(text.as_bytes());
    let cut = refusal("A.mtx.gz", &packed[..packed.len() / 2]);
    assert!(
        cut.contains(" of A.mtx.gz: the gzip data is truncated or corrupt, or"),
        "{cut}"
    );
    assert!(cut.starts_with("line "), "{cut}");
    let mut wrong = packed.clone();
    wrong[packed.len() / 2] ^= 0x55;
    assert!(read("A.mtx.gz", &wrong).is_err());
    let mut behind = packed.clone();
    behind.extend(b"\0\0more");
    let behind = refusal("A.mtx.gz", &behind);
    assert!(behind.contains("gzip"), "{behind}");
    let mut sum = packed;
    let last = sum.len() - 5;
    sum[last] ^= 1;
    let sum = refusal("A.mtx.gz", &sum);
    assert!(
        sum.contains("the gzip data is truncated or corrupt"),
        "{sum}"
    );
}

#[test]
fn files_that_cannot_be_opened() {
    let e = read_matrix("no/such/file.mtx", &ReadOptions::default()).unwrap_err();
    assert!(
        e.to_string().starts_with("cannot open no/such/file.mtx: "),
        "{e}"
    );
    let e = read_matrix(".", &ReadOptions::default()).unwrap_err();
    assert!(e.to_string().starts_with("cannot open .: "), "{e}");
    let message = refusal("A.txt", b"hello\nworld\n");
    let known = "not a matrix file that is known (Matrix Market, Rutherford-Boeing, .npz)";
    assert_eq!(message, format!("A.txt: {known}: it begins with `hello`"));
}
