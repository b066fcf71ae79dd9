//! Which rows each owner has: all have about as much to do.

use std::ops::Range;

use tamarack_sparse::Pattern;

use super::Sharing;

/// Entries that tell how many rows have, and columns of which one tells how many entries are looked at.
const SAMPLES: usize = 1024;
const COLUMNS: usize = if cfg!(test) { 2 } else { 64 };

/// Parts of the rows that are told apart have one in so many of the rows at most, and of the entries in columns and in rows about as many, if they
/// are not single rows.
const PARTS: usize = 128;

/// What an entry costs the owner of its row, and what it costs that of its column: what comes to a row from columns before stands apart (estimated on
/// sixteen cores; it only says where cuts are).
const ROW: usize = 150;
const COLUMN: usize = 100;

/// What searching a column before theirs costs owners for each of its first [`LONG`] entries.
const LOOK: usize = 70;
const LONG: usize = 32;

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
pub(crate) fn cuts(pattern: &Pattern, sharing: Sharing) -> Vec<usize> {
    let (n, owners) = (pattern.n(), sharing.owners);
    let look = if sharing.searched { LOOK } else { 0 };
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
        own.push(COLUMN * (end - first) as usize + ROW * each * of_rows);
        // Few columns stand for no more than there are.
        let columns = (part[0]..part[1]).step_by(COLUMNS);
        let lens = columns.clone().map(|j| pattern.rows(j).len().min(LONG));
        looks.push(look * lens.sum::<usize>() * (part[1] - part[0]) / columns.len());
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
        for ((name, owners), searched) in models.into_iter().flat_map(|m| [(m, false), (m, true)]) {
            let model: Model = name.parse().unwrap();
            let pattern = model.generate::<f64>().unwrap().pattern().clone();
            let sharing = Sharing {
                owners,
                searched,
                asked: false,
            };
            let cuts = cuts(&pattern, sharing);
            assert!(cuts.is_sorted() && cuts[0] == 0, "{cuts:?}");
            assert_eq!((cuts.len(), cuts[owners]), (owners + 1, pattern.n()));
            let mut work = vec![0; owners];
            let owner = |i: usize| cuts[1..].partition_point(|&cut| cut <= i);
            for j in 0..pattern.n() {
                for &i in pattern.rows(j) {
                    work[owner(j)] += COLUMN;
                    work[owner(i as usize)] += ROW;
                }
                let looks = if searched {
                    LOOK * pattern.rows(j).len()
                } else {
                    0
                };
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
