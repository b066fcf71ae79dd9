//! Memory for the triangular solves.

use std::cell::UnsafeCell;

use tamarack_dense::{Isa, MAX_RHS, rhs_stride};
use tamarack_numeric::{NumericFactor, Value};
use tamarack_sparse::memory::zeroed;

use crate::order::Counters;
use crate::plan::Substitution;

/// Memory for solves with one factor, made once and used again; a solve allocates nothing.
pub struct SolveWorkspace<T> {
    /// Right-hand sides that are solved together.
    pub(crate) chunk: usize,
    /// Numbers of a row of all matrices here, enough for `chunk`.
    stride: usize,
    pub(crate) isa: Isa,
    /// Right-hand sides in elimination order, and behind them the sums of the subtrees for rows outside and the fronts above them:
    /// `workspace_rows` rows.
    pub(crate) x: Rows<T>,
    pub(crate) counters: Counters,
    pub(crate) members: Members<T>,
}

/// Bytes of a line of the caches.
pub(crate) const LINE_BYTES: usize = 64;

/// Rows of right-hand sides, the first at the beginning of a line: a row of whole vectors has no line in common with another
/// then, and no vector lies in two. In large pages, because rows are looked up in any order.
pub(crate) struct Rows<T> {
    /// The numbers, and as many as a line holds to begin at one.
    memory: Vec<T>,
    /// The first number.
    from: usize,
    /// Numbers of all rows.
    len: usize,
}

impl<T: Value> Rows<T> {
    fn zeros(len: usize) -> Self {
        let spare = LINE_BYTES / size_of::<T>();
        let memory: Vec<T> = zeroed(len + spare);
        let from = memory.as_ptr().align_offset(LINE_BYTES).min(spare);
        Self { memory, from, len }
    }
}

impl<T> Rows<T> {
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.memory[self.from..].as_mut_ptr()
    }
}

/// One front's rows of the right-hand sides for each member of the team.
pub(crate) struct Members<T>(Vec<UnsafeCell<Rows<T>>>);

// SAFETY: a member number is used by one thread at a time (`Team::run`), and each thread uses the
// space of its own number only.
unsafe impl<T: Value> Sync for Members<T> {}

impl<T> Members<T> {
    /// Numbers that each member has room for.
    fn room(&self) -> usize {
        // SAFETY: a length that never changes is read.
        let len = |m: &UnsafeCell<Rows<T>>| unsafe { (*m.get()).len };
        self.0.iter().map(len).min().unwrap_or(0)
    }

    /// Room for the rows of the largest front.
    ///
    /// # Safety
    /// Nobody else may hold this member's space.
    pub unsafe fn front(&self, member: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { (*self.0[member].get()).as_mut_ptr() }
    }
}

impl<T: Value> SolveWorkspace<T> {
    /// Memory for solves with up to `nrhs` right-hand sides at a time; more are solved in turns.
    pub fn new(factor: &NumericFactor<T>, plan: &Substitution, nrhs: usize) -> Self {
        let (chunk, isa) = (nrhs.clamp(1, MAX_RHS), Isa::detect());
        let stride = rhs_stride::<T>(chunk, isa);
        let member = || UnsafeCell::new(Rows::zeros(plan.largest_front * stride));
        Self {
            chunk,
            stride,
            isa,
            x: Rows::zeros(plan.workspace_rows * stride),
            counters: Counters::new(plan),
            members: Members((0..factor.team().size()).map(|_| member()).collect()),
        }
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        let front = |m: &UnsafeCell<Rows<T>>| {
            // SAFETY: `&self` is the only way in, and no solve is running: that takes `&mut self`.
            unsafe { &*m.get() }.memory.len()
        };
        let fronts: usize = self.members.0.iter().map(front).sum();
        (self.x.memory.len() + fronts) * size_of::<T>()
    }

    /// Takes room for so many right-hand sides, unless it is there.
    pub(crate) fn hold(&mut self, nrhs: usize, factor: &NumericFactor<T>, plan: &Substitution) {
        if !self.holds(nrhs) {
            *self = Self::new(factor, plan, nrhs);
        }
    }

    /// Whether so many right-hand sides are solved in as few turns as is useful.
    pub fn holds(&self, nrhs: usize) -> bool {
        self.chunk >= nrhs.min(MAX_RHS)
    }

    /// Whether the plan is that of the factor's structure, and there is room for all that it needs.
    pub(crate) fn fits(&self, factor: &NumericFactor<T>, plan: &Substitution) -> bool {
        plan.is_for(factor.symbolic())
            && self.x.len == plan.workspace_rows * self.stride
            && self.counters.fit(plan)
            && self.members.0.len() >= factor.team().size()
            && self.members.room() >= plan.largest_front * self.stride
    }
}

impl<T> std::fmt::Debug for SolveWorkspace<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SolveWorkspace")
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}
