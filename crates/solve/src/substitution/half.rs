//! Either half of a solve: `A = C Cᵀ` with `C = Pᵀ L P`, L in the user's order.
//!
//! In between the numbers of a solve are where its second half wants them: pivots in strips over the diagonal of L, those of fronts above the subtrees beside
//! the rows of their fronts. A half puts them in their places, or takes them from there. Bytes: half of a solve's, and x once more.

use tamarack_dense::PanelLayout;
use tamarack_numeric::{Activity, NumericFactor, Span, Value};
use tamarack_sparse::Scalar;

use super::{Sweep, solve_by};
use crate::error::SolveError;
use crate::plan::Substitution;
use crate::workspace::SolveWorkspace;

/// Which half of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// `x ← C⁻¹ x`.
    Lower,
    /// `x ← C⁻ᵀ x`.
    Transposed,
}

/// Supernodes whose pivots are put in their places by one task.
const TOGETHER: usize = 1 << 10;

/// Half of [`solve`](crate::solve), with `x` as there: one after the other, [`Half::Lower`] first, they give what it does, but for rounding.
///
/// # Errors
/// As there.
pub fn solve_half<T: Value, X: Scalar>(
    half: Half,
    factor: &NumericFactor<T>,
    plan: &Substitution,
    x: &mut [X],
    nrhs: usize,
    workspace: &mut SolveWorkspace<T>,
) -> Result<(), SolveError> {
    solve_by(factor, plan, x, nrhs, workspace, |sweep| match half {
        Half::Lower => {
            sweep.run_forward();
            // SAFETY: the walk has ended, and no other one begins.
            unsafe {
                sweep.move_top_pivots(half);
                sweep.scale_pivots(half);
            }
        }
        Half::Transposed => {
            // SAFETY: no walk has begun.
            unsafe {
                sweep.scale_pivots(half);
                sweep.move_top_pivots(half);
            }
            sweep.run_backward();
        }
    })
}

impl<T: Value> Sweep<'_, T> {
    /// Pivots of fronts above the subtrees: from the rows of their fronts to their places, or back.
    ///
    /// # Safety
    /// Nobody else uses the workspace.
    unsafe fn move_top_pivots(&self, half: Half) {
        for front in &self.plan.top {
            let columns = self.symbolic.columns(front.s as usize);
            let (own, place) = (self.row(front.rows), self.row(columns.start));
            let (from, to) = match half {
                Half::Lower => (own, place),
                Half::Transposed => (place, own),
            };
            // SAFETY: the caller's promise; both have a row for each pivot, and fronts stand behind the right-hand sides.
            unsafe { to.copy_from_nonoverlapping(from, columns.len() * self.stride) };
        }
    }

    /// Multiplies the pivots of panels in strips by the diagonal of L, or divides them by it.
    ///
    /// # Safety
    /// Nobody else uses the workspace.
    unsafe fn scale_pivots(&self, half: Half) {
        let count = self.symbolic.supernodes();
        let share = Span::new(Activity::Share);
        let parts = count.div_ceil(TOGETHER);
        self.team().for_each_as(share, parts, |part, _| {
            for s in part * TOGETHER..count.min((part + 1) * TOGETHER) {
                // SAFETY: the caller's promise; supernodes have rows of their own.
                unsafe { self.scale_pivots_of(s, half) };
            }
        });
    }

    /// # Safety
    /// Nobody else uses the rows of this supernode.
    unsafe fn scale_pivots_of(&self, s: usize, half: Half) {
        let layout = self.factor.plan().panel_layout(s);
        if let PanelLayout::Blocks(_) = layout {
            return; // pivots are as L has them
        }
        let panel = self.factor.panel(s);
        for (j, i) in self.symbolic.columns(s).enumerate() {
            let diagonal = layout.entry(panel, j, j);
            // SAFETY: the caller's promise; rows of the workspace have `stride` numbers.
            let row = unsafe { std::slice::from_raw_parts_mut(self.row(i), self.stride) };
            for x in row {
                *x = match half {
                    Half::Lower => *x * diagonal,
                    Half::Transposed => *x / diagonal,
                };
            }
        }
    }
}
