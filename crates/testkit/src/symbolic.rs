//! Symbolic elimination as the textbook says it: eliminating a vertex joins all its neighbors.

use std::collections::BTreeSet;

use tamarack_sparse::{Pattern, Permutation, UserIdx};

/// Rows of every column of L for `P A Pᵀ`, elimination order, increasing, the diagonal first.
///
/// Time O(Σ |column|² log n): for n up to a few hundred.
pub fn naive_fill(pattern: &Pattern, permutation: &Permutation) -> Vec<Vec<u32>> {
    let n = pattern.n();
    assert_eq!(permutation.len(), n);
    let mut columns: Vec<BTreeSet<u32>> = (0..n as u32).map(|j| BTreeSet::from([j])).collect();
    let position = |i: u32| permutation.elim(UserIdx(i)).0;
    for j in 0..n {
        for &i in pattern.rows(j) {
            let (a, b) = (position(j as u32), position(i));
            columns[a.min(b) as usize].insert(a.max(b));
        }
    }
    for k in 0..n {
        let below: Vec<u32> = columns[k].iter().skip(1).copied().collect();
        for (at, &a) in below.iter().enumerate() {
            columns[a as usize].extend(&below[at + 1..]);
        }
    }
    columns.into_iter().map(Vec::from_iter).collect()
}

/// Elimination tree of the columns [`naive_fill`] returns: the first row below the diagonal.
pub fn naive_parents(fill: &[Vec<u32>]) -> Vec<Option<u32>> {
    fill.iter().map(|rows| rows.get(1).copied()).collect()
}

/// Number of entries of every column, the diagonal included.
pub fn naive_counts(fill: &[Vec<u32>]) -> Vec<u32> {
    fill.iter().map(|rows| rows.len() as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, dense_cholesky, dense_full, random_permutation, random_spd};

    #[test]
    fn the_fill_is_where_a_dense_factor_is_not_zero() {
        for family in Family::ALL {
            let n = 24;
            let a = random_spd(family, n, 3);
            let p = random_permutation(n, 5);
            let order = p.user_of_elim();
            let full = dense_full(&a);
            let mut l = vec![0.0; n * n];
            for j in 0..n {
                for i in 0..n {
                    l[i + j * n] = full[order[i] as usize + order[j] as usize * n];
                }
            }
            dense_cholesky(n, &mut l).unwrap();
            let fill = naive_fill(a.pattern(), &p);
            for (j, rows) in fill.iter().enumerate() {
                let nonzero: Vec<u32> = (j..n)
                    .filter(|i| l[i + j * n] != 0.0)
                    .map(|i| i as u32)
                    .collect();
                assert_eq!(rows, &nonzero, "{family:?}, column {j}");
            }
        }
    }

    #[test]
    fn a_star_eliminated_from_its_center_fills_up() {
        let a = random_spd(Family::Star, 5, 1);
        let fill = naive_fill(a.pattern(), &Permutation::identity(5));
        assert_eq!(naive_counts(&fill), [5, 4, 3, 2, 1]);
        assert_eq!(
            naive_parents(&fill),
            [Some(1), Some(2), Some(3), Some(4), None]
        );
    }
}
