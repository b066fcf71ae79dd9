//! Fronts as the kernels see them, checked; relative indices turned into sources.
//!
//! A child knows the rows of its parent. The kernels want the opposite: for each row of a front the places from which
//! it is added up, in the order of the children, so that rows are summed side by side and nothing is added by atomics.

use super::super::{FrontShape, Placed, Real, shape};
use super::{SolveFront, SolveSpace};
use crate::GpuError;

/// As in the kernels: no source.
const NONE: u32 = u32::MAX;
/// As in the kernels, beside a row's first source: the second number says where the other sources stand, their
/// number first.
const MORE: u32 = 1 << 31;
/// Places of updates, which leave that bit free.
const MOST_PLACES: u64 = (1 << 31) - 1;

/// Laid out as the kernels' `SolveFront`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct FrontData {
    panel: u64,
    pub inverse: u64,
    rows: u64,
    pairs: u64,
    sources: u64,
    pub mail: u64,
    pub pivots: u32,
    pub updates: u32,
    panel_height: u32,
    pub first_update: u32,
    column: u32,
    update: u32,
    sourced: u32,
    pub chunks: u32,
    pub chunk_rows: u32,
    unused: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for FrontData {}

/// What a list of fronts needs of the arena and of the space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Elements of the arena.
    pub arena: u64,
    /// Entries in elimination order.
    pub entries: u64,
    /// Places of updates.
    pub updates: u64,
    /// Rows of mail.
    pub mail: u64,
}

impl Needs {
    /// An error unless `arena` elements and `space` are enough.
    pub fn check(&self, arena: usize, space: &SolveSpace) -> Result<(), GpuError> {
        let entries = u64::from(space.entries());
        for (what, needs, have) in [
            ("arena of panels", self.arena, arena as u64),
            ("entries of a solve", self.entries, entries),
            ("updates of a solve", self.updates, space.updates()),
            ("mail of a solve", self.mail, space.mail_rows()),
        ] {
            if needs > have {
                return Err(shape(what, needs, have));
            }
        }
        Ok(())
    }
}

/// Fronts and their indices, to be uploaded.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub fronts: Vec<FrontData>,
    /// Rows, pairs of sources and other sources of all fronts.
    pub index: Vec<u32>,
    pub needs: Needs,
}

impl Lists {
    /// Checks a front and adds it; returns what was added, for what the list knows better.
    pub fn add<T: Real>(&mut self, front: &SolveFront<'_>) -> Result<&mut FrontData, GpuError> {
        let updates = front.rows.len() as u64;
        let updates = u32::try_from(updates)
            .map_err(|_| shape("update rows of a front", updates, u32::MAX.into()))?;
        let own = FrontShape::of::<T>(front.pivots, updates)?;
        let panel = Placed::packed(front.panel, own.panel_height);
        let arena = panel.check::<T>("panel of a front", own.panel_height, front.pivots)?;
        let last = front
            .rows
            .iter()
            .copied()
            .max()
            .map_or(0, |r| u64::from(r) + 1);
        let entries = last.max(u64::from(front.column) + u64::from(front.pivots));
        let end = front.update.saturating_add(updates.into());
        if end > MOST_PLACES {
            return Err(shape("place of a front's updates", end, MOST_PLACES));
        }
        let rows = self.index.len() as u64;
        self.index.extend_from_slice(front.rows);
        self.index.resize(self.index.len().next_multiple_of(2), 0);
        let pairs = self.index.len() as u64;
        let (sourced, from) = self.add_sources(front, front.pivots + updates)?;
        let needs = &mut self.needs;
        needs.arena = needs.arena.max(arena);
        needs.entries = needs.entries.max(entries);
        needs.updates = needs.updates.max(end).max(from);
        let at = self.fronts.len();
        self.fronts.push(FrontData {
            panel: front.panel,
            inverse: front.inverse,
            rows,
            pairs,
            sources: pairs + 2 * u64::from(front.pivots + updates),
            mail: 0,
            pivots: front.pivots,
            updates,
            panel_height: own.panel_height,
            first_update: own.first_update,
            column: front.column,
            update: front.update as u32, // as just checked
            sourced: sourced.into(),
            chunks: 0,
            chunk_rows: 0,
            unused: 0,
        });
        Ok(&mut self.fronts[at])
    }

