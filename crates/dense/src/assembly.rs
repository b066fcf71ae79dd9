//! Extend-add: a child's update matrix added to its parent's front.
//!
//! It works on runs, stretches of rows that are consecutive in the child and in the parent: within a
//! run it is an addition of vectors, the last one masked. One addition per two loads and a store, so
//! the limit is memory: 3 numbers moved for each number of the child. Entry by entry the operation
//! is one addition, whatever the cut into columns.

use std::ops::Range;

use crate::real::with_isa;
use crate::simd::{Op, Simd};
use crate::{BlockColumns, FrontMut, Isa, Real};

/// Rows of a child's update matrix that are consecutive in the parent's front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First row in the child.
    pub from: u32,
    /// One past the last.
    pub to: u32,
    /// Where the first stands in the parent's front.
    pub target: u32,
}

/// Splits rows `from..` of a child into runs, by their relative indices: the increasing positions of
/// all its rows in its parent's front. `runs` is overwritten; it grows only if it has less room than
/// there are rows.
pub fn find_runs(relative: &[u32], from: usize, runs: &mut Vec<Run>) {
    runs.clear();
    for (i, &target) in relative.iter().enumerate().skip(from) {
        let i = i as u32;
        match runs.last_mut() {
            Some(run) if run.target + (i - run.from) == target => run.to = i + 1,
            _ => runs.push(Run {
                from: i,
                to: i + 1,
                target,
            }),
        }
    }
}

/// Asks for the line that holds `p` to come into the first cache; `p` may be anywhere.
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, and every x86-64 has it.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Adds columns `columns` of a child's update matrix, `child` in layout `layout`, to its parent's
/// front; `runs` cover the rows of the child from `columns.start` on at least ([`find_runs`]).
///
/// # Safety
/// Both matrices are valid for their layouts and do not overlap, `runs` stay inside the parent's
/// front; the parent's columns that the child's columns map to are used by nobody else
/// meanwhile, and the child is not written.
pub unsafe fn extend_add<T: Real>(
    child: *const T,
    layout: BlockColumns,
    runs: &[Run],
    columns: Range<usize>,
    parent: &FrontMut<T>,
    isa: Isa,
) {
    // SAFETY: the caller's contract; an `Isa` exists only where the machine has it.
    unsafe { with_isa!(isa, T, run(child, layout, runs, columns, parent)) }
}

#[inline(always)]
unsafe fn run<S: Simd>(
    child: *const S::T,
    layout: BlockColumns,
    runs: &[Run],
    columns: Range<usize>,
    parent: &FrontMut<S::T>,
) {
    let op = ExtendAdd::<S> {
        child,
        layout,
        runs,
        columns,
        parent,
    };
    // SAFETY: the caller's contract.
    unsafe { S::vectorize(op) }
}

struct ExtendAdd<'a, S: Simd> {
    child: *const S::T,
    layout: BlockColumns,
    runs: &'a [Run],
    columns: Range<usize>,
    parent: &'a FrontMut<S::T>,
}

impl<S: Simd> Op for ExtendAdd<'_, S> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        let Range { start, end } = self.columns;
        let first = self.runs.partition_point(|run| run.to as usize <= start);
        let (mut source, mut target) = (Walk::<S::T>::NONE, Walk::<S::T>::NONE);
        for (r, run) in self.runs.iter().enumerate().skip(first) {
            let (from, to) = (start.max(run.from as usize), end.min(run.to as usize));
            if from >= to {
                break;
            }
            target.left = 0;
            for j in from..to {
                let at = run.target as usize + (j - run.from as usize);
                if source.left == 0 {
                    source = Walk::child(self.child.cast_mut(), &self.layout, j);
                }
                if target.left == 0 {
                    target = Walk::parent(self.parent, at);
                }
                // SAFETY: rows of the child from j on and their images are at or below the
                // diagonals of their columns, hence inside the matrices, which do not overlap.
                unsafe {
                    let (src, dst) = (source.column, target.column);
                    add::<S>(
                        dst.wrapping_add(at),
                        src.wrapping_add(j),
                        run.to as usize - j,
                    );
                    for run in &self.runs[r + 1..] {
                        let (from, to) = (run.from as usize, run.to as usize);
                        let dst = dst.wrapping_add(run.target as usize);
                        add::<S>(dst, src.wrapping_add(from), to - from);
                    }
                }
                source.step();
                target.step();
            }
        }
    }
}

