//! Memory for the triangular solves.

use std::cell::UnsafeCell;

use tamarack_dense::Workspace;
use tamarack_numeric::{NumericFactor, Value};

use crate::plan::Substitution;

/// Right-hand sides that are solved together.
pub(crate) const CHUNK: usize = 32;

/// What one member of the team needs for itself.
pub(crate) struct MemberSpace<T> {
    /// One front's rows of the right-hand sides, `largest_front × chunk`.
    pub front: Vec<T>,
    pub kernel: Workspace<T>,
}

/// Memory for solves with one factor, made once and used again; a solve allocates nothing.
pub struct SolveWorkspace<T> {
    /// Columns of all matrices here.
    pub(crate) chunk: usize,
    /// Right-hand sides in elimination order, `n × chunk`.
    pub(crate) x: Vec<T>,
    /// Sums of the subtrees for rows outside, `accumulator_rows × chunk`.
    pub(crate) outer: Vec<T>,
    pub(crate) members: Members<T>,
}

pub(crate) struct Members<T>(Vec<UnsafeCell<MemberSpace<T>>>);

// SAFETY: a member number is used by one thread at a time (`Team::run`), and each thread uses the
// space of its own number only.
unsafe impl<T: Value> Sync for Members<T> {}

impl<T> Members<T> {
    /// # Safety
    /// Nobody else may hold this member's space.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn of(&self, member: usize) -> &mut MemberSpace<T> {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0[member].get() }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T: Value> SolveWorkspace<T> {
    /// Memory for solves with up to `nrhs` right-hand sides at a time; more are solved in turns.
    pub fn new(factor: &NumericFactor<T>, plan: &Substitution, nrhs: usize) -> Self {
        let chunk = nrhs.clamp(1, CHUNK);
        let member = || MemberSpace {
            front: vec![T::default(); plan.largest_front * chunk],
            kernel: Workspace::new(factor.plan().block()),
        };
        let members = (0..factor.team().size())
            .map(|_| UnsafeCell::new(member()))
            .collect();
        Self {
            chunk,
            x: vec![T::default(); plan.n * chunk],
            outer: vec![T::default(); plan.accumulator_rows * chunk],
            members: Members(members),
        }
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        let kernel = |m: &UnsafeCell<MemberSpace<T>>| {
            // SAFETY: `&self` is the only way in, and no solve is running: that takes `&mut self`.
            let member = unsafe { &*m.get() };
            member.front.len() * size_of::<T>() + member.kernel.bytes()
        };
        (self.x.len() + self.outer.len()) * size_of::<T>()
            + self.members.0.iter().map(kernel).sum::<usize>()
    }

    /// Whether so many right-hand sides are solved in as few turns as is useful.
    pub fn holds(&self, nrhs: usize) -> bool {
        self.chunk >= nrhs.min(CHUNK)
    }

    pub(crate) fn fits(&self, factor: &NumericFactor<T>, plan: &Substitution) -> bool {
        self.x.len() == plan.n * self.chunk
            && self.outer.len() == plan.accumulator_rows * self.chunk
            && self.members.len() >= factor.team().size()
            && plan.n == factor.symbolic().n()
    }
}

impl<T> std::fmt::Debug for SolveWorkspace<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SolveWorkspace")
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}
