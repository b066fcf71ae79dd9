//! The fronts that [entries](super::Entries) go into: which unknowns each eliminates, and where its panel stands.

use std::marker::PhantomData;

use super::{FrontShape, Placed, Real, shape};
use crate::GpuError;

/// Of no front.
const NONE: u32 = u32::MAX;

/// A front that entries go into.
#[derive(Debug, Clone, Copy)]
pub struct EntryFront {
    /// Elimination number of its first pivot.
    pub column: u32,
    /// How many pivots it has.
    pub pivots: u32,
    /// How many rows below them.
    pub updates: u32,
    /// Where those begin in the list of all rows.
    pub rows: u64,
    /// Where its panel stands: packed block columns of the height that [`FrontShape`] gives.
    pub panel: u64,
}

/// Laid out as the kernel's `EntryFront`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FrontData {
    panel: u64,
    rows: u32,
    column: u32,
    pivots: u32,
    updates: u32,
    height: u32,
    first_update: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for FrontData {}

/// The fronts that entries go into, checked.
pub struct EntryFronts<T> {
    /// Front of each column, in the order of elimination.
    pub(super) front_of: Vec<u32>,
    pub(super) fronts: Vec<FrontData>,
    /// Rows in the list of all.
    pub(super) rows: u64,
    /// Elements that panels take.
    pub(super) needs: u64,
    panels: PhantomData<fn() -> T>,
}

impl<T: Real> EntryFronts<T> {
    /// Of panels of `T`: the pivots of `fronts` are all `n` unknowns, and `rows` is how long the list of all rows is.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for numbers that are too large, columns of no front or of two, panels that cannot be addressed.
    pub fn new(
        n: u32,
        rows: u64,
        fronts: impl IntoIterator<Item = EntryFront>,
    ) -> Result<Self, GpuError> {
        let mut all = Self {
            front_of: vec![NONE; n as usize],
            fronts: Vec::new(),
            rows,
            needs: 0,
            panels: PhantomData,
        };
        for front in fronts {
            all.add(&front)?;
        }
        match all.front_of.iter().position(|&f| f == NONE) {
            Some(column) => Err(shape("column of no front", column as u64, n.into())),
            None => Ok(all),
        }
    }

    fn add(&mut self, front: &EntryFront) -> Result<(), GpuError> {
        let rows = self.rows;
        let n = self.front_of.len() as u64;
        let end = front.rows.saturating_add(front.updates.into());
        if end > rows {
            return Err(shape("rows of a front", end, rows));
        }
        let first_row = u32::try_from(front.rows)
            .map_err(|_| shape("rows of all fronts", front.rows, u32::MAX.into()))?;
        let own = FrontShape::of::<T>(front.pivots, front.updates)?;
        let panel = Placed::packed(front.panel, own.panel_height);
        let end = panel.check::<T>("panel of a front", own.panel_height, front.pivots)?;
        self.needs = self.needs.max(end);
        let first = front.column as usize;
        let columns = self
            .front_of
            .get_mut(first..first.saturating_add(front.pivots as usize))
            .ok_or_else(|| shape("pivots of a front", front.column.into(), n))?;
        if columns.iter().any(|&of| of != NONE) {
            return Err(shape("column of two fronts", front.column.into(), n));
        }
        columns.fill(self.fronts.len() as u32); // each has a column, or is not asked for
        self.fronts.push(FrontData {
            panel: front.panel,
            rows: first_row,
            column: front.column,
            pivots: front.pivots,
            updates: front.updates,
            height: own.panel_height,
            first_update: own.first_update,
        });
        Ok(())
    }

    /// Lines of unknowns whose panels begin at `early` or behind, in the order of the panels; where each begins among the entries of all
    /// of them, and at the end how many these are; its panel.
    pub(super) fn late(
        &self,
        order: &[u32],
        starts: &[u64],
        early: u64,
    ) -> (Vec<u32>, Vec<u32>, Vec<u64>) {
        let mut late: Vec<&FrontData> = self.fronts.iter().filter(|f| f.panel >= early).collect();
        late.sort_unstable_by_key(|front| front.panel);
        let (mut lines, mut kept_starts, mut panels) = (Vec::new(), vec![0], Vec::new());
        let mut entries = 0;
        for front in late {
            for &j in &order[front.column as usize..][..front.pivots as usize] {
                let line = &starts[j as usize..][..2];
                entries += (line[1] - line[0]) as u32; // below 2^32, as all entries are
                lines.push(j);
                kept_starts.push(entries);
                panels.push(front.panel);
            }
        }
        (lines, kept_starts, panels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two fronts of five unknowns, the second with its panel in front of the first's; rows 3 and 4 are below the first.
    const FRONTS: [EntryFront; 2] = [
        EntryFront {
            column: 0,
            pivots: 3,
            updates: 2,
            rows: 0,
            panel: 40,
        },
        EntryFront {
            column: 3,
            pivots: 2,
            updates: 0,
            rows: 2,
            panel: 0,
        },
    ];

    #[test]
    fn late_lines_are_those_of_late_panels_in_their_order() {
        let fronts = EntryFronts::<f64>::new(5, 2, FRONTS).unwrap();
        assert_eq!(fronts.front_of, [0, 0, 0, 1, 1]);
        let (order, starts) = ([4, 2, 0, 1, 3], [0, 3, 4, 7, 9, 10]);
        let late = |early| fronts.late(&order, &starts, early);
        assert_eq!(late(41), (vec![], vec![0], vec![]));
        let first = (vec![4, 2, 0], vec![0, 1, 4, 7], vec![40, 40, 40]);
        assert_eq!(late(1), first);
        let all = (
            vec![1, 3, 4, 2, 0],
            vec![0, 1, 3, 4, 7, 10],
            vec![0, 0, 40, 40, 40],
        );
        assert_eq!(late(0), all);
    }

    #[test]
    fn every_unknown_is_of_one_front() {
        let [first, second] = FRONTS;
        let refused =
            |fronts: &[EntryFront]| EntryFronts::<f64>::new(5, 2, fronts.iter().copied()).is_err();
        assert!(!refused(&[first, second]) && !refused(&[second, first]));
        assert!(refused(&[first]), "unknowns of no front");
        let with = |pivots, column| EntryFront {
            pivots,
            column,
            ..second
        };
        assert!(refused(&[first, with(3, 2)]), "an unknown of two");
        assert!(refused(&[first, with(3, 3)]), "more than there are");
        assert!(refused(&[first, with(2, u32::MAX)]));
        let rows = |rows| EntryFront { rows, ..first };
        assert!(refused(&[rows(1), second]) && refused(&[rows(u64::MAX), second]));
        let panel = |panel| EntryFront { panel, ..first };
        assert!(refused(&[panel(41), second]), "columns are not aligned");
        assert!(refused(&[panel(u64::MAX - 1), second]));
    }
}
