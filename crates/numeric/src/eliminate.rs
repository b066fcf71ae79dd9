//! Elimination of the pivots of one front, by one thread or by several.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tamarack_dense::{FrontMut, Isa, PivotFailure, Steps, UpdateMode};

use crate::control::Meter;
use crate::profile::{Activity, FrontId, Laps, Span};
use crate::team::{Aid, Patience, Team};
use crate::value::Value;

/// Who does the loops of a front.
#[derive(Clone, Copy)]
pub(crate) enum Crew<'a> {
    /// A member without help.
    Alone(usize),
    /// A member, with up to so many of those who are free.
    Aided(Aid<'a>, usize, &'a Team, FrontId),
}

/// Where it is booked what members do of a front, if anywhere.
#[derive(Clone, Copy)]
pub(crate) enum Notes<'a> {
    None,
    In(&'a Team, FrontId),
}

/// Operations of a front that a member is worth: 20 to 40 µs of them, in several loops.
const FLOPS_PER_MEMBER: u128 = 2_000_000;

/// Numbers of a front without pivots, and its children, that a member is worth: a number is cleared and added to, a child takes as long as a
/// thousand of them.
const NUMBERS_PER_MEMBER: u128 = 1 << 16;
const CHILDREN_PER_MEMBER: usize = 1 << 6;

impl<'a> Crew<'a> {
    /// A member and as many of its team as a front with so many children is worth.
    pub fn of(
        team: &'a Team,
        aid: Aid<'a>,
        front: FrontId,
        (npiv, nupd): (usize, usize),
        children: usize,
    ) -> Self {
        let worth = match npiv {
            0 => {
                let numbers = nupd as u128 * (nupd as u128 + 1) / 2;
                numbers / NUMBERS_PER_MEMBER + (children / CHILDREN_PER_MEMBER) as u128
            }
            _ => tamarack_plan::front_flops(npiv, nupd) / FLOPS_PER_MEMBER,
        };
        match team.size().min(worth.try_into().unwrap_or(usize::MAX)) {
            0 | 1 => Self::Alone(aid.member()),
            members => Self::Aided(aid, members - 1, team, front),
        }
    }

    /// Members at most.
    fn members(&self) -> usize {
        match self {
            Self::Alone(_) => 1,
            Self::Aided(_, helpers, ..) => helpers + 1,
        }
    }

    /// Calls `body(i, member)` for every `i` in `0..count`, in any order; all members' shares are
    /// booked as `what`.
    pub fn for_each(&self, what: Activity, count: usize, body: impl Fn(usize, usize) + Sync) {
        match *self {
            Self::Aided(aid, helpers, team, front) => {
                team.share_as((aid, helpers), Span::of(what, front), count, body);
            }
            Self::Alone(member) => (0..count).for_each(|i| body(i, member)),
        }
    }

    /// For members in a loop.
    pub fn notes(&self) -> Notes<'a> {
        match *self {
            Self::Alone(_) => Notes::None,
            Self::Aided(.., team, front) => Notes::In(team, front),
        }
    }

    /// Does what one member does between loops.
    fn once<R>(&self, what: Activity, work: impl FnOnce() -> R) -> R {
        match *self {
            Self::Alone(_) => work(),
            Self::Aided(aid, _, team, front) => {
                team.once_as(aid.member(), Span::of(what, front), work)
            }
        }
    }
}

impl Notes<'_> {
    /// Times of the parts of a share in a loop, where they are booked.
    pub fn laps(&self) -> Laps {
        match self {
            Self::In(team, _) if team.profiler().is_some() => Laps::begin(),
            _ => Laps::off(),
        }
    }

    /// Books the parts of a share in a loop.
    pub fn book(&self, member: usize, laps: &Laps) {
        if let Self::In(team, front) = self
            && let Some(profiler) = team.profiler()
        {
            profiler.add(member, *front, laps);
        }
    }

    /// Does what one member does inside a loop, and notes it.
    fn noting<R>(&self, what: Activity, member: usize, work: impl FnOnce() -> R) -> R {
        match self {
            Self::None => work(),
            Self::In(team, front) => team.noting(member, Span::of(what, *front), 0, work),
        }
    }
}

