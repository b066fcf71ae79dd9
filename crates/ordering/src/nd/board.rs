//! Where the vertices of a separation stand, as the refinement sees it.
//!
//! The same refinement works on a bisection of a small graph of its own and on one separator among
//! many in a large graph; they differ in how a side is written down.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Side of a separator vertex.
pub(crate) const SEPARATOR: u8 = 2;
/// Side of a vertex that has no part in the separation.
pub(crate) const OUTSIDE: u8 = 3;

/// Sides of vertices and the place of each in the gain heap.
pub(crate) trait Board {
    /// 0, 1, [`SEPARATOR`] or [`OUTSIDE`].
    fn side(&self, v: u32) -> u8;
    /// Moves `v` to a side.
    fn put(&mut self, v: u32, side: u8);
    /// What [`restore`](Self::restore) needs to put `v` back where it stands.
    fn label(&self, v: u32) -> u32;
    /// Puts `v` back.
    fn restore(&mut self, v: u32, label: u32);
    /// Number kept for `v`.
    fn slot(&self, v: u32) -> u32;
    /// Keeps a number for `v`.
    fn set_slot(&mut self, v: u32, slot: u32);
}

/// A bisection of a graph of its own.
pub(crate) struct Sides<'a> {
    pub(crate) side: &'a mut [u8],
    pub(crate) slots: &'a mut [u32],
}

impl Board for Sides<'_> {
    #[inline]
    fn side(&self, v: u32) -> u8 {
        self.side[v as usize]
    }
    #[inline]
    fn put(&mut self, v: u32, side: u8) {
        self.side[v as usize] = side;
    }
    #[inline]
    fn label(&self, v: u32) -> u32 {
        u32::from(self.side[v as usize])
    }
    #[inline]
    fn restore(&mut self, v: u32, label: u32) {
        self.side[v as usize] = label as u8;
    }
    #[inline]
    fn slot(&self, v: u32) -> u32 {
        self.slots[v as usize]
    }
    #[inline]
    fn set_slot(&mut self, v: u32, slot: u32) {
        self.slots[v as usize] = slot;
    }
}

/// The same of one node of a tree of them, in a copy: which vertices have moved can be told afterwards.
pub(crate) struct MarkedSides<'a> {
    /// Side, with [`MOVED`](Self::MOVED) for those that have been put there.
    pub(crate) side: &'a mut [u8],
    pub(crate) slots: &'a [AtomicU32],
}

impl MarkedSides<'_> {
    pub(crate) const MOVED: u8 = 4;
}

impl Board for MarkedSides<'_> {
    #[inline]
    fn side(&self, v: u32) -> u8 {
        self.side[v as usize] & 3
    }
    #[inline]
    fn put(&mut self, v: u32, side: u8) {
        self.side[v as usize] = side | Self::MOVED;
    }
    #[inline]
    fn label(&self, v: u32) -> u32 {
        u32::from(self.side[v as usize])
    }
    #[inline]
    fn restore(&mut self, v: u32, label: u32) {
        self.side[v as usize] = label as u8;
    }
    #[inline]
    fn slot(&self, v: u32) -> u32 {
        self.slots[v as usize].load(Relaxed)
    }
    #[inline]
    fn set_slot(&mut self, v: u32, slot: u32) {
        self.slots[v as usize].store(slot, Relaxed);
    }
}

/// The separator of one node of a dissection tree.
///
/// A vertex carries the number of the node whose separator or whose undivided piece it belongs to;
/// node `t` has the children `2t` and `2t + 1`. Separators of disjoint subtrees are refined at
/// the same time: each writes vertices of its own subtree, and reads besides those only vertices of
/// its ancestors, which are at rest. Atomics, since threads share the arrays; no order is needed.
pub(crate) struct TreeNode<'a> {
    pub(crate) weights: &'a [u32],
    pub(crate) labels: &'a [AtomicU32],
    pub(crate) slots: &'a [AtomicU32],
    /// Weight of the vertices with each label.
    pub(crate) label_weights: &'a [LabelWeight],
    pub(crate) node: u32,
}

/// Weight of the vertices with a label, on a cache line of its own: separators that are refined at the same time count theirs
/// with every move.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct LabelWeight(AtomicU64);

impl LabelWeight {
    pub(crate) fn new(weight: u64) -> Self {
        Self(AtomicU64::new(weight))
    }
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
    #[inline]
    pub(crate) fn set(&self, weight: u64) {
        self.0.store(weight, Relaxed);
    }
}

impl Board for TreeNode<'_> {
    #[inline]
    fn side(&self, v: u32) -> u8 {
        side_of(self.labels[v as usize].load(Relaxed), self.node)
    }
    #[inline]
    fn put(&mut self, v: u32, side: u8) {
        // A vertex that comes to a side stands in the separator of that child: correct, if not yet best.
        let label = match side {
            SEPARATOR => self.node,
            side => 2 * self.node + u32::from(side),
        };
        self.restore(v, label);
    }
    #[inline]
    fn label(&self, v: u32) -> u32 {
        self.labels[v as usize].load(Relaxed)
    }
    #[inline]
    fn restore(&mut self, v: u32, label: u32) {
        let own = u64::from(self.weights[v as usize]);
        let (from, to) = (
            &self.label_weights[self.label(v) as usize],
            &self.label_weights[label as usize],
        );
        from.set(from.get() - own);
        to.set(to.get() + own);
        self.labels[v as usize].store(label, Relaxed);
    }
    #[inline]
    fn slot(&self, v: u32) -> u32 {
        self.slots[v as usize].load(Relaxed)
    }
    #[inline]
    fn set_slot(&mut self, v: u32, slot: u32) {
        self.slots[v as usize].store(slot, Relaxed);
    }
}

/// Side of tree node `node` on which a vertex labeled `label` stands.
#[inline]
pub(crate) fn side_of(label: u32, node: u32) -> u8 {
    let (below, own) = (node.leading_zeros(), label.leading_zeros());
    if own > below {
        return OUTSIDE;
    }
    let steps = below - own;
    if label >> steps != node {
        OUTSIDE
    } else if steps == 0 {
        SEPARATOR
    } else {
        (label >> (steps - 1) & 1) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_in_the_tree() {
        assert_eq!(side_of(5, 5), SEPARATOR);
        assert_eq!((side_of(10, 5), side_of(11, 5)), (0, 1));
        assert_eq!((side_of(21, 5), side_of(22, 5)), (0, 1));
        for other in [1, 2, 4, 3, 6, 12, 9, 18] {
            assert_eq!(side_of(other, 5), OUTSIDE, "{other}");
        }
        assert_eq!((side_of(2, 1), side_of(7, 1)), (0, 1));
    }
}
