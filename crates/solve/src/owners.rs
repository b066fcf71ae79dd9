//! Sums of the rows of a symmetric matrix whose lower triangle is stored by columns, by a few threads that own rows.
//!
//! An entry below the diagonal contributes to its row and to its column. Whoever owns a row adds what comes to it from columns before,
//! and whoever owns a column what is in it: each goes through its own columns, and looks at those before for entries of its rows. That
//! is once more over a part of the pattern for each thread, but nothing is built, and with one thread it is one pass over the
//! columns. What rows and columns far away need is asked for ahead; in long columns an owner's rows are searched for, and in all where a few
//! rows or columns have most of the entries, as in a bundle adjustment: there rows have as many owners as there are threads.
//!
//! Invariant: a row gets the entries of the full matrix in the order of their columns, whoever owns it.

use std::mem::MaybeUninit;
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

/// Entries of a column from which those of an owner's rows are searched for; in shorter ones that reach far they are looked at one after the other.
pub(crate) const LONG: usize = 32;

/// Rows that an owner sums up elsewhere, at most: where few rows have most of the entries, those on both sides of a cut would be written all the
/// time, in one line of a cache.
const NEAR: usize = 64;

/// Entries that tell how many rows have, and columns of which one tells how many entries are looked at.
const SAMPLES: usize = 1024;
const COLUMNS: usize = if cfg!(test) { 2 } else { 64 };

/// Parts of the rows that are told apart have one in so many of the rows at most, and of the entries in columns and in rows about as many, if they
/// are not single rows.
const PARTS: usize = 128;

/// What a look at an entry of a column before costs, in hundredths of what an entry of a row does (estimated; it only says where cuts are).
const LOOK: usize = 70;

/// Whether so many threads should own rows of a matrix whose columns reach far.
pub(crate) fn are_worth(pattern: &Pattern, threads: usize) -> bool {
    let is_dense = pattern.nnz_lower() >= DENSE * pattern.n() as u64;
    threads == 1 || (threads <= MOST && is_dense)
}

/// The rows of about `count` entries of some columns of the lower triangle, from one end to the other, and how many entries each stands for.
pub(crate) fn sampled(
    pattern: &Pattern,
    columns: Range<usize>,
    count: usize,
) -> (impl Iterator<Item = u32>, usize) {
    let starts = pattern.col_ptr();
    let entries = starts[columns.start] as usize..starts[columns.end] as usize;
    let step = entries.len().div_ceil(count).max(1);
    let rows = pattern.row_idx()[entries].iter();
    (rows.step_by(step).copied(), step)
}