/// Why a front was left unfinished.
pub(crate) enum Stop {
    /// Its pivot, counted in the front, was not positive.
    Pivot(PivotFailure),
    Cancelled,
}

/// Micropanels of rows that are one task at most: they stay in a second-level cache together.
const TASK_ROWS: usize = 8;

/// Micropanels of columns that one task updates at most, so that the last tasks of a step are short.
const TASK_COLUMNS: usize = 32;

/// Tasks for each member, at least, as long as a task has a micropanel of rows: who is done first has little to wait for.
const SHARES: usize = 4;

/// Eliminates all pivots of a large front in steps cut into tasks; every entry has the same
/// operations whoever does them, so the result does not depend on the crew.
///
/// # Safety
/// The front is assembled, and only this crew touches it and `packed`, which names as many numbers
/// as [`packed_len`](tamarack_dense::packed_len) says.
pub(crate) unsafe fn eliminate<T: Value>(
    front: FrontMut<T>,
    packed: *mut T,
    crew: Crew<'_>,
    meter: &Meter<'_>,
) -> Result<(), Stop> {
    let (npiv, nupd) = (front.npiv(), front.nupd());
    let elimination = Elimination {
        steps: Steps::new(front, packed, Isa::detect()),
        notes: crew.notes(),
        meter,
        counted: AtomicU64::new(0),
    };
    // SAFETY: no loop is running.
    let first = || unsafe { elimination.steps.factor_diagonal(0) };
    let mut diagonal = crew.once(Activity::Diagonal, first);
    for step in 0..elimination.steps.count() {
        diagonal.map_err(Stop::Pivot)?;
        // SAFETY: the steps before are done, and this one's diagonal block.
        diagonal = unsafe { elimination.step(step, crew) };
        if meter.cancelled() {
            return Err(Stop::Cancelled);
        }
    }
    let flops = tamarack_plan::front_flops(npiv, nupd);
    meter.add(
        u64::try_from(flops)
            .unwrap_or(u64::MAX)
            .saturating_sub(elimination.counted.into_inner()),
    );
    Ok(())
}

/// A front whose pivots are being eliminated.
struct Elimination<'a, T> {
    steps: Steps<T>,
    notes: Notes<'a>,
    meter: &'a Meter<'a>,
    /// Operations that the meter knows of.
    counted: AtomicU64,
}

impl<T: Value> Elimination<'_, T> {
    /// What is left of a step whose diagonal block is final, and the diagonal block of the next one: as soon as its entries are
    /// there one member goes on with it, while the others update the rest (look-ahead).
    ///
    /// # Safety
    /// No loop is running, and the steps before are done.
    unsafe fn step(&self, step: usize, crew: Crew<'_>) -> Result<(), PivotFailure> {
        let count = self.steps.micropanels(step);
        let rows = match crew.members() {
            1 => TASK_ROWS,
            members => (count / (SHARES * members)).clamp(1, TASK_ROWS),
        };
        let groups = Groups::new(0..count, rows);
        crew.for_each(Activity::PanelSolve, groups.len(), |g, _| {
            // SAFETY: groups are disjoint, and the diagonal block is final.
            unsafe { self.steps.solve(step, groups.rows(g)) };
        });
        let near = Groups::new(0..self.steps.micropanels_of_next(step), rows);
        let far = Groups::new(near.range.end..count, rows);
        // The tasks that the next diagonal block waits for, that block, and all others.
        let before = near.tasks();
        let after = before + usize::from(before > 0);
        let waiting = AtomicUsize::new(before);
        let outcome = Mutex::new(Ok(()));
        let work = |task: usize, member: usize| {
            if task >= after {
                // SAFETY: tasks are disjoint, and all rows of the step are solved.
                return unsafe { self.update(step, far.task(task - after)) };
            }
            if task < before {
                let _done = Done(&waiting);
                // SAFETY: as above.
                return unsafe { self.update(step, near.task(task)) };
            }
            wait_for_none(&waiting);
            // SAFETY: the next diagonal block is up to date, and nobody else touches it from now on.
            let next = || unsafe { self.steps.factor_diagonal(step + 1) };
            let next = self.notes.noting(Activity::Diagonal, member, next);
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = next;
        };
        let tasks = after + far.tasks();
        crew.for_each(Activity::Update, tasks, work);
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates a task's rows and columns, micropanels both.
    ///
    /// # Safety
    /// All rows of the step are solved, and nobody else touches these entries.
    unsafe fn update(&self, step: usize, (rows, columns): (Range<usize>, Range<usize>)) {
        if self.meter.cancelled() {
            return;
        }
        let (steps, width) = (&self.steps, self.steps.pivots(step).len());
        let entries = steps.rows_in(step, rows.clone()) * steps.rows_in(step, columns.clone());
        // SAFETY: the caller's contract.
        unsafe { steps.update(step, rows, columns, UpdateMode::Accumulate) };
        let flops = 2 * (entries * width) as u64;
        self.counted.fetch_add(flops, Ordering::Relaxed);
        self.meter.add(flops);
    }
}

