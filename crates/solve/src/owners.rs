//! Sums of the rows of a symmetric matrix whose lower triangle is stored by columns, by a few threads that own rows.
//!
//! An entry below the diagonal contributes to its row and to its column. Whoever owns a row adds what comes to it from columns before,
//! and whoever owns a column what is in it: each goes through its own columns, and looks at those before for entries of its rows. That
//! is once more over a part of the pattern for each thread, but nothing is built, and with one thread it is one pass over the
//! columns. What rows and columns far away need is asked for ahead.
//!
//! Invariant: a row gets the entries of the full matrix in the order of their columns, whoever owns it.

use std::ops::Range;

use tamarack_dense::prefetch;
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::substitution::Shared;

/// Owners at most: each looks at the columns of all before it.
pub(crate) const MOST: usize = 4;

/// Entries of a column, on average, from which two owners and more are worth these looks: with 2.2 a refined solve took 1.16 times as long
/// as by full rows that had been found, with 4 to 7 as long or less (run `first-refined-2`).
const DENSE: u64 = 3;

/// Entries ahead of those in work.
const AHEAD: usize = 24;

/// Of so many columns one tells how many entries rows have.
const SAMPLE: usize = if cfg!(test) { 2 } else { 64 };

/// Groups of neighboring rows whose entries are told apart.
const GROUPS: usize = 256;

/// What a look at an entry of a column before costs, in hundredths of what an entry of a row does (estimated; it only says where cuts are).
const LOOK: usize = 70;

/// Whether so many threads should own rows.
pub(crate) fn are_worth(pattern: &Pattern, threads: usize) -> bool {
    let is_dense = pattern.nnz_lower() >= DENSE * pattern.n() as u64;
    threads == 1 || (threads <= MOST && is_dense)
}

/// Where the rows of each owner begin, and n: all have about as much to do.
pub(crate) fn cuts(pattern: &Pattern, owners: usize) -> Vec<usize> {
    let n = pattern.n();
    // Of each group what its rows have of the full matrix, and what its columns have of the lower triangle.
    let mut of_rows = [0; GROUPS];
    let mut of_columns = [0; GROUPS];
    let group = |i: usize| i * GROUPS / n.max(1);
    for j in (0..n).step_by(SAMPLE) {
        let rows = &pattern.row_idx()[pattern.range(j)];
        of_rows[group(j)] += rows.len();
        of_columns[group(j)] += rows.len();
        rows.iter().for_each(|&i| of_rows[group(i as usize)] += 1);
    }
    // Owners one after another take groups as long as they have time; the last one takes what is left.
    let shared_out = |time: usize| {
        let (mut cuts, mut before, mut work) = (vec![0], 0, 0);
        for k in 0..GROUPS {
            work += 100 * of_rows[k];
            before += of_columns[k];
            if work > time && cuts.len() < owners {
                cuts.push(k * n / GROUPS);
                work = 100 * of_rows[k] + LOOK * (before - of_columns[k]);
            }
        }
        (cuts, work)
    };
    let (mut least, mut enough) = (0, 100 * of_rows.iter().sum::<usize>());
    while least < enough {
        let time = (least + enough) / 2;
        match shared_out(time).1 <= time {
            true => enough = time,
            false => least = time + 1,
        }
    }
    let (mut cuts, _) = shared_out(enough);
    cuts.resize(owners, n);
    cuts.push(n);
    cuts
}

/// Sums some rows: as [`Tiles::sum`](crate::tiles::Tiles::sum) does all.
///
/// # Safety
/// There is room for n sums, and nobody else uses those of these rows.
pub(crate) unsafe fn sum<S: Copy, X>(
    a: &SymmetricCsc<f64>,
    own: Range<usize>,
    sums: Shared<S>,
    x: &[X],
    start: impl Fn(usize) -> S,
    add: impl Fn(&mut S, f64, usize),
) {
    if own.is_empty() {
        return; // where few rows have most of the entries, fewer owners have all there is to do
    }
    for i in own.clone() {
        // SAFETY: the caller's promise.
        unsafe { sums.at(i).write(start(i)) };
    }
    // SAFETY: rows in `own` are the caller's, all have been written, and of no row are there two at a time.
    let row = |i: usize| unsafe { &mut *sums.at(i) };
    let all = a.pattern().row_idx();
    let later = |k: usize| all[(k + AHEAD).min(all.len() - 1)] as usize;
    let (values, column) = (a.values(), |j| a.pattern().range(j));
    for j in 0..own.start {
        for k in column(j) {
            let (i, later) = (all[k] as usize, later(k));
            prefetch(sums.at(later.clamp(own.start, own.end - 1)));
            if i >= own.end {
                break;
            }
            if i >= own.start {
                add(row(i), values[k], j);
            }
        }
    }
    for j in own.clone() {
        let mut sum = *row(j);
        for k in column(j) {
            let (i, later) = (all[k] as usize, later(k));
            prefetch(x.as_ptr().wrapping_add(later));
            prefetch(sums.at(later.min(own.end - 1)));
            add(&mut sum, values[k], i);
            if i != j && i < own.end {
                add(row(i), values[k], j);
            }
        }
        *row(j) = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_sparse::models::Model;

    #[test]
    fn owners_have_about_as_much_to_do_and_all_rows() {
        let models = [
            ("rgg_3000", 2),
            ("p2d5_40", 3),
            ("circuit_2000", 4),
            ("p2d5_1", 3),
        ];
        for (name, owners) in models {
            let model: Model = name.parse().unwrap();
            let pattern = model.generate::<f64>().unwrap().pattern().clone();
            let cuts = cuts(&pattern, owners);
            assert!(cuts.is_sorted() && cuts[0] == 0, "{cuts:?}");
            assert_eq!((cuts.len(), cuts[owners]), (owners + 1, pattern.n()));
            let mut work = vec![0; owners];
            let owner = |i: usize| cuts[1..].partition_point(|&cut| cut <= i);
            for j in 0..pattern.n() {
                for &i in pattern.rows(j) {
                    work[owner(j)] += 100;
                    work[owner(i as usize)] += 100;
                }
                let looks = LOOK * pattern.rows(j).len();
                work[owner(j) + 1..]
                    .iter_mut()
                    .for_each(|work| *work += looks);
            }
            let (least, most) = (work.iter().min().unwrap(), work.iter().max().unwrap());
            assert!(
                pattern.n() < 100 || most * 2 < least * 3,
                "{name}: {work:?}"
            );
        }
    }
}
