//! Sums over a supernode, over its columns, and over its subtree.

use crate::SymbolicFactor;
use crate::flops::{front_flops, trapezoid};
use crate::stack::{stack_peak, update_entries};

impl SymbolicFactor {
    /// Pivots and rows below them of every supernode, in order.
    pub fn front_sizes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let npiv = self.super_ptr.windows(2).map(|c| c[1] - c[0]);
        let nupd = self.row_ptr.windows(2).map(|r| r[1] - r[0]);
        npiv.zip(nupd)
            .map(|(npiv, nupd)| (npiv as usize, nupd as usize))
    }

    /// Entries kept of the columns of `s`, amalgamation's zeros included: a trapezoid.
    pub fn panel_entries(&self, s: usize) -> u64 {
        trapezoid(self.npiv(s) as u32, self.nupd(s) as u32)
    }

    /// Operations of eliminating the pivots of `s`: Σ over its columns of (stored entries)².
    pub fn front_flops(&self, s: usize) -> u128 {
        front_flops(self.npiv(s), self.nupd(s))
    }

    /// [`front_flops`](Self::front_flops) summed over the subtree of each supernode; length `supernodes`.
    pub fn subtree_flops(&self) -> Vec<u128> {
        let mut sums: Vec<u128> = (0..self.supernodes())
            .map(|s| self.front_flops(s))
            .collect();
        for s in 0..self.supernodes() {
            if let Some(p) = self.parent(s) {
                sums[p] += sums[s];
            }
        }
        sums
    }

    /// First supernode of the subtree of each supernode, which is the range from it to the
    /// supernode itself; length `supernodes`.
    pub fn subtree_first(&self) -> Vec<u32> {
        let mut first: Vec<u32> = (0..self.supernodes() as u32).collect();
        for s in 0..self.supernodes() {
            if let Some(p) = self.parent(s) {
                first[p] = first[p].min(first[s]);
            }
        }
        first
    }

    /// Most entries of update matrices that are live at once while the subtree of each supernode
    /// is factorized in order, counting lower triangles, and a front's own update matrix
    /// beside those of all its children (Liu 1986); length `supernodes`. 2^64 - 1 where it is more.
    pub fn subtree_stack_peak(&self) -> Vec<u64> {
        let mut peak = vec![0u64; self.supernodes()];
        let own = |s: usize| update_entries(self.nupd(s) as u32);
        for s in 0..self.supernodes() {
            let children = self.children(s).iter();
            let pairs = children.map(|&c| (own(c as usize), peak[c as usize]));
            peak[s] = stack_peak(pairs, own(s));
        }
        peak
    }

    /// The supernode that owns each column, elimination order; length n.
    pub fn supernode_of_column(&self) -> Vec<u32> {
        crate::structure::owners(&self.super_ptr)
    }

    /// The supernode that owns column `j` (elimination order, `0..n`); `O(log supernodes)`.
    pub fn owner(&self, j: usize) -> usize {
        self.super_ptr
            .partition_point(|&first| first as usize <= j)
            .saturating_sub(1)
    }

    /// Stored entries of column `j` (elimination order, `0..n`), the diagonal and amalgamation's zeros
    /// included.
    pub fn column_count(&self, j: usize) -> usize {
        let s = self.owner(j);
        self.columns(s).end - j + self.nupd(s)
    }

    /// Rows of column `j` of L (elimination order, `0..n`), increasing from the diagonal,
    /// amalgamation's zeros included.
    pub fn column_rows(&self, j: usize) -> impl Iterator<Item = u32> + '_ {
        let s = self.owner(j);
        (j as u32..self.columns(s).end as u32).chain(self.rows(s).iter().copied())
    }
}
