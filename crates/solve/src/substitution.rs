//! Forward and backward substitution over the assembly tree.
//!
//! `L y = P b` from the leaves up, `Lᵀ (P x) = y` from the roots down. Subtrees go to single
//! threads; above them, where panels are large, all threads share each panel by tiles of its rows
//! (forward) or by block columns (backward), so that every number is computed by one task in one
//! order. Bytes: every entry of L is read once in each direction for a chunk of right-hand sides;
//! for one right-hand side that is the limit.

use tamarack_dense::PanelRef;
use tamarack_numeric::{NumericFactor, Value};
use tamarack_sparse::Scalar;
use tamarack_symbolic::SymbolicFactor;

use crate::error::{SolveError, check_len};
use crate::plan::{Substitution, Tree};
use crate::workspace::{Members, SolveWorkspace};

/// Rows of a panel that are one task.
const TILE_ROWS: usize = 256;

/// Panels above the subtrees with fewer entries are not worth sharing.
const SHARED_PANEL: usize = 1 << 16;

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
    let permutation = factor.symbolic().permutation().user_of_elim();
    for columns in x.chunks_mut(n * workspace.chunk) {
        let k = columns.len() / n;
        for (user, elim) in columns.chunks(n).zip(workspace.x.chunks_mut(n)) {
            for (e, &u) in elim.iter_mut().zip(permutation) {
                *e = <T as Scalar>::from_f64(user[u as usize].to_f64());
            }
        }
        Sweep::new(factor, plan, workspace, k).run();
        for (user, elim) in columns.chunks_mut(n).zip(workspace.x.chunks(n)) {
            for (e, &u) in elim.iter().zip(permutation) {
                user[u as usize] = X::from_f64(Scalar::to_f64(*e));
            }
        }
    }
    Ok(())
}

/// Both substitutions for a chunk of `k` right-hand sides that stand in the workspace.
struct Sweep<'a, T> {
    factor: &'a NumericFactor<T>,
    symbolic: &'a SymbolicFactor,
    plan: &'a Substitution,
    members: &'a Members<T>,
    /// `n × k`, elimination order.
    x: *mut T,
    /// `accumulator_rows × k`.
    outer: *mut T,
    k: usize,
}

// SAFETY: tasks that run at the same time write to different rows of x and of the accumulator.
unsafe impl<T: Value> Sync for Sweep<'_, T> {}

impl<'a, T: Value> Sweep<'a, T> {
    fn new(
        factor: &'a NumericFactor<T>,
        plan: &'a Substitution,
        workspace: &'a mut SolveWorkspace<T>,
        k: usize,
    ) -> Self {
        Self {
            factor,
            symbolic: factor.symbolic(),
            plan,
            x: workspace.x.as_mut_ptr(),
            outer: workspace.outer.as_mut_ptr(),
            members: &workspace.members,
            k,
        }
    }

    fn run(&self) {
        let (team, trees) = (self.factor.team(), &self.plan.trees);
        team.for_each(trees.len(), |t, member| {
            // SAFETY: subtrees have rows of x and of the accumulator of their own.
            unsafe { self.forward_tree(&trees[t], member) };
        });
        for tree in trees {
            // SAFETY: no loop is running.
            unsafe { self.add_outer(tree) };
        }
        for &s in &self.plan.top {
            // SAFETY: no other front is in work.
            unsafe { self.forward_top(s as usize) };
        }
        for &s in self.plan.top.iter().rev() {
            // SAFETY: as above.
            unsafe { self.backward_top(s as usize) };
        }
        team.for_each(trees.len(), |t, member| {
            let tree = &trees[t];
            for s in (tree.first..=tree.root).rev() {
                // SAFETY: only rows of this subtree are written; those above are final.
                unsafe { self.backward_front(s as usize, member) };
            }
        });
    }

