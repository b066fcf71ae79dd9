//! In which order tiles are computed.
//!
//! Tiles that are computed at the same time should share operands, so that these come from the
//! second-level cache: strips a few tiles wide are walked row by row.

use super::Real;
use crate::{Gpu, Program};

/// Tile columns of a strip of a product: with 132 tiles under way a strip of 8 is about as high as wide.
const PRODUCT_STRIP: u32 = 8;
/// Tile columns of pivots that are computed side by side. Two halve what is read from memory; more lengthen the
/// chain of diagonal tiles (n = 16384: 43.9, 44.3, 43.3, 41.2 TFLOP/s for 1, 2, 4, 8).
const PIVOT_STRIP: u32 = 2;

/// Rows and columns of the tiles that one block of threads computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tile {
    /// 64 × 64, three on a multiprocessor: for small problems, and short inner dimensions.
    T64,
    /// 128 × 64, two on a multiprocessor (products in f32: three): three quarters of the traffic of operands.
    Tall,
    /// 128 × 128, one on a multiprocessor: half the traffic of operands.
    T128,
    /// The same, by warpgroups, of which one brings what two multiply: on Hopper.
    Warpgroups,
}

impl Tile {
    /// Its rows.
    #[must_use]
    pub const fn rows(self) -> u32 {
        match self {
            Self::T64 => 64,
            Self::Tall | Self::T128 | Self::Warpgroups => 128,
        }
    }

    /// Its columns. Diagonal tiles of fronts are squares of so many.
    #[must_use]
    pub const fn columns(self) -> u32 {
        match self {
            Self::T64 | Self::Tall => 64,
            Self::T128 | Self::Warpgroups => 128,
        }
    }

    /// Whether fronts of `T` with such tiles can gather what their children give to their update matrices
    /// ([`Fronts::gathering`](super::Fronts::gathering)).
    #[must_use]
    pub const fn gathers<T>(self) -> bool {
        match self {
            Self::T64 | Self::T128 => true,
            Self::Tall => false,
            Self::Warpgroups => size_of::<T>() == 8,
        }
    }

    /// As kernels are named after it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::T64 => "64",
            Self::Tall => "tall",
            Self::T128 => "128",
            Self::Warpgroups => "warpgroups",
        }
    }

    /// Threads of its block.
    pub(crate) const fn threads(self) -> u32 {
        match self {
            Self::Warpgroups => 384,
            _ => 2 * self.columns(),
        }
    }

    /// Bytes of shared memory of the ring of slabs in `warpgroup_tile.cuh`: four of 32 columns of both operands, that of B in
    /// two parts.
    pub(crate) const RING_BYTES: u32 = 4 * 32 * (128 + 8 + 2 * 128) * 4;

    /// `wanted`, or the nearest tile for numbers of `T` on this device: warpgroups where `program` has the kernel for them that is
    /// named `kernel` and after `T`, and there are `bytes` of shared memory.
    pub(crate) fn for_numbers<T: Real>(
        wanted: Self,
        gpu: &Gpu,
        program: &Program,
        kernel: &str,
        bytes: u32,
    ) -> Self {
        let there = || {
            let name = format!("{kernel}_{}", T::NAME);
            gpu.info().arch.number == 90
                && gpu.info().shared_per_block_bytes >= bytes
                && gpu.load(program).and_then(|p| p.kernel(&name)).is_ok()
        };
        match (wanted, size_of::<T>()) {
            (Self::Warpgroups, 8) if !there() => Self::T128,
            (Self::Warpgroups, _) if !there() => Self::Tall,
            _ => wanted,
        }
    }

    /// Bytes of shared memory for `columns` columns of `rows` rows, with the padding against bank conflicts.
    pub(crate) const fn slab_bytes<T>(rows: u32, columns: u32) -> u32 {
        columns * (rows * size_of::<T>() as u32 + 32)
    }

    /// `wanted`, or the small tile where the device has too little shared memory for `bytes` of the large.
    pub(crate) fn on(wanted: Self, gpu: &Gpu, bytes: u32) -> Self {
        if gpu.info().shared_per_block_bytes < bytes {
            Self::T64
        } else {
            wanted
        }
    }
}

/// A tile of a problem: laid out as the kernels' `Item` and `Task`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileOf {
    pub problem: u32,
    pub row: u16,
    pub column: u16,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for TileOf {}

/// Calls `f(row, column)` for the tiles of a `rows` × `columns` grid, or of its lower half, where row 0 meets the diagonal in
/// `lower` tiles: a tile may be wider than high.
pub(crate) fn product_tiles(
    rows: u32,
    columns: u32,
    lower: Option<u32>,
    mut f: impl FnMut(u32, u32),
) {
    for strip in (0..columns).step_by(PRODUCT_STRIP as usize) {
        let end = columns.min(strip + PRODUCT_STRIP);
        for row in lower.map_or(0, |wide| strip / wide)..rows {
            for column in strip..lower.map_or(end, |wide| end.min(wide * (row + 1))) {
                f(row, column);
            }
        }
    }
}

/// Tiles of pivots, and in all, of a front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub pivots: u32,
    pub rows: u32,
}

/// The tiles of several fronts such that every tile stands behind those it waits for: behind all tiles of
/// its own row and of its column's row that are further left, and behind the diagonal tile of its column.
/// Strips of all fronts alternate, so that one front's chain of diagonal tiles is hidden by the others' work. A
/// diagonal tile comes as early as it can: everything in its column waits for it.
pub(crate) fn front_tiles(fronts: &[Grid], mut f: impl FnMut(u32, u32, u32)) {
    strips(fronts, |front, grid, begin, end| {
        for row in begin..grid.rows {
            for column in begin..end.min(row + 1) {
                let done = row == column && row == begin && begin > 0; // with the strip before
                if !done {
                    f(front, row, column);
                }
            }
            if row == end && row < grid.pivots {
                f(front, row, row);
            }
        }
    });
    for (front, grid) in (0_u32..).zip(fronts) {
        let update = grid.rows - grid.pivots;
        product_tiles(update, update, Some(1), |row, column| {
            f(front, grid.pivots + row, grid.pivots + column);
        });
    }
}

