use super::*;

const HB: &str = include_str!("example.hb");
const RB: &str = "Title                                                                   |key
             3             1             1             1
rsa                        3             3             5             0
(4I2)           (5I1)           (5E9.2E2)
 1 3 5 6
12233
 4.00E+00-1.00E+00 4.00E+00-1.00E+00 4.00E+00
";

#[test]
fn both_dialects() {
    let expected: (&[u64], &[u32], &[f64]) = (
        &[0, 2, 4, 5],
        &[0, 1, 1, 2, 2],
        &[4.0, -1.0, 4.0, -1.0, 4.0],
    );
    assert_eq!(parts(&read("A.rb", RB.as_bytes()).unwrap()), expected);
    assert_eq!(parts(&read("A.hb", HB.as_bytes()).unwrap()), expected);
    assert_eq!(
        parts(&read("unnamed", HB.replace('\n', "\r\n").as_bytes()).unwrap()),
        expected
    );
    assert_eq!(
        parts(&read("A.rb.gz", &gzip(RB.as_bytes())).unwrap()),
        expected
    );
    let integers = RB.replace("rsa", "isa").replace("(5E9.2E2)", "(5I3)    ");
    let start = integers.find(" 4.00").unwrap();
    let integers = format!("{}  4 -1  4 -1  4\n", &integers[..start]);
    assert_eq!(parts(&read("A.rb", integers.as_bytes()).unwrap()), expected);
}

#[test]
fn both_triangles_are_refused() {
    let text = "Title
             3             1             1             1
rsa                        2             2             4             0
(3I2)           (4I1)           (4E9.2E2)
 1 3 5
1212
 4.00E+00-1.00E+00-1.00E+00 4.00E+00
";
    let message = refusal("A.rb", text.as_bytes());
    let start = "A.rb: entries (2, 1) and (1, 2) are both stored, although the file declares";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn what_is_not_supported() {
    for (kind, why) in [
        ("pua", "a pattern without values; `rsa` is needed"),
        ("psa", "a pattern without values; `rsa` is needed"),
        ("cua", "complex values are not supported; `rsa` is needed"),
        ("rua", "only symmetric matrices (`rsa`) are supported"),
        ("rza", "only symmetric matrices (`rsa`) are supported"),
        (
            "rse",
            "unassembled elements are not supported, only assembled matrices",
        ),
    ] {
        let message = format!("line 3 of A.rb: a matrix of type `{kind}`: {why}");
        assert_eq!(refusal("A.rb", RB.replace("rsa", kind).as_bytes()), message);
    }
}

#[test]
fn scale_factors_are_not_ignored() {
    let scaled = RB.replace("(5E9.2E2)", "(1P,5E9.2)");
    assert_eq!(read("A.rb", scaled.as_bytes()).unwrap().values()[0], 4.0);
    let without = scaled.replacen(" 4.00E+00", "     4.00", 1);
    assert_eq!(
        refusal("A.rb", without.as_bytes()),
        "line 7 of A.rb: value `4.00` has no exponent and its format has a scale factor (`P`), so \
         its scale is not certain"
    );
}

#[test]
fn wrong_files() {
    for (from, to, message) in [
        (
            "rsa",
            "abc",
            "line 3 of A.rb: `abc` is not a matrix type such as `rsa`",
        ),
        (
            "3             3             5",
            "3             4             5",
            "line 3 of A.rb: 3 rows and 4 columns: a symmetric matrix is square",
        ),
        (
            "(4I2)",
            "(4X2)",
            "line 4 of A.rb: `(4X2)` is not a format for column pointers",
        ),
        (
            "(4I2)           (5I1)",
            "(4F2)           (5I1)",
            "line 4 of A.rb: pointers and row indices need integer formats",
        ),
        (
            " 1 3 5 6\n",
            " 1 5 3 6\n",
            "line 5 of A.rb: column pointer 3 is not in 5..=6",
        ),
        (
            " 1 3 5 6\n",
            " 1 3 5 5\n",
            "line 6 of A.rb: the last column pointer is 5, for 5 entries",
        ),
        (
            " 1 3 5 6\n",
            " 1 3 5\n",
            "line 5 of A.rb: 4 of 4 column pointers is missing",
        ),
        (
            "12233\n",
            "12243\n",
            "line 6 of A.rb: row index 4 is outside 1..=3",
        ),
        (
            "12233\n",
            "1223\n",
            "line 6 of A.rb: 5 of 5 row indices is missing",
        ),
        (
            "12233\n",
            "122333\n",
            "line 6 of A.rb: unexpected `3` after the last of the row indices",
        ),
        (
            "-1.00E+00 4.00E+00\n",
            "-1.00Q     xxxx   \n",
            "line 7 of A.rb: `-1.00Q` is not a number",
        ),
        (
            "4.00E+00\n",
            "     NaN\n",
            "line 7 of A.rb: value `NaN` is not finite",
        ),
        (
            "4.00E+00\n",
            "    4E00\n",
            "line 7 of A.rb: value `4E00` has no decimal point, so its scale is not certain",
        ),
        (
            "4.00E+00\n",
            "4.00E+00\n1.0\n",
            "line 8 of A.rb: more than the 5 values that are promised",
        ),
        (
            "4.00E+00\n",
            "\n",
            "line 7 of A.rb: 5 of 5 values is missing",
        ),
    ] {
        // The last occurrence, which for values is the last value.
        let at = RB.rfind(from).unwrap();
        let text = format!("{}{to}{}", &RB[..at], &RB[at + from.len()..]);
        assert_eq!(refusal("A.rb", text.as_bytes()), message);
    }
    assert_eq!(refusal("A.rb", b""), "A.rb: the file is empty");
    let cut = &RB[..RB.find(" 4.00").unwrap()];
    assert_eq!(
        refusal("A.rb", cut.as_bytes()),
        "A.rb: 5 values are promised, the file holds 0"
    );
    let hostile = RB.replace("             5  ", "   90000000000000  ");
    let message = refusal("A.rb", hostile.as_bytes());
    assert_eq!(
        message,
        "line 6 of A.rb: the last column pointer is 6, for 90000000000000 entries"
    );
}

#[test]
fn formats_are_read_or_refused_by_what_they_mean() {
    let plain = read("A.rb", RB.as_bytes()).unwrap();
    let with = |format: &str| RB.replace("(5E9.2E2)", format);
    for format in ["(5(1PE9.2))", "(1P,(5E9.2))", "(SP,5E9.2)"] {
        let found = read("A.rb", with(format).as_bytes()).unwrap();
        assert_eq!(found, plain, "{format}");
    }
    assert_eq!(
        refusal("A.rb", with("(5(F9.2,1X))").as_bytes()),
        "line 4 of A.rb: `(5(F9.2,1X))` for values: columns that are skipped (`X`) are not supported"
    );
    assert_eq!(
        refusal("A.rb", RB.replace("(4I2) ", "(4I2/)").as_bytes()),
        "line 4 of A.rb: `(4I2/)` for column pointers: ends of lines within a format (`/`) are not supported"
    );
}
