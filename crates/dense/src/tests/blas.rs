use super::{Numbers, Poisoned, epsilon, everywhere};
use crate::*;

/// Around the microtile (24 × 8 and smaller), the packing thresholds and blocks, and primes.
const SIZES: [usize; 17] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 23, 24, 25, 47, 49, 97, 131, 197];

#[test]
fn products_match_the_definition_and_stay_inside() {
    fn body<T: Real>(isa: Isa) {
        let mut ws = Workspace::<T>::with_isa(64, usize::MAX, isa);
        let mut x = Numbers::new(1);
        for (s, &m) in SIZES.iter().enumerate() {
            for (t, &n) in SIZES.iter().enumerate() {
                for k in [
                    SIZES[(s + t) % SIZES.len()],
                    SIZES[(s * 5 + t * 3) % SIZES.len()],
                    300,
                ] {
                    if k == 300 && (s + t) % 5 != 0 {
                        continue;
                    }
                    product_case(&mut ws, &mut x, (m, n, k));
                }
            }
        }
        product_case(&mut ws, &mut x, (401, 397, 530));
    }
    everywhere!(body);
}

fn product_case<T: Real>(ws: &mut Workspace<T>, x: &mut Numbers, (m, n, k): (usize, usize, usize)) {
    let a = Poisoned::<T>::new(m, k, |_, _| x.next());
    let b = Poisoned::<T>::new(n, k, |_, _| x.next());
    let c = Poisoned::<T>::new(m, n, |_, _| x.next());
    for (mode, lower) in [
        (UpdateMode::Accumulate, false),
        (UpdateMode::Overwrite, false),
        (UpdateMode::Accumulate, true),
        (UpdateMode::Overwrite, true),
    ] {
        if lower && m < n {
            continue;
        }
        let b = if lower { &a } else { &b };
        let mut r = c.clone();
        if mode == UpdateMode::Overwrite {
            r.data.fill(T::from_f64(f64::NAN)); // must not be read
        }
        // SAFETY: the matrices have these sizes.
        unsafe {
            if lower {
                syrk_lower(m, n, k, a.arg(), r.arg_mut(), mode, ws);
            } else {
                gemm_nt(m, n, k, a.arg(), b.arg(), r.arg_mut(), mode, ws);
            }
        }
        assert!(r.intact(), "{m} {n} {k} {mode:?}");
        for j in 0..n {
            for i in if lower { j } else { 0 }..m {
                let start = if mode == UpdateMode::Overwrite {
                    0.0
                } else {
                    c.at(i, j)
                };
                let (mut want, mut size) = (start, start.abs());
                for l in 0..k {
                    let term = a.at(i, l) * b.at(j, l);
                    want -= term;
                    size += term.abs();
                }
                let bound = epsilon::<T>() * (k as f64 + 2.0) * size;
                let got = r.at(i, j);
                assert!(
                    (got - want).abs() <= bound,
                    "{m} {n} {k} ({i},{j}): {got} {want}"
                );
            }
        }
    }
}

/// Lower triangular, well conditioned.
fn triangle<T: Real>(n: usize, x: &mut Numbers) -> Poisoned<T> {
    let scale = 1.0 / (n as f64 + 1.0);
    Poisoned::new(n, n, |i, j| {
        let y = x.next::<f64>();
        T::from_f64(match i.cmp(&j) {
            std::cmp::Ordering::Less => f64::NAN,
            std::cmp::Ordering::Equal => 1.0 + y * y,
            std::cmp::Ordering::Greater => y * scale * 4.0,
        })
    })
}

#[test]
fn panel_solve_undoes_the_product() {
    fn body<T: Real>(isa: Isa) {
        let mut ws = Workspace::<T>::with_isa(64, usize::MAX, isa);
        let mut x = Numbers::new(2);
        for &m in &SIZES {
            for n in [0, 1, 4, 7, 8, 9, 17, 64, 127, 129, 200] {
                let l = triangle::<T>(n, &mut x);
                let b = Poisoned::<T>::new(m, n, |_, _| x.next());
                let mut r = b.clone();
                // SAFETY: the matrices have these sizes.
                unsafe { trsm_right_lower_transposed(m, n, l.arg(), r.arg_mut(), &mut ws) };
                assert!(r.intact());
                for i in 0..m {
                    for j in 0..n {
                        let mut got = 0.0;
                        let mut size = 1.0;
                        for k in 0..=j {
                            got += r.at(i, k) * l.at(j, k);
                            size += (r.at(i, k) * l.at(j, k)).abs();
                        }
                        let bound = epsilon::<T>() * (n as f64 + 4.0) * size;
                        assert!((got - b.at(i, j)).abs() <= bound, "{m} {n} ({i},{j})");
                    }
                }
            }
        }
    }
    everywhere!(body);
}