    /// Adds the sources of a front of `rows` rows; whether there are any, and where the last one ends.
    fn add_sources(&mut self, front: &SolveFront<'_>, rows: u32) -> Result<(bool, u64), GpuError> {
        let (mut end, mut total) = (0, 0_u64);
        for child in front.children {
            let order = child.relative.len() as u64;
            let ascending = child.relative.windows(2).all(|w| w[0] < w[1]);
            if !ascending || child.relative.last().is_some_and(|&r| r >= rows) {
                return Err(shape("relative indices, which ascend", order, rows.into()));
            }
            if order > 0 {
                end = end.max(child.update.saturating_add(order));
            }
            total = total.saturating_add(order);
        }
        if end.max(total) > MOST_PLACES {
            return Err(shape(
                "place of a child's updates",
                end.max(total),
                MOST_PLACES,
            ));
        }
        if total == 0 {
            return Ok((false, 0));
        }
        let mut counts = vec![0_u32; rows as usize];
        for &row in front.children.iter().flat_map(|c| c.relative) {
            counts[row as usize] += 1;
        }
        let pairs = self.index.len();
        let others = pairs + 2 * rows as usize;
        self.index.resize(others, NONE);
        for (row, &count) in counts.iter().enumerate() {
            if count > 2 {
                // below MOST_PLACES: not more than all sources
                self.index[pairs + 2 * row + 1] = (self.index.len() - others) as u32;
                let length = self.index.len() + count as usize;
                self.index.resize(length, 0);
            }
        }
        for child in front.children {
            for (place, &row) in (child.update..).zip(child.relative) {
                let (place, row) = (place as u32, row as usize); // as just checked
                let at = pairs + 2 * row;
                if self.index[at] == NONE {
                    self.index[at] = place | if counts[row] > 2 { MORE } else { 0 };
                } else if self.index[at] & MORE == 0 {
                    self.index[at + 1] = place;
                } else {
                    let list = others + self.index[at + 1] as usize;
                    self.index[list] += 1;
                    let next = list + self.index[list] as usize;
                    self.index[next] = place;
                }
            }
        }
        Ok((true, end))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SolveChild;
    use super::*;

    #[test]
    fn rows_know_their_sources_in_the_order_of_the_children() {
        let (a, b, c) = ([0, 2, 4], [2, 4], [1, 2]);
        let child = |update, relative| SolveChild { update, relative };
        let children = [
            child(10, &a[..]),
            child(7, &b[..]),
            child(20, &c[..]),
            child(3, &[][..]),
        ];
        let front = SolveFront {
            pivots: 2,
            panel: 0,
            inverse: 0,
            column: 5,
            rows: &[9, 11, 12],
            update: 40,
            children: &children,
        };
        let mut lists = Lists::default();
        lists.add::<f64>(&front).unwrap();
        assert_eq!(lists.index[..3], [9, 11, 12]);
        let pairs = [10, NONE, 20, NONE, 11 | MORE, 0, NONE, NONE, 12, 8];
        assert_eq!(lists.index[4..14], pairs);
        assert_eq!(lists.index[14..], [2, 7, 21]);
        let needs = lists.needs;
        assert_eq!((needs.entries, needs.updates, needs.mail), (13, 43, 0));
        // the panel of 2 columns, 2 + 4 stored rows
        assert_eq!(needs.arena, 12);
        let wrong = |relative| {
            Lists::default()
                .add::<f64>(&SolveFront {
                    children: &[child(0, relative)],
                    ..front
                })
                .is_err()
        };
        assert!(wrong(&[1, 1]) && wrong(&[2, 1]) && wrong(&[5]) && !wrong(&[4]));
        let far = SolveFront {
            update: u64::MAX,
            ..front
        };
        assert!(Lists::default().add::<f64>(&far).is_err());
        let odd = SolveFront { panel: 3, ..front };
        assert!(Lists::default().add::<f64>(&odd).is_err());
    }
}
