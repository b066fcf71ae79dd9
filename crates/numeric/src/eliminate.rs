//! Elimination of the pivots of one front, by one thread or by all.

use std::sync::atomic::{AtomicU64, Ordering};

use tamarack_dense::{FrontMut, PivotFailure, TILE_ROWS, UpdateMode, Workspace};

use crate::control::Meter;
use crate::front::Front;
use crate::team::Team;
use crate::value::Value;

/// Who does the loops of a front.
#[derive(Clone, Copy)]
pub(crate) enum Crew<'a> {
    /// The member that walks the subtree.
    Alone(usize),
    /// Whoever is free.
    All(&'a Team),
}

impl Crew<'_> {
    /// Calls `body(i, member)` for every `i` in `0..count`, in any order.
    pub fn for_each(&self, count: usize, body: impl Fn(usize, usize) + Sync) {
        match self {
            Self::Alone(member) => (0..count).for_each(|i| body(i, *member)),
            Self::All(team) => team.for_each(count, body),
        }
    }
}

/// Why a front was left unfinished.
pub(crate) enum Stop {
    /// Its pivot, counted in the front, was not positive.
    Pivot(PivotFailure),
    Cancelled,
}

/// The kernels' working memory, one for each member.
pub(crate) trait Workspaces<T> {
    /// The buffers of a member.
    ///
    /// # Safety
    /// Nobody else may hold the buffers of this member.
    #[allow(clippy::mut_from_ref)]
    unsafe fn kernel(&self, member: usize) -> &mut Workspace<T>;
}

/// Eliminates all pivots of a front in tiles, left-looking by block columns; every tile has the
/// same operations whoever does it, so the result does not depend on the crew.
///
/// # Safety
/// The front is assembled, and only this crew touches it.
pub(crate) unsafe fn eliminate<T: Value>(
    front: &Front<T>,
    crew: Crew<'_>,
    spaces: &(impl Workspaces<T> + Sync),
    meter: &Meter<'_>,
) -> Result<(), Stop> {
    let (panel, update) = (front.panel.layout, front.update.layout);
    let (npiv, nupd) = (panel.cols, update.rows);
    let f = FrontMut::new(front.panel.data, front.update.data, npiv, nupd, panel.block);
    let counted = AtomicU64::new(0);
    let count = |rows: usize, columns: usize, inner: usize| {
        let flops = 2 * (rows * columns) as u64 * inner as u64;
        counted.fetch_add(flops, Ordering::Relaxed);
        meter.add(flops);
    };
    for b in 0..panel.blocks() {
        let rows = f.panel_rows(b);
        if b > 0 {
            crew.for_each(rows.len().div_ceil(TILE_ROWS), |t, member| {
                if !meter.cancelled() {
                    let tile = tile_of(&rows, t);
                    count(tile.len(), panel.width(b), b * panel.block);
                    // SAFETY: tiles of one block column are disjoint; the blocks before are final.
                    unsafe { f.update_panel_tile(b, tile, spaces.kernel(member)) };
                }
            });
        }
        if meter.cancelled() {
            return Err(Stop::Cancelled);
        }
        let leader = if let Crew::Alone(member) = crew {
            member
        } else {
            0
        };
        // SAFETY: the updates of the block column are done, and no loop is running.
        unsafe { f.factor_diagonal(b, spaces.kernel(leader)) }.map_err(Stop::Pivot)?;
        let below = f.rows_below_diagonal(b);
        crew.for_each(below.len().div_ceil(TILE_ROWS), |t, member| {
            if !meter.cancelled() {
                // SAFETY: tiles are disjoint and the diagonal block is final.
                unsafe { f.solve_panel_tile(b, tile_of(&below, t), spaces.kernel(member)) };
            }
        });
    }
    let tiles = |c: usize| f.update_rows(c).len().div_ceil(TILE_ROWS);
    // Tiles of each row of blocks: TILE_ROWS / block columns share a number of tiles.
    let total: usize = (0..update.blocks()).map(tiles).sum();
    crew.for_each(total, |index, member| {
        if !meter.cancelled() {
            let (c, t) = locate(index, update.blocks(), tiles);
            let tile = tile_of(&f.update_rows(c), t);
            count(tile.len(), update.width(c), npiv);
            // SAFETY: the panel is final, and tiles are disjoint.
            unsafe {
                f.update_trailing_tile(c, tile, UpdateMode::Accumulate, spaces.kernel(member));
            }
        }
    });
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

/// Rows of tile `t` of a range.
fn tile_of(rows: &std::ops::Range<usize>, t: usize) -> std::ops::Range<usize> {
    let from = rows.start + t * TILE_ROWS;
    from..(from + TILE_ROWS).min(rows.end)
}

/// Block column and tile of the `index`-th tile, block columns one after another.
fn locate(mut index: usize, blocks: usize, tiles: impl Fn(usize) -> usize) -> (usize, usize) {
    for c in 0..blocks {
        let here = tiles(c);
        if index < here {
            return (c, index);
        }
        index -= here;
    }
    (blocks, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_counted_through() {
        let tiles = |c: usize| [3, 2, 1][c];
        let found: Vec<_> = (0..6).map(|i| locate(i, 3, tiles)).collect();
        assert_eq!(found, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]);
        assert_eq!(tile_of(&(10..300), 1), 266..300);
    }
}
