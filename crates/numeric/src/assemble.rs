//! Assembly of a front: cleared, entries of A added, then the children's update matrices in the
//! order of the tree; leaves without such matrices come last (`leaves`).

use std::ops::Range;

use tamarack_dense::{Isa, UpdateMode, extend_add, extend_add_each, find_runs};

use crate::eliminate::Crew;
use crate::entries::enter_entries;
use crate::execute::Execution;
use crate::front::{Front, Packed};
use crate::profile::{Activity, Laps, Part};
use crate::value::Value;

/// Rows of an update matrix up to which it is added number by number: finding runs takes longer.
const FEW_ROWS: usize = 8;

/// Rows of a run in the mean from which on rows are added by runs.
const LONG_RUN: usize = 8;

/// Fronts of at least this order are assembled by all members.
const SHARED_ASSEMBLY: usize = 256;

/// Numbers of a large front that are cleared and added to before the next: with what is added they
/// stay in a second-level cache of 1 MB.
const STRIP: usize = 1 << 15;

impl<T: Value> Execution<'_, T> {
    /// Assembles a front, by the whole crew where it is large.
    ///
    /// # Safety
    /// The children are done, and nobody else works on this front.
    pub unsafe fn assemble(
        &self,
        s: usize,
        member: usize,
        front: &Front<T>,
        crew: Crew<'_>,
        laps: &mut Laps,
    ) {
        if !self.may_have_leaves(s) {
            // SAFETY: the caller's promise.
            return unsafe {
                self.assemble_with(s, self.symbolic.children(s), member, front, crew, laps)
            };
        }
        // Those that have update matrices, found once and not for every strip.
        // SAFETY: the space is this member's, and gets back what is taken from it.
        let mut others = std::mem::take(unsafe { &mut self.spaces.of(member).others });
        let children = self.symbolic.children(s).iter().copied();
        others.clear();
        others
            .extend(children.filter(|&child| !self.memory.plan.update_is_implicit(child as usize)));
        // SAFETY: as above.
        unsafe {
            self.assemble_with(s, &others, member, front, crew, laps);
            self.spaces.of(member).others = others;
            self.subtract_leaves(s, member, front, crew, laps);
        }
    }

    /// The same with the update matrices of some children only.
    ///
    /// # Safety
    /// As for [`assemble`](Self::assemble).
    unsafe fn assemble_with(
        &self,
        s: usize,
        children: &[u32],
        member: usize,
        front: &Front<T>,
        crew: Crew<'_>,
        laps: &mut Laps,
    ) {
        let blocks = front.panel.layout.blocks() + front.update.layout.blocks();
        if front.panel.layout.rows < SHARED_ASSEMBLY || matches!(crew, Crew::Alone(_)) {
            for b in 0..blocks {
                if blocks > 2 && self.meter.cancelled() {
                    return;
                }
                // SAFETY: the caller's promise.
                unsafe { self.assemble_block((s, children), member, front, b, laps) };
            }
            return;
        }
        let notes = crew.notes();
        crew.for_each(Activity::Assembly, blocks, |b, member| {
            if !self.meter.cancelled() {
                if let Some(fresh) = self.untouched() {
                    self.memory.touch_block(fresh, front, b);
                }
                let mut laps = notes.laps();
                // SAFETY: every block column is in one task; the children are only read.
                unsafe { self.assemble_block((s, children), member, front, b, &mut laps) };
                notes.book(member, &laps);
            }
        });
    }

    /// Assembles a block column, those of the panel counted first, strip by strip.
    ///
    /// # Safety
    /// As for [`assemble_columns`](Self::assemble_columns).
    unsafe fn assemble_block(
        &self,
        (s, children): (usize, &[u32]),
        member: usize,
        front: &Front<T>,
        b: usize,
        laps: &mut Laps,
    ) {
        let (order, npiv) = (front.panel.layout.rows, front.npiv());
        let block = front.panel.layout.block;
        let (mut from, end) = match b.checked_sub(front.panel.layout.blocks()) {
            None => (b * block, npiv.min((b + 1) * block)),
            Some(b) => (npiv + b * block, order.min(npiv + (b + 1) * block)),
        };
        while from < end {
            let to = end.min(from + (STRIP / (order - from)).max(1));
            // SAFETY: the caller's promise.
            unsafe { self.assemble_columns((s, children), member, front, from..to, laps) };
            from = to;
        }
    }

    /// Clears columns of a front and adds what belongs there: entries of A first, then the update matrices of these
    /// children in the order of the tree. Leaves that have none come [after](Self::subtract_leaves).
    ///
    /// # Safety
    /// Only this call touches these columns, and nobody writes to the children's matrices.
    pub unsafe fn assemble_columns(
        &self,
        (s, children): (usize, &[u32]),
        member: usize,
        front: &Front<T>,
        columns: Range<usize>,
        laps: &mut Laps,
    ) {
        let npiv = front.npiv();
        let (from, to) = (columns.start, columns.end);
        let pivots = from.min(npiv)..to.min(npiv);
        let update = from.saturating_sub(npiv)..to.saturating_sub(npiv);
        let isa = Isa::detect();
        let whole = from == 0 && to == front.panel.layout.rows;
        let mut added = 0;
        let some_are_leaves = self.may_have_leaves(s);
        // SAFETY: the caller's promise, and the entry map belongs to these values.
        unsafe {
            let mut cleared = 0;
            if !(self.fresh.is_some() && self.memory.plan.panel_is_fresh(s)) {
                cleared += front.panel.clear(pivots.clone());
            }
            if self.update_mode(s) == Some(UpdateMode::Accumulate) {
                cleared += front.update.clear(update);
            }
            self.enter(s, front, pivots);
            laps.lap(Part::Entries, || (cleared * size_of::<T>()) as u64);
            let runs = &mut self.spaces.of(member).runs;
            for &child in children {
                let child = child as usize;
                if some_are_leaves && self.memory.plan.update_is_implicit(child) {
                    continue;
                }
                let relative = self.symbolic.relative(child);
                if whole && relative.len() <= FEW_ROWS.min(front.panel.layout.block) {
                    let update = self.memory.update(child, member);
                    add_few(&update, relative, front);
                    added += relative.len() * (relative.len() + 1) / 2;
                    continue;
                }
                let position = |column: usize| relative.partition_point(|&r| (r as usize) < column);
                let columns = if whole {
                    0..relative.len()
                } else {
                    position(from)..position(to)
                };
                if !columns.is_empty() {
                    let below = |from: usize| (relative.len() - from) * (relative.len() - from + 1);
                    added += (below(columns.start) - below(columns.end)) / 2;
                    find_runs(relative, columns.start, runs);
                    let update = self.memory.update(child, member);
                    let (child, layout, front) = (update.data, update.layout, front.view());
                    if relative.len() - columns.start < LONG_RUN * runs.len() {
                        extend_add_each(child, layout, relative, columns, &front);
                    } else {
                        extend_add(child, layout, runs, columns, &front, isa);
                    }
                }
            }
        }
        // Each number is read twice and written once.
        laps.lap(Part::ExtendAdd, || (3 * added * size_of::<T>()) as u64);
    }

    /// Enters the entries of A in some pivot columns of a front, which are zero so far.
    ///
    /// # Safety
    /// Nobody else works on these columns.
    #[inline(always)]
    unsafe fn enter(&self, s: usize, front: &Front<T>, pivots: Range<usize>) {
        let (panel, shift) = (&front.panel, self.shift);
        // SAFETY: the caller's promise, and the entry map belongs to these values.
        unsafe { enter_entries(self.symbolic, s, self.values, shift, panel, pivots) };
    }

    /// Assembles a front of which panel and update matrix are one block column each, as are those of its children,
    /// all with few rows; no child's update is implicit.
    ///
    /// # Safety
    /// The children are done, and nobody else works on this front.
    pub unsafe fn assemble_tiny(&self, s: usize, member: usize, front: &Front<T>, laps: &mut Laps) {
        let (order, nupd) = (front.panel.layout.rows, front.update.layout.rows);
        let children = self.symbolic.children(s);
        let (mut cleared, mut added) = (0, 0);
        // SAFETY: the caller's promise, and the entry map belongs to these values.
        unsafe {
            if !(self.fresh.is_some() && self.memory.plan.panel_is_fresh(s)) {
                cleared += front.npiv() * order;
                std::ptr::write_bytes(front.panel.data, 0, front.npiv() * order);
            }
            if !children.is_empty() {
                cleared += nupd * nupd;
                std::ptr::write_bytes(front.update.data, 0, nupd * nupd);
            }
            self.enter(s, front, 0..front.npiv());
            laps.lap(Part::Entries, || (cleared * size_of::<T>()) as u64);
            for &child in children {
                let relative = self.symbolic.relative(child as usize);
                let update = self.memory.update(child as usize, member);
                add_few(&update, relative, front);
                added += relative.len() * (relative.len() + 1) / 2;
            }
        }
        laps.lap(Part::ExtendAdd, || (3 * added * size_of::<T>()) as u64);
    }
}

/// Adds the whole update matrix of a child with few rows, number by number.
///
/// # Safety
/// As for [`Execution::assemble_columns`].
#[inline(always)]
unsafe fn add_few<T: Value>(update: &Packed<T>, relative: &[u32], front: &Front<T>) {
    let npiv = front.npiv();
    let mut from = update.data.cast_const();
    for (j, &column) in relative.iter().enumerate() {
        let column = column as usize;
        let to = match column.checked_sub(npiv) {
            None => front.panel.column(column),
            Some(column) => front.update.column(column).wrapping_sub(npiv),
        };
        for (i, &row) in relative.iter().enumerate().skip(j) {
            // SAFETY: the matrix is one block column of these rows, and their places in the front
            // are at or below its diagonal.
            unsafe { *to.wrapping_add(row as usize) += *from.add(i) };
        }
        from = from.wrapping_add(relative.len());
    }
}
