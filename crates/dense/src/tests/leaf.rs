//! Implicit updates of leaves against products entry by entry.

use super::Numbers;
use crate::layout::line;
use crate::{
    Band, BlockColumns, Floor, FrontMut, Isa, Leaf, Real, Strips, Workspace, panel_cholesky,
    subtract_products, write_strips,
};

/// A panel of L, column after column: small numbers, the pivots near 4.
fn panel<T: Real>(random: &mut Numbers, npiv: usize, nupd: usize) -> Vec<T> {
    let rows = npiv + nupd;
    let entry = |at: usize| {
        if at.is_multiple_of(rows + 1) {
            4.0
        } else {
            0.0
        }
    };
    let number = |at| T::from_f64(entry(at) + random.next::<f64>());
    (0..rows * npiv).map(number).collect()
}

/// Every number of pivots, rows alone, in runs that are in step with tiles and others, and all in one; whole, and cut anywhere; for every
/// instruction set.
#[test]
fn products_are_subtracted_where_they_belong() {
    let order = 90;
    let nodes = |step: u32, width: u32| (0..order).filter(move |r| r % step < width).collect();
    let lists: [Vec<u32>; 8] = [
        (0..order).collect(),
        (40..57).collect(),
        nodes(2, 1),
        nodes(9, 6),
        nodes(12, 9),
        nodes(7, 5),
        vec![89],
        Vec::new(),
    ];
    let mut random = Numbers::new(5);
    for npiv in 1..=8 {
        for rows in &lists {
            for (parent, block) in [((20, 70), 32), ((0, 90), 128), ((90, 0), 8)] {
                check::<f64>(&mut random, npiv, rows, parent, block, 1e-14);
                check::<f32>(&mut random, npiv, rows, parent, block, 1e-5);
            }
        }
    }
}

fn check<T: Real>(
    random: &mut Numbers,
    npiv: usize,
    relative: &[u32],
    (above, below): (usize, usize),
    block: usize,
    tolerance: f64,
) {
    let nupd = relative.len();
    let l = panel::<T>(random, npiv, nupd);
    let mut strips = vec![T::ZERO; Strips::panel(npiv, nupd, size_of::<T>()).len()];
    let layouts = [
        BlockColumns::panel(above, below, block),
        BlockColumns::update(below, block),
    ];
    let mut bits = None;
    for isa in Isa::available() {
        // SAFETY: the panel is one block column, and the strips have room for it.
        unsafe { write_strips(l.as_ptr(), (npiv, nupd), npiv, strips.as_mut_ptr(), isa) };
        let leaf = Leaf {
            panel: strips.as_ptr(),
            npiv,
            relative,
        };
        // One column and two alone as well, at the top and at the bottom: those go number by number.
        let cuts = [
            0,
            nupd.min(1),
            nupd / 3,
            nupd.min(line::<T>()),
            nupd.saturating_sub(2),
            nupd,
        ];
        for cut in cuts {
            let mut panel = vec![T::ONE; layouts[0].len()];
            let mut update = vec![T::ONE; layouts[1].len()];
            let (front, to) = (panel.as_mut_ptr(), update.as_mut_ptr());
            let front = FrontMut::new(front, to, above, below, block);
            // A band ends with a block column, and here where the columns are cut.
            let block_of = |k: usize| match relative[k] as usize {
                j if j < above => (0, j / block),
                j => (1, (j - above) / block),
            };
            let all: Vec<usize> = (0..nupd).collect();
            let bands = all.chunk_by(|&a, &b| b != cut && block_of(a) == block_of(b));
            for band in bands {
                let columns = band[0]..band[0] + band.len();
                // The band begins with the column or with one before it.
                let first = relative[band[0]] as usize;
                let begin = match first.checked_sub(above) {
                    None => first / block * block,
                    Some(below) => above + below / block * block,
                };
                let middle = columns.start + columns.len() / 2;
                for (first, half) in [(begin, columns.start..middle), (first, middle..columns.end)]
                {
                    let leaves = [(leaf, half)].into_iter();
                    // SAFETY: the front is ours alone.
                    unsafe { subtract_products(leaves, &Band::of(&front, first), isa) };
                }
            }
            let place = |i: u32| relative.binary_search(&i).ok();
            for j in 0..(above + below) as u32 {
                for i in j..(above + below) as u32 {
                    let found = match (i as usize, j as usize) {
                        (i, j) if j < above => panel[layouts[0].index(i, j)],
                        (i, j) => update[layouts[1].index(i - above, j - above)],
                    };
                    let row = |i: usize, k: usize| l[npiv + i + k * (npiv + nupd)].to_f64();
                    let product = match (place(i), place(j)) {
                        (Some(i), Some(j)) => (0..npiv).map(|k| row(i, k) * row(j, k)).sum(),
                        _ => 0.0,
                    };
                    let error = (found.to_f64() - (1.0 - product)).abs();
                    assert!(
                        error <= tolerance,
                        "({i}, {j}): {error}, {npiv} {relative:?}"
                    );
                }
            }
            // The same whatever the cut.
            let all: Vec<T> = panel.into_iter().chain(update).collect();
            match &bits {
                Some((of, all_of)) if *of == isa => assert!(all == *all_of, "{npiv} {relative:?}"),
                _ => bits = Some((isa, all)),
            }
        }
    }
}

#[test]
fn panels_alone_are_those_of_whole_fronts() {
    let mut random = Numbers::new(9);
    for (npiv, nupd, block) in [
        (1, 0, 8),
        (3, 9, 16),
        (3, 36, 32),
        (8, 200, 64),
        (8, 240, 4),
    ] {
        let layout = BlockColumns::panel(npiv, nupd, block);
        let mut whole = vec![0.0; layout.len()];
        for j in 0..npiv {
            for i in j / block * block..npiv + nupd {
                whole[layout.index(i, j)] = random.next::<f64>() + if i == j { 9.0 } else { 0.0 };
            }
        }
        let mut alone = whole.clone();
        let mut update = vec![0.0; BlockColumns::update(nupd, block).len()];
        let mut workspace = Workspace::<f64>::new(block);
        let how = (crate::UpdateMode::Overwrite, Floor::NONE);
        let size = (npiv, nupd);
        crate::partial_cholesky(&mut whole, &mut update, size, block, how, &mut workspace).unwrap();
        panel_cholesky(&mut alone, size, block, Floor::NONE, &mut workspace).unwrap();
        assert!(whole == alone, "{npiv} {nupd} {block}");
    }
}
