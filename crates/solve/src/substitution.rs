//! Forward and backward substitution over the assembly tree.
//!
//! `L y = P b` from the leaves up, `Lᵀ (P x) = y` from the roots down. Subtrees go to single
//! threads, and so do fronts above them, as soon as they may ([`Order`]); where panels are large, threads that are free share them by
//! tiles of their rows (forward) or by groups of their columns (backward), so that every number is computed by one task in
//! one order. Above the subtrees a front's rows stand together, and what its children leave is added there, child by child: nothing
//! that is written to is shared. Right-hand sides stand row by row, those of one unknown together. Bytes: every entry
//! of L is read once in each direction for a chunk of right-hand sides; for one right-hand side that
//! is the limit.

mod half;
mod permute;

pub use half::{Half, solve_half};

use tamarack_dense::{Isa, backward_thin, forward_thin, rhs_stride};
use tamarack_numeric::{
    Activity, Aid, FrontId, NumericFactor, PanelView, Phase, Span, Team, Value,
};
use tamarack_sparse::Scalar;
use tamarack_symbolic::SymbolicFactor;

use crate::error::{SolveError, check_len};
use crate::order::Order;
use crate::plan::{Grove, NONE, Substitution, Top};
use crate::rows;
use crate::walk::{Downward, Upward};
use crate::workspace::{Members, SolveWorkspace};

/// `x ← A⁻¹ x` for `nrhs` right-hand sides: `x` is `n × nrhs`, column-major, user order. It may be
/// in another precision than the factor.
///
/// # Errors
/// [`SolveError::Length`], [`SolveError::Stale`], or [`SolveError::Workspace`] where `workspace` or
/// `plan` was made for another factor.
pub fn solve<T: Value, X: Scalar>(
    factor: &NumericFactor<T>,
    plan: &Substitution,
    x: &mut [X],
    nrhs: usize,
    workspace: &mut SolveWorkspace<T>,
) -> Result<(), SolveError> {
    solve_by(factor, plan, x, nrhs, workspace, |sweep| {
        sweep.run_forward();
        sweep.run_backward();
    })
}

/// What `run` does with right-hand sides in elimination order.
fn solve_by<T: Value, X: Scalar>(
    factor: &NumericFactor<T>,
    plan: &Substitution,
    x: &mut [X],
    nrhs: usize,
    workspace: &mut SolveWorkspace<T>,
    run: impl Fn(&Sweep<'_, T>),
) -> Result<(), SolveError> {
    let n = factor.symbolic().n();
    check_len("x", x.len(), n, nrhs)?;
    if !factor.is_current() {
        return Err(SolveError::Stale);
    }
    if !workspace.fits(factor, plan) {
        return Err(SolveError::Workspace);
    }
    if n == 0 {
        return Ok(());
    }
    for columns in x.chunks_mut(n * workspace.chunk) {
        let bytes = columns.len() * (size_of::<X>() + size_of::<T>()) + n * size_of::<u32>();
        let sweep = Sweep::new(factor, plan, workspace, columns.len() / n);
        let columns = Shared(columns.as_mut_ptr());
        let permute = |work: &dyn Fn()| factor.team().during(Phase::Permute, bytes as u64, work);
        permute(&|| sweep.bring_in(columns));
        run(&sweep);
        permute(&|| sweep.bring_back(columns));
    }
    Ok(())
}

/// Both substitutions for a chunk of right-hand sides that stand in the workspace.
pub(crate) struct Sweep<'a, T> {
    pub factor: &'a NumericFactor<T>,
    order: Order<'a>,
    pub symbolic: &'a SymbolicFactor,
    pub plan: &'a Substitution,
    members: &'a Members<T>,
    /// Right-hand sides in elimination order, row i at `x + i·stride`, and the accumulators behind them.
    pub x: *mut T,
    nrhs: usize,
    /// Distance of rows.
    pub stride: usize,
    isa: Isa,
}

// SAFETY: tasks that run at the same time write to different rows of x and of the accumulator.
unsafe impl<T: Value> Sync for Sweep<'_, T> {}

impl<'a, T: Value> Sweep<'a, T> {
    fn new(
        factor: &'a NumericFactor<T>,
        plan: &'a Substitution,
        workspace: &'a mut SolveWorkspace<T>,
        nrhs: usize,
    ) -> Self {
        Self {
            factor,
            order: Order {
                plan,
                team: factor.team(),
                counters: &workspace.counters,
            },
            symbolic: factor.symbolic(),
            plan,
            x: workspace.x.as_mut_ptr(),
            members: &workspace.members,
            nrhs,
            stride: rhs_stride::<T>(nrhs, workspace.isa),
            isa: workspace.isa,
        }
    }

