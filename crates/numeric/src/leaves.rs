//! Leaves whose update matrices are never made, subtracted from their parent's front band by band.
//!
//! A front above thousands of leaves is larger than the caches, and each of them adds to a few of its rows and columns only. So they
//! are listed by the bands of columns that they have a part in, some tens of thousands of visits at a time, and a band that fits into a
//! second-level cache is done with before the next. Within a band leaves come in the order of the tree, and bands depend on the
//! front's size alone: hence equal bits for every number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use tamarack_dense::{prefetch, subtract_product};
use tamarack_plan::{FEWEST_LEAVES, FactorPlan, VISITS};

use crate::eliminate::Crew;
use crate::execute::{Execution, LINE_BYTES};
use crate::front::Front;
use crate::profile::{Activity, Laps, Part};
use crate::value::Value;

/// Bytes of a band's columns, at most, if that is not one column: with what is added they stay in a second-level cache of 1 MB. A visit
/// takes longer than what it misses in the first one: 32 KiB take 1.1 to 1.4 times as long (no lines kept).
const BAND_BYTES: usize = 256 << 10;

/// Most rows below a leaf's pivots.
const MOST_ROWS: usize = u8::MAX as usize;

/// Lines of the next leaf's panel that are asked for.
const PANEL_LINES: usize = 8;

/// Columns of a leaf's update that belong to a band.
#[derive(Clone, Copy)]
struct Visit {
    leaf: u32,
    from: u8,
    to: u8,
}

/// What is to be visited in each band of a front.
pub(crate) struct Visits {
    /// Band of every column.
    band: Vec<u32>,
    /// Visits as they are found, with their bands.
    found: Vec<(u32, Visit)>,
    /// The same band by band, and where each band's begin.
    sorted: Vec<Visit>,
    ptr: Vec<u32>,
}

impl Visits {
    /// Room for the fronts of a plan.
    pub fn for_plan(plan: &FactorPlan) -> Self {
        let columns = plan.largest_above_leaves();
        let visits = if columns > 0 { VISITS } else { 0 };
        Self {
            band: Vec::with_capacity(columns),
            found: Vec::with_capacity(visits),
            sorted: Vec::with_capacity(visits),
            ptr: Vec::with_capacity(columns + 2),
        }
    }

    /// Cuts a front into bands, each within a block column, and returns how many.
    fn cut<T: Value>(&mut self, front: &Front<T>) -> usize {
        self.band.clear();
        let mut bands = 0;
        for part in [&front.panel.layout, &front.update.layout] {
            for b in 0..part.blocks() {
                let width = (BAND_BYTES / size_of::<T>() / part.height(b)).max(1);
                let columns = 0..part.width(b);
                self.band
                    .extend(columns.clone().map(|j| bands + (j / width) as u32));
                bands += columns.len().div_ceil(width) as u32;
            }
        }
        bands as usize
    }

    /// Lists visits of leaves, given with their positions in the front, as many as there is room for; whether there are any.
    fn list<'a>(
        &mut self,
        bands: usize,
        leaves: &mut impl Iterator<Item = (u32, &'a [u32])>,
    ) -> bool {
        self.found.clear();
        self.ptr.clear();
        // Counts stand two places on, as long as they are summed up.
        self.ptr.resize(bands + 2, 0);
        while self.found.len() + MOST_ROWS <= VISITS
            && let Some((leaf, relative)) = leaves.next()
        {
            let mut from = 0;
            while let Some(&first) = relative.get(from) {
                let band = self.band[first as usize];
                let is_in = |&&row: &&u32| self.band[row as usize] == band;
                let to = from + relative[from..].iter().take_while(is_in).count();
                let visit = Visit {
                    leaf,
                    from: from as u8,
                    to: to as u8,
                };
                self.found.push((band, visit));
                self.ptr[band as usize + 2] += 1;
                from = to;
            }
        }
        let mut sum = 0;
        for begin in &mut self.ptr[1..] {
            sum += *begin;
            *begin = sum;
        }
        let none = Visit {
            leaf: 0,
            from: 0,
            to: 0,
        };
        self.sorted.resize(self.found.len(), none);
        for &(band, visit) in &self.found {
            let slot = &mut self.ptr[band as usize + 1];
            self.sorted[*slot as usize] = visit;
            *slot += 1;
        }
        !self.found.is_empty()
    }

