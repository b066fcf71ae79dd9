//! Elimination of the pivots of one front, by one thread or by all.

use std::sync::atomic::{AtomicU64, Ordering};

use tamarack_dense::{Isa, PivotFailure, Steps, UpdateMode};

use crate::control::Meter;
use crate::front::Front;
use crate::profile::{Activity, FrontId, Laps, Span};
use crate::team::Team;
use crate::value::Value;

/// Who does the loops of a front.
#[derive(Clone, Copy)]
pub(crate) enum Crew<'a> {
    /// The member that walks the subtree.
    Alone(usize),
    /// Whoever is free, for this front.
    All(&'a Team, FrontId),
}

impl Crew<'_> {
    /// Calls `body(i, member)` for every `i` in `0..count`, in any order; all members' shares are
    /// booked as `what`.
    pub fn for_each(&self, what: Activity, count: usize, body: impl Fn(usize, usize) + Sync) {
        match self {
            Self::Alone(member) => (0..count).for_each(|i| body(i, *member)),
            Self::All(team, front) => team.for_each_as(Span::of(what, *front), count, body),
        }
    }

    /// Times of the parts of a share in a loop, where they are booked.
    pub fn laps(&self) -> Laps {
        match self {
            Self::All(team, _) if team.profiler().is_some() => Laps::begin(),
            _ => Laps::off(),
        }
    }

    /// Books the parts of a share in a loop.
    pub fn book(&self, member: usize, laps: &Laps) {
        if let Self::All(team, front) = self
            && let Some(profiler) = team.profiler()
        {
            profiler.add(member, *front, laps);
        }
    }

    /// Does what one member does between loops.
    fn once<R>(&self, what: Activity, work: impl FnOnce() -> R) -> R {
        match self {
            Self::Alone(_) => work(),
            Self::All(team, front) => team.once_as(Span::of(what, *front), work),
        }
    }
}

/// Why a front was left unfinished.
pub(crate) enum Stop {
    /// Its pivot, counted in the front, was not positive.
    Pivot(PivotFailure),
    Cancelled,
}

/// Micropanels of rows that are one task: they stay in a second-level cache together.
const TASK_ROWS: usize = 8;

/// Micropanels of columns that one task updates at most, so that the last tasks of a step are short.
const TASK_COLUMNS: usize = 32;

/// Eliminates all pivots of a large front in steps cut into tasks; every entry has the same
/// operations whoever does them, so the result does not depend on the crew.
///
/// # Safety
/// The front is assembled, and only this crew touches it and `packed`, which names as many numbers
/// as [`packed_len`](tamarack_dense::packed_len) says.
pub(crate) unsafe fn eliminate<T: Value>(
    front: &Front<T>,
    packed: *mut T,
    crew: Crew<'_>,
    meter: &Meter<'_>,
) -> Result<(), Stop> {
    let (npiv, nupd) = (front.panel.layout.cols, front.update.layout.rows);
    let steps = Steps::new(front.view(), packed, Isa::detect());
    let counted = AtomicU64::new(0);
    for step in 0..steps.count() {
        if meter.cancelled() {
            return Err(Stop::Cancelled);
        }
        crew.once(Activity::Diagonal, || {
            // SAFETY: the steps before are done, and no loop is running.
            unsafe { steps.factor_diagonal(step) }
        })
        .map_err(Stop::Pivot)?;
        let (count, width) = (steps.micropanels(step), steps.pivots(step).len());
        let groups = count.div_ceil(TASK_ROWS);
        let group = |g: usize| g * TASK_ROWS..count.min((g + 1) * TASK_ROWS);
        crew.for_each(Activity::PanelSolve, groups, |g, _| {
            // SAFETY: groups are disjoint, and the diagonal block is final.
            unsafe { steps.solve(step, group(g)) };
        });
        // The groups with most columns first: no long task is left for the end.
        let parts = |g: usize| group(g).end.div_ceil(TASK_COLUMNS);
        let tasks = (0..groups).map(parts).sum();
        crew.for_each(Activity::Update, tasks, |task, _| {
            if meter.cancelled() {
                return;
            }
            let (g, part) = locate(task, groups, parts);
            let (rows, from) = (group(g), part * TASK_COLUMNS);
            let columns = from..(from + TASK_COLUMNS).min(rows.end);
            let entries = steps.rows_in(step, rows.clone()) * steps.rows_in(step, columns.clone());
            // SAFETY: tasks are disjoint, and all rows of the step are solved.
            unsafe { steps.update(step, rows, columns, UpdateMode::Accumulate) };
            let flops = 2 * (entries * width) as u64;
            counted.fetch_add(flops, Ordering::Relaxed);
            meter.add(flops);
        });
    }
    if meter.cancelled() {
        return Err(Stop::Cancelled);
    }
    let flops = tamarack_plan::front_flops(npiv, nupd);
    meter.add(
        u64::try_from(flops)
            .unwrap_or(u64::MAX)
            .saturating_sub(counted.into_inner()),
    );
    Ok(())
}

/// Group and part of the `index`-th task, groups from the last to the first.
fn locate(mut index: usize, groups: usize, parts: impl Fn(usize) -> usize) -> (usize, usize) {
    for g in (0..groups).rev() {
        let here = parts(g);
        if index < here {
            return (g, index);
        }
        index -= here;
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_counted_through_from_the_last_group() {
        let parts = |g: usize| [1, 2, 3][g];
        let found: Vec<_> = (0..6).map(|i| locate(i, 3, parts)).collect();
        assert_eq!(found, [(2, 0), (2, 1), (2, 2), (1, 0), (1, 1), (0, 0)]);
    }
}