    pub fn team(&self) -> &Team {
        self.factor.team()
    }

    /// Bytes of L, which a walk reads once.
    fn factor_bytes(&self) -> u64 {
        self.factor.plan().factor_len() * size_of::<T>() as u64
    }

    fn run_forward(&self) {
        self.team()
            .during(Phase::Forward, self.factor_bytes(), || self.forward());
    }

    fn run_backward(&self) {
        self.team()
            .during(Phase::Backward, self.factor_bytes(), || self.backward());
    }

    fn forward(&self) {
        self.order.up(
            |grove, member| {
                // SAFETY: groves have rows of x and of the accumulators of their own.
                self.noting_grove(grove, member, |grove| unsafe {
                    self.forward_grove(grove, member)
                });
            },
            |front, aid| {
                // SAFETY: a front comes once, after its children.
                self.noting_front(front, aid, |front| unsafe { self.forward_top(front, aid) });
            },
        );
    }

    fn backward(&self) {
        self.order.down(
            |grove, member| {
                // SAFETY: only rows of these subtrees are written; those above are final.
                self.noting_grove(grove, member, |grove| unsafe {
                    self.backward_grove(grove, member)
                });
            },
            |front, aid| {
                // SAFETY: a front comes once, after those above it.
                self.noting_front(front, aid, |front| unsafe { self.backward_top(front, aid) });
            },
        );
    }

    /// Does a grove as an event.
    fn noting_grove(&self, grove: usize, member: usize, work: impl FnOnce(&Grove)) {
        let grove = &self.plan.groves[grove];
        let root = FrontId::new(grove.root as usize, 0, 0);
        let fronts = grove.root - grove.first + 1;
        let span = Span::of(Activity::Subtree, root);
        self.team().noting(member, span, fronts, || work(grove));
    }

    /// Does a front above the subtrees as an event.
    fn noting_front(&self, front: usize, aid: Aid<'_>, work: impl FnOnce(&Top)) {
        let front = &self.plan.top[front];
        let s = front.s as usize;
        let span = FrontId::new(s, self.symbolic.npiv(s), self.symbolic.nupd(s));
        let span = Span::of(Activity::Front, span);
        self.team().noting(aid.member(), span, 1, || work(front));
    }