    /// The visits of a band.
    fn of(&self, band: usize) -> &[Visit] {
        &self.sorted[self.ptr[band] as usize..self.ptr[band + 1] as usize]
    }
}

impl<T: Value> Execution<'_, T> {
    /// Whether there can be leaves below a front that have no update matrices.
    #[inline(always)]
    pub fn may_have_leaves(&self, s: usize) -> bool {
        self.symbolic.children(s).len() >= FEWEST_LEAVES
            && self.memory.plan.largest_above_leaves() > 0
    }

    /// Subtracts the updates of all leaves below a front that have none of their own.
    ///
    /// # Safety
    /// The children are done, the rest of the front is assembled, and nobody else works on it.
    pub unsafe fn subtract_leaves(
        &self,
        s: usize,
        member: usize,
        front: &Front<T>,
        crew: Crew<'_>,
        laps: &mut Laps,
    ) {
        if !self.may_have_leaves(s) {
            return;
        }
        let children = self.symbolic.children(s).iter();
        let is_leaf = |&&child: &&u32| self.memory.plan.update_is_implicit(child as usize);
        let with_rows = |&leaf: &u32| (leaf, self.symbolic.relative(leaf as usize));
        let mut leaves = children.filter(is_leaf).map(with_rows).peekable();
        if leaves.peek().is_none() {
            return;
        }
        // SAFETY: the space is this member's; others only read what is listed.
        let visits = unsafe { &mut self.spaces.of(member).visits };
        let bands = visits.cut(front);
        if bands == 1 {
            let mut bytes = 0;
            for (leaf, relative) in leaves {
                bytes += bytes_of::<T>(relative.len(), &(0..relative.len()));
                // SAFETY: the caller's promise.
                unsafe { self.subtract_leaf(leaf, relative, 0..relative.len(), front) };
            }
            return laps.lap(Part::ExtendAdd, || bytes);
        }
        let (notes, moved) = (crew.notes(), AtomicU64::new(0));
        while !self.meter.cancelled() && visits.list(bands, &mut leaves) {
            let visits = &*visits;
            crew.for_each(Activity::Assembly, bands, |band, member| {
                let mut laps = notes.laps();
                // SAFETY: the band is in one task, and its columns are in no other.
                let bytes = unsafe { self.subtract_in_band(visits.of(band), front) };
                laps.lap(Part::ExtendAdd, || bytes);
                notes.book(member, &laps);
                moved.fetch_add(bytes, Ordering::Relaxed);
            });
        }
        if let Crew::Alone(_) = crew {
            laps.lap(Part::ExtendAdd, || moved.into_inner());
        }
    }

    /// Makes some visits to a band, one after another; how many bytes of the front that moves.
    ///
    /// # Safety
    /// Nobody else works on its columns, and the leaves are done.
    unsafe fn subtract_in_band(&self, visits: &[Visit], front: &Front<T>) -> u64 {
        let mut bytes = 0;
        for (k, visit) in visits.iter().enumerate() {
            if let Some(next) = visits.get(k + 1) {
                let panel = self.memory.panel(next.leaf as usize);
                for line in 0..PANEL_LINES {
                    prefetch(panel.wrapping_byte_add(line * LINE_BYTES));
                }
            }
            let relative = self.symbolic.relative(visit.leaf as usize);
            let columns = visit.from.into()..visit.to.into();
            bytes += bytes_of::<T>(relative.len(), &columns);
            // SAFETY: the caller's promise.
            unsafe { self.subtract_leaf(visit.leaf, relative, columns, front) };
        }
        bytes
    }

    /// Subtracts some columns of a leaf's update.
    ///
    /// # Safety
    /// Nobody else works on the columns of the front that they belong to, and the leaf is done.
    #[inline(always)]
    unsafe fn subtract_leaf(
        &self,
        leaf: u32,
        relative: &[u32],
        columns: Range<usize>,
        front: &Front<T>,
    ) {
        let leaf = self.memory.leaf(leaf as usize, relative);
        // SAFETY: the caller's promise.
        unsafe { subtract_product(&leaf, columns, &front.view(), self.isa) };
    }
}

/// Bytes of a front that some columns of an update of so many rows are subtracted from: each number is read and written once.
fn bytes_of<T>(rows: usize, columns: &Range<usize>) -> u64 {
    let below = |from: usize| (rows - from) * (rows - from + 1) / 2;
    (2 * (below(columns.start) - below(columns.end)) * size_of::<T>()) as u64
}
