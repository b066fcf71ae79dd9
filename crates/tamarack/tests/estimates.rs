//! What a factor says of its matrix, and other options and answers for the same one.

use tamarack::{
    Analysis, Duplicates, ErrorKind, Options, Precision, SymmetricCsc, Triplets, UserIdx,
};
use tamarack_testkit::{Rng, model};

fn factor(
    a: &SymmetricCsc<f64>,
    precision: Precision,
) -> Result<tamarack::Factor, tamarack::Error> {
    let mut options = Options::default();
    options.precision = precision;
    Analysis::new(a.pattern(), &options)?.factorize(a)
}

/// Springs of random stiffness between neighbors of a square grid, which nothing holds.
fn floating(m: u32, seed: u64) -> SymmetricCsc<f64> {
    let mut random = Rng::new(seed);
    let mut entries = Triplets::new((m * m) as usize).unwrap();
    let mut spring = |i: u32, j: u32| {
        let k = 0.1 + random.below(1000) as f64 / 700.0;
        for (row, column, value) in [(i, i, k), (j, j, k), (i, j, -k)] {
            entries
                .push(row.max(column), row.min(column), value)
                .unwrap();
        }
    };
    for y in 0..m {
        for x in 0..m {
            let v = y * m + x;
            if x + 1 < m {
                spring(v, v + 1);
            }
            if y + 1 < m {
                spring(v, v + m);
            }
        }
    }
    entries.into_symmetric(Duplicates::Sum).unwrap()
}

#[test]
fn a_structure_that_nothing_holds_is_told_by_its_smallest_pivot() {
    let mut factors = 0;
    for seed in 0..40 {
        let a = floating(24, seed);
        match factor(&a, Precision::F64) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotPositiveDefinite),
            Ok(factor) => {
                let smallest = factor.smallest_pivot(&a).unwrap().unwrap();
                assert!(smallest.has_vanished(), "seed {seed}: {smallest:?}");
                factors += 1;
            }
        }
    }
    assert!(
        factors > 5,
        "rounding makes a pivot positive as often as not"
    );
}

#[test]
fn pivots_of_matrices_that_are_held_do_not_vanish() {
    for name in ["p2d5_40", "el3d_8", "shell_20x16", "rgg_2000", "p2d5_1"] {
        let a = model(name);
        for precision in [Precision::F64, Precision::Mixed, Precision::F32] {
            let smallest = factor(&a, precision).unwrap().smallest_pivot(&a);
            let smallest = smallest.unwrap().unwrap();
            let diagonal = a.get(smallest.column.get(), smallest.column.get());
            let share = smallest.pivot / diagonal;
            assert!((share / smallest.share - 1.0).abs() < 1e-12);
            assert!(share > 0.0 && share <= 1.0 + 1e-6, "{name}: {smallest:?}");
            assert!(
                precision != Precision::F64 || !smallest.has_vanished(),
                "{name}"
            );
        }
    }
}

#[test]
fn the_smallest_pivot_is_that_of_a_diagonal_or_a_small_matrix() {
    let entries = [
        (0, 0, 4.0),
        (1, 1, 1e200),
        (2, 2, 1e-200),
        (3, 2, 0.6e-200),
        (3, 3, 1e-200),
    ];
    let mut triplets = Triplets::new(4).unwrap();
    for (row, column, value) in entries {
        triplets.push(row, column, value).unwrap();
    }
    let a = triplets.into_symmetric(Duplicates::Sum).unwrap();
    for precision in [Precision::F64, Precision::Mixed] {
        let smallest = factor(&a, precision).unwrap().smallest_pivot(&a);
        let smallest = smallest.unwrap().unwrap();
        assert!([UserIdx(2), UserIdx(3)].contains(&smallest.column));
        // 1 − 0.6²
        assert!((smallest.share - 0.64).abs() < 1e-6, "{smallest:?}");
    }
    let none = SymmetricCsc::lower(0, &[0], &[] as &[u32], &[]).unwrap();
    let found = factor(&none, Precision::F64).unwrap().smallest_pivot(&none);
    assert_eq!(found.unwrap(), None);
    assert!(
        factor(&a, Precision::F64)
            .unwrap()
            .smallest_pivot(&none)
            .is_err()
    );
}

#[test]
fn other_options_share_the_structure() {
    let a = model("el3d_8");
    let analysis = Analysis::new(a.pattern(), &Options::default()).unwrap();
    let mut other = Options::default();
    other.precision = Precision::Mixed;
    other.threads = Some(3);
    let mixed = analysis.with_options(&other).unwrap();
    assert_eq!(mixed.ordering(), analysis.ordering());
    assert!(std::sync::Arc::ptr_eq(
        mixed.symbolic(),
        analysis.symbolic()
    ));
    assert_eq!(mixed.options().precision, Precision::Mixed);
    let (mut x, mut y) = (vec![1.0; a.n()], vec![1.0; a.n()]);
    let report = mixed
        .factorize(&a)
        .unwrap()
        .solve_refined(&a, &mut x)
        .unwrap();
    assert!(report.converged());
    let mut fresh = factor(&a, Precision::Mixed).unwrap();
    fresh.solve_refined(&a, &mut y).unwrap();
    assert_eq!(x, y);
    other.memory_bytes = Some(1000);
    let error = analysis.with_options(&other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resources);
}

