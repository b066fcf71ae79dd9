//! The order of the fronts above the subtrees together with the places that go with it.

use crate::error::PlanError;
use crate::places::{Places, Tree};
use crate::top::{PackedPlaces, TopOrder};

/// An order, and where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    pub top: TopOrder,
    /// Packed rows of the fronts of the top, from `packed_from` on.
    pub packed: PackedPlaces,
    pub packed_from: u64,
    /// Room for all packed rows.
    pub packed_len: u64,
    pub places: Places,
}

/// What there has to be places for, but for the top; lengths in numbers.
pub(crate) struct Needs<'a> {
    pub threads: usize,
    /// Roots of the subtrees.
    pub roots: &'a [u32],
    /// Packed rows of all threads in the subtrees.
    pub packed_below: u64,
    /// Packed rows of each supernode's front.
    pub packed: &'a dyn Fn(usize) -> u64,
    /// What arena and packed rows may take together.
    pub limit: u64,
}

impl Laid {
    /// Lays out a tree, given the fronts above its subtrees in postorder. More than two threads begin them in the order that `by_time`
    /// gives where there is a window for it that takes not much more memory, and no more than there may be.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`] where the factor's length does not fit into 64 bits.
    pub fn new(
        tree: &Tree<'_>,
        needs: &Needs<'_>,
        top: Vec<u32>,
        by_time: impl FnOnce(&[u32]) -> TopOrder,
    ) -> Result<Self, PlanError> {
        if needs.threads == 1 {
            return Ok(Self {
                top: TopOrder::default(),
                packed: PackedPlaces::default(),
                packed_from: 0,
                packed_len: needs.packed_below,
                places: tree.lay_out_alone()?,
            });
        }
        let stacks = tree.stacks(needs.roots);
        let mut panels = tree.panels(&top)?;
        let mut top = TopOrder::in_turn(top);
        if needs.threads > 2 && top.fronts.len() > 1 {
            let len = |panels, top: &TopOrder| {
                let packed = top.packed_places(needs.packed).len;
                tree.arena_len(panels, stacks.1, top, needs.threads) + needs.packed_len(top, packed)
            };
            let in_turn = len(&panels, &top);
            let by_time = by_time(&top.fronts);
            let of_by_time = tree.panels(&by_time.fronts)?;
            let window = by_time.widened(needs.threads, in_turn, needs.limit, |top| {
                len(&of_by_time, top)
            });
            if let Some(widened) = window {
                (top, panels) = (widened, of_by_time);
            }
        }
        let packed = top.packed_places(needs.packed);
        Ok(Self {
            packed_from: match top.window {
                0 => 0,
                _ => needs.packed_below,
            },
            packed_len: needs.packed_len(&top, packed.len),
            places: tree.lay_out(panels, stacks, &top, needs.threads),
            packed,
            top,
        })
    }
}

impl Needs<'_> {
    /// Room for all packed rows, where those of the top take so much.
    fn packed_len(&self, top: &TopOrder, of_top: u64) -> u64 {
        match top.window {
            0 => self.packed_below.max(of_top),
            // Fronts of the top are in work together with subtrees.
            _ => self.packed_below + of_top,
        }
    }
}