/// Likewise, where a task is the tiles of two rows, named by the first, but in the squares of two tiles on the diagonal
/// of the pivots, where it is one tile. Rows of pivots and rows of updates are paired apart.
pub(crate) fn tall_tiles(fronts: &[Grid], mut f: impl FnMut(u32, u32, u32)) {
    const { assert!(PIVOT_STRIP == 2) };
    strips(fronts, |front, grid, begin, end| {
        if begin == 0 {
            f(front, begin, begin); // the others with the strip before
        }
        if end > begin + 1 {
            f(front, begin + 1, begin);
            f(front, begin + 1, begin + 1);
        }
        let pivots = (end..grid.pivots).step_by(2);
        for row in pivots.chain((grid.pivots..grid.rows).step_by(2)) {
            (begin..end).for_each(|column| f(front, row, column));
            if row == end && row < grid.pivots {
                f(front, row, row);
            }
        }
    });
    for (front, grid) in (0_u32..).zip(fronts) {
        let update = grid.rows - grid.pivots;
        product_tiles(update.div_ceil(2), update, Some(2), |row, column| {
            f(front, grid.pivots + 2 * row, grid.pivots + column);
        });
    }
}

/// Calls `f(front, grid, begin, end)` for strips `begin..end` of pivots, those of all fronts side by side.
fn strips(fronts: &[Grid], mut f: impl FnMut(u32, &Grid, u32, u32)) {
    let most = fronts.iter().map(|g| g.pivots.div_ceil(PIVOT_STRIP)).max();
    for begin in (0..most.unwrap_or(0)).map(|strip| strip * PIVOT_STRIP) {
        for (front, grid) in (0_u32..).zip(fronts).filter(|(_, g)| begin < g.pivots) {
            f(front, grid, begin, grid.pivots.min(begin + PIVOT_STRIP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SIZES: [(u32, u32); 10] = [
        (0, 3),
        (1, 1),
        (1, 5),
        (2, 2),
        (3, 9),
        (8, 8),
        (5, 12),
        (9, 11),
        (4, 5),
        (7, 14),
    ];

    /// Tiles of a front that have been computed.
    #[derive(Default)]
    struct Seen(HashSet<(u32, u32, u32)>);

    impl Seen {
        /// Tile (i, j), whose predecessors must have come before the task that it is of.
        fn check(&self, front: u32, grid: &Grid, i: u32, j: u32) {
            assert!(j <= i && i < grid.rows);
            for k in 0..j.min(grid.pivots) {
                assert!(self.0.contains(&(front, i, k)) && self.0.contains(&(front, j, k)));
            }
            assert!(i == j || j >= grid.pivots || self.0.contains(&(front, j, j)));
        }

        fn add(&mut self, front: u32, i: u32, j: u32) {
            assert!(self.0.insert((front, i, j)), "tile {i}, {j} twice");
        }

        fn all(&self, fronts: &[Grid]) -> bool {
            let all: u32 = fronts.iter().map(|g| g.rows * (g.rows + 1) / 2).sum();
            self.0.len() == all as usize
        }
    }

    #[test]
    fn every_tile_comes_once_and_behind_those_it_waits_for() {
        let fronts = SIZES.map(|(pivots, rows)| Grid { pivots, rows });
        let mut seen = Seen::default();
        front_tiles(&fronts, |front, i, j| {
            seen.check(front, &fronts[front as usize], i, j);
            seen.add(front, i, j);
        });
        assert!(seen.all(&fronts));
    }

    #[test]
    fn so_do_the_tiles_of_two_rows() {
        let fronts = SIZES.map(|(pivots, rows)| Grid { pivots, rows });
        let mut seen = Seen::default();
        tall_tiles(&fronts, |front, i, j| {
            let grid = &fronts[front as usize];
            // as in the kernel
            let (corner, end) = if i < grid.pivots {
                (i / 2 == j / 2, grid.pivots)
            } else {
                assert!((i - grid.pivots).is_multiple_of(2));
                (false, grid.rows)
            };
            assert!(corner || i >= grid.pivots || i.is_multiple_of(2));
            let below = i + 1 < end && !corner;
            // a tile above the diagonal is computed and not written
            let rows: Vec<u32> = [i, i + 1][..1 + usize::from(below)]
                .iter()
                .copied()
                .filter(|&row| row >= j)
                .collect();
            assert!(!rows.is_empty());
            rows.iter().for_each(|&row| seen.check(front, grid, row, j));
            rows.iter().for_each(|&row| seen.add(front, row, j));
        });
        assert!(seen.all(&fronts));
    }

    #[test]
    fn a_product_has_all_its_tiles() {
        for (rows, columns, lower) in [
            (0, 0, Some(1)),
            (9, 9, Some(1)),
            (17, 17, Some(1)),
            (17, 33, Some(2)),
            (5, 10, Some(2)),
            (3, 20, None),
        ] {
            let mut seen = HashSet::new();
            product_tiles(rows, columns, lower, |i, j| assert!(seen.insert((i, j))));
            let last = |row| lower.map_or(columns, |wide| columns.min(wide * (row + 1)));
            assert_eq!(seen.len(), (0..rows).map(last).sum::<u32>() as usize);
        }
    }
}
