//! Sum fronts: fronts without pivots that add up the update matrices of many siblings.
//!
//! Where a front has thousands of children (the cameras of a bundle adjustment above its points, a
//! dense row above a network), their update matrices would all wait for it: memory for every one
//! of them, traffic through it, and nothing to share among threads. Siblings are therefore grouped
//! under a front with no pivots, whose rows are the union of theirs: its update matrix is their
//! sum, they die when it is made, and groups are independent subtrees. A group closes as soon as
//! its members' matrices together are [`GAIN`] times the size of their sum, so that the additions
//! that the sum itself costs are few; siblings that never overlap so much stay as they are. Groups
//! are grouped again. The grouping depends on the structure alone, and so do the bits of the
//! factor. Linear in the row structures, but for sorting the rows of each group.

use crate::amalgamate::child_lists;
use crate::assembly::update_entries;
use crate::factor::NONE;
use crate::memory::with_room;

/// Fewest siblings of a group.
const FEWEST: usize = 16;

/// Entries of the members' update matrices for each entry of their sum.
const GAIN: u128 = 4;

/// Fewest entries of the members' update matrices: a group is to be worth a front's overhead.
const LEAST_ENTRIES: u128 = 1024;

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

/// Siblings that get a sum front.
struct Group {
    members: Vec<u32>,
    /// Rows of the sum as positions in the parent's front, increasing.
    rows: Vec<u32>,
}

impl Fronts {
    /// Groups siblings until no group is left to make; with the lists of children of what results.
    pub fn with_sums(mut self) -> (Self, Children) {
        loop {
            let children = child_lists(&self.parent);
            let groups = self.groups(&children);
            if groups.is_empty() {
                return (self, children);
            }
            self = self.grouped(&groups);
        }
    }

    fn rows_of(&self, s: u32) -> std::ops::Range<usize> {
        self.row_ptr[s as usize] as usize..self.row_ptr[s as usize + 1] as usize
    }

    /// All groups of this round, by their last member.
    fn groups(&self, (ptr, children): &Children) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut seen = Vec::new();
        for p in 0..self.parent.len() {
            let siblings = &children[ptr[p] as usize..ptr[p + 1] as usize];
            if siblings.len() >= 2 * FEWEST {
                let order = self.super_ptr[p + 1] - self.super_ptr[p];
                seen.resize(order as usize + self.rows_of(p as u32).len(), NONE);
                self.group_siblings(siblings, &mut seen, &mut groups);
                seen.clear();
            }
        }
        groups.sort_unstable_by_key(|g| g.members[g.members.len() - 1]);
        groups
    }

    /// Groups the children of one front; `seen` is for its rows, all [`NONE`].
    fn group_siblings(&self, siblings: &[u32], seen: &mut [u32], groups: &mut Vec<Group>) {
        let (mut from, mut rows, mut entries) = (0, Vec::new(), 0);
        for (k, &c) in siblings.iter().enumerate() {
            let members = self.rows_of(c);
            entries += update_entries(members.len() as u32);
            for &at in &self.relative[members] {
                if seen[at as usize] != from as u32 {
                    seen[at as usize] = from as u32;
                    rows.push(at);
                }
            }
            let full = entries >= LEAST_ENTRIES.max(GAIN * update_entries(rows.len() as u32));
            if full && k + 1 - from >= FEWEST {
                let mut rows = std::mem::take(&mut rows);
                // All siblings in one group: the front itself is their sum.
                if from > 0 || k + 1 < siblings.len() {
                    rows.sort_unstable();
                    groups.push(Group {
                        members: siblings[from..=k].to_vec(),
                        rows,
                    });
                }
                (from, entries) = (k + 1, 0);
            }
        }
    }

    /// The same forest with a front above each group.
    fn grouped(&self, groups: &[Group]) -> Self {
        let count = self.parent.len();
        let mut group_of = vec![NONE; count];
        let mut label = vec![0u32; count];
        let mut above = vec![0u32; groups.len()];
        let mut last = groups.iter().map(|g| g.members[g.members.len() - 1]);
        let mut next_last = last.next();
        let (mut next, mut made) = (0u32, 0);
        for s in 0..count as u32 {
            label[s as usize] = next;
            next += 1;
            if next_last == Some(s) {
                above[made] = next;
                next += 1;
                made += 1;
                next_last = last.next();
            }
        }
        for (g, group) in groups.iter().enumerate() {
            for &c in &group.members {
                group_of[c as usize] = g as u32;
            }
        }
        let more: usize = groups.iter().map(|g| g.rows.len()).sum();
        let mut out = Self {
            super_ptr: Vec::with_capacity(next as usize + 1),
            parent: Vec::with_capacity(next as usize),
            row_ptr: vec![0],
            rows: with_room(self.rows.len() + more),
            relative: with_room(self.rows.len() + more),
        };
        let mut group = 0;
        for (s, &in_group) in group_of.iter().enumerate() {
            let up = self.parent[s];
            let (parent, positions) = match (in_group, up) {
                (_, NONE) => (NONE, None),
                (NONE, up) => (label[up as usize], None),
                (g, _) => (above[g as usize], Some(&groups[g as usize].rows)),
            };
            let range = self.rows_of(s as u32);
            let relative = &self.relative[range.clone()];
            out.super_ptr.push(self.super_ptr[s]);
            out.parent.push(parent);
            out.rows.extend_from_slice(&self.rows[range]);
            match positions {
                None => out.relative.extend_from_slice(relative),
                Some(sum) => out.relative.extend(positions_in(relative, sum)),
            }
            out.row_ptr.push(out.rows.len() as u64);
            if in_group != NONE && groups[in_group as usize].members.last() == Some(&(s as u32)) {
                out.super_ptr.push(self.super_ptr[s + 1]);
                out.parent.push(label[up as usize]);
                let rows = &groups[group].rows;
                out.rows.extend(rows.iter().map(|&at| self.row_at(up, at)));
                out.relative.extend_from_slice(rows);
                out.row_ptr.push(out.rows.len() as u64);
                group += 1;
            }
        }
        out.super_ptr.push(self.super_ptr[count]);
        out
    }

    /// The row that stands at a position of the front of `s`.
    fn row_at(&self, s: u32, at: u32) -> u32 {
        let (first, end) = (self.super_ptr[s as usize], self.super_ptr[s as usize + 1]);
        match at.checked_sub(end - first) {
            None => first + at,
            Some(k) => self.rows[self.rows_of(s)][k as usize],
        }
    }
}

/// Positions of `some` in `all`; both increase, and `all` contains `some`.
fn positions_in<'a>(some: &'a [u32], all: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let mut k = 0;
    some.iter().map(move |&at| {
        while all[k] != at {
            k += 1;
        }
        k as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (fronts, (ptr, children)) = star(2000, 30, rows).with_sums();
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
        assert_eq!(fronts.clone().with_sums().0, fronts);
    }
}
