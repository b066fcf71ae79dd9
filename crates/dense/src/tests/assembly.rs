//! Extend-add against addition entry by entry.

use crate::{BlockColumns, FrontMut, Isa, Run, extend_add, extend_add_each, find_runs};

#[test]
fn runs_cover_all_rows() {
    let mut runs = Vec::new();
    find_runs(&[0, 1, 2, 5, 7, 8], 0, &mut runs);
    let run = |from, to, target| Run { from, to, target };
    assert_eq!(runs, [run(0, 3, 0), run(3, 4, 5), run(4, 6, 7)]);
    find_runs(&[0, 1, 2, 5, 7, 8], 1, &mut runs);
    assert_eq!(runs, [run(1, 3, 1), run(3, 4, 5), run(4, 6, 7)]);
    find_runs(&[], 0, &mut runs);
    assert!(runs.is_empty());
}

/// Whole and cut into column ranges, for every instruction set, with runs of many lengths.
#[test]
fn extend_add_places_every_entry() {
    let dense: Vec<u32> = (0..45).collect();
    let gaps: Vec<u32> = (0..45).filter(|r| r % 11 != 3 && r % 7 != 1).collect();
    let lists = [&[1, 2, 4, 5, 6, 7, 10, 13][..], &dense, &gaps, &[40], &[]];
    for (npiv, nupd, block) in [
        (5, 40, 4),
        (20, 25, 16),
        (0, 45, 64),
        (45, 0, 64),
        (3, 42, 8),
    ] {
        for relative in lists {
            for isa in Isa::available() {
                check(relative, (npiv, nupd, block), Some(isa));
            }
            check(relative, (npiv, nupd, block), None);
        }
    }
}

/// By runs with an instruction set, or entry by entry.
fn check(relative: &[u32], (npiv, nupd, block): (usize, usize, usize), isa: Option<Isa>) {
    let layout = BlockColumns::update(relative.len(), block);
    let child: Vec<f64> = (0..layout.len()).map(|k| 1.0 + k as f64).collect();
    let mut runs = Vec::new();
    let layouts = [
        BlockColumns::panel(npiv, nupd, block),
        BlockColumns::update(nupd, block),
    ];
    for cut in [0, relative.len() / 3, relative.len()] {
        let mut panel = vec![0.5f64; layouts[0].len()];
        let mut update = vec![0.5f64; layouts[1].len()];
        let front = FrontMut::new(panel.as_mut_ptr(), update.as_mut_ptr(), npiv, nupd, block);
        for columns in [0..cut, cut..relative.len()] {
            find_runs(relative, columns.start, &mut runs);
            let child = child.as_ptr();
            // SAFETY: the matrices are ours alone.
            unsafe {
                match isa {
                    Some(isa) => extend_add(child, layout, &runs, columns, &front, isa),
                    None => extend_add_each(child, layout, relative, columns, &front),
                }
            }
        }
        for j in 0..npiv + nupd {
            for i in j..npiv + nupd {
                let find = |x: usize| relative.iter().position(|&r| r as usize == x);
                let added = find(i)
                    .zip(find(j))
                    .map_or(0.0, |(ci, cj)| child[layout.index(ci, cj)]);
                let found = if j < npiv {
                    panel[layouts[0].index(i, j)]
                } else {
                    update[layouts[1].index(i - npiv, j - npiv)]
                };
                assert_eq!(found, 0.5 + added, "({i}, {j}), cut {cut}, {isa:?}");
            }
        }
    }
}