    fn panel(&self, s: usize) -> PanelView<'a, T> {
        self.factor.panel_ref(s, self.isa)
    }

    /// Where the panel of supernode `s` begins.
    #[inline(always)]
    pub fn panel_at(&self, s: usize) -> *const T {
        let from = self.factor.plan().panel_start(s) as usize;
        self.factor.panels().as_ptr().wrapping_add(from)
    }

    /// Row `i` of the right-hand sides.
    #[inline(always)]
    pub fn row(&self, i: usize) -> *mut T {
        self.x.wrapping_add(i * self.stride)
    }

    /// # Safety
    /// Nobody else works on this grove.
    unsafe fn forward_grove(&self, grove: &Grove, member: usize) {
        let numbers = grove.outer_rows * self.stride;
        // SAFETY: these rows are this grove's accumulators.
        unsafe { std::ptr::write_bytes(self.row(grove.outer), 0, numbers) };
        if self.stride == 1 {
            // SAFETY: the caller's promise; the plan's rows are inside the workspace.
            return unsafe { forward_thin(self.isa, Upward::new(self, grove, member)) };
        }
        for s in grove.first as usize..=grove.root as usize {
            // A sum front has no part in L.
            if self.symbolic.npiv(s) > 0 {
                // SAFETY: the caller's promise.
                unsafe { self.forward_front(s, member) };
            }
        }
    }

    /// # Safety
    /// Nobody else works on this grove, and the rows above it are final.
    unsafe fn backward_grove(&self, grove: &Grove, member: usize) {
        if self.stride == 1 {
            // SAFETY: the caller's promise; the plan's rows are inside the workspace.
            return unsafe { backward_thin(self.isa, Downward::new(self, grove, member)) };
        }
        for s in (grove.first as usize..=grove.root as usize).rev() {
            if self.symbolic.npiv(s) > 0 {
                // SAFETY: the caller's promise.
                unsafe { self.backward_front(s, member) };
            }
        }
    }

    /// Forward substitution with one front inside a subtree.
    ///
    /// # Safety
    /// Nobody else works on this subtree.
    #[inline(never)]
    pub unsafe fn forward_front(&self, s: usize, member: usize) {
        let panel = self.panel(s);
        let targets = &self.plan.targets()[self.symbolic.row_range(s)];
        let x = self.row(self.symbolic.columns(s).start);
        // SAFETY: the space is this member's and holds the largest front; the plan's rows are
        // inside the workspace.
        unsafe {
            let w = self.members.front(member);
            let npiv = self.begin_forward(s, w);
            match panel {
                PanelView::Strips(panel) => panel.forward(w, self.stride),
                PanelView::Blocks(panel) => panel.forward(w, self.stride),
            }
            rows::copy(x, w, npiv, self.stride);
            let sums = w.add(npiv * self.stride);
            rows::scatter_add(self.x, targets, sums, self.stride);
        }
    }

    /// A front's rows together: pivots, then zeros that collect what goes to the ancestors.
    ///
    /// # Safety
    /// `w` has room for the front, and the pivots' rows are final so far.
    unsafe fn begin_forward(&self, s: usize, w: *mut T) -> usize {
        let (npiv, nupd) = (self.symbolic.npiv(s), self.symbolic.nupd(s));
        let first = self.row(self.symbolic.columns(s).start);
        // SAFETY: the caller's promise.
        unsafe {
            rows::copy(w, first, npiv, self.stride);
            std::ptr::write_bytes(w.add(npiv * self.stride), 0, nupd * self.stride);
        }
        npiv
    }

    /// Forward substitution with a front above the subtrees, whose rows stay together.
    ///
    /// # Safety
    /// Its children are done, and nobody else works on it.
    unsafe fn forward_top(&self, front: &Top, aid: Aid<'_>) {
        let s = front.s as usize;
        let w = Shared(self.row(front.rows));
        // SAFETY: these rows of the workspace are this front's, and its children's are final; positions are inside the front.
        let npiv = unsafe {
            let npiv = self.begin_forward(s, w.at(0));
            for sum in self.plan.sums(front) {
                let from = self.row(sum.from as usize);
                if sum.child == NONE {
                    let order = npiv + self.symbolic.nupd(s);
                    rows::add(w.at(0), from, order * self.stride);
                } else {
                    let rows = self.symbolic.relative(sum.child as usize);
                    rows::scatter_add(w.at(0), rows, from, self.stride);
                }
            }
            npiv
        };
        if npiv == 0 {
            return; // a sum front has no part in L
        }
        // SAFETY: as above.
        unsafe {
            match self.panel(s) {
                PanelView::Strips(panel) => panel.forward(w.at(0), self.stride),
                PanelView::Blocks(panel) => self.forward_blocks(panel, w, aid),
            }
        }
    }

    /// A front's rows together: pivots and what was found above.
    ///
    /// # Safety
    /// `w` has room for the front, and the rows above are final.
    unsafe fn begin_backward(&self, s: usize, w: *mut T) -> usize {
        let npiv = self.symbolic.npiv(s);
        let first = self.row(self.symbolic.columns(s).start);
        // SAFETY: the caller's promise; rows are inside x.
        unsafe {
            rows::copy(w, first, npiv, self.stride);
            let above = w.add(npiv * self.stride);
            rows::gather(above, self.x, self.symbolic.rows(s), self.stride);
        }
        npiv
    }

    /// Backward substitution with one front inside a subtree.
    ///
    /// # Safety
    /// Nobody else works on this subtree, and the rows above are final.
    #[inline(never)]
    pub unsafe fn backward_front(&self, s: usize, member: usize) {
        let panel = self.panel(s);
        let x = self.row(self.symbolic.columns(s).start);
        // SAFETY: the space is this member's and holds the largest front.
        unsafe {
            let w = self.members.front(member);
            let npiv = self.begin_backward(s, w);
            match panel {
                PanelView::Strips(panel) => panel.backward(w, self.stride),
                PanelView::Blocks(panel) => panel.backward(w, self.stride),
            }
            rows::copy(x, w, npiv, self.stride);
        }
    }

    /// Backward substitution with a front above the subtrees.
    ///
    /// # Safety
    /// The fronts above it are done, and nobody else works on it.
    unsafe fn backward_top(&self, front: &Top, aid: Aid<'_>) {
        let s = front.s as usize;
        let (npiv, w) = (self.symbolic.npiv(s), Shared(self.row(front.rows)));
        if npiv == 0 {
            return;
        }
        // SAFETY: these rows of the workspace are this front's, and rows of x above are final.
        unsafe {
            let above = w.at(npiv * self.stride);
            rows::gather(above, self.x, self.symbolic.rows(s), self.stride);
            match self.panel(s) {
                PanelView::Strips(panel) => panel.backward(w.at(0), self.stride),
                PanelView::Blocks(panel) => self.backward_blocks(panel, w, aid),
            }
            self.row(self.symbolic.columns(s).start)
                .copy_from_nonoverlapping(w.at(0), npiv * self.stride);
        }
    }
}

/// A pointer that tasks share.
pub(crate) struct Shared<T>(pub *mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

// SAFETY: it only names memory; every use is in an unsafe block that says who may.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    pub fn at(self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}
