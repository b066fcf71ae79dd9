//! Entries of L whose squares would be subnormal are zero, unless the matrix is so small itself that they matter.

mod common;

use std::sync::Arc;

use common::{cube, entries, plan};
use tamarack_numeric::{Control, FactorOptions, NumericFactor, Team, Value};
use tamarack_sparse::{Permutation, Scalar, SymmetricCsc, UserIdx};

/// `K + mass·I`, where K has 6 on the diagonal and −1 beside it.
fn time_step<T: Value>(mass: f64) -> (SymmetricCsc<T>, Permutation) {
    let (k, order) = cube(8);
    let number = |&v: &f64| <T as Scalar>::from_f64(if v > 0.0 { v + mass } else { v });
    let values = k.values().iter().map(number).collect();
    let a = SymmetricCsc::new(k.pattern().clone(), values);
    (a.unwrap(), order)
}

fn factorize<T: Value>(
    (a, order): &(SymmetricCsc<T>, Permutation),
    threads: usize,
) -> NumericFactor<T> {
    let (plan, team) = (plan(a, order, threads, 16), Arc::new(Team::new(threads)));
    let (options, control) = (FactorOptions::default(), Control::default());
    NumericFactor::factorize(plan, team, a, &options, &control).unwrap()
}

/// L, column-major, by the textbook's elimination in `f64`.
fn dense_factor(a: &SymmetricCsc<f64>, order: &Permutation) -> Vec<f64> {
    let n = a.n();
    let mut l = vec![0.0; n * n];
    for j in 0..n {
        let (rows, values) = a.column(j);
        for (&i, &v) in rows.iter().zip(values) {
            let [i, j] = [i, j as u32].map(|u| order.elim(UserIdx(u)).get());
            l[i.max(j) + i.min(j) * n] = v;
        }
    }
    for k in 0..n {
        let root = l[k + k * n].sqrt();
        l[k * (n + 1)..(k + 1) * n]
            .iter_mut()
            .for_each(|x| *x /= root);
        for j in k + 1..n {
            let by = l[j + k * n];
            for i in j..n {
                l[i + j * n] -= l[i + k * n] * by;
            }
        }
    }
    l
}

fn check<T: Value>(mass: f64, floor: f64, tolerance: f64) {
    let (a, _) = time_step::<f64>(mass);
    let factor = factorize(&time_step::<T>(mass), 1);
    let (expected, n) = (dense_factor(&a, factor.symbolic().permutation()), a.n());
    let found = entries(&factor);
    let (mut zeros, mut small) = (0, 0);
    for &(i, j, l) in &found {
        let exact = expected[i + j * n];
        if exact.abs() > 2.0 * floor {
            assert!((l - exact).abs() <= tolerance * exact.abs(), "{l} {exact}");
            small += usize::from(exact.abs() < floor.sqrt());
        } else {
            // Some are rounded once more where they are stored.
            assert!(l == 0.0 || l.abs() >= 0.99 * floor, "{l}");
            zeros += usize::from(exact != 0.0 && l == 0.0);
        }
    }
    assert!(zeros > 1000 && small > 1000, "{zeros}, {small}");
    assert_eq!(found, entries(&factorize(&time_step::<T>(mass), 3)));
}

#[test]
fn entries_whose_squares_are_subnormal_are_zero() {
    check::<f64>(1e20, 2f64.powi(-511), 1e-12);
    check::<f32>(1e4, 2f64.powi(-63), 1e-4);
}

#[test]
fn rows_of_tiny_diagonals_lose_nothing() {
    // Half of the unknowns are measured in units so large that their numbers are tiny: D·A·D with powers of two.
    let (a, order) = time_step::<f64>(1.0);
    let unit = |i: usize| 2f64.powi(if i.is_multiple_of(2) { 0 } else { -500 });
    let mut scaled = Vec::new();
    for j in 0..a.n() {
        let (rows, values) = a.column(j);
        let of_row = rows.iter().zip(values);
        scaled.extend(of_row.map(|(&i, &v)| unit(i as usize) * unit(j) * v));
    }
    let small = factorize(&(a.with_values(scaled).unwrap(), order.clone()), 2);
    let whole = factorize(&(a, order), 2);
    let permutation = whole.symbolic().permutation();
    for ((i, _, l), (_, _, scaled)) in entries(&whole).into_iter().zip(entries(&small)) {
        let unit = unit(permutation.user_of_elim()[i] as usize);
        assert!((l * unit - scaled).abs() <= 1e-14 * unit, "{l} {scaled}");
    }
}
