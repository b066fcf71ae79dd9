//! The order of the fronts above the subtrees together with the places that go with it.

use crate::error::PlanError;
use crate::places::{Places, Tree};
use crate::top::{PackedPlaces, TopOrder};

/// An order, and where everything is.
pub(crate) struct Laid {
    pub top: TopOrder,
    /// Packed rows of the fronts of the top, from `packed_from` on.
    pub packed: PackedPlaces,
    pub packed_from: u64,
    /// Room for all packed rows.
    pub packed_len: u64,
    pub places: Places,
}

/// Numbers for the packed rows of each supernode.
pub(crate) type PackedLen<'a> = &'a dyn Fn(usize) -> u64;

impl Laid {
    /// For one thread, who has no top.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`].
    pub fn alone(tree: &Tree<'_>, packed_len: u64) -> Result<Self, PlanError> {
        Ok(Self {
            top: TopOrder::default(),
            packed: PackedPlaces::default(),
            packed_from: 0,
            packed_len,
            places: tree.lay_out_alone()?,
        })
    }

    /// For several threads, given the roots of the subtrees, the fronts of the top by time, if they may be begun so, and in turn, and
    /// the numbers for packed rows of the subtrees' threads and of each front. By time they are only with a window that takes not much
    /// more memory, and no more than `limit` numbers.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`].
    pub fn together(
        tree: &Tree<'_>,
        roots: &[u32],
        (by_time, in_turn): (Option<TopOrder>, TopOrder),
        (of_subtrees, packed): (u64, PackedLen<'_>),
        (threads, limit): (usize, u64),
    ) -> Result<Self, PlanError> {
        let stacks = tree.stacks(roots);
        let packed_len = |top: &TopOrder, of_top: u64| match top.window {
            0 => of_subtrees.max(of_top),
            // Fronts of the top are in work together with subtrees.
            _ => of_subtrees + of_top,
        };
        let mut panels = tree.panels(&in_turn.fronts)?;
        let mut top = in_turn;
        if let Some(by_time) = by_time.filter(|by_time| by_time.fronts.len() > 1) {
            let len = |panels, top: &TopOrder| {
                tree.arena_len(panels, stacks.1, top, threads)
                    + packed_len(top, top.packed_places(packed).len)
            };
            let least = len(&panels, &top);
            let of_by_time = tree.panels(&by_time.fronts)?;
            let widened = by_time.widened(threads, least, limit, |top| len(&of_by_time, top));
            if let Some(widened) = widened {
                (top, panels) = (widened, of_by_time);
            }
        }
        let of_top = top.packed_places(packed);
        Ok(Self {
            packed_from: if top.window == 0 { 0 } else { of_subtrees },
            packed_len: packed_len(&top, of_top.len),
            places: tree.lay_out(panels, stacks, &top, threads),
            packed: of_top,
            top,
        })
    }
}
