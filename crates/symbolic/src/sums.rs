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
//! factor. Members of groups are looked at once, and the forest is written once. Linear in the row structures, but for sorting the
//! rows of groups where they are far apart.

use std::ops::Range;

use crate::amalgamate::child_lists;
use crate::factor::NONE;
use crate::stack::update_entries;

/// Fewest siblings of a group.
const FEWEST: usize = 16;

/// Siblings that are looked at, at least.
const MANY: usize = 2 * FEWEST;

/// Positions that a sum's rows may spread over, for each of them, to be read off rather than sorted.
const DENSE: u32 = 8;

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

/// Rows that sums may have, at most, together: a third of all others where a front has many children. A group's members have four
/// times as many rows as their sum, since the squares of these numbers have that ratio, and groups are grouped again.
pub(crate) fn most_rows((ptr, _): &Children, rows: usize) -> usize {
    let many = ptr.windows(2).any(|w| (w[1] - w[0]) as usize >= MANY);
    if many { rows / 3 } else { 0 }
}

/// A front that is there before there are sums, or a sum.
#[derive(Clone, Copy)]
enum Member {
    Front(u32),
    Sum(u32),
}

/// A sum front to be.
struct Sum {
    /// The front whose children it adds up.
    above: u32,
    /// Its rows as positions in that front, increasing.
    rows: Vec<u32>,
    /// Whose member it is.
    place: Place,
    /// Its rows as positions in the front that gets it: the one above or a sum.
    relative: Vec<u32>,
}

/// Whose member a front or a sum is.
#[derive(Clone, Copy)]
struct Place {
    /// The sum, or [`NONE`].
    of: u32,
    /// Whether it is the sum's last one, which the sum follows.
    is_last: bool,
}

impl Place {
    const NOWHERE: Self = Self {
        of: NONE,
        is_last: false,
    };

    /// The sum that follows.
    fn next(self) -> Option<usize> {
        self.is_last.then_some(self.of as usize)
    }
}

/// Sums on the way.
struct Grouping {
    fronts: Fronts,
    sums: Vec<Sum>,
    /// Of every front.
    places: Vec<Place>,
    /// The last group that was found to have each position of a front, and where among the sum's rows it is.
    seen: Vec<u32>,
    rank: Vec<u32>,
    /// Rows of the node that begins at each position of the front above: they are in a front together or not at all.
    width: Vec<u32>,
    /// Positions at which the nodes of the present group begin, as they were found; one longer than the largest front.
    begins: Vec<u32>,
    /// Number of the group that is looked at.
    group: u32,
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
        let mut grouping = Grouping {
            places: vec![Place::NOWHERE; self.parent.len()],
            fronts: self,
            sums: Vec::new(),
            seen: vec![0; largest],
            rank: vec![0; largest],
            width: vec![0; largest],
            begins: vec![0; largest + 1],
            group: 0,
        };
        for p in many {
            grouping.find_widths(p as u32, &width);
            let mut list: Vec<Member> = siblings(p).iter().map(|&c| Member::Front(c)).collect();
            while list.len() >= MANY
                && let Some(fewer) = grouping.group(p as u32, &list)
            {
                list = fewer;
            }
        }
        if grouping.sums.is_empty() {
            return (grouping.fronts.fitted(), (ptr, children));
        }
        let out = grouping.finish().fitted();
        let children = child_lists(&out.parent);
        (out, children)
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

impl Grouping {
    /// Finds the nodes of a front, given the rows of the one that begins with a column.
    fn find_widths(&mut self, above: u32, width: impl Fn(u32) -> u32) {
        let order = self.fronts.pivots(above) as usize + self.fronts.rows_of(above).len();
        let mut at = 0;
        while at < order {
            let own = width(self.fronts.row_at(above, at as u32)).max(1);
            self.width[at] = own;
            at += own as usize;
        }
    }

    /// Groups the members of a front: sums and those that are left over, in their order. None if there is no group.
    fn group(&mut self, above: u32, list: &[Member]) -> Option<Vec<Member>> {
        let mut made = Vec::new();
        let (mut from, mut found, mut entries) = (0, Found::default(), 0);
        self.group += 1;
        for (k, &member) in list.iter().enumerate() {
            let positions = match member {
                Member::Front(c) => &self.fronts.relative[self.fronts.rows_of(c)],
                Member::Sum(g) => &self.sums[g as usize].rows[..],
            };
            entries += update_entries(positions.len() as u32);
            let (seen, begins) = (&mut self.seen, &mut self.begins);
            found = found.with(positions, self.group, &self.width, seen, begins);
            let full = entries >= LEAST_ENTRIES.max(GAIN * update_entries(found.rows));
            if full && k + 1 - from >= FEWEST {
                // All of them in one group: the front itself is their sum.
                if from == 0 && k + 1 == list.len() {
                    return None;
                }
                let rows = self.sorted(found);
                made.push(self.close(above, &list[from..=k], rows));
                (from, found, entries) = (k + 1, Found::default(), 0);
                self.group += 1;
            }
        }
        if made.is_empty() {
            return None;
        }
        made.extend_from_slice(&list[from..]);
        Some(made)
    }

    /// The rows of the present group, increasing. They mostly are runs of neighbors.
    fn sorted(&self, found: Found) -> Vec<u32> {
        let begins = &self.begins[..found.nodes];
        let (Some(&least), Some(&most)) = (begins.iter().min(), begins.iter().max()) else {
            return Vec::new();
        };
        let mut rows = Vec::with_capacity(found.rows as usize);
        if most - least > DENSE.saturating_mul(found.rows) {
            let mut begins = begins.to_vec();
            begins.sort_unstable();
            for at in begins {
                rows.extend(at..at + self.width[at as usize]);
            }
            return rows;
        }
        let mut at = least;
        while at <= most {
            let next = at + self.width[at as usize];
            if self.seen[at as usize] == self.group {
                rows.extend(at..next);
            }
            at = next;
        }
        rows
    }

