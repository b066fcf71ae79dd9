//! Bands, eliminated from both ends.
//!
//! A band without zeros inside, such as block tridiagonal matrices have, fills nothing in, in its own order or turned around. But in
//! either each column waits for the one before. From both ends to the middle there is as little fill, and two threads have a
//! chain each (van der Vorst 1987, twisted factorizations; Jess and Kees 1982 on orders of a filled graph). Linear in the unknowns.

use std::ops::Range;

use tamarack_sparse::Pattern;

use crate::error::{OrderingError, reserve};

/// Unknowns from which on a second chain is worth it.
const LEAST: usize = 1 << 12;

/// The second chain has one in so many of the operations at least, else it is not worth it.
const SHARE: u128 = 4;

/// The order from both ends, the middle last, of a pattern that is a full band of any widths.
pub(crate) fn from_both_ends(pattern: &Pattern) -> Result<Option<Vec<u32>>, OrderingError> {
    let n = pattern.n();
    if n < LEAST || !is_full_band(pattern) {
        return Ok(None);
    }
    let total = operations(pattern, 0..n);
    let mut done = 0;
    let is_before = |j: &usize| {
        done += operations(pattern, *j..*j + 1);
        2 * done <= total
    };
    let mut left = (0..n).take_while(is_before).count();
    // Columns of a block end together, and stay so.
    while (1..n).contains(&left) && end(pattern, left - 1) == end(pattern, left) {
        left -= 1;
    }
    let right = left
        .checked_sub(1)
        .map_or(left, |last| left.max(end(pattern, last)));
    if SHARE * operations(pattern, right..n) < total {
        return Ok(None);
    }
    let (left, right, n) = (left as u32, right as u32, n as u32);
    let mut order = Vec::new();
    reserve(&mut order, n as usize)?;
    order.extend((0..left).chain((right..n).rev()).chain(left..right));
    Ok(Some(order))
}

/// Where column `j` ends: one more than its last row.
fn end(pattern: &Pattern, j: usize) -> usize {
    j + pattern.rows(j).len()
}

/// Whether all columns have all rows from the diagonal to an end that is nowhere before that of the column before.
fn is_full_band(pattern: &Pattern) -> bool {
    let mut before = 0;
    (0..pattern.n()).all(|j| {
        let end = end(pattern, j);
        let is_full = pattern.rows(j).last() == Some(&(end as u32 - 1));
        is_full && std::mem::replace(&mut before, end) <= end
    })
}

/// Operations of some columns in their own order: entries squared.
fn operations(pattern: &Pattern, columns: Range<usize>) -> u128 {
    columns
        .map(|j| (pattern.rows(j).len() as u128).pow(2))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A band in which column `j` has so many rows below the diagonal, as far as there are.
    fn band(n: usize, below: impl Fn(usize) -> usize) -> Pattern {
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for j in 0..n {
            rows.extend(j as u32..n.min(j + below(j) + 1) as u32);
            ptr.push(rows.len() as u64);
        }
        Pattern::lower(n, &ptr, &rows).unwrap()
    }

    #[test]
    fn both_halves_of_a_band_are_eliminated_before_its_middle() {
        let n = 2 * LEAST;
        let order = from_both_ends(&band(n, |_| 3)).unwrap().unwrap();
        let middle = (n / 2 - 2..n / 2 + 1).map(|v| v as u32);
        assert!(order.ends_with(&middle.collect::<Vec<_>>()));
        assert!(order.starts_with(&[0, 1, 2]));
        let blocks = from_both_ends(&band(n, |j| 63 - j % 32)).unwrap().unwrap();
        let is_whole = |block: &[u32]| block.iter().all(|v| v / 32 == block[0] / 32);
        assert!(blocks.chunks(32).all(is_whole));
        assert_eq!(order[n / 2 - 2..n / 2], [n as u32 - 1, n as u32 - 2]);
    }

    #[test]
    fn blocks_wide_places_and_bodies_apart_are_bands_too() {
        let n = 2 * LEAST + 7;
        let widths: [fn(usize) -> usize; 4] = [
            |j| 23 - j % 12,                      // block tridiagonal
            |j| 40_usize.saturating_sub(j / 100), // narrower and narrower
            |j| usize::from(j % 5 != 4),          // paths of five
            |_| 0,
        ];
        for below in widths {
            let a = band(n, below);
            let mut order = from_both_ends(&a).unwrap().unwrap();
            let place = {
                let mut place = vec![0; n];
                for (k, &v) in order.iter().enumerate() {
                    place[v as usize] = k;
                }
                place
            };
            // No fill: the neighbors of a vertex that come later are neighbors of each other.
            for &v in &order {
                let later = |u: usize| place[u] > place[v as usize];
                let (v, from) = (v as usize, (v as usize).saturating_sub(24));
                let above = (from..v).filter(|&u| end(&a, u) > v && later(u));
                let below = (v + 1..end(&a, v)).filter(|&u| later(u));
                let (first, last) = (above.min().unwrap_or(v), below.max().unwrap_or(v));
                assert!(end(&a, first) > last);
            }
            order.sort_unstable();
            assert!(order.into_iter().eq(0..n as u32));
        }
    }

    #[test]
    fn what_has_a_hole_or_an_early_end_is_no_band() {
        let n = 2 * LEAST;
        assert!(from_both_ends(&band(LEAST - 1, |_| 1)).unwrap().is_none());
        assert!(
            from_both_ends(&band(n, |j| if j == 99 { 0 } else { 2 }))
                .unwrap()
                .is_none()
        );
        // One column lacks the row in its middle.
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        for j in 0..n as u32 {
            rows.extend((j..(j + 3).min(n as u32)).filter(|&i| j != 99 || i != 100));
            ptr.push(rows.len() as u64);
        }
        let holed = Pattern::lower(n, &ptr, &rows).unwrap();
        assert!(from_both_ends(&holed).unwrap().is_none());
        // Wide ones are nearly dense: there is no second chain.
        let wide = band(LEAST, |_| LEAST * 3 / 4);
        assert!(from_both_ends(&wide).unwrap().is_none());
    }
}
