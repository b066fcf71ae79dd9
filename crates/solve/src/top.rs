//! Substitution with a large front above the subtrees, by a member and those who are free: its block columns in turn, and nobody
//! waits for the others at the end of one.
//!
//! Forward, the rows below a diagonal block are cut into tiles. Whoever has the first tile updates the rows
//! of the next diagonal block before all others and solves it, while the other members still update
//! theirs. Backward, products with far rows, below the next block column, are done by groups of columns while that
//! block column is being finished; whoever ends the last group does the rest.
//!
//! Invariant: work is handed out in one order, in which nothing waits for what comes later. So one member
//! alone gets everything done, and who waits, waits for a member at work. What is added to a number, and in which order,
//! depends on the front alone. Cost: a triangle is read, not waited for, if the other members have
//! as much to read meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tamarack_dense::PanelRef;
use tamarack_numeric::{Aid, Patience, Value};

use crate::substitution::{Shared, Sweep};

/// Entries of a block column that are worth a task: below, a second thread does not pay.
const TASK_ENTRIES: usize = 1 << 14;

/// Columns whose inner products are one task at least: those that a kernel takes together.
const TASK_COLUMNS: usize = 8;

/// Tiles of a front's rows at most.
const TILES: usize = 64;

impl<T: Value> Sweep<'_, T> {
    /// Forward substitution with a front whose rows stand together at `w`.
    ///
    /// # Safety
    /// `w` has the front's rows, and nobody else uses them.
    pub unsafe fn forward_blocks(&self, panel: PanelRef<'_, T>, w: Shared<T>, aid: Aid<'_>) {
        if self.is_for_one(&panel) {
            // SAFETY: the caller's promise.
            return unsafe { panel.forward(w.at(0), self.stride) };
        }
        // SAFETY: as above.
        unsafe { panel.forward_diagonal(0, w.at(0), self.stride) };
        let front = Forward::new(
            panel,
            self.tasks(panel.layout().rows * panel.layout().block),
        );
        in_turn(
            &panel,
            aid,
            |b| front.parts(b),
            |b, part| {
                // SAFETY: as above; this part is nobody else's.
                unsafe { front.update(b, part, w, self.stride) };
            },
        );
    }

    /// Backward substitution with a front whose rows stand together at `w`.
    ///
    /// # Safety
    /// As [`forward_blocks`](Self::forward_blocks).
    pub unsafe fn backward_blocks(&self, panel: PanelRef<'_, T>, w: Shared<T>, aid: Aid<'_>) {
        if self.is_for_one(&panel) {
            // SAFETY: the caller's promise.
            return unsafe { panel.backward_in_two(w.at(0), self.stride) };
        }
        let front = Backward::new(
            panel,
            self.tasks(panel.layout().rows * panel.layout().block),
        );
        in_turn(
            &panel,
            aid,
            |step| front.parts(step),
            |step, part| {
                // SAFETY: as above; this part is nobody else's.
                unsafe { front.update(step, part, w, self.stride) };
            },
        );
    }

    /// Whether a front is done by one member, which reads its panel from end to end.
    fn is_for_one(&self, panel: &PanelRef<'_, T>) -> bool {
        self.team().size() == 1 || panel.layout().len() < 2 * TASK_ENTRIES
    }

    /// Number of tasks for work on so many entries of L: a few for each thread, none too small.
    fn tasks(&self, entries: usize) -> usize {
        (entries / TASK_ENTRIES).clamp(1, 4 * self.team().size())
    }
}

/// A member works off the parts of a step for each block column, with those who are free.
fn in_turn<T: Value>(
    panel: &PanelRef<'_, T>,
    aid: Aid<'_>,
    parts: impl Fn(usize) -> usize + Sync,
    work: impl Fn(usize, usize) + Sync,
) {
    let (turns, steps) = (Turns::default(), panel.layout().blocks());
    let tasks: usize = (0..steps).map(&parts).sum(); // there is work ahead in later steps
    aid.share(tasks.saturating_sub(1), &|_| {
        turns.take(steps, &parts, &work)
    });
}

/// Hands out the parts of steps, all of one step before those of the next.
#[derive(Default)]
struct Turns(AtomicUsize);

impl Turns {
    /// Calls `work(step, part)` for what this member gets.
    fn take(&self, steps: usize, parts: impl Fn(usize) -> usize, work: impl Fn(usize, usize)) {
        let (mut step, mut before) = (0, 0);
        loop {
            let turn = self.0.fetch_add(1, Ordering::Relaxed);
            while step < steps && turn >= before + parts(step) {
                before += parts(step);
                step += 1;
            }
            if step == steps {
                return;
            }
            work(step, turn - before);
        }
    }
}

/// Whether a part has ended by a panic: nobody waits for it then, and what comes out is thrown away with the panic.
#[derive(Default)]
struct Broken(AtomicBool);

impl Broken {
    /// Waits until a counter has come so far, and says whether it did; what was written before it was counted is seen then.
    #[must_use]
    fn wait_for(&self, counter: &AtomicUsize, count: usize) -> bool {
        let mut patience = Patience::default();
        while counter.load(Ordering::Acquire) < count {
            if self.0.load(Ordering::Relaxed) {
                return false;
            }
            patience.wait();
        }
        true
    }

    /// Does a part, or as much of it as is done before it panics.
    fn watch(&self, part: impl FnOnce()) {
        /// Says that it has not come to its end, unless it is forgotten.
        struct Unended<'a>(&'a AtomicBool);
        impl Drop for Unended<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let unended = Unended(&self.0);
        part();
        std::mem::forget(unended);
    }
}

