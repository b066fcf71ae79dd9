//! Which siblings are grouped, and the forest with their sums.

use crate::factor::NONE;
use crate::stack::update_entries;
use crate::sums::{FEWEST, Fronts};

/// Positions that a sum's rows may spread over, for each of them, to be read off rather than sorted.
const DENSE: u32 = 8;

/// Entries of the members' update matrices for each entry of their sum.
const GAIN: u64 = 4;

/// Fewest entries of the members' update matrices: a group is to be worth a front's overhead.
const LEAST_ENTRIES: u64 = 1024;

/// A front that is there before there are sums, or a sum.
#[derive(Clone, Copy)]
pub(super) enum Member {
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
pub(super) struct Grouping {
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

impl Grouping {
    /// No groups yet; `largest` is the order of the largest one whose children are looked at.
    pub(super) fn new(fronts: Fronts, largest: usize) -> Self {
        Self {
            places: vec![Place::NOWHERE; fronts.parent.len()],
            fronts,
            sums: Vec::new(),
            seen: vec![0; largest],
            rank: vec![0; largest],
            width: vec![0; largest],
            begins: vec![0; largest + 1],
            group: 0,
        }
    }

    /// Finds the nodes of a front, given the rows of the one that begins with a column.
    pub(super) fn find_widths(&mut self, above: u32, width: impl Fn(u32) -> u32) {
        let order = self.fronts.pivots(above) as usize + self.fronts.rows_of(above).len();
        let mut at = 0;
        while at < order {
            let own = width(self.fronts.row_at(above, at as u32)).max(1);
            self.width[at] = own;
            at += own as usize;
        }
    }

    /// Groups the members of a front: sums and those that are left over, in their order. None if there is no group.
    pub(super) fn group(&mut self, above: u32, list: &[Member]) -> Option<Vec<Member>> {
        let mut made = Vec::new();
        let (mut from, mut found, mut entries) = (0, Found::default(), 0u64);
        self.group += 1;
        for (k, &member) in list.iter().enumerate() {
            let positions = match member {
                Member::Front(c) => &self.fronts.relative[self.fronts.rows_of(c)],
                Member::Sum(g) => &self.sums[g as usize].rows[..],
            };
            entries = entries.saturating_add(update_entries(positions.len() as u32));
            let (seen, begins) = (&mut self.seen, &mut self.begins);
            found = found.with(positions, self.group, &self.width, seen, begins);
            let full =
                entries >= LEAST_ENTRIES.max(GAIN.saturating_mul(update_entries(found.rows)));
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

    /// The forest with all sums in it, in the same memory as far as there is room, and whether there is any.
    pub(super) fn finish(mut self) -> (Fronts, bool) {
        if self.sums.is_empty() {
            return (self.fronts, false);
        }
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
        let fronts = Fronts {
            super_ptr: inserted(fronts.super_ptr, behind().zip(columns.chunks(1)).collect()),
            parent: inserted(fronts.parent, behind().zip(parents.chunks(1)).collect()),
            row_ptr: out_ptr,
            rows: inserted(fronts.rows, begins.iter().copied().zip(rows).collect()),
            relative: inserted(
                fronts.relative,
                begins.iter().copied().zip(relative).collect(),
            ),
        };
        (fronts, true)
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