/// A = L·Lᵀ in its lower triangle, NaN above.
fn definite<T: Real>(n: usize, x: &mut Numbers) -> Poisoned<T> {
    let l = triangle::<f64>(n, x);
    Poisoned::new(n, n, |i, j| {
        T::from_f64(if i < j {
            f64::NAN
        } else {
            (0..=j).map(|k| l.at(i, k) * l.at(j, k)).sum()
        })
    })
}

#[test]
fn cholesky_reproduces_the_matrix() {
    fn body<T: Real>(isa: Isa) {
        let mut ws = Workspace::<T>::with_isa(64, usize::MAX, isa);
        let mut x = Numbers::new(3);
        for n in (0..50).chain([63, 64, 65, 127, 128, 129, 131, 257, 300]) {
            let a = definite::<T>(n, &mut x);
            let mut r = a.clone();
            // SAFETY: the matrix has this size.
            unsafe { potrf(n, r.arg_mut(), &mut ws) }.unwrap();
            assert!(r.intact());
            for j in 0..n {
                for i in j..n {
                    let got: f64 = (0..=j).map(|k| r.at(i, k) * r.at(j, k)).sum();
                    let bound =
                        epsilon::<T>() * (n as f64 + 4.0) * (a.at(i, i) * a.at(j, j)).sqrt();
                    assert!((got - a.at(i, j)).abs() <= bound, "{n} ({i},{j})");
                }
            }
        }
    }
    everywhere!(body);
}

#[test]
fn the_first_bad_pivot_is_named_with_its_value() {
    fn body<T: Real>(isa: Isa) {
        let mut ws = Workspace::<T>::with_isa(64, usize::MAX, isa);
        for n in [1, 7, 8, 9, 40, 150, 270] {
            for at in [0, n / 2, n - 1] {
                for bad in [0.0, -3.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let mut a = Poisoned::<T>::new(n, n, |i, j| {
                        T::from_f64(if i != j {
                            0.0
                        } else if i == at {
                            bad
                        } else if i > at {
                            -1.0
                        } else {
                            4.0
                        })
                    });
                    // SAFETY: the matrix has this size.
                    let e = unsafe { potrf(n, a.arg_mut(), &mut ws) }.unwrap_err();
                    assert_eq!(e.index, at, "{n} {bad}");
                    assert!(
                        e.value == bad || (e.value.is_nan() && bad.is_nan()),
                        "{e:?} {bad}"
                    );
                }
            }
        }
    }
    everywhere!(body);
}

#[test]
fn nan_reaches_what_depends_on_it() {
    fn body<T: Real>(isa: Isa) {
        let mut ws = Workspace::<T>::with_isa(64, usize::MAX, isa);
        let mut x = Numbers::new(4);
        let mut a = Poisoned::<T>::new(30, 40, |_, _| x.next());
        let b = Poisoned::<T>::new(11, 40, |_, _| T::ZERO);
        let mut c = Poisoned::<T>::new(30, 11, |_, _| T::ONE);
        let (p, ld) = a.arg_mut();
        // SAFETY: entry (29, 17) lies inside; sizes as above.
        unsafe {
            *p.add(29 + 17 * ld) = T::from_f64(f64::INFINITY);
            gemm_nt(
                30,
                11,
                40,
                a.arg(),
                b.arg(),
                c.arg_mut(),
                UpdateMode::Accumulate,
                &mut ws,
            );
        }
        for j in 0..11 {
            assert!(c.at(29, j).is_nan()); // ∞·0
            assert_eq!(c.at(28, j), 1.0);
        }
    }
    everywhere!(body);
}

#[test]
fn predicted_workspace_is_what_is_allocated() {
    for block in [1, 64, 128, 200] {
        assert_eq!(
            workspace_bytes::<f64>(block, usize::MAX),
            Workspace::<f64>::new(block).bytes()
        );
        assert_eq!(
            workspace_bytes::<f32>(block, usize::MAX),
            Workspace::<f32>::new(block).bytes()
        );
    }
}
