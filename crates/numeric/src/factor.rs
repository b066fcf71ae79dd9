//! The numeric factor, and how it comes about.

use std::sync::Arc;

use tamarack_dense::{Floor, Isa, PanelLayout, PanelRef, StripsRef};
use tamarack_plan::FactorPlan;
use tamarack_sparse::{ElimIdx, Pattern, Scalar, SymmetricCsc};
use tamarack_store::{Arena, return_spare_blocks};
use tamarack_symbolic::SymbolicFactor;

use crate::above::Above;
use crate::control::{Control, Meter};
use crate::error::FactorError;
use crate::execute::{Execution, Outcome, Spaces};
use crate::front::Memory;
use crate::not_spd::NotPositiveDefinite;
use crate::shift::Shifts;
use crate::team::Team;
use crate::value::Value;

/// What to do with a matrix that is not positive definite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnNotSpd {
    /// Report it.
    #[default]
    Fail,
    /// Factorize `A + σI` instead, with the first σ of a rising sequence that works: 0, then `16 ε ‖A‖∞`, then always 16 times as
    /// much. Each is another factorization, and the last may be 16 times as large as it need be. The factor's `shift` says which it was.
    Shift,
}

/// How to factorize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactorOptions {
    /// What to do with a matrix that is not positive definite.
    pub not_spd: OnNotSpd,
}

/// The Cholesky factor `L` of `P A Pᵀ`, in core: the panels of all supernodes, with the memory and
/// the threads to make it anew from other values.
pub struct NumericFactor<T> {
    plan: Arc<FactorPlan>,
    team: Arc<Team>,
    pattern: Arc<Pattern>,
    options: FactorOptions,
    /// Panels, and while factorizing update matrices.
    arena: Arena<T>,
    packed: Arena<T>,
    spaces: Spaces<T>,
    above: Above,
    shift: Option<f64>,
    current: bool,
    /// Whether the arena is as it was made.
    is_new: bool,
}

