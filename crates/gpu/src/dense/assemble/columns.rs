//! Assembly column by column; kernel in `dense/assemble_columns.cu`.
//!
//! Thousands of small children whose rows are scattered over their parent give an entry or two each to most of its tiles, and a tile
//! takes them one after the other. A column has fewer to wait for: those children alone that have its row, shared out among warps that
//! sum up for themselves. Which children these are is found here, once. Cost: 16 bytes of lists for each column of a child, 4 for each
//! of its rows, 40 for each column of the parent.

use std::marker::PhantomData;

use super::{Cut, Parent, number};
use crate::dense::{Placed, Real};
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/assemble_columns.cu");

/// Threads of a warp, and warps of a block at most.
const WARP: u32 = 32;
const WARPS: u32 = 8;

/// Shared memory of a block at most: all devices have it.
const SHARED_BYTES: usize = 64 << 10;

/// Fewer children are not worth the question.
const FEWEST: usize = 64;

/// Microseconds that a tile takes for a part, and a warp for up to 32 rows of a visit, one after the other (run `columns-on-card`); blocks of each that
/// are at work at the same time, on an H200; and what a column takes besides.
const PART_MICROS: f64 = 1.1;
const VISIT_MICROS: f64 = 0.27;
const TILES_AT_ONCE: f64 = 396.0;
const COLUMNS_AT_ONCE: f64 = 396.0;
const COLUMN_MICROS: f64 = 5.0;

/// Columns are taken where they are so many times as fast.
const WORTH: f64 = 2.0;

/// Laid out as the kernel's `Column`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ColumnData {
    to: u64,
    below: u64,
    first_visit: u32,
    visits: u32,
    number: u32,
    rows: u32,
    upper: u32,
    adds: u32,
}

/// Laid out as the kernel's `Visit`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct VisitData {
    from: u64,
    relative: u32,
    rows: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for ColumnData {}
// SAFETY: numbers without padding.
unsafe impl crate::Element for VisitData {}

/// What is gathered on the host before it is uploaded.
#[derive(Default)]
pub(super) struct Lists {
    columns: Vec<ColumnData>,
    visits: Vec<VisitData>,
    relative: Vec<u32>,
    /// The columns of each front, their warps, and the front's rows.
    launches: Vec<(usize, u32, u32)>,
}

/// Columns of `T` to be assembled, front by front.
pub(super) struct Columns<T> {
    kernel: Kernel,
    /// The shape of each front's launch, and its first column.
    launches: Vec<(Launch, u64)>,
    columns: DeviceBuffer<ColumnData>,
    visits: DeviceBuffer<VisitData>,
    relative: DeviceBuffer<u32>,
    of: PhantomData<fn() -> T>,
}

/// Warps for a column of a front of so many rows; none where a column does not fit.
fn warps<T>(rows: u32) -> u32 {
    let fit = SHARED_BYTES / size_of::<T>() / rows.max(1) as usize;
    WARPS.min(fit as u32) // far below 2^32
}

/// Whether a parent's columns are assembled sooner than its tiles.
pub(super) fn are_sooner<T: Real>(parent: &Parent<'_>, cut: &Cut) -> bool {
    let (rows, warps) = (cut.order(), warps::<T>(cut.order()));
    if parent.children.len() < FEWEST || parent.front.fresh || warps == 0 {
        return false;
    }
    let tiles = u64::from(cut.rows) * u64::from(cut.rows + 1) / 2;
    let (mut parts, mut visits) = (vec![0u32; tiles as usize], vec![0u32; rows as usize]);
    let mut own = Vec::new();
    for child in parent
        .children
        .iter()
        .filter(|c| c.placed::<T>(rows).is_ok())
    {
        own.clear();
        for (&row, left) in child.relative.iter().zip((1..=child.relative.len()).rev()) {
            visits[row as usize] += (left as u32).div_ceil(WARP);
            let (tile, _) = cut.of(row);
            if own.last() != Some(&tile) {
                own.push(tile);
            }
        }
        for (n, &column) in own.iter().enumerate() {
            for &row in &own[n..] {
                parts[cut.number(row, column) as usize] += 1;
            }
        }
    }
    // The longest chain, or all of them on all places, whichever takes longer.
    let longest = |counts: &[u32], at_once: f64| {
        let most = counts.iter().copied().max().unwrap_or(0);
        let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        f64::from(most).max(sum as f64 / at_once)
    };
    let rounds = (f64::from(rows) / COLUMNS_AT_ONCE).ceil();
    let columns_micros = COLUMN_MICROS * rounds
        + VISIT_MICROS / f64::from(warps) * longest(&visits, COLUMNS_AT_ONCE);
    WORTH * columns_micros < PART_MICROS * longest(&parts, TILES_AT_ONCE)
}

