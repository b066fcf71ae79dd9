//! The entries of A that go into the fronts of a stage, said piece by piece from the structure.

use std::ops::Range;

use tamarack_gpu::dense::{Front, FrontShape, Placed, Source};
use tamarack_symbolic::SymbolicFactor;

/// Fronts in the order in which their entries come.
pub(crate) struct EntrySource<'a> {
    symbolic: &'a SymbolicFactor,
    fronts: Vec<Target>,
    count: usize,
    places: Range<u64>,
}

/// A front that entries go into.
struct Target {
    supernode: usize,
    /// Number of its first entry among all of the source.
    first: usize,
    panel: Placed,
    pivots: u32,
    /// Row of the panel at which its rows below the pivots begin.
    first_update: u32,
}

impl<'a> EntrySource<'a> {
    /// Of no front.
    pub fn new(symbolic: &'a SymbolicFactor) -> Self {
        Self {
            symbolic,
            fronts: Vec::new(),
            count: 0,
            places: 0..0,
        }
    }

    /// Adds the entries in the pivot columns of a supernode.
    pub fn add(&mut self, supernode: usize, front: &Front, shape: FrontShape) {
        self.fronts.push(Target {
            supernode,
            first: self.count,
            panel: Placed::packed(front.panel, shape.panel_height),
            pivots: front.pivots,
            first_update: shape.first_update,
        });
        let columns = self.symbolic.columns(supernode);
        let own = columns.map(|j| self.symbolic.entries(j).row.len());
        self.count += own.sum::<usize>();
        let panel = front.panel..front.panel + shape.panel_len;
        self.places = if self.places.is_empty() {
            panel
        } else {
            self.places.start.min(panel.start)..self.places.end.max(panel.end)
        };
    }
}

impl Source for EntrySource<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn places(&self) -> Range<u64> {
        self.places.clone()
    }

    fn values(&self) -> u32 {
        self.symbolic.nnz_a() as u32 // a device plan is refused where A has 2^32 entries
    }

    fn each(&self, range: Range<usize>, mut give: impl FnMut(u64, u32)) {
        let behind = self.fronts.partition_point(|f| f.first <= range.start);
        for front in &self.fronts[behind.saturating_sub(1)..] {
            let mut at = front.first;
            for (column, j) in (0..).zip(self.symbolic.columns(front.supernode)) {
                if at >= range.end {
                    return;
                }
                let entries = self.symbolic.entries(j);
                let len = entries.row.len();
                let wanted = range.start.saturating_sub(at).min(len)..(range.end - at).min(len);
                for (source, row) in entries.iter().skip(wanted.start).take(wanted.len()) {
                    let below = row.checked_sub(front.pivots);
                    let stored = below.map_or(row, |r| front.first_update + r);
                    give(front.panel.index(stored, column), source as u32); // see `values`
                }
                at += len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tamarack_gpu::dense::Source;

    use super::EntrySource;
    use crate::device::tests::{model, symbolic};
    use crate::{DeviceOptions, DevicePlan};

    #[test]
    fn pieces_are_those_of_the_whole() {
        let plan = DevicePlan::new(symbolic(&model("el3d_4")), &DeviceOptions::default()).unwrap();
        let symbolic = plan.symbolic();
        let mut source = EntrySource::new(symbolic);
        for s in 0..symbolic.supernodes() {
            let (front, shape) = (plan.front(s).unwrap(), plan.shape(s).unwrap());
            source.add(s, &front, shape);
        }
        let count = source.count();
        assert_eq!(count as u64, symbolic.nnz_a());
        let all = |range: std::ops::Range<usize>| {
            let mut pairs = Vec::new();
            source.each(range, |to, from| pairs.push((to, from)));
            pairs
        };
        let whole = all(0..count);
        assert_eq!(whole.len(), count);
        assert!(whole.iter().all(|(to, _)| source.places().contains(to)));
        let mut values: Vec<u32> = whole.iter().map(|&(_, from)| from).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq(0..source.values()));
        let mut places: Vec<u64> = whole.iter().map(|&(to, _)| to).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|two| two[0] < two[1]));
        for piece in [1, 7, 100, count] {
            let starts = (0..count).step_by(piece);
            let pieces = starts.flat_map(|start| all(start..count.min(start + piece)));
            assert!(pieces.eq(whole.iter().copied()));
        }
        assert!(all(count..count).is_empty());
    }
}