    /// Makes the sum of some members.
    fn close(&mut self, above: u32, members: &[Member], rows: Vec<u32>) -> Member {
        for (&at, k) in rows.iter().zip(0..) {
            self.rank[at as usize] = k;
        }
        let of = self.sums.len() as u32;
        for (k, &member) in members.iter().enumerate() {
            let place = Place {
                of,
                is_last: k + 1 == members.len(),
            };
            let relative = match member {
                Member::Front(c) => {
                    self.places[c as usize] = place;
                    let range = self.fronts.rows_of(c);
                    &mut self.fronts.relative[range]
                }
                Member::Sum(g) => {
                    let sum = &mut self.sums[g as usize];
                    sum.place = place;
                    &mut sum.relative[..]
                }
            };
            let mut rest = relative;
            while let [at, ..] = rest {
                let (rank, width) = (self.rank[*at as usize], self.width[*at as usize]);
                let (node, others) = rest.split_at_mut(width as usize);
                node.iter_mut()
                    .zip(rank..)
                    .for_each(|(at, rank)| *at = rank);
                rest = others;
            }
        }
        self.sums.push(Sum {
            above,
            relative: rows.clone(),
            rows,
            place: Place::NOWHERE,
        });
        Member::Sum(of)
    }

    /// The forest with all sums in it, in the same memory as far as there is room.
    fn finish(mut self) -> Fronts {
        let count = self.fronts.parent.len();
        let (mut label, mut sum_label) = (vec![0; count], vec![0; self.sums.len()]);
        // Each front that sums follow, and the sums, in their order.
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(self.sums.len());
        for (s, label) in label.iter_mut().enumerate() {
            *label = (s + order.len()) as u32;
            let mut place = self.places[s];
            while let Some(g) = place.next() {
                sum_label[g] = (s + 1 + order.len()) as u32;
                order.push((s, g));
                place = self.sums[g].place;
            }
        }
        let parent_of = |place: Place, above: u32| match (place.of, above) {
            (NONE, NONE) => NONE,
            (NONE, above) => label[above as usize],
            (of, _) => sum_label[of as usize],
        };
        for sum in &mut self.sums {
            for at in &mut sum.rows {
                *at = self.fronts.row_at(sum.above, *at);
            }
        }
        for (parent, &place) in self.fronts.parent.iter_mut().zip(&self.places) {
            *parent = parent_of(place, *parent);
        }
        let Fronts {
            super_ptr, row_ptr, ..
        } = &self.fronts;
        let columns: Vec<u32> = order.iter().map(|&(s, _)| super_ptr[s + 1]).collect();
        let sums = || order.iter().map(|&(_, g)| &self.sums[g]);
        let parents: Vec<u32> = sums().map(|sum| parent_of(sum.place, sum.above)).collect();
        let begins: Vec<usize> = order
            .iter()
            .map(|&(s, _)| row_ptr[s + 1] as usize)
            .collect();
        let mut out_ptr = Vec::with_capacity(row_ptr.len() + order.len());
        let mut added = 0;
        let mut next = order.iter().peekable();
        for (s, &begin) in row_ptr.iter().enumerate() {
            while let Some(&(_, g)) = next.next_if(|&&(before, _)| before + 1 == s) {
                out_ptr.push(begin + added);
                added += self.sums[g].rows.len() as u64;
            }
            out_ptr.push(begin + added);
        }
        let fronts = self.fronts;
        let behind = || order.iter().map(|&(s, _)| s + 1);
        let rows = sums().map(|sum| &sum.rows[..]);
        let relative = sums().map(|sum| &sum.relative[..]);
        Fronts {
            super_ptr: inserted(fronts.super_ptr, behind().zip(columns.chunks(1)).collect()),
            parent: inserted(fronts.parent, behind().zip(parents.chunks(1)).collect()),
            row_ptr: out_ptr,
            rows: inserted(fronts.rows, begins.iter().copied().zip(rows).collect()),
            relative: inserted(
                fronts.relative,
                begins.iter().copied().zip(relative).collect(),
            ),
        }
    }
}

/// How much of a front a group has.
#[derive(Clone, Copy, Default)]
struct Found {
    nodes: usize,
    rows: u32,
}

impl Found {
    /// Writes where those nodes of `positions` begin that the group has not seen yet behind the others; how many there are then.
    /// What is new is hard to foresee: it is written in any case, and counted without a branch.
    fn with(
        mut self,
        positions: &[u32],
        group: u32,
        width: &[u32],
        seen: &mut [u32],
        begins: &mut [u32],
    ) -> Self {
        let mut next = 0;
        while let Some(&at) = positions.get(next) {
            begins[self.nodes] = at;
            let fresh = std::mem::replace(&mut seen[at as usize], group) != group;
            let width = width[at as usize];
            self.nodes += usize::from(fresh);
            self.rows += if fresh { width } else { 0 };
            next += width as usize;
        }
        self
    }
}

/// A list with pieces inserted, each before what stood at its position; positions do not decrease. What stood there moves
/// once.
fn inserted(mut list: Vec<u32>, pieces: Vec<(usize, &[u32])>) -> Vec<u32> {
    let mut more: usize = pieces.iter().map(|(_, piece)| piece.len()).sum();
    let mut end = list.len();
    list.reserve_exact(more);
    list.resize(end + more, 0);
    for (at, piece) in pieces.into_iter().rev() {
        list.copy_within(at..end, at + more);
        let behind = at + more;
        more -= piece.len();
        list[at + more..behind].copy_from_slice(piece);
        end = at;
    }
    list
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
