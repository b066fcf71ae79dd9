//! Every entry comes once, in one order for any number of threads.

use super::*;
use std::sync::Mutex;

/// A matrix whose columns reach far and near.
fn matrix(n: usize) -> SymmetricCsc<f64> {
    reaching(n, |j| {
        vec![j, j + 1, j + 7, j + n / 9, j + n / 3, j + n / 2 + j % 5]
    })
}

/// A matrix of the rows of its columns, of which some are beyond it.
fn reaching(n: usize, rows_of: impl Fn(usize) -> Vec<usize>) -> SymmetricCsc<f64> {
    let (mut ptr, mut rows) = (vec![0u64], Vec::new());
    for j in 0..n {
        let below = rows_of(j).into_iter().filter(|&i| i < n);
        let mut column: Vec<u32> = below.map(|i| i as u32).collect();
        column.sort_unstable();
        column.dedup();
        rows.extend(column);
        ptr.push(rows.len() as u64);
    }
    let values: Vec<f64> = (0..rows.len()).map(|k| k as f64).collect();
    SymmetricCsc::lower(n, &ptr, &rows, &values).unwrap()
}

#[test]
fn every_entry_comes_once_and_in_the_same_order_for_every_team() {
    for n in [1, 100, 20_000] {
        let a = matrix(n);
        let mut want: Option<Vec<Vec<f64>>> = None;
        for threads in [0, 1, 3] {
            let team = (threads > 0).then(|| Team::new(threads));
            let tiles = Tiles::new(&a, team.as_ref());
            let seen: Vec<Mutex<Vec<f64>>> = (0..n).map(|_| Mutex::default()).collect();
            let mut next = Vec::new();
            for _ in 0..2 {
                tiles.for_each(&mut next, |j, rows, values| {
                    // Two bodies in one row or column at a time would fail to lock.
                    let mut column = seen[j].try_lock().unwrap();
                    column.extend_from_slice(values);
                    for (&i, &v) in rows.iter().zip(values) {
                        if i as usize != j {
                            seen[i as usize].try_lock().unwrap().push(v);
                        }
                    }
                });
            }
            let seen: Vec<Vec<f64>> = seen.into_iter().map(|s| s.into_inner().unwrap()).collect();
            let total: usize = seen.iter().map(Vec::len).sum();
            assert_eq!(total, 2 * a.pattern().nnz_full() as usize);
            assert_eq!(want.get_or_insert_with(|| seen.clone()), &seen);
        }
    }
}

#[test]
fn columns_that_reach_far_are_summed_by_rows_with_the_same_sums() {
    let band = reaching(20_000, |j| vec![j, j + 1, j + 100]);
    let small = (matrix(100), false);
    for (a, far) in [
        (matrix(1), false),
        small,
        (band, false),
        (matrix(20_000), true),
    ] {
        let n = a.n();
        // Of whole numbers, so that sums are exact in any order.
        let x: Vec<f64> = (0..n).map(|j| (j % 13) as f64).collect();
        let mut want = vec![0.0; n];
        a.matvec(&x, &mut want);
        // Of thirds, so that they are the same in the same order only.
        let thirds: Vec<f64> = x.iter().map(|x| x / 3.0).collect();
        let mut same: Option<Vec<f64>> = None;
        for threads in [0, 1, 3, 4, 5] {
            let team = (threads > 0).then(|| Team::new(threads));
            let tiles = Tiles::new(&a, team.as_ref());
            let product = |walk: &mut Walk, x: &[f64]| {
                let mut sums = vec![1.0; n + 1];
                tiles.sum(walk, &mut sums, x, |_| 0.0, |sum, v, j| *sum += v * x[j]);
                sums
            };
            let mut walk = Walk::default();
            assert_eq!(product(&mut walk, &x), want);
            tiles.prepare(&mut walk);
            assert_eq!(walk.owned.is_some(), far && threads <= owners::MOST);
            assert_eq!(walk.rows.is_some(), far && threads > owners::MOST);
            assert_eq!(product(&mut walk, &x), want);
            let sums = product(&mut walk, &thirds);
            assert_eq!(same.get_or_insert_with(|| sums.clone()), &sums);
        }
    }
}

