use proptest::prelude::*;

use super::*;
use crate::Triplets;

fn matrices() -> impl Strategy<Value = SymmetricCsc<f64>> {
    (1usize..30).prop_flat_map(|n| {
        let index = 0..n as u32;
        let finite = any::<f64>().prop_filter("finite", |v| v.is_finite());
        let value = prop_oneof![finite, (-9i32..9).prop_map(f64::from)];
        proptest::collection::vec((index.clone(), index, value), 0..90).prop_map(move |entries| {
            let mut triplets = Triplets::new(n).unwrap();
            let mut seen = std::collections::HashSet::new();
            for (i, j, v) in entries {
                if seen.insert((i.max(j), i.min(j))) {
                    triplets.push(i, j, v).unwrap();
                }
            }
            triplets.into_symmetric(Duplicates::Refuse).unwrap()
        })
    })
}

proptest! {
    #[test]
    fn matrices_come_back_to_the_bit(a in matrices()) {
        for format in [MatrixFormat::MatrixMarket, MatrixFormat::RutherfordBoeing] {
            let mut text = Vec::new();
            write_matrix_to(&mut text, &a, format).unwrap();
            for input in [&text, &gzip(&text)] {
                let b = read("A", input).unwrap();
                prop_assert_eq!(a.pattern(), b.pattern());
                for (x, y) in a.values().iter().zip(b.values()) {
                    prop_assert_eq!(x.to_bits(), y.to_bits());
                }
            }
        }
    }

    #[test]
    fn order_of_lines_does_not_matter(a in matrices(), seed: u64) {
        let mut text = Vec::new();
        write_matrix_to(&mut text, &a, MatrixFormat::MatrixMarket).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut lines: Vec<&str> = text.lines().skip(2).collect();
        lines.sort_by_key(|l| {
            l.bytes().fold(seed, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
        });
        let head: Vec<&str> = text.lines().take(2).collect();
        let shuffled = format!("{}\n{}\n", head.join("\n"), lines.join("\n"));
        prop_assert_eq!(read("A", shuffled.as_bytes()).unwrap(), a);
    }

    #[test]
    fn vectors_come_back_to_the_bit(
        n in 0usize..20, ncols in 1usize..4, bits in proptest::collection::vec(any::<u64>(), 60)
    ) {
        let finite = |b: &u64| Some(f64::from_bits(*b)).filter(|x| x.is_finite()).unwrap_or(0.1);
        let values: Vec<f64> = bits.iter().take(n * ncols).map(finite).collect();
        let x = DenseColumns { n, ncols, values };
        let mut text = Vec::new();
        write_vectors_to(&mut text, &x).unwrap();
        let y = read_vectors_from(&text[..], "x").unwrap();
        prop_assert_eq!((y.n, y.ncols), (n, ncols));
        for (a, b) in x.values.iter().zip(&y.values) {
            prop_assert_eq!(a.to_bits(), b.to_bits());
        }
    }
}

#[test]
fn files_are_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let a = read(
        "A",
        b"%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 2\n",
    )
    .unwrap();
    for name in ["A.mtx", "A.mtx.gz", "A.rb", "A.rsa.gz"] {
        let path = folder.path().join(name);
        std::fs::write(&path, "old").unwrap();
        write_matrix(&path, &a).unwrap();
        assert_eq!(read_matrix(&path, &ReadOptions::default()).unwrap(), a);
        let gz = std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]);
        assert_eq!(gz, name.ends_with("gz"));
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        4,
        "temporary files remain"
    );
    let e = write_matrix(folder.path().join("A.xyz"), &a).unwrap_err();
    assert!(
        e.to_string()
            .contains("cannot tell the format from the name"),
        "{e}"
    );
    let e = write_matrix(folder.path().join("none/A.mtx"), &a).unwrap_err();
    assert!(e.to_string().starts_with("cannot write "), "{e}");
    let order = Permutation::from_elimination_order(&[2usize, 0, 1]).unwrap();
    let path = folder.path().join("p.mtx");
    write_permutation(&path, &order).unwrap();
    assert_eq!(read_permutation(&path, 3).unwrap(), order);
    let x = DenseColumns {
        n: 2,
        ncols: 1,
        values: vec![1e300, -0.1],
    };
    let path = folder.path().join("x.mtx.gz");
    write_vectors(&path, &x).unwrap();
    assert_eq!(read_vectors(&path).unwrap(), x);
}

#[test]
fn progress_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.mtx");
    let n = 50_000;
    let mut text = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {n}\n");
    (1..=n).for_each(|i| text.push_str(&format!("{i} {i} 1\n")));
    std::fs::write(&path, &text).unwrap();
    let (last, calls) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let progress = |done, total| {
        assert!(done >= last.get() && total == text.len() as u64);
        last.set(done);
        calls.set(calls.get() + 1);
    };
    let options = ReadOptions {
        progress: Some(&progress),
        ..Default::default()
    };
    read_matrix(&path, &options).unwrap();
    assert_eq!(last.get(), text.len() as u64);
    assert!(calls.get() >= 3, "{}", calls.get());
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    std::fs::write(&path, "old").unwrap();
    let shown = path.display();
    let vectors = |n, ncols, values: &[f64]| {
        let values = values.to_vec();
        let x = DenseColumns { n, ncols, values };
        write_vectors(&path, &x).unwrap_err().to_string()
    };
    assert_eq!(
        vectors(2, 2, &[1.0, 2.0, 3.0]),
        format!("cannot write {shown}: 2 vectors of length 2 do not have 3 values")
    );
    assert_eq!(
        vectors(2, 2, &[1.0, 2.0, 3.0, f64::NAN]),
        format!("cannot write {shown}: the value of row 2, column 2 is NaN, not finite")
    );
    assert!(vectors(usize::MAX, 2, &[]).contains("do not have 0 values"));
    let (col_ptr, row_idx) = ([0u64, 2, 3], [0u32, 1, 1]);
    for value in [f64::NAN, f64::INFINITY] {
        let a = SymmetricCsc::lower(2, &col_ptr, &row_idx, &[1.0, value, 1.0]).unwrap();
        for name in ["a.mtx", "a.rb.gz"] {
            let e = write_matrix(folder.path().join(name), &a).unwrap_err();
            let message = format!("row 2, column 1 is {value}, not finite");
            assert!(e.to_string().ends_with(&message), "{e}");
        }
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
