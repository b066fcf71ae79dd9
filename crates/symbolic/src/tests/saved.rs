//! Saved analyses come back equal; damaged ones are refused without harm.

use tamarack_testkit::{Rng, random_permutation};

use super::random::{blocks, grid, random_pattern};
use crate::{SymbolicError, SymbolicFactor, SymbolicOptions};

fn sample() -> SymbolicFactor {
    let a = grid(9, 7);
    SymbolicFactor::analyze(&a, &random_permutation(63, 5), &SymbolicOptions::default()).unwrap()
}

/// Of nodes with several unknowns.
fn sample_of_nodes() -> SymbolicFactor {
    let shaped = |seed| {
        let (a, order) = blocks(&mut Rng::new(seed), 12);
        let f = SymbolicFactor::analyze(&a, &order, &SymbolicOptions::default()).unwrap();
        (f.entries.shaped.len() > 20).then_some(f)
    };
    (0..).find_map(shaped).unwrap()
}

#[test]
fn comes_back_equal() {
    for seed in 0..300 {
        let mut random = Rng::new(seed);
        let (a, order) = if seed % 2 == 0 {
            blocks(&mut random, 12)
        } else {
            let a = random_pattern(&mut random, 30);
            let order = random_permutation(a.n(), random.bits());
            (a, order)
        };
        let f = SymbolicFactor::analyze(&a, &order, &SymbolicOptions::default()).unwrap();
        assert_eq!(SymbolicFactor::from_bytes(&f.to_bytes()), Ok(f));
    }
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let bytes = sample().to_bytes();
    for end in 0..bytes.len() {
        assert!(SymbolicFactor::from_bytes(&bytes[..end]).is_err());
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(SymbolicFactor::from_bytes(&longer).is_err());
}

/// Every index that a numeric phase follows, followed.
fn follow(f: &SymbolicFactor) -> usize {
    let mut sum = 0;
    for s in 0..f.supernodes() {
        let order = f.npiv(s) + f.nupd(s);
        if let Some(p) = f.parent(s) {
            let above = vec![1; f.npiv(p) + f.nupd(p)];
            sum += f
                .relative(s)
                .iter()
                .map(|&r| above[r as usize])
                .sum::<usize>();
        }
        for j in f.columns(s) {
            let (front, values) = (vec![1; order], vec![1; f.nnz_a() as usize]);
            sum += f.entries(j).map(|(_, r)| front[r as usize]).sum::<usize>();
            sum += f.entries(j).map(|(k, _)| values[k as usize]).sum::<usize>();
        }
        sum += f
            .children(s)
            .iter()
            .map(|&c| f.nupd(c as usize))
            .sum::<usize>();
    }
    sum
}

#[test]
fn changed_bytes_are_refused_or_harmless() {
    let samples = [sample(), sample_of_nodes()].map(|f| f.to_bytes());
    let mut random = Rng::new(77);
    let mut refused = 0;
    for bytes in (0..20_000).map(|k| &samples[k % 2]) {
        let mut bad = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bad.len());
            bad[at] = random.below(256) as u8;
        }
        match SymbolicFactor::from_bytes(&bad) {
            Ok(f) => {
                follow(&f);
            }
            Err(SymbolicError::Corrupt { .. }) => refused += 1,
            Err(e) => panic!("{e}"),
        }
    }
    assert!(refused > 10_000);
}

#[test]
fn promised_lengths_allocate_nothing() {
    let mut bytes = sample().to_bytes()[..8].to_vec();
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    assert!(SymbolicFactor::from_bytes(&bytes).is_err());
}

#[test]
fn wrong_fields_are_named() {
    let damaged = |mut f: SymbolicFactor, change: fn(&mut SymbolicFactor), what: &str| {
        change(&mut f);
        let found = SymbolicFactor::from_bytes(&f.to_bytes())
            .unwrap_err()
            .to_string();
        assert!(found.contains(what), "{found} should name {what}");
    };
    let damage = |change, what| damaged(sample(), change, what);
    damage(|f| f.relative[3] += 1, "relative index");
    damage(|f| f.rows.swap(0, 1), "rows of a supernode");
    damage(
        |f| f.entries.single[1][0] = f.entries.single[0][0],
        "source of an entry",
    );
    damage(|f| f.entries.single[1][0] = u32::MAX, "source of an entry");
    damage(|f| f.entries.high.push(1), "high halves");
    damage(|f| f.entries.single[0][1] = 1 << 20, "rows of the entries");
    damage(|f| f.entries.shaped.push([0; 3]), "entry map");
    damage(|f| f.stats.nnz_a += 1, "number of entries");
    let damage_nodes = |change, what| damaged(sample_of_nodes(), change, what);
    damage_nodes(|f| f.entries.shaped[0][2] += 1, "rows of the entries");
    damage_nodes(|f| f.entries.shaped[0][2] &= !15, "rows of the entries");
    damage_nodes(|f| f.entries.shaped[1][1] = 1 << 20, "rows of the entries");
    damage_nodes(|f| f.entries.shaped[1][0] += 1, "source of an entry");
    damage(|f| f.parent[0] = u32::MAX, "parent");
    damage(|f| f.children.swap(0, 1), "children");
    damage(|f| f.super_ptr[1] = 0, "no columns");
    damage(|f| f.row_ptr[1] = u64::MAX, "offsets of the rows");
    damage(|f| f.entries.ptr[1] = 0, "rows of the entries");
    damage(|f| f.stats.nnz_l_stored += 1, "counts");
    damage(|f| f.stats.flops = 0, "counts");
    damage(|f| f.relative.truncate(1), "relative indices");
    damage(|f| f.super_ptr.truncate(1), "offsets of the supernodes");
}

#[test]
fn fingerprints_tell_patterns_apart() {
    let prints: std::collections::BTreeSet<u64> = (1..30)
        .flat_map(|w| (1..30).map(move |h| grid(w, h).fingerprint()))
        .collect();
    // A row and a column of the same length are the same pattern.
    assert_eq!(prints.len(), 29 * 29 - 28);
    assert_eq!(grid(5, 5).fingerprint(), grid(5, 5).fingerprint());
}
