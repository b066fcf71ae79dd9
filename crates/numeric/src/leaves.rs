//! Leaves whose update matrices are never made, subtracted from their parent's front band by band.
//!
//! A front above thousands of leaves is larger than the caches, and each of them adds to a few of its rows and columns only. So they
//! are listed by the bands of columns that they have a part in, some tens of thousands of visits at a time, and a band that fits into a
//! second-level cache is done with before the next. Within a band leaves come in the order of the tree, and bands depend on the
//! front's size alone: hence equal bits for every number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tamarack_dense::{Band, prefetch, subtract_products};
use tamarack_plan::{FEWEST_LEAVES, FactorPlan, MOST_LEAF_ROWS};

use crate::eliminate::Crew;
use crate::execute::{Execution, LINE_BYTES};
use crate::front::Front;
use crate::profile::{Activity, Laps, Part};
use crate::value::Value;

/// Bytes of a band's columns, at most, if that is not one column: with what is added they stay in a second-level cache of 1 MB. A visit
/// takes longer than what it misses in the first one: 32 KiB take 1.1 to 1.4 times as long (no lines kept).
const BAND_BYTES: usize = 256 << 10;

/// Lines of the next leaf's panel that are asked for.
const PANEL_LINES: usize = 8;

/// Columns of a leaf's update that belong to a band.
#[derive(Clone, Copy)]
struct Visit {
    leaf: u32,
    from: u8,
    to: u8,
}

/// Visits band by band, and where each band's begin.
struct Batch {
    visits: Vec<Visit>,
    ptr: Vec<u32>,
}

impl Batch {
    /// The visits of a band.
    fn of(&self, band: usize) -> &[Visit] {
        &self.visits[self.ptr[band] as usize..self.ptr[band + 1] as usize]
    }
}

/// What is to be visited in each band of a front.
pub(crate) struct Visits {
    /// Band of every column.
    band: Vec<u32>,
    /// Visits as they are found, with their bands.
    found: Vec<(u32, Visit)>,
    /// Those that are made, and the next ones, which are listed meanwhile.
    batches: [Batch; 2],
}

