//! Fundamental supernodes (Liu, Ng, Peyton 1993).
//!
//! Column `j` continues the supernode of `j - 1` if `j - 1` is its only child and `L` has the same
//! rows below both, which the counts tell: the rows of a child are among those of its parent. The
//! partition depends on the tree alone, not on which postorder is taken. Linear in `n`.

use crate::factor::NONE;

/// A forest of supernodes in postorder, each a range of columns.
pub(crate) struct SuperForest {
    /// First column of each, and n; length `supernodes + 1`.
    pub ptr: Vec<u32>,
    /// Parent of each, or `NONE`.
    pub parent: Vec<u32>,
    /// Rows below the diagonal block of each.
    pub nupd: Vec<u32>,
}

impl SuperForest {
    /// Finds the fundamental supernodes of a postordered elimination forest.
    pub fn fundamental(parent: &[u32], count: &[u32]) -> Self {
        let n = parent.len();
        let mut children = vec![0u32; n];
        for &p in parent {
            if p != NONE {
                children[p as usize] += 1;
            }
        }
        let mut ptr = Vec::new();
        let mut owner = vec![0u32; n];
        for j in 0..n {
            let continues = j > 0
                && parent[j - 1] == j as u32
                && children[j] == 1
                && count[j - 1] == count[j] + 1;
            if !continues {
                ptr.push(j as u32);
            }
            owner[j] = ptr.len() as u32 - 1;
        }
        ptr.push(n as u32);
        let last = |s: usize| ptr[s + 1] as usize - 1;
        let supernodes = ptr.len() - 1;
        let nupd = (0..supernodes).map(|s| count[last(s)] - 1).collect();
        let parent = (0..supernodes)
            .map(|s| match parent[last(s)] {
                NONE => NONE,
                p => owner[p as usize],
            })
            .collect();
        Self { ptr, parent, nupd }
    }

    /// Number of supernodes.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Number of columns of supernode `s`.
    pub fn npiv(&self, s: usize) -> u32 {
        self.ptr[s + 1] - self.ptr[s]
    }
}
