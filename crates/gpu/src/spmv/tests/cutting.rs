use std::collections::HashSet;

use super::super::windows::{Sizes, Windows, cut};
use super::super::{Csr, Format, Profile};
use super::{Owned, awkward_lowers, grid_lower, random};

/// Runs the cut on the host as the kernels do, checking that no round touches a place twice.
fn multiply(w: &Windows, values: &[f64], x: &[f64]) -> Vec<f64> {
    let (mut y, mut outer) = (vec![f64::NAN; x.len()], vec![f64::NAN; w.outside.len()]);
    for c in &w.chunks {
        let [
            entry,
            piece,
            round,
            outside,
            row,
            rows,
            outside_count,
            rounds,
            ..,
        ] = c.map(|v| v as usize);
        let mut names: Vec<usize> = (row..row + rows).collect();
        names.extend(
            w.outside[outside..outside + outside_count]
                .iter()
                .map(|&r| r as usize),
        );
        assert!(names.len() <= w.window);
        let mut sums = vec![0.0; names.len()];
        for r in round..round + rounds {
            let (first, last) = (w.rounds[r] as usize, w.rounds[r + 1] as usize);
            assert!(last - first <= 32);
            let mut touched = HashSet::new();
            for p in piece + first..piece + last {
                let place = w.pieces[p] as usize & 0xFFFF;
                let mut mine = HashSet::from([place]);
                for at in
                    entry + (w.pieces[p] >> 16) as usize..entry + (w.pieces[p + 1] >> 16) as usize
                {
                    let (other, value) = (w.places[at] as usize, values[w.sources[at] as usize]);
                    mine.insert(other);
                    sums[place] += value * x[names[other]];
                    if other != place {
                        sums[other] += value * x[names[place]];
                    }
                }
                assert!(
                    mine.iter().all(|&m| touched.insert(m)),
                    "a round touches a place twice"
                );
            }
        }
        y[row..row + rows].copy_from_slice(&sums[..rows]);
        outer[outside..outside + outside_count].copy_from_slice(&sums[rows..]);
    }
    for (i, y) in y.iter_mut().enumerate() {
        for &k in &w.adds[w.add_starts[i] as usize..w.add_starts[i + 1] as usize] {
            assert_eq!(w.outside[k as usize] as usize, i);
            *y += outer[k as usize];
        }
    }
    y
}

fn both_halves(lower: &Owned, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; lower.rows()];
    for i in 0..lower.rows() {
        for (j, v) in lower.row(i) {
            y[i] += v * x[j];
            if i != j {
                y[j] += v * x[i];
            }
        }
    }
    y
}

#[test]
fn every_cut_multiplies_like_the_matrix() {
    let sizes = [(1024, 3072, 2), (64, 200, 1), (7, 33, 4), (1, 2, 1)];
    for lower in awkward_lowers() {
        let x: Vec<f64> = (0..lower.rows()).map(|i| (i as f64 * 1.3).cos()).collect();
        let want = both_halves(&lower, &x);
        for (rows, window, depth) in sizes {
            let w = cut(
                &lower.csr(),
                Sizes {
                    rows,
                    window,
                    depth,
                },
            );
            assert_eq!(
                w.sources.iter().collect::<HashSet<_>>().len(),
                lower.indices.len()
            );
            let got = multiply(&w, &lower.values, &x);
            for i in 0..want.len() {
                assert!(
                    (got[i] - want[i]).abs() <= 1e-10,
                    "row {i}: {} for {}",
                    got[i],
                    want[i]
                );
            }
        }
    }
}

#[test]
fn grids_fill_their_rounds() {
    let lower = grid_lower(24);
    let w = cut(
        &lower.csr(),
        Sizes {
            rows: 768,
            window: 2560,
            depth: 2,
        },
    );
    let rounds: u32 = w.chunks.iter().map(|c| c[7]).sum();
    let pieces = w.pieces.len() - w.chunks.len();
    // 32 pieces fit in a round.
    assert!(
        pieces as f64 >= 26.0 * f64::from(rounds),
        "{pieces} pieces in {rounds} rounds"
    );
}

#[test]
fn mirroring_gives_both_halves() {
    for lower in awkward_lowers() {
        let (starts, columns, values) = lower.csr().mirrored();
        let full = Csr::new(lower.columns, &starts, &columns, &values).unwrap();
        let x: Vec<f64> = (0..lower.rows()).map(|i| 1.0 + i as f64).collect();
        let want = both_halves(&lower, &x);
        for (i, want) in want.iter().enumerate() {
            let range = full.range(i as u32);
            let got: f64 = range.map(|k| values[k] * x[columns[k] as usize]).sum();
            assert!((got - want).abs() <= 1e-10 * (1.0 + want.abs()));
        }
    }
}

#[test]
fn matrices_that_are_none_are_refused() {
    let refused = |n, starts: &[u64], columns: &[u32], values: &[f64]| {
        Csr::new(n, starts, columns, values).is_err()
    };
    assert!(refused(1, &[], &[], &[]));
    assert!(refused(1, &[0, 2], &[0], &[1.0]));
    assert!(refused(1, &[0, 1], &[1], &[1.0]));
    assert!(refused(2, &[0, 2], &[1, 0], &[1.0, 1.0]));
    assert!(refused(2, &[0, 2], &[1, 1], &[1.0, 1.0]));
    assert!(refused(2, &[0, 2, 1], &[0], &[1.0]));
    assert!(refused(2, &[0, 1], &[0], &[]));
    assert!(!refused(2, &[0, 2], &[0, 1], &[1.0, 1.0]));
}

#[test]
fn the_choice_follows_the_rows() {
    let regular = random(1000, 1000, 0, 0, 1);
    assert_eq!(Profile::of(&regular.csr()).format(), Format::CsrRows);
    let skewed = random(3000, 3000, 3, 900, 2);
    let profile = Profile::of(&skewed.csr());
    assert_eq!(profile.format(), Format::CsrMerge);
    assert!(profile.hybrid_width >= 1 && profile.hybrid_width <= 3);
    assert!(profile.longest > 700 && profile.mean < 20.0);
    // Columns anywhere, and the same rows with columns near each other.
    let scattered = random(400_000, 1 << 20, 12, 700, 11);
    assert_eq!(Profile::of(&scattered.csr()).format(), Format::ByColumn);
    let near = (0..scattered.rows()).map(|i| {
        let first = (i as u32).min((1 << 20) - 1000);
        (0..scattered.row(i).count() as u32)
            .map(|k| first + k)
            .collect()
    });
    let near = Owned::from_rows(1 << 20, near.collect());
    assert_eq!(Profile::of(&near.csr()).format(), Format::CsrMerge);
    let diagonal = Owned::from_rows(200_000, (0..200_000).map(|i| vec![i]).collect());
    assert_eq!(Profile::of(&diagonal.csr()).format(), Format::SlicedEll);
}