impl Visits {
    /// Room for the fronts of a plan.
    pub fn for_plan(plan: &FactorPlan) -> Self {
        let columns = plan.largest_above_leaves();
        let visits = plan.leaf_visits();
        let batch = || Batch {
            visits: Vec::with_capacity(visits),
            ptr: Vec::with_capacity(columns + 2),
        };
        Self {
            band: Vec::with_capacity(columns),
            found: Vec::with_capacity(visits),
            batches: [batch(), batch()],
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
}

/// Leaves on their way into batches.
struct Listing<'a, I> {
    /// Those that are left, with their positions in the front.
    leaves: I,
    band: &'a [u32],
    bands: usize,
    found: &'a mut Vec<(u32, Visit)>,
}

impl<'a, I: Iterator<Item = (u32, &'a [u32])>> Listing<'_, I> {
    /// Lists visits of the next leaves, as many as there is room for; none are left where there are none.
    fn fill(&mut self, batch: &mut Batch) {
        let Batch { visits, ptr } = batch;
        self.found.clear();
        ptr.clear();
        // Counts stand two places on, as long as they are summed up.
        ptr.resize(self.bands + 2, 0);
        while self.found.len() + MOST_LEAF_ROWS <= self.found.capacity()
            && let Some((leaf, relative)) = self.leaves.next()
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
                ptr[band as usize + 2] += 1;
                from = to;
            }
        }
        let mut sum = 0;
        for begin in &mut ptr[1..] {
            sum += *begin;
            *begin = sum;
        }
        let none = Visit {
            leaf: 0,
            from: 0,
            to: 0,
        };
        visits.resize(self.found.len(), none);
        for &(band, visit) in &*self.found {
            let slot = &mut ptr[band as usize + 1];
            visits[*slot as usize] = visit;
            *slot += 1;
        }
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
        // SAFETY: the space is this member's; others lock what they write and only read what is listed.
        let visits = unsafe { &mut self.spaces.of(member).visits };
        let bands = visits.cut(front);
        if bands == 1 {
            let visits = leaves.map(|(leaf, relative)| (leaf, relative, 0..relative.len()));
            // SAFETY: the caller's promise.
            let bytes = unsafe { self.subtract(visits, &Band::of(&front.view(), 0)) };
            return laps.lap(Part::ExtendAdd, || bytes);
        }
        let Visits {
            band,
            found,
            batches: [now, next],
        } = visits;
        let mut listing = Listing {
            leaves,
            band,
            bands,
            found,
        };
        listing.fill(now);
        let mut ahead = Mutex::new((listing, next));
        let (notes, moved) = (crew.notes(), AtomicU64::new(0));
        while !self.meter.cancelled() && !now.visits.is_empty() {
            let batch = &*now;
            crew.for_each(Activity::Assembly, bands + 1, |task, member| {
                let Some(k) = task.checked_sub(1) else {
                    let mut ahead = ahead.lock().unwrap_or_else(PoisonError::into_inner);
                    let (listing, next) = &mut *ahead;
                    return listing.fill(next);
                };
                let mut laps = notes.laps();
                // SAFETY: the band is in one task, and its columns are in no other.
                let bytes = unsafe { self.subtract_in_band(batch.of(k), band, k, front) };
                laps.lap(Part::ExtendAdd, || bytes);
                notes.book(member, &laps);
                moved.fetch_add(bytes, Ordering::Relaxed);
            });
            let (_, next) = ahead.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(now, next);
        }
        if let Crew::Alone(_) = crew {
            laps.lap(Part::ExtendAdd, || moved.into_inner());
        }
    }

    /// Makes visits to band `k`, one after another, given the band of every column; how many bytes of the front that moves.
    ///
    /// # Safety
    /// Nobody else works on its columns, and the leaves are done.
    unsafe fn subtract_in_band(
        &self,
        visits: &[Visit],
        band_of: &[u32],
        k: usize,
        front: &Front<T>,
    ) -> u64 {
        let first = band_of.partition_point(|&band| (band as usize) < k);
        let later = visits.iter().skip(1).map(Some).chain([None]);
        let visits = visits.iter().zip(later).map(|(visit, later)| {
            if let Some(later) = later {
                let panel = self.memory.panel(later.leaf as usize);
                for line in 0..PANEL_LINES {
                    prefetch(panel.wrapping_byte_add(line * LINE_BYTES));
                }
            }
            let relative = self.symbolic.relative(visit.leaf as usize);
            (visit.leaf, relative, visit.from.into()..visit.to.into())
        });
        // SAFETY: the caller's promise.
        unsafe { self.subtract(visits, &Band::of(&front.view(), first)) }
    }

    /// Subtracts columns of leaves' updates, all in one band of their parent's front; how many bytes of it that moves.
    ///
    /// # Safety
    /// As [`subtract_in_band`](Self::subtract_in_band).
    unsafe fn subtract<'a>(
        &self,
        visits: impl Iterator<Item = (u32, &'a [u32], Range<usize>)>,
        band: &Band<T>,
    ) -> u64 {
        let mut bytes = 0;
        let visits = visits.map(|(leaf, relative, columns)| {
            bytes += bytes_of::<T>(relative.len(), &columns);
            (self.memory.leaf(leaf as usize, relative), columns)
        });
        // SAFETY: the caller's promise.
        unsafe { subtract_products(visits, band, self.isa) };
        bytes
    }
}

/// Bytes of a front that some columns of an update of so many rows are subtracted from: each number is read and written once.
fn bytes_of<T>(rows: usize, columns: &Range<usize>) -> u64 {
    let below = |from: usize| (rows - from) * (rows - from + 1) / 2;
    (2 * (below(columns.start) - below(columns.end)) * size_of::<T>()) as u64
}