/// A final panel, in one of its layouts.
#[derive(Clone, Copy, Debug)]
pub enum PanelView<'a, T> {
    /// Of a small front.
    Strips(StripsRef<'a, T>),
    /// Of a large one.
    Blocks(PanelRef<'a, T>),
}

/// Bytes of a factor from which on blocks that smaller ones left are given back first.
const LARGE_BYTES: u64 = 1 << 26;

impl<T: Value> NumericFactor<T> {
    /// Factorizes `a` as planned.
    ///
    /// # Errors
    /// The matrix is not the one analyzed or not positive definite, memory is refused, or the
    /// caller cancelled.
    pub fn factorize(
        plan: Arc<FactorPlan>,
        team: Arc<Team>,
        a: &SymmetricCsc<T>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Self, FactorError> {
        if plan.precision() != T::PRECISION {
            let (planned, found) = (plan.precision(), T::PRECISION);
            return Err(FactorError::Precision { planned, found });
        }
        let symbolic = plan.symbolic();
        if !symbolic.is_of(a.pattern()) {
            return Err(other_pattern(symbolic, a.pattern()));
        }
        if plan.memory().factor_bytes >= LARGE_BYTES {
            return_spare_blocks();
        }
        let mut factor = Self {
            arena: Arena::new(plan.arena_len())?,
            packed: Arena::new(plan.packed_len())?,
            spaces: Spaces::new(team.size(), &plan),
            above: Above::new(&plan),
            pattern: a.pattern().clone(),
            options: *options,
            shift: None,
            current: false,
            is_new: true,
            plan,
            team,
        };
        factor.refactorize(a, control)?;
        Ok(factor)
    }

    /// Factorizes other values of the same pattern into the same memory; allocates nothing. Only where the first
    /// factorization was predicted to take less time than starting the team's threads does the second one start them.
    ///
    /// Entries of L below `2^-511` (`f32`: `2^-63`) are zero. Where a pivot is below `2^-896` (`2^-58`) all are kept, and the work is done twice: see
    /// [`Floor`].
    ///
    /// # Errors
    /// As for [`factorize`](Self::factorize). After an error that comes from the values or from
    /// the caller's flag the factor is stale; after [`FactorError::Pattern`] it is as it was.
    pub fn refactorize(
        &mut self,
        a: &SymmetricCsc<T>,
        control: &Control<'_>,
    ) -> Result<(), FactorError> {
        self.check_pattern(a.pattern())?;
        self.current = false;
        self.shift = None;
        let mut shifts = Shifts::default();
        let mut floor = Floor::SQUARES;
        loop {
            let sigma = <T as Scalar>::from_f64(shifts.sigma);
            let (position, pivot) = match self.execute(a.values(), sigma, floor, control) {
                Outcome::Cancelled => return Err(FactorError::Cancelled),
                // So small that what became zero might matter: everything once more.
                Outcome::Failed(_, pivot) if floor.is_too_high(pivot) => {
                    floor = Floor::NONE;
                    continue;
                }
                Outcome::Failed(position, pivot) => (ElimIdx(position), pivot),
                Outcome::Done => {
                    self.current = true;
                    self.shift = shifts.needed();
                    return Ok(());
                }
            };
            let symbolic = self.plan.symbolic();
            let report = NotPositiveDefinite::diagnose(symbolic, a, position, pivot);
            shifts.rise(a, report, self.options.not_spd)?;
        }
    }

    /// An error for another pattern than that of the matrix it was made from.
    ///
    /// # Errors
    /// [`FactorError::Pattern`].
    pub fn check_pattern(&self, pattern: &Arc<Pattern>) -> Result<(), FactorError> {
        if Arc::ptr_eq(&self.pattern, pattern) || *self.pattern == **pattern {
            return Ok(());
        }
        Err(other_pattern(self.plan.symbolic(), pattern))
    }

    fn execute(
        &mut self,
        values: &[T],
        shift: T,
        floor: Floor<T>,
        control: &Control<'_>,
    ) -> Outcome {
        let is_first = std::mem::take(&mut self.is_new);
        let execution = Execution {
            memory: Memory {
                plan: &self.plan,
                arena: self.arena.as_mut_slice().as_mut_ptr(),
                packed: self.packed.as_mut_slice().as_mut_ptr(),
            },
            symbolic: self.plan.symbolic(),
            spaces: &self.spaces,
            above: &self.above,
            values,
            shift,
            is_first,
            fresh: is_first.then(|| self.arena.fresh()).flatten(),
            isa: Isa::detect(),
            floor,
            meter: Meter::new(control, self.plan.flops_done()),
        };
        // SAFETY: the arenas were made with the plan's sizes and are borrowed exclusively.
        unsafe { execution.run(&self.team) }
    }

    /// The plan it was made by.
    pub fn plan(&self) -> &Arc<FactorPlan> {
        &self.plan
    }

    /// Its structure.
    pub fn symbolic(&self) -> &Arc<SymbolicFactor> {
        self.plan.symbolic()
    }

    /// The threads that work on it.
    pub fn team(&self) -> &Arc<Team> {
        &self.team
    }

    /// The pivot columns of supernode `s` of L, in the layout [`FactorPlan::panel_layout`], which has
    /// [`entry`](PanelLayout::entry)s; meaningless while the factor is stale.
    pub fn panel(&self, s: usize) -> &[T] {
        let range = self.plan.panel_range(s);
        self.arena.get(range.start as usize..range.end as usize)
    }

    /// All panels, each where [`FactorPlan::panel_range`] says, and after them room without meaning.
    #[inline]
    pub fn panels(&self) -> &[T] {
        self.arena.as_slice()
    }

    /// The same panel for the kernels of substitution.
    #[inline]
    pub fn panel_ref(&self, s: usize, isa: Isa) -> PanelView<'_, T> {
        let from = &self.arena.as_slice()[self.plan.panel_start(s) as usize..];
        match self.plan.panel_layout(s) {
            PanelLayout::Strips(l) => PanelView::Strips(StripsRef::new(from, l, isa)),
            PanelLayout::Blocks(l) => PanelView::Blocks(PanelRef::new(from, l, isa)),
        }
    }

    /// Whether the last factorization succeeded.
    pub fn is_current(&self) -> bool {
        self.current
    }

    /// The σ of `A + σI` that was factorized instead of A, where that was asked for and needed.
    pub fn shift(&self) -> Option<f64> {
        self.shift
    }
}

impl<T: Value> std::fmt::Debug for NumericFactor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NumericFactor")
            .field("n", &self.plan.symbolic().n())
            .field("precision", &self.plan.precision())
            .field("shift", &self.shift)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

pub(crate) fn other_pattern(symbolic: &SymbolicFactor, found: &Pattern) -> FactorError {
    FactorError::Pattern {
        n: found.n(),
        nnz: found.nnz_lower(),
        analyzed_n: symbolic.n(),
        analyzed_nnz: symbolic.nnz_a(),
    }
}
