//! Where every update matrix stands, found by walking the tree once without numbers.
//!
//! A subtree that one thread walks in postorder keeps its update matrices on a stack with two ends:
//! fronts at even depth push on the left end, fronts at odd depth on the right. The children of a
//! front are then together on top of one end while the front's own matrix is made on the other, so
//! nothing is ever moved and the peak is exactly the largest sum of live matrices: the classical
//! multifrontal stack (Duff and Reid 1983) without its compaction. Proof that each end is a stack:
//! what lies on the left below a front's matrix belongs to earlier siblings of it and of its
//! even-depth ancestors, all of which are needed later than it.
//!
//! The matrices of subtree roots and of the fronts above them outlive a subtree; they share an area
//! whose free list is simulated in the order of the walk, first fit.

use std::collections::BTreeMap;

use tamarack_dense::BlockColumns;
use tamarack_symbolic::SymbolicFactor;

use crate::plan::UpdatePlace;

/// Places of all update matrices, in numbers.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// One for each supernode.
    pub update: Vec<UpdatePlace>,
    /// Length of one thread's stack.
    pub stack_len: u64,
    /// Where the first stack begins; the part before it holds the subtree roots' matrices.
    pub stacks_from: u64,
    /// Length of the whole work area.
    pub work_len: u64,
}

/// Lays out the update matrices for `threads` stacks; `subtrees` are roots, `top` is in postorder.
pub(crate) fn lay_out(
    symbolic: &SymbolicFactor,
    block: usize,
    first_of: impl Fn(u32) -> u32,
    subtrees: &[u32],
    top: &[u32],
    threads: usize,
) -> Places {
    let len = |s: usize| update_len(symbolic.nupd(s), block);
    let mut update = vec![UpdatePlace::None; symbolic.supernodes()];
    let mut stack_len = 0;
    let mut area = FreeList::default();
    for &root in subtrees {
        stack_len = stack_len.max(walk_subtree(
            symbolic,
            first_of(root),
            root,
            &len,
            &mut update,
        ));
        if len(root as usize) > 0 {
            update[root as usize] = UpdatePlace::Shared(area.allocate(len(root as usize)));
        }
    }
    let stacks_from = area.end;
    // When the top is walked the stacks are empty, so their room serves it too.
    for &s in top {
        let s = s as usize;
        if len(s) > 0 {
            update[s] = UpdatePlace::Shared(area.allocate(len(s)));
        }
        for &c in symbolic.children(s) {
            if let UpdatePlace::Shared(at) = update[c as usize] {
                area.release(at, len(c as usize));
            }
        }
    }
    let work_len = area.end.max(stacks_from + threads as u64 * stack_len);
    Places {
        update,
        stack_len,
        stacks_from,
        work_len,
    }
}

/// Numbers kept for an update matrix.
fn update_len(nupd: usize, block: usize) -> u64 {
    BlockColumns::update(nupd, block).len() as u64
}

/// Places the matrices of one subtree, its root's excepted, and returns the stack they need.
fn walk_subtree(
    symbolic: &SymbolicFactor,
    first: u32,
    root: u32,
    len: &impl Fn(usize) -> u64,
    update: &mut [UpdatePlace],
) -> u64 {
    let (first, root) = (first as usize, root as usize);
    // Depth parity below the root; parents come after children, so walk downwards.
    let mut odd = vec![false; root - first + 1];
    for s in (first..root).rev() {
        if let Some(parent) = symbolic.parent(s) {
            odd[s - first] = !odd[parent - first];
        }
    }
    let mut used = [0u64; 2];
    let mut peak = 0;
    for s in first..=root {
        let side = usize::from(odd[s - first]);
        if s != root {
            update[s] = match len(s) {
                0 => UpdatePlace::None,
                _ if side == 0 => UpdatePlace::Left(used[0]),
                own => UpdatePlace::Right(used[1] + own),
            };
            used[side] += len(s);
        }
        peak = peak.max(used[0] + used[1]);
        let children: u64 = symbolic.children(s).iter().map(|&c| len(c as usize)).sum();
        used[1 - side] -= children;
    }
    peak
}

/// Free parts of an area that grows as needed.
#[derive(Debug, Default)]
struct FreeList {
    /// Offset to length, never adjacent.
    free: BTreeMap<u64, u64>,
    end: u64,
}

impl FreeList {
    fn allocate(&mut self, len: u64) -> u64 {
        let found = self
            .free
            .iter()
            .find(|&(_, &free)| free >= len)
            .map(|(&at, &free)| (at, free));
        if let Some((at, free)) = found {
            self.free.remove(&at);
            if free > len {
                self.free.insert(at + len, free - len);
            }
            return at;
        }
        // Grow, beginning in the last free part where it reaches the end.
        let last = self.free.last_key_value().map(|(&at, &free)| (at, free));
        let at = match last {
            Some((at, free)) if at + free == self.end => {
                self.free.remove(&at);
                at
            }
            _ => self.end,
        };
        self.end = at + len;
        at
    }

    fn release(&mut self, at: u64, len: u64) {
        let mut start = at;
        let mut stop = at + len;
        let before = self.free.range(..at).next_back().map(|(&a, &l)| (a, l));
        if let Some((a, l)) = before
            && a + l == at
        {
            self.free.remove(&a);
            start = a;
        }
        if let Some(l) = self.free.remove(&stop) {
            stop += l;
        }
        self.free.insert(start, stop - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_parts_join_again() {
        let mut list = FreeList::default();
        let (a, b, c) = (list.allocate(10), list.allocate(20), list.allocate(5));
        assert_eq!((a, b, c, list.end), (0, 10, 30, 35));
        list.release(a, 10);
        list.release(b, 20);
        assert_eq!(list.allocate(30), 0);
        list.release(0, 30);
        list.release(c, 5);
        assert_eq!(list.free.len(), 1);
        assert_eq!(list.allocate(50), 0);
        assert_eq!(list.end, 50);
    }
}
