//! Every entry comes once, in one order for any number of threads.

use super::*;

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

/// All entries of every row of the full matrix in the order of their columns, as a number that depends on both.
fn in_order(a: &SymmetricCsc<f64>, x: &[u32]) -> Vec<u64> {
    let mut sums = vec![1; a.n()];
    let entries = (0..a.n()).flat_map(|j| {
        let (rows, values) = a.column(j);
        rows.iter()
            .zip(values)
            .map(move |(&i, &v)| (i as usize, j, v))
    });
    // Columns of the upper triangle are rows of the lower one.
    let mut full: Vec<(usize, usize, f64)> = entries
        .flat_map(|(i, j, v)| [(j, i, v), (i, j, v)])
        .collect();
    full.sort_by_key(|&(row, column, _)| (column, row));
    full.dedup_by_key(|&mut (row, column, _)| (column, row));
    for (row, column, v) in full {
        mix(&mut sums[row], v, x[column]);
    }
    sums
}

fn mix(sum: &mut u64, v: f64, x: u32) {
    let entry = (v as u64) << 32 | u64::from(x);
    *sum = (sum.rotate_left(7) ^ entry).wrapping_mul(0x9e37_79b9_7f4a_7c15);
}

#[test]
fn every_row_gets_its_entries_once_in_the_order_of_columns_from_every_team() {
    let near = reaching(20_000, |j| vec![j, j + 1, j + 2, j + 40, j + 41, j + 100]);
    let dense = reaching(20_000, |j| {
        let last = 19_990..20_000;
        [j, j + 3]
            .into_iter()
            .chain(last.filter(|&i| i >= j))
            .collect()
    });
    for a in [matrix(1), matrix(100), matrix(20_000), near, dense] {
        let x: Vec<u32> = (0..a.n() as u32).map(|j| j ^ 0x5a5a).collect();
        let want = in_order(&a, &x);
        for threads in [0, 1, 2, 3, 4, 7, BLOCKS + 1] {
            let team = (threads > 0).then(|| Team::new(threads));
            let blocks = Blocks::new(&a, team.as_ref());
            let mut walk = Walk::default();
            blocks.prepare(&mut walk);
            // Rows that are asked for ahead, too.
            for asked in [false, true] {
                walk.owners.ask_ahead(asked);
                let mut sums = Vec::new();
                blocks.sum(&mut walk, &mut sums, &x, |_| 1, mix);
                assert_eq!(sums, want, "{} rows, {threads} threads", a.n());
            }
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
            let blocks = Blocks::new(&a, team.as_ref());
            let product = |walk: &mut Walk, x: &[f64]| {
                let mut sums = vec![1.0; n + 1];
                blocks.sum(walk, &mut sums, x, |_| 0.0, |sum, v, x| *sum += v * x);
                sums
            };
            let mut walk = Walk::default();
            blocks.prepare(&mut walk);
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
            let (blocks, mut walk) = (Blocks::new(&a, Some(&team)), Walk::default());
            blocks.prepare(&mut walk);
            let mut sums = Vec::new();
            let add = |sum: &mut f64, v: f64, x: f64| *sum += v * x;
            blocks.sum(&mut walk, &mut sums, &x, |_| 0.0, add);
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
        let blocks = Blocks::new(a, Some(&team));
        blocks.prepare(&mut walk);
        assert!(walk.rows.is_some());
        let mut sums = Vec::new();
        blocks.sum(&mut walk, &mut sums, &x, |_| 0.0, |sum, v, x| *sum += v * x);
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
    // What a tile has is not more than others have.
    let even = reaching(n, |j| (0..12).map(|k| j + k * (n - j) / 12).collect());
    for (a, is_lopsided) in [(last, true), (first, true), (even, false)] {
        let x: Vec<f64> = (0..n).map(|j| (j % 13) as f64).collect();
        let mut want = vec![0.0; n];
        a.matvec(&x, &mut want);
        let thirds: Vec<f64> = x.iter().map(|x| x / 3.0).collect();
        let mut same: Option<Vec<f64>> = None;
        for threads in [0, 1, 2, 5, BLOCKS + 1] {
            let team = (threads > 0).then(|| Team::new(threads));
            let (blocks, mut walk) = (Blocks::new(&a, team.as_ref()), Walk::default());
            assert_eq!(blocks.lopsided, is_lopsided);
            blocks.prepare(&mut walk);
            if is_lopsided {
                assert_eq!(walk.owners.count(), threads.clamp(1, BLOCKS));
            }
            let mut product = |x: &[f64]| {
                let mut sums = Vec::new();
                blocks.sum(&mut walk, &mut sums, x, |_| 0.0, |sum, v, x| *sum += v * x);
                sums
            };
            assert_eq!(product(&x), want);
            let sums = product(&thirds);
            assert_eq!(same.get_or_insert_with(|| sums.clone()), &sums);
        }
    }
}

#[test]
#[should_panic(expected = "not prepared")]
fn owners_of_another_matrix_sum_nothing() {
    let (first, other) = (matrix(100), matrix(90));
    let mut walk = Walk::default();
    Blocks::new(&first, None).prepare(&mut walk);
    let x = vec![1.0; other.n()];
    let add = |sum: &mut f64, v: f64, x: f64| *sum += v * x;
    Blocks::new(&other, None).sum(&mut walk, &mut Vec::new(), &x, |_| 0.0, add);
}