    fn panel(&self, s: usize) -> PanelRef<'a, T> {
        let block = self.factor.plan().block();
        let (npiv, nupd) = (self.symbolic.npiv(s), self.symbolic.nupd(s));
        PanelRef::new(self.factor.panel(s), npiv, nupd, block)
    }

    /// Row 0 of the right-hand sides as `(pointer, leading dimension)`, from row `row` on.
    fn rows_from(&self, row: usize) -> (*mut T, usize) {
        (self.x.wrapping_add(row), self.plan.n)
    }

    /// # Safety
    /// Nobody else works on this subtree.
    unsafe fn forward_tree(&self, tree: &Tree, member: usize) {
        let rows = self.plan.accumulator_rows;
        let range = self.plan.outer_range(self.symbolic, tree);
        for r in 0..self.k {
            // SAFETY: these rows of the accumulator belong to this subtree.
            unsafe {
                std::ptr::write_bytes(self.outer.add(range.start + r * rows), 0, range.len())
            };
        }
        for s in tree.first..=tree.root {
            // SAFETY: the caller's promise.
            unsafe { self.forward_front(s as usize, tree, member) };
        }
    }

    /// Forward substitution with one front inside a subtree.
    ///
    /// # Safety
    /// Nobody else works on this subtree.
    unsafe fn forward_front(&self, s: usize, tree: &Tree, member: usize) {
        let (panel, nupd, k) = (self.panel(s), self.symbolic.nupd(s), self.k);
        let x = self.rows_from(self.symbolic.columns(s).start);
        // SAFETY: the space is this member's; x and the front's rows are as long as the kernels ask.
        unsafe {
            let space = self.members.of(member);
            panel.forward_diagonal(x, k, &mut space.kernel);
            if nupd == 0 {
                return;
            }
            let y = &mut space.front[..nupd * k];
            y.fill(T::default());
            let y = (y.as_mut_ptr(), nupd);
            panel.forward_update(0..nupd, (x.0.cast_const(), x.1), y, k, &mut space.kernel);
            let outer = self.plan.outer(s);
            let (inside, _) = self.symbolic.rows(s).split_at(nupd - outer.len());
            for r in 0..k {
                let y = y.0.add(r * nupd);
                let x = self.x.add(r * self.plan.n);
                for (i, &row) in inside.iter().enumerate() {
                    *x.add(row as usize) += *y.add(i);
                }
                let sums = self.outer.add(tree.outer + r * self.plan.accumulator_rows);
                for (i, &position) in outer.iter().enumerate() {
                    *sums.add(position as usize) += *y.add(inside.len() + i);
                }
            }
        }
    }

    /// Adds a subtree's sums to the rows outside it.
    ///
    /// # Safety
    /// No task is running.
    unsafe fn add_outer(&self, tree: &Tree) {
        let rows = self.symbolic.rows(tree.root as usize);
        for r in 0..self.k {
            let sums = self
                .outer
                .wrapping_add(tree.outer + r * self.plan.accumulator_rows);
            let x = self.x.wrapping_add(r * self.plan.n);
            for (i, &row) in rows.iter().enumerate() {
                // SAFETY: rows and accumulator positions of the plan are inside the workspace.
                unsafe { *x.add(row as usize) += *sums.add(i) };
            }
        }
    }

    /// Forward substitution with a front above the subtrees, by all threads.
    ///
    /// # Safety
    /// No task is running.
    unsafe fn forward_top(&self, s: usize) {
        let (panel, k) = (self.panel(s), self.k);
        let layout = panel.layout();
        let (npiv, order) = (layout.cols, layout.rows);
        let first = self.symbolic.columns(s).start;
        // SAFETY: member 0 is the caller, and no loop is running.
        let front = unsafe { self.members.of(0).front.as_mut_ptr() };
        // The front's rows together: pivots, then zeros that collect what goes to the ancestors.
        for r in 0..k {
            // SAFETY: the front's rows fit the space made for the largest front.
            unsafe {
                let column = front.add(r * order);
                column.copy_from_nonoverlapping(self.x.add(first + r * self.plan.n), npiv);
                std::ptr::write_bytes(column.add(npiv), 0, order - npiv);
            }
        }
        let whole = Shared(front);
        for b in 0..layout.blocks() {
            let (top, width) = (b * layout.block, layout.width(b));
            let below = layout.height(b) - width;
            // A block column by itself is a panel with its width as pivots.
            let values = &self.factor.panel(s)[layout.offset(b)..];
            let column = PanelRef::new(values, width, below, layout.block);
            let x = (whole.at(top), order);
            // SAFETY: no loop is running.
            unsafe { column.forward_diagonal(x, k, &mut self.members.of(0).kernel) };
            let tiles = self.pieces(width * below, below.div_ceil(TILE_ROWS));
            let tile_rows = below.div_ceil(tiles.max(1)).next_multiple_of(TILE_ROWS);
            self.factor.team().for_each(tiles, |t, member| {
                let rows = (t * tile_rows).min(below)..((t + 1) * tile_rows).min(below);
                let (x, y) = (whole.at(top).cast_const(), whole.at(top + width));
                // SAFETY: tiles are disjoint; the pivots of this block are final.
                unsafe {
                    let kernel = &mut self.members.of(member).kernel;
                    column.forward_update(rows, (x, order), (y, order), k, kernel);
                }
            });
        }
        for r in 0..k {
            let (column, x) = (whole.at(r * order), self.x.wrapping_add(r * self.plan.n));
            // SAFETY: no loop is running; rows are inside x.
            unsafe {
                x.add(first).copy_from_nonoverlapping(column, npiv);
                for (i, &row) in self.symbolic.rows(s).iter().enumerate() {
                    *x.add(row as usize) += *column.add(npiv + i);
                }
            }
        }
    }

    /// Number of tasks for work on so many entries of L.
    fn pieces(&self, entries: usize, most: usize) -> usize {
        if entries < SHARED_PANEL {
            most.min(1)
        } else {
            most
        }
    }

    /// Gathers the rows below the pivots of `s` into `y`, `nupd × k`.
    ///
    /// # Safety
    /// `y` has that size, and the rows are final.
    unsafe fn gather(&self, s: usize, y: *mut T) {
        let rows = self.symbolic.rows(s);
        for r in 0..self.k {
            let x = self.x.wrapping_add(r * self.plan.n);
            for (i, &row) in rows.iter().enumerate() {
                // SAFETY: the caller's promise; rows are inside x.
                unsafe { *y.add(r * rows.len() + i) = *x.add(row as usize) };
            }
        }
    }

    /// Backward substitution with one front inside a subtree.
    ///
    /// # Safety
    /// Nobody else works on this subtree, and the rows above are final.
    unsafe fn backward_front(&self, s: usize, member: usize) {
        let (panel, nupd) = (self.panel(s), self.symbolic.nupd(s));
        let x = self.rows_from(self.symbolic.columns(s).start);
        // SAFETY: the space is this member's; sizes are as the kernels ask.
        unsafe {
            let space = self.members.of(member);
            let y = space.front.as_mut_ptr();
            self.gather(s, y);
            for b in 0..panel.layout().blocks() {
                let y = (y.cast_const(), nupd);
                panel.backward_update(b, x, y, self.k, &mut space.kernel);
            }
            panel.backward_diagonal(x, self.k, &mut space.kernel);
        }
    }

    /// Backward substitution with a front above the subtrees, by all threads.
    ///
    /// # Safety
    /// No task is running.
    unsafe fn backward_top(&self, s: usize) {
        let (panel, nupd, k) = (self.panel(s), self.symbolic.nupd(s), self.k);
        let layout = panel.layout();
        // SAFETY: no loop is running.
        let front = unsafe { self.members.of(0).front.as_mut_ptr() };
        // SAFETY: the space is made for the largest front.
        unsafe { self.gather(s, front) };
        let (x, y) = (
            Shared(self.x.wrapping_add(self.symbolic.columns(s).start)),
            Shared(front),
        );
        let blocks = layout.blocks();
        let tasks = self.pieces(layout.cols * nupd, blocks);
        self.factor.team().for_each(tasks, |t, member| {
            let mine = if tasks == blocks { t..t + 1 } else { 0..blocks };
            for b in mine {
                let (x, y) = ((x.at(0), self.plan.n), (y.at(0).cast_const(), nupd));
                // SAFETY: block columns have pivots of their own; y is only read.
                unsafe {
                    let kernel = &mut self.members.of(member).kernel;
                    panel.backward_update(b, x, y, k, kernel);
                }
            }
        });
        let x = (x.at(0), self.plan.n);
        // SAFETY: no loop is running.
        unsafe { panel.backward_diagonal(x, k, &mut self.members.of(0).kernel) };
    }
}

/// A pointer that tasks share.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: it only names memory; every use is in an unsafe block that says who may.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}
