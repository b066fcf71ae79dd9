//! Forward and backward substitution with the panels of fronts, stage by stage; kernels in `dense/solve_*.cu`.
//!
//! A front `f` owns `pivots` columns of the factor, which are neighbors in elimination order, and its update rows have
//! elimination numbers of their own. Forward: `v = [b at the pivots; 0]` plus what the children left, each entry at its
//! row of this front; `y1 = L11⁻¹ v1` is kept in place of `b`, and `u = v2 − L21 y1` is left for the parent. Backward, parents
//! first: `x1 = L11⁻ᵀ (y1 − L21ᵀ x2)`, with `x2` read at the update rows (Duff, Reid 1983). So a stage, which is a list
//! of fronts that do not depend on each other, is one launch of [`SmallSolves`] and one of [`PanelSolves`] in each direction.
//!
//! Vectors are in double precision whatever the panels are in, and live in a [`SolveSpace`]: groups of up to eight right-hand
//! sides, interleaved, which read a panel once. Bits repeat, and do not depend on the number of right-hand sides.
//! Launching allocates nothing, clears nothing and waits for nothing, so a whole solve can be captured.
//!
//! Cost: a panel is read once in each direction for eight right-hand sides, twice for sixteen, the second time mostly from the
//! second-level cache.

mod lists;
mod panels;
mod small;
mod space;
#[cfg(test)]
mod tests;

pub use panels::PanelSolves;
pub use small::SmallSolves;
pub use space::{SolveOrder, SolveSpace};

/// Right-hand sides that are interleaved with each other: the columns of a tensor core product.
pub const RHS_GROUP: u32 = 8;

/// What a child leaves for its parent.
#[derive(Debug, Clone, Copy)]
pub struct SolveChild<'a> {
    /// Place of its vector of updates among the updates: the child's [`SolveFront::update`].
    pub update: u64,
    /// Row of the parent (pivots first, then update rows) for each of its update rows, ascending.
    pub relative: &'a [u32],
}

/// A factored front, as the substitution sees it.
#[derive(Debug, Clone, Copy)]
pub struct SolveFront<'a> {
    /// Pivot columns; 0 for a front that only adds up its children.
    pub pivots: u32,
    /// Where its panel stands in the arena, in elements: packed block columns of
    /// [`FrontShape`](super::FrontShape)'s height.
    pub panel: u64,
    /// Where the diagonals of the inverses of its diagonal tiles stand, as [`Fronts`](super::Fronts) left them. Not used by
    /// [`SmallSolves`].
    pub inverse: u64,
    /// Elimination number of the first pivot.
    pub column: u32,
    /// Elimination numbers of the update rows, in the order of the panel.
    pub rows: &'a [u32],
    /// Place of its vector of updates, as long as `rows`, among the updates. The parent reads it in the forward substitution, and
    /// nobody after that.
    pub update: u64,
    /// Its children, in the order in which they are added.
    pub children: &'a [SolveChild<'a>],
}
