use std::collections::HashSet;

use super::super::rounds::{NONE, Rounds, Sizes, deal};
use super::super::symmetric_ell::{self, lay_out};
use super::{Owned, awkward_lowers, random, short_lower};

/// Multiplies on the host as the kernels do, checking that no round has a sum twice and that columns ascend in each sum.
fn multiply(r: &Rounds, round_len: usize, rows: usize, values: &[f64], x: &[f64]) -> Vec<f64> {
    let segments = *r.segment_starts.last().unwrap() as usize;
    let mut y = vec![f64::NAN; rows + segments];
    for w in &r.windows {
        let [row, count, round, rounds, several, several_count, places, _] = w.map(|v| v as usize);
        assert!(places <= r.most_places);
        let (mut sums, mut last) = (vec![0.0; places], vec![None; places]);
        for k in round..round + rounds {
            let mut touched = HashSet::new();
            for at in k * round_len..(k + 1) * round_len {
                if r.columns[at] == NONE {
                    assert_eq!(r.sources[at], NONE);
                    continue;
                }
                let place = r.places[at] as usize;
                assert!(touched.insert(place), "a round has a sum twice");
                assert!(last[place] < Some(r.columns[at]), "columns do not ascend");
                last[place] = Some(r.columns[at]);
                sums[place] += values[r.sources[at] as usize] * x[r.columns[at] as usize];
            }
        }
        for k in several..several + several_count {
            let (word, end) = (r.several[k], r.several[k + 1] >> 16);
            let own = word as usize & 0xFFFF;
            sums[own] += sums[(word >> 16) as usize..end as usize]
                .iter()
                .sum::<f64>();
        }
        assert!(y[row..row + count].iter().all(|y| y.is_nan()));
        y[row..row + count].copy_from_slice(&sums[..count]);
    }
    let (y, segments) = y.split_at_mut(rows);
    for (k, &row) in r.cut_rows.iter().enumerate() {
        let range = r.segment_starts[k] as usize..r.segment_starts[k + 1] as usize;
        y[row as usize] += segments[range].iter().sum::<f64>();
    }
    y.to_vec()
}

fn check(a: &Owned, sizes: Sizes) -> Rounds {
    let r = deal(&a.csr(), sizes);
    let x: Vec<f64> = (0..a.columns).map(|i| (f64::from(i) * 1.3).cos()).collect();
    let used = r.sources.iter().filter(|&&s| s != NONE);
    assert_eq!(used.collect::<HashSet<_>>().len(), a.indices.len());
    assert!(r.most_places <= sizes.places);
    let y = multiply(&r, sizes.round, a.rows(), &a.values, &x);
    for (i, y) in y.iter().enumerate() {
        let want: f64 = a.row(i).map(|(j, v)| v * x[j]).sum();
        assert!((y - want).abs() <= 1e-10, "row {i}: {y} for {want}");
    }
    r
}

#[test]
fn every_dealing_multiplies_like_the_matrix() {
    let matrices = [
        Owned::from_rows(3, vec![]),
        Owned::from_rows(5, vec![vec![]; 7]),
        Owned::from_rows(1, vec![vec![0]; 1793]),
        // Rows of one sum and of two, of one segment and of several.
        Owned::from_rows(
            9001,
            [16, 17, 4096, 4097, 9001]
                .map(|n| (0..n).collect())
                .to_vec(),
        ),
        random(1009, 10_007, 60, 5000, 4),
        random(10_007, 331, 7, 300, 3),
    ];
    for a in &matrices {
        for (at_once, places, round) in [
            (132, 20_000, 2048),
            (3, 256, 64),
            (1, 60_000, 1),
            (7, 300, 8),
        ] {
            check(
                a,
                Sizes {
                    at_once,
                    places,
                    round,
                },
            );
        }
    }
}

#[test]
fn windows_share_the_work_and_fill_their_rounds() {
    let a = random(60_000, 1 << 20, 9, 300, 12);
    let round = 256;
    let r = check(
        &a,
        Sizes {
            at_once: 12,
            places: 9000,
            round,
        },
    );
    assert_eq!(r.windows.len(), 12);
    let (least, most) = (0..12).fold((u32::MAX, 0), |(least, most), k| {
        let rounds = r.windows[k][3];
        (rounds.min(least), rounds.max(most))
    });
    assert!(most - least <= 6, "{least} to {most} rounds");
    assert!(r.columns.len() as f64 <= 1.05 * a.indices.len() as f64);
}

#[test]
fn words_of_symmetric_ell_find_each_value_from_both_sides() {
    for lower in awkward_lowers().into_iter().chain([short_lower(9)]) {
        let layout = lay_out(&lower.csr()).unwrap();
        let pitch = layout.pitch as usize;
        let mut found = vec![Vec::new(); lower.rows()];
        let mut want = found.clone();
        for i in 0..lower.rows() {
            for (j, value) in lower.row(i) {
                want[i].push((j, value));
                if i != j {
                    want[j].push((i, value));
                }
            }
            let words = (0..layout.width as usize).map(|k| layout.words[k * pitch + i]);
            for word in words.filter(|&word| word != symmetric_ell::NONE) {
                let j = (word >> layout.bits) as usize;
                let line = word as usize & ((1 << layout.bits) - 1);
                found[i].push((j, layout.values[line * pitch + i.max(j)]));
            }
        }
        assert_eq!(found, want);
    }
    let full = random(40, 40, 9, 9, 5);
    assert!(lay_out(&full.csr()).is_err());
}