/// The same entry by entry, for rows that come one by one or a few at a time: then a run's vector would be loaded from where the one
/// before it was just stored, and wait until that is in the cache. `relative` has the places of all the child's rows in the parent's front.
///
/// # Safety
/// As [`extend_add`].
pub unsafe fn extend_add_each<T: Real>(
    child: *const T,
    layout: BlockColumns,
    relative: &[u32],
    columns: Range<usize>,
    parent: &FrontMut<T>,
) {
    let (mut source, mut target) = (Walk::<T>::NONE, Walk::<T>::NONE);
    let mut before = 0;
    for j in columns {
        let at = relative[j] as usize;
        if source.left == 0 {
            source = Walk::child(child.cast_mut(), &layout, j);
        }
        target.go_on(parent, at, at - before);
        before = at;
        for (i, &row) in relative.iter().enumerate().skip(j) {
            // SAFETY: rows of the child from j on and their images are at or below the diagonals of their columns, hence inside the
            // matrices, which do not overlap.
            unsafe {
                let to = target.column.wrapping_add(row as usize);
                *to = *to + *source.column.wrapping_add(i);
            }
        }
        source.step();
    }
}

/// A column of a matrix in packed block columns, and those after it in its block column.
pub(crate) struct Walk<T> {
    /// Where row 0 of the column would stand.
    pub column: *mut T,
    /// To the next column.
    pub ld: usize,
    /// Columns of the block column from this one on.
    left: usize,
}

impl<T: Real> Walk<T> {
    pub const NONE: Self = Self {
        column: std::ptr::null_mut(),
        ld: 0,
        left: 0,
    };

    #[inline(always)]
    fn child(data: *mut T, layout: &BlockColumns, j: usize) -> Self {
        let b = layout.block_of(j);
        let (top, ld) = (b * layout.block, layout.height(b));
        Self {
            column: data
                .wrapping_add(layout.offset(b) + (j - top) * ld)
                .wrapping_sub(top),
            ld,
            left: layout.width(b) - (j - top),
        }
    }

    #[inline(always)]
    pub fn parent(front: &FrontMut<T>, j: usize) -> Self {
        match j.checked_sub(front.npiv()) {
            None => Self::child(front.panel(), &front.panel_layout(), j),
            Some(j) => {
                let walk = Self::child(front.update(), &front.update_layout(), j);
                Self {
                    column: walk.column.wrapping_sub(front.npiv()),
                    ..walk
                }
            }
        }
    }

    /// To the column that stands at a position of the parent's front, so many columns further on.
    #[inline(always)]
    pub fn go_on(&mut self, front: &FrontMut<T>, at: usize, further: usize) {
        // Columns between are stepped over within a block column.
        if self.left <= further {
            *self = Self::parent(front, at);
        } else {
            self.step_by(further);
        }
    }

    #[inline(always)]
    fn step(&mut self) {
        self.step_by(1);
    }

    /// To the column `columns` further on in the same block column, or past its end.
    #[inline(always)]
    fn step_by(&mut self, columns: usize) {
        self.column = self.column.wrapping_add(columns * self.ld);
        self.left -= columns;
    }
}

/// `to += from`, `len` numbers.
///
/// # Safety
/// Both are valid for `len` numbers.
#[inline(always)]
unsafe fn add<S: Simd>(to: *mut S::T, from: *const S::T, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut i = 0;
        while i + S::LANES <= len {
            let sum = S::add(S::load(to.add(i)), S::load(from.add(i)));
            S::store(to.add(i), sum);
            i += S::LANES;
        }
        if i < len {
            let mask = S::mask(len - i);
            let sum = S::add(
                S::load_mask(to.add(i), mask),
                S::load_mask(from.add(i), mask),
            );
            S::store_mask(to.add(i), mask, sum);
        }
    }
}
