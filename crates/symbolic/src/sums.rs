//! Sum fronts: fronts without pivots that add up the update matrices of many siblings.
//!
//! Where a front has thousands of children (the cameras of a bundle adjustment above its points, a
//! dense row above a network), their update matrices would all wait for it: memory for every one
//! of them, traffic through it, and nothing to share among threads. Siblings are therefore grouped
//! under a front with no pivots, whose rows are the union of theirs: its update matrix is their
//! sum, they die when it is made, and groups are independent subtrees. A group closes as soon as
//! its members' matrices together are `GAIN` times the size of their sum, so that the additions
//! that the sum itself costs are few; siblings that never overlap so much stay as they are. Groups
//! are grouped again. The grouping depends on the structure alone, and so do the bits of the
//! factor. Members of groups are looked at once, and the forest is written once. Linear in the row structures, but for sorting the
//! rows of groups where they are far apart.

mod grouping;

use std::ops::Range;

use crate::postorder::child_lists;
use crate::sums::grouping::{Grouping, Member};

/// Fewest siblings of a group.
const FEWEST: usize = 16;

/// Siblings that are looked at, at least.
const MANY: usize = 2 * FEWEST;

/// The part of a symbolic factor that sum fronts change; fields as in `SymbolicFactor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fronts {
    pub super_ptr: Vec<u32>,
    pub parent: Vec<u32>,
    pub row_ptr: Vec<u64>,
    pub rows: Vec<u32>,
    pub relative: Vec<u32>,
}

/// Children of every front: offsets and fronts, increasing.
pub(crate) type Children = (Vec<u32>, Vec<u32>);

/// Rows that sums may have, at most, together: a third of all others where a front has many children. A group's members have four
/// times as many rows as their sum, since the squares of these numbers have that ratio, and groups are grouped again.
pub(crate) fn most_rows((ptr, _): &Children, rows: usize) -> usize {
    let many = ptr.windows(2).any(|w| (w[1] - w[0]) as usize >= MANY);
    if many { rows / 3 } else { 0 }
}

impl Fronts {
    /// Groups siblings, given the lists of children and the rows of the node that begins with a column, until no group is
    /// left to make; with the lists of children of what results.
    pub fn with_sums(
        self,
        (ptr, children): Children,
        width: impl Fn(u32) -> u32,
    ) -> (Self, Children) {
        let siblings = |p: usize| &children[ptr[p] as usize..ptr[p + 1] as usize];
        let fronts = 0..self.parent.len();
        let order = |&p: &usize| self.pivots(p as u32) as usize + self.rows_of(p as u32).len();
        let many: Vec<usize> = fronts.filter(|&p| siblings(p).len() >= MANY).collect();
        let Some(largest) = many.iter().map(order).max() else {
            return (self, (ptr, children));
        };
        let mut grouping = Grouping::new(self, largest);
        for p in many {
            grouping.find_widths(p as u32, &width);
            let mut list: Vec<Member> = siblings(p).iter().map(|&c| Member::Front(c)).collect();
            while list.len() >= MANY
                && let Some(fewer) = grouping.group(p as u32, &list)
            {
                list = fewer;
            }
        }
        let (out, has_sums) = grouping.finish();
        let lists = if has_sums {
            child_lists(&out.parent)
        } else {
            (ptr, children)
        };
        (out.fitted(), lists)
    }

    /// Without room for more.
    fn fitted(mut self) -> Self {
        self.rows.shrink_to_fit();
        self.relative.shrink_to_fit();
        self
    }

    fn rows_of(&self, s: u32) -> Range<usize> {
        self.row_ptr[s as usize] as usize..self.row_ptr[s as usize + 1] as usize
    }

    fn pivots(&self, s: u32) -> u32 {
        self.super_ptr[s as usize + 1] - self.super_ptr[s as usize]
    }

    /// The row that stands at a position of the front of `s`.
    fn row_at(&self, s: u32, at: u32) -> u32 {
        match at.checked_sub(self.pivots(s)) {
            None => self.super_ptr[s as usize] + at,
            Some(k) => self.rows[self.rows_of(s)][k as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::NONE;

    /// `leaves` single columns whose rows are pivots of one root of order `root`.
    fn star(leaves: u32, root: u32, rows: impl Fn(u32) -> Vec<u32>) -> Fronts {
        let mut fronts = Fronts {
            super_ptr: (0..=leaves).collect(),
            parent: vec![leaves; leaves as usize],
            row_ptr: vec![0],
            rows: Vec::new(),
            relative: Vec::new(),
        };
        for s in 0..leaves {
            let relative = rows(s);
            fronts.rows.extend(relative.iter().map(|&r| leaves + r));
            fronts.relative.extend(relative);
            fronts.row_ptr.push(fronts.rows.len() as u64);
        }
        fronts.super_ptr.push(leaves + root);
        fronts.parent.push(NONE);
        fronts.row_ptr.push(fronts.rows.len() as u64);
        fronts
    }

    #[test]
    fn siblings_with_the_same_rows_are_summed_in_groups_of_groups() {
        let rows = |s| (0..30).filter(|r| r % 5 != s % 5).collect();
        let fronts = star(2000, 30, rows);
        let lists = child_lists(&fronts.parent);
        let (fronts, (ptr, children)) = fronts.with_sums(lists, |_| 1);
        let sums =
            (0..fronts.parent.len()).filter(|&s| fronts.super_ptr[s] == fronts.super_ptr[s + 1]);
        assert!(sums.clone().count() > 120, "{}", sums.count());
        for s in 0..fronts.parent.len() {
            let of = |p: usize| &children[ptr[p] as usize..ptr[p + 1] as usize];
            assert!(of(s).len() < 32, "front {s} has {} children", of(s).len());
            let up = fronts.parent[s];
            if up == NONE {
                continue;
            }
            assert!(up as usize > s);
            let range = fronts.rows_of(s as u32);
            for (&row, &at) in fronts.rows[range.clone()]
                .iter()
                .zip(&fronts.relative[range])
            {
                assert_eq!(fronts.row_at(up, at), row);
            }
        }
    }

    #[test]
    fn siblings_that_do_not_overlap_stay() {
        let fronts = star(64, 128, |s| vec![2 * s, 2 * s + 1]);
        let lists = child_lists(&fronts.parent);
        assert_eq!(fronts.clone().with_sums(lists, |_| 1).0, fronts);
    }
}