/// A front on the way up: step b subtracts the products of block column b, in tiles of rows.
struct Forward<'a, T> {
    panel: PanelRef<'a, T>,
    /// Rows of a tile, whole block columns' worth.
    tile: usize,
    /// Diagonal blocks solved.
    solved: AtomicUsize,
    /// Block columns subtracted from each tile.
    done: [AtomicUsize; TILES],
    broken: Broken,
}

impl<'a, T: Value> Forward<'a, T> {
    fn new(panel: PanelRef<'a, T>, tasks: usize) -> Self {
        let layout = panel.layout();
        let tile = layout.rows.div_ceil(tasks.min(TILES));
        Self {
            panel,
            tile: tile.next_multiple_of(layout.block),
            solved: AtomicUsize::new(1),
            done: [const { AtomicUsize::new(0) }; TILES],
            broken: Broken::default(),
        }
    }

    /// End of the pivots of block column `b`, and the first tile with rows behind them.
    fn below(&self, b: usize) -> (usize, usize) {
        let layout = self.panel.layout();
        let end = layout.cols.min((b + 1) * layout.block);
        (end, end / self.tile)
    }

    fn parts(&self, b: usize) -> usize {
        self.panel.layout().rows.div_ceil(self.tile) - self.below(b).1
    }

    /// # Safety
    /// `w` has the front's rows, and this part of step `b` is the caller's alone.
    unsafe fn update(&self, b: usize, part: usize, w: Shared<T>, stride: usize) {
        let (panel, layout) = (self.panel, self.panel.layout());
        let (end, first) = self.below(b);
        let tile = first + part;
        let mut rows = end.max(tile * self.tile)..layout.rows.min((tile + 1) * self.tile);
        let broken = &self.broken;
        if !broken.wait_for(&self.solved, b + 1) || !broken.wait_for(&self.done[tile], b) {
            return;
        }
        // SAFETY: the pivots of block b are final; the tile has what earlier steps subtract, and is this part's; the
        // next diagonal block's rows are in the first tile.
        broken.watch(|| unsafe {
            if part == 0 && b + 1 < layout.blocks() {
                let next = end..end + layout.width(b + 1);
                rows.start = next.end;
                panel.forward_rows(b, next, w.at(0), stride);
                panel.forward_diagonal(b + 1, w.at(0), stride);
                self.solved.store(b + 2, Ordering::Release);
            }
            panel.forward_rows(b, rows, w.at(0), stride);
        });
        self.done[tile].store(b + 1, Ordering::Release);
    }
}

/// A front on the way down: step 0 is the last block column.
struct Backward<'a, T> {
    panel: PanelRef<'a, T>,
    /// Columns of a part.
    columns: usize,
    /// Block columns that are final.
    solved: AtomicUsize,
    /// Parts ended of the steps in work: two follow each other at most, an even and an odd one.
    ended: [AtomicUsize; 2],
    broken: Broken,
}

impl<'a, T: Value> Backward<'a, T> {
    fn new(panel: PanelRef<'a, T>, tasks: usize) -> Self {
        let columns = panel.layout().block.div_ceil(tasks);
        Self {
            panel,
            columns: columns.next_multiple_of(TASK_COLUMNS),
            solved: AtomicUsize::new(0),
            ended: [const { AtomicUsize::new(0) }; 2],
            broken: Broken::default(),
        }
    }

    /// The block column of a step.
    fn block(&self, step: usize) -> usize {
        self.panel.layout().blocks() - 1 - step
    }

    fn parts(&self, step: usize) -> usize {
        let width = self.panel.layout().width(self.block(step));
        width.div_ceil(self.columns)
    }

    /// # Safety
    /// `w` has the front's rows, and this part of the step is the caller's alone.
    unsafe fn update(&self, step: usize, part: usize, w: Shared<T>, stride: usize) {
        let (panel, layout) = (self.panel, self.panel.layout());
        let (b, parts) = (self.block(step), self.parts(step));
        let start = b * layout.block;
        let from = start + (parts - 1 - part) * self.columns;
        let columns = from..(start + layout.width(b)).min(from + self.columns);
        // Rows behind the next block column are those of the steps before the last.
        let broken = &self.broken;
        if !broken.wait_for(&self.solved, step.saturating_sub(1)) {
            return;
        }
        // SAFETY: those rows are final, and the columns this part's.
        broken.watch(|| unsafe { panel.backward_far(b, columns, w.at(0), stride) });
        let ended = &self.ended[step % 2];
        if ended.fetch_add(1, Ordering::AcqRel) + 1 < parts {
            return;
        }
        ended.store(0, Ordering::Relaxed);
        if !broken.wait_for(&self.solved, step) {
            return;
        }
        // SAFETY: all parts of this step have ended, and the rows below are final.
        broken.watch(|| unsafe { panel.backward_near(b, w.at(0), stride) });
        self.solved.store(step + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_part_that_panicked() {
        let (broken, counter) = (Broken::default(), AtomicUsize::new(0));
        broken.watch(|| counter.store(1, Ordering::Release));
        assert!(broken.wait_for(&counter, 1));
        let came = std::thread::scope(|threads| {
            let waiting = threads.spawn(|| broken.wait_for(&counter, 2));
            let part = threads.spawn(|| broken.watch(|| panic!("on purpose")));
            assert!(part.join().is_err());
            waiting.join().unwrap()
        });
        assert!(!came);
        // What is done already is not waited for.
        assert!(broken.wait_for(&counter, 1));
    }
}