/// One of the tasks that others wait for: it is done when this is dropped, if by a panic.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Waits until all tasks that others have begun are done. They were handed out before: nobody waits for who has not come.
fn wait_for_none(waiting: &AtomicUsize) {
    let mut patience = Patience::default();
    while waiting.load(Ordering::Acquire) > 0 {
        patience.wait();
    }
}

/// Micropanels of rows in groups, whose columns to the left are updated in parts.
struct Groups {
    range: Range<usize>,
    /// Micropanels of a group.
    rows: usize,
}

impl Groups {
    fn new(range: Range<usize>, rows: usize) -> Self {
        Self { range, rows }
    }

    /// Number of groups.
    fn len(&self) -> usize {
        self.range.len().div_ceil(self.rows)
    }

    /// Micropanels of group `g`.
    fn rows(&self, g: usize) -> Range<usize> {
        let start = self.range.start + g * self.rows;
        start..self.range.end.min(start + self.rows)
    }

    /// Parts of the columns of group `g`: those of its last row and all before.
    fn parts(&self, g: usize) -> usize {
        self.rows(g).end.div_ceil(TASK_COLUMNS)
    }

    /// Number of tasks.
    fn tasks(&self) -> usize {
        (0..self.len()).map(|g| self.parts(g)).sum()
    }

    /// Rows and columns of a task. The groups with most columns come first: no long task is left for the end.
    fn task(&self, mut index: usize) -> (Range<usize>, Range<usize>) {
        for g in (0..self.len()).rev() {
            let parts = self.parts(g);
            if index < parts {
                let (rows, from) = (self.rows(g), index * TASK_COLUMNS);
                let to = rows.end.min(from + TASK_COLUMNS);
                return (rows, from..to);
            }
            index -= parts;
        }
        (0..0, 0..0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_all_entries_below_the_diagonal_once() {
        for (range, rows) in [(0..0, 3), (0..1, 8), (0..75, 8), (11..75, 2), (40..41, 1)] {
            let groups = Groups::new(range.clone(), rows);
            let mut seen = vec![0; 75 * 75];
            for (rows, columns) in (0..groups.tasks()).map(|task| groups.task(task)) {
                assert!(!rows.is_empty() && !columns.is_empty());
                for row in rows {
                    columns
                        .clone()
                        .for_each(|column| seen[75 * row + column] += 1);
                }
            }
            for (row, column) in (0..75).flat_map(|row| (0..=row).map(move |c| (row, c))) {
                let times = usize::from(range.contains(&row));
                assert_eq!(seen[75 * row + column], times, "{range:?}: {row}, {column}");
            }
        }
    }
}
