//! Fundamental supernodes (Liu, Ng, Peyton 1993).
//!
//! Column `j` continues the supernode of `j - 1` if `j - 1` is its only child and `L` has the same
//! rows below both, which the counts tell: the rows of a child are among those of its parent. The
//! partition depends on the tree alone, not on which postorder is taken. Linear in `n`.

use crate::factor::NONE;
use crate::postorder::Postordered;

/// A forest of supernodes in postorder, each a range of nodes.
pub(crate) struct SuperForest {
    /// First node of each, and their number; length `supernodes + 1`.
    pub ptr: Vec<u32>,
    /// Parent of each, or `NONE`.
    pub parent: Vec<u32>,
    /// Columns of each.
    pub npiv: Vec<u32>,
    /// Rows below the diagonal block of each.
    pub nupd: Vec<u32>,
}

impl SuperForest {
    /// Finds the fundamental supernodes of a postordered elimination forest; `count` has the entries of the first
    /// column of each node.
    pub fn fundamental(tree: &Postordered, count: &[u32]) -> Self {
        let n = tree.len();
        let mut ptr = Vec::new();
        let mut owner = vec![0u32; n];
        for j in 0..n {
            // The only child, which has all other nodes of the subtree.
            let continues = j > 0
                && tree.size[j] == tree.size[j - 1] + 1
                && count[j - 1] == count[j] + tree.weight(j - 1);
            if !continues {
                ptr.push(j as u32);
            }
            owner[j] = ptr.len() as u32 - 1;
        }
        ptr.push(n as u32);
        let supernodes = ptr.len() - 1;
        let mut out = Self {
            parent: Vec::with_capacity(supernodes),
            npiv: Vec::with_capacity(supernodes),
            nupd: Vec::with_capacity(supernodes),
            ptr,
        };
        for s in 0..supernodes {
            let (first, last) = (out.ptr[s] as usize, out.ptr[s + 1] as usize - 1);
            let nupd = count[last] - tree.weight(last);
            out.npiv.push(count[first] - nupd);
            out.nupd.push(nupd);
            out.parent.push(match tree.parent[last] {
                NONE => NONE,
                p => owner[p as usize],
            });
        }
        out
    }

    /// Number of supernodes.
    pub fn len(&self) -> usize {
        self.parent.len()
    }
}