#[test]
fn few_rows_with_most_of_the_entries_have_fewer_owners() {
    // All unknowns meet the last ones.
    for dense in [2, 5] {
        let a = reaching(20_000, |j| {
            let last = (20_000 - dense)..20_000;
            [j, j + 1]
                .into_iter()
                .chain(last.filter(|&i| i > j))
                .collect()
        });
        let x: Vec<f64> = (0..a.n()).map(|j| (j % 13) as f64).collect();
        let mut want = vec![0.0; a.n()];
        a.matvec(&x, &mut want);
        for threads in 1..=5 {
            let team = Team::new(threads);
            let (tiles, mut walk) = (Tiles::new(&a, Some(&team)), Walk::default());
            tiles.prepare(&mut walk);
            let mut sums = Vec::new();
            let add = |sum: &mut f64, v: f64, j: usize| *sum += v * x[j];
            tiles.sum(&mut walk, &mut sums, &x, |_| 0.0, add);
            assert_eq!(sums, want, "{dense} rows, {threads} threads");
        }
    }
}

#[test]
fn rows_are_those_of_the_matrix_that_was_prepared_for_last() {
    let first = matrix(20_000);
    let values = first.values().iter().map(|v| 3.0 - v).collect();
    let same_pattern = first.with_values(values).unwrap();
    let fewer = reaching(20_000, |j| vec![j, j + 7_000, j + 11_000 - j % 3]);
    let x: Vec<f64> = (0..first.n()).map(|j| (j % 13) as f64).collect();
    let (team, mut walk) = (Team::new(owners::MOST + 1), Walk::default());
    for a in [&first, &same_pattern, &fewer, &fewer, &first] {
        let mut want = vec![0.0; a.n()];
        a.matvec(&x, &mut want);
        let tiles = Tiles::new(a, Some(&team));
        tiles.prepare(&mut walk);
        assert!(walk.rows.is_some());
        let mut sums = Vec::new();
        tiles.sum(
            &mut walk,
            &mut sums,
            &x,
            |_| 0.0,
            |sum, v, j| *sum += v * x[j],
        );
        assert_eq!(sums, want);
    }
}

#[test]
fn few_rows_or_columns_with_most_of_the_entries_are_summed_by_owners_of_any_number() {
    let n = 20_000;
    let last = reaching(n, |j| {
        [j, j + 1]
            .into_iter()
            .chain(n - 12..n)
            .filter(|&i| i >= j)
            .collect()
    });
    let first = reaching(n, |j| match j {
        0..12 => (j..n).collect(),
        _ => vec![j],
    });
    // What a tile has is not more than others have: no owners.
    let even = reaching(n, |j| (0..12).map(|k| j + k * (n - j) / 12).collect());
    for (a, is_lopsided) in [(last, true), (first, true), (even, false)] {
        let x: Vec<f64> = (0..n).map(|j| (j % 13) as f64).collect();
        let mut want = vec![0.0; n];
        a.matvec(&x, &mut want);
        let thirds: Vec<f64> = x.iter().map(|x| x / 3.0).collect();
        let mut same: Option<Vec<f64>> = None;
        for threads in [0, 1, 2, 5, BLOCKS + 1] {
            let team = (threads > 0).then(|| Team::new(threads));
            let (tiles, mut walk) = (Tiles::new(&a, team.as_ref()), Walk::default());
            assert_eq!(tiles.lopsided, is_lopsided);
            tiles.prepare(&mut walk);
            if is_lopsided {
                let owners = walk.owned.as_ref().unwrap().len() - 1;
                assert_eq!(owners, threads.clamp(1, BLOCKS));
            }
            let mut product = |x: &[f64]| {
                let mut sums = Vec::new();
                tiles.sum(
                    &mut walk,
                    &mut sums,
                    x,
                    |_| 0.0,
                    |sum, v, j| *sum += v * x[j],
                );
                sums
            };
            assert_eq!(product(&x), want);
            let sums = product(&thirds);
            assert_eq!(same.get_or_insert_with(|| sums.clone()), &sums);
        }
    }
}
