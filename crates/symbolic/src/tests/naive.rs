//! The definition, spelled out: eliminate columns one by one on sets of rows.

use std::collections::BTreeSet;

use tamarack_sparse::{Pattern, Permutation, UserIdx};

/// Rows of every column of L below the diagonal, elimination order.
pub(super) fn fill(pattern: &Pattern, order: &Permutation) -> Vec<BTreeSet<u32>> {
    let n = pattern.n();
    let mut columns = vec![BTreeSet::new(); n];
    let elim = |i: u32| order.elim(UserIdx(i)).0;
    for j in 0..n as u32 {
        for &i in &pattern.rows(j as usize)[1..] {
            let (a, b) = (elim(i), elim(j));
            columns[a.min(b) as usize].insert(a.max(b));
        }
    }
    for j in 0..n {
        let mut rows: BTreeSet<u32> = columns[j].clone();
        if let Some(p) = rows.pop_first() {
            columns[p as usize].extend(rows);
        }
    }
    columns
}

/// Every pair below the diagonal, found by eliminating on a full matrix: no tree involved.
pub(super) fn dense_fill(pattern: &Pattern, order: &Permutation) -> Vec<BTreeSet<u32>> {
    let n = pattern.n();
    let mut full = vec![vec![false; n]; n];
    for j in 0..n {
        for &i in pattern.rows(j) {
            let (a, b) = (
                order.elim(UserIdx(i)).get(),
                order.elim(UserIdx(j as u32)).get(),
            );
            full[a][b] = true;
            full[b][a] = true;
        }
    }
    for k in 0..n {
        for i in k + 1..n {
            for j in k + 1..n {
                full[i][j] |= full[i][k] && full[k][j];
            }
        }
    }
    (0..n)
        .map(|j| {
            (j + 1..n)
                .filter(|&i| full[i][j])
                .map(|i| i as u32)
                .collect()
        })
        .collect()
}

/// First columns of the fundamental supernodes, by their definition.
pub(super) fn fundamental(columns: &[BTreeSet<u32>]) -> Vec<u32> {
    let parent = |j: usize| columns[j].first().copied();
    let starts = |j: usize| {
        let children = (0..j).filter(|&c| parent(c) == Some(j as u32)).count();
        j == 0 || children != 1 || parent(j - 1) != Some(j as u32) || {
            let mut above = columns[j - 1].clone();
            above.remove(&(j as u32));
            above != columns[j]
        }
    };
    (0..columns.len())
        .filter(|&j| starts(j))
        .map(|j| j as u32)
        .collect()
}