#[test]
fn answers_beside_right_hand_sides_are_those_in_their_place() {
    let a = model("p2d5_30");
    let b: Vec<f64> = (0..3 * a.n()).map(|i| (i % 17) as f64 - 8.0).collect();
    for precision in [Precision::F64, Precision::Mixed, Precision::F32] {
        let mut factor = factor(&a, precision).unwrap();
        let mut in_place = b.clone();
        let report = factor.solve_refined(&a, &mut in_place).unwrap();
        let mut beside = vec![f64::NAN; b.len()];
        let other = factor.solve_refined_into(&a, &b, &mut beside).unwrap();
        assert_eq!((beside, other), (in_place, report));
        for len in [0, a.n(), 4 * a.n()] {
            let error = factor.solve_refined_into(&a, &b, &mut vec![0.0; len]);
            assert_eq!(error.unwrap_err().kind(), ErrorKind::Usage);
        }
    }
}

#[test]
fn what_holds_a_large_matrix_is_printed_in_a_few_lines() {
    let a = model("p2d5_60");
    let analysis = Analysis::new(a.pattern(), &Options::default()).unwrap();
    let factor = analysis.factorize(&a).unwrap();
    for text in [
        format!("{a:?}"),
        format!("{analysis:?}"),
        format!("{factor:?}"),
    ] {
        assert!(text.len() < 3000, "{text}");
    }
    let small = model("p2d5_3");
    assert!(format!("{small:?}").contains("row_idx"));
}

#[test]
fn halves_of_solves_are_a_square_root_of_the_inverse() {
    // Fronts in strips and in blocks, inside of subtrees and above them.
    for name in ["p2d5_60", "el3d_8", "p3d7_24"] {
        let a = model(name);
        let mut factor = factor(&a, Precision::F64).unwrap();
        for nrhs in [1, 3, 20] {
            let mut random = Rng::new(3);
            let b: Vec<f64> = (0..a.n() * nrhs).map(|_| random.signed()).collect();
            let (mut half, mut whole) = (b.clone(), b.clone());
            factor.solve(&mut whole).unwrap();
            factor.solve_lower(&mut half).unwrap();
            let columns = |x: &[f64]| -> Vec<Vec<f64>> { x.chunks(a.n()).map(Vec::from).collect() };
            let dot = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
            // (C⁻¹b)ᵀ(C⁻¹b') = bᵀ A⁻¹ b', for all pairs.
            for (b, h) in columns(&b).iter().zip(columns(&half)) {
                for (w, other) in columns(&whole).iter().zip(columns(&half)) {
                    let (found, expected) = (dot(&h, &other), dot(b, w));
                    let size = dot(&h, &h).sqrt() * dot(&other, &other).sqrt();
                    assert!((found - expected).abs() < 1e-10 * size, "{name}");
                }
            }
            factor.solve_lower_transposed(&mut half).unwrap();
            let largest = whole.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (half, whole) in half.iter().zip(&whole) {
                assert!((half - whole).abs() < 1e-10 * largest, "{name}");
            }
        }
    }
}

#[test]
fn the_first_half_is_triangular_in_the_order_of_elimination() {
    let a = model("el3d_6");
    let analysis = Analysis::new(a.pattern(), &Options::default()).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    let order = analysis.symbolic().permutation().elim_of_user();
    for unknown in [0, a.n() / 3, a.n() - 1] {
        let mut x = vec![0.0; a.n()];
        x[unknown] = 1.0;
        factor.solve_lower(&mut x).unwrap();
        let before = |i: usize| order[i] < order[unknown];
        assert!((0..a.n()).all(|i| !before(i) || x[i] == 0.0));
        assert!(x[unknown] > 0.0); // one over the diagonal of L
    }
}

#[test]
fn halves_want_double_precision_and_whole_columns() {
    let a = model("p2d5_20");
    for precision in [Precision::F32, Precision::Mixed] {
        let mut factor = factor(&a, precision).unwrap();
        let mut x = vec![1.0; a.n()];
        let error = factor.solve_lower(&mut x).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(x.iter().all(|&x| x == 1.0));
    }
    let mut factor = factor(&a, Precision::F64).unwrap();
    let error = factor.solve_lower_transposed(&mut [1.0; 7]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}