impl Lists {
    /// Lists a parent's columns, and what its children give to them; returns the elements that the arena must have.
    ///
    /// # Errors
    /// As [`Assembly::new`](super::Assembly::new).
    pub fn add<T: Real>(&mut self, parent: &Parent<'_>, cut: &Cut) -> Result<u64, GpuError> {
        let (rows, mut needs) = (cut.order(), 0);
        // Counts stand one place on, as long as they are summed up; then each says where the next visit of its column goes.
        let mut next = vec![0usize; rows as usize + 1];
        let mut places = Vec::with_capacity(parent.children.len());
        for child in parent.children {
            let (placed, end) = child.placed::<T>(rows)?;
            places.push(placed);
            needs = needs.max(end);
            child
                .relative
                .iter()
                .for_each(|&row| next[row as usize + 1] += 1);
        }
        let mut sum = self.visits.len();
        for begin in &mut next {
            sum += *begin;
            *begin = sum;
        }
        number(sum)?;
        self.visits.resize(sum, VisitData::default());
        let firsts = next.clone();
        for (child, placed) in parent.children.iter().zip(places) {
            let first = number(self.relative.len() + child.relative.len())?;
            let (first, order) = (
                first - child.relative.len() as u32,
                child.relative.len() as u32,
            );
            self.relative.extend_from_slice(child.relative);
            for (c, &row) in (0..).zip(child.relative) {
                let place = &mut next[row as usize];
                self.visits[*place] = VisitData {
                    from: placed.index(c, c),
                    relative: first + c,
                    rows: order - c,
                };
                *place += 1;
            }
        }
        let before = self.columns.len();
        for column in 0..rows {
            let [first, end] = [0, 1].map(|k| firsts[column as usize + k] as u32); // checked above
            if end > first || column >= parent.front.pivots {
                self.columns.push(ColumnData {
                    first_visit: first,
                    visits: end - first,
                    ..cut.column(column)
                });
            }
        }
        let count = self.columns.len() - before;
        self.launches.push((count, warps::<T>(rows), rows));
        Ok(needs)
    }

    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }
}

impl Cut {
    /// A column, without visits.
    fn column(&self, number: u32) -> ColumnData {
        let (front, shape) = (&self.front, &self.shape);
        let rows = self.order() - number;
        let column = ColumnData {
            to: 0,
            below: 0,
            first_visit: 0,
            visits: 0,
            number,
            rows,
            upper: rows,
            adds: 0,
        };
        match number.checked_sub(front.pivots) {
            None => {
                let panel = Placed::packed(front.panel, shape.panel_height);
                ColumnData {
                    to: panel.index(number, number),
                    below: panel.index(shape.first_update, number),
                    upper: front.pivots - number,
                    adds: 1,
                    ..column
                }
            }
            Some(below) => ColumnData {
                to: Placed::packed(front.update, shape.update_height).index(below, below),
                ..column
            },
        }
    }
}

impl<T: Real> Columns<T> {
    /// Uploads lists.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, lists: &Lists) -> Result<Self, GpuError> {
        let (mut launches, mut first) = (Vec::new(), 0);
        for &(count, warps, rows) in &lists.launches {
            let shared = warps * rows * size_of::<T>() as u32; // at most SHARED_BYTES
            let launch = Launch::new(number(count)?, WARP * warps).shared(shared);
            launches.push((launch, first));
            first += count as u64;
        }
        let name = format!("dense_extend_add_columns_{}", T::NAME);
        let all = (&lists.columns[..], &lists.visits[..], &lists.relative[..]);
        let (columns, visits, relative) = stream.lists(gpu, all)?;
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel(&name)?,
            launches,
            columns,
            visits,
            relative,
            of: PhantomData,
        })
    }

    /// Enqueues the assembly of all columns.
    ///
    /// # Safety
    /// The arena has the elements that [`Lists::add`] asked for, and the parents are in it.
    ///
    /// # Errors
    /// A failing driver call.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        arena: &DeviceViewMut<'_, T>,
    ) -> Result<(), GpuError> {
        for (launch, first) in &self.launches {
            // SAFETY: the arguments of the kernel; columns and children end within the arena, as the caller says; visits and rows are
            // in the lists, and the columns of a launch fit into its shared memory, once for each warp.
            unsafe {
                self.kernel.launch(
                    stream,
                    *launch,
                    &[
                        &arena.ptr(),
                        &self.columns.ptr().add(*first),
                        &self.visits.ptr(),
                        &self.relative.ptr(),
                    ],
                )?;
            }
        }
        Ok(())
    }
}