/// Where the [`PARTS`] begin, and n, given the rows of some entries, increasing.
fn parts(pattern: &Pattern, rows: &[u32]) -> Vec<usize> {
    let (n, nnz) = (pattern.n(), pattern.nnz_lower() as usize);
    let even = (0..PARTS).map(|k| n * k / PARTS);
    let by_columns = (1..PARTS).map(|k| {
        let before = (nnz / PARTS * k) as u64;
        pattern
            .col_ptr()
            .partition_point(|&start| start < before)
            .min(n)
    });
    let by_rows = (1..PARTS).map(|k| rows[rows.len() * k / PARTS] as usize);
    let mut parts: Vec<usize> = even.chain(by_columns).chain(by_rows).chain([n]).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// Where the rows of each owner begin, and n: all have about as much to do.
pub(crate) fn cuts(pattern: &Pattern, owners: usize) -> Vec<usize> {
    let n = pattern.n();
    if n == 0 {
        return vec![0; owners + 1];
    }
    let (rows, each) = sampled(pattern, 0..n, SAMPLES);
    let mut rows: Vec<u32> = rows.collect();
    rows.sort_unstable();
    let parts = parts(pattern, &rows);
    // Of each part what its rows have of the full matrix, and what is looked at in its columns.
    let (mut own, mut looks, mut rest) = (Vec::new(), Vec::new(), &rows[..]);
    for part in parts.windows(2) {
        let [first, end] = [part[0], part[1]].map(|j| pattern.col_ptr()[j]);
        let of_rows = rest.partition_point(|&i| (i as usize) < part[1]);
        rest = &rest[of_rows..];
        own.push(100 * ((end - first) as usize + each * of_rows));
        // Few columns stand for no more than there are.
        let columns = (part[0]..part[1]).step_by(COLUMNS);
        let lens = columns.clone().map(|j| pattern.rows(j).len().min(LONG));
        looks.push(LOOK * lens.sum::<usize>() * (part[1] - part[0]) / columns.len());
    }
    // Owners one after another take parts as long as they have time; the last one takes what is left.
    let shared_out = |time: usize| {
        let (mut cuts, mut before, mut work) = (vec![0], 0, 0);
        for (k, (&own, &look)) in own.iter().zip(&looks).enumerate() {
            work += own;
            if work > time && cuts.len() < owners {
                cuts.push(parts[k]);
                work = own + before;
            }
            before += look;
        }
        (cuts, work)
    };
    let (mut least, mut enough) = (0, own.iter().sum());
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

/// Sums some rows: as [`Tiles::sum`](crate::tiles::Tiles::sum) does all. In columns of `searched` entries and more these rows are searched for.
///
/// # Safety
/// There is room for n sums, and nobody else uses those of these rows.
pub(crate) unsafe fn sum<S: Copy, X>(
    a: &SymmetricCsc<f64>,
    own: Range<usize>,
    searched: usize,
    sums: Shared<S>,
    x: &[X],
    start: impl Fn(usize) -> S,
    add: impl Fn(&mut S, f64, usize),
) {
    if own.is_empty() {
        return; // where few rows have most of the entries, fewer owners have all there is to do
    }
    let (all_sums, mut near) = (sums, [const { MaybeUninit::<S>::uninit() }; NEAR]);
    let sums = match own.len() <= NEAR {
        true => Shared(near.as_mut_ptr().cast::<S>().wrapping_sub(own.start)),
        false => all_sums,
    };
    for i in own.clone() {
        // SAFETY: the caller's promise, or there is room for these rows.
        unsafe { sums.at(i).write(start(i)) };
    }
    // SAFETY: rows in `own` are the caller's, all have been written, and of no row are there two at a time.
    let row = |i: usize| unsafe { &mut *sums.at(i) };
    let all = a.pattern().row_idx();
    let later = |k: usize| all[(k + AHEAD).min(all.len() - 1)] as usize;
    let (values, column) = (a.values(), |j| a.pattern().range(j));
    // Where the entries of a column from a row on begin.
    let from = |entries: &Range<usize>, first: usize| {
        entries.start + all[entries.clone()].partition_point(|&i| (i as usize) < first)
    };
    for j in 0..own.start {
        let entries = column(j);
        if entries.len() >= searched {
            if (all[entries.end - 1] as usize) < own.start {
                continue;
            }
            let mine = from(&entries, own.start)..from(&entries, own.end);
            for (&i, &v) in all[mine.clone()].iter().zip(&values[mine]) {
                add(row(i as usize), v, j);
            }
            continue;
        }
        for k in entries {
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
        let entries = column(j);
        if entries.len() >= searched {
            let others = from(&entries, own.end);
            let mine = entries.start..others;
            for (&i, &v) in all[mine.clone()].iter().zip(&values[mine]) {
                add(&mut sum, v, i as usize);
                if i as usize != j {
                    add(row(i as usize), v, j);
                }
            }
            let others = others..entries.end;
            for (&i, &v) in all[others.clone()].iter().zip(&values[others]) {
                add(&mut sum, v, i as usize);
            }
            *row(j) = sum;
            continue;
        }
        for k in entries {
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
    if own.len() <= NEAR {
        // SAFETY: the caller's promise; the sums are elsewhere, and there.
        unsafe {
            let to = all_sums.at(own.start);
            to.copy_from_nonoverlapping(sums.at(own.start), own.len());
        }
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
