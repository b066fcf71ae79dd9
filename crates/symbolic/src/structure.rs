//! Row structures of the supernodes, relative indices and the entry map, in one sweep over rows.
//!
//! Row `i` of `L` is a subtree of the assembly tree whose root owns column `i`: starting from the
//! supernode of each entry `(i, j)` of A and climbing until a node that has `i` already reaches
//! every supernode with row `i` once (Liu 1990). Rows are visited in increasing order, so every
//! structure, and the entries of every column, come out sorted without being sorted. On the way the
//! position of `i` in a node's front and in its parent's front are both known, which gives the relative
//! indices and the entry map for nothing. Linear in `nnz(A)` and the number of rows written.

use tamarack_sparse::{Pattern, Permutation};

use crate::assembly::Assembly;
use crate::factor::NONE;
use crate::permuted::LowerRows;

/// What the sweep produces; see the fields of the same names in `SymbolicFactor`.
pub(crate) struct Structure {
    pub row_ptr: Vec<u64>,
    pub rows: Vec<u32>,
    pub relative: Vec<u32>,
    pub entry_ptr: Vec<u64>,
    pub entry_src: Vec<u32>,
    pub entry_src_high: Vec<u32>,
    pub entry_row: Vec<u32>,
}

/// A supernode during the sweep.
#[derive(Clone, Copy)]
struct Node {
    /// Where its next row goes in `rows`.
    cursor: u64,
    /// `cursor - base` is the position in the front of the row written last (modulo 2^64).
    base: u64,
    parent: u32,
    /// Last row that it was found to have.
    mark: u32,
}

impl Node {
    /// Position in the front of the row written last.
    fn position(&self) -> u32 {
        self.cursor.wrapping_sub(self.base) as u32
    }
}

/// The tree under construction.
struct Sweep {
    nodes: Vec<Node>,
    rows: Vec<u32>,
    relative: Vec<u32>,
}

impl Sweep {
    /// Gives row `i` to `s` and those above it that lack it, up to the owner, where the row
    /// has position `in_owner`; the owner is marked beforehand.
    fn climb(&mut self, s: u32, i: u32, owner: u32, in_owner: u32) {
        let mut at = s;
        while self.nodes[at as usize].mark != i {
            let node = &mut self.nodes[at as usize];
            node.mark = i;
            let slot = node.cursor as usize;
            node.cursor += 1;
            let up = node.parent;
            self.rows[slot] = i;
            let above = &self.nodes[up as usize];
            self.relative[slot] = if up == owner {
                in_owner
            } else {
                // A node that lacks the row gets it next, one past the last.
                above.position() + u32::from(above.mark != i)
            };
            at = up;
        }
    }
}

impl Structure {
    /// Sweeps over the rows of the permuted matrix. `label` takes the order of `lower` to the
    /// final one, `permutation` the user's; `buffer` is overwritten and
    /// kept (memory that was touched before is cheaper than new pages).
    pub fn new(
        pattern: &Pattern,
        lower: &LowerRows,
        label: &[u32],
        permutation: &Permutation,
        assembly: &Assembly,
        buffer: Vec<u32>,
    ) -> Self {
        let n = lower.n();
        let owner = owners(&assembly.super_ptr);
        // Final column and supernode of every column of `lower`, side by side.
        let home: Vec<(u32, u32)> = label.iter().map(|&j| (j, owner[j as usize])).collect();
        let mut old = vec![0u32; n];
        for (k, &j) in label.iter().enumerate() {
            old[j as usize] = k as u32;
        }
        let (row_ptr, nodes) = empty_nodes(assembly);
        let total = row_ptr[row_ptr.len() - 1] as usize;
        let mut sweep = Sweep {
            nodes,
            rows: vec![0; total],
            relative: vec![0; total],
        };
        let (entry_ptr, mut next) = entry_offsets(lower, label);
        let nnz = pattern.nnz_lower() as usize;
        let wide = pattern.nnz_lower() > u64::from(u32::MAX);
        let mut entry_src = vec![0u32; nnz];
        let mut entry_src_high = vec![0u32; if wide { nnz } else { 0 }];
        let mut write_src = |slot: usize, src: u64| {
            entry_src[slot] = src as u32;
            if wide {
                entry_src_high[slot] = (src >> 32) as u32;
            }
        };
        let mut entry_row = buffer;
        entry_row.resize(nnz, 0);
        for i in 0..n {
            let s = owner[i];
            let in_owner = i as u32 - assembly.super_ptr[s as usize];
            sweep.nodes[s as usize].mark = i as u32;
            let slot = next[i] as usize;
            next[i] += 1;
            let user = permutation.user_of_elim()[i] as usize;
            write_src(slot, pattern.col_ptr()[user]);
            entry_row[slot] = in_owner;
            for (column, src) in lower.row_with_src(old[i] as usize) {
                let (j, t) = home[column as usize];
                let position = if t == s {
                    in_owner
                } else {
                    sweep.climb(t, i as u32, s, in_owner);
                    sweep.nodes[t as usize].position()
                };
                let slot = next[j as usize] as usize;
                next[j as usize] += 1;
                write_src(slot, src);
                entry_row[slot] = position;
            }
        }
        Self {
            row_ptr,
            rows: sweep.rows,
            relative: sweep.relative,
            entry_ptr,
            entry_src,
            entry_src_high,
            entry_row,
        }
    }
}

/// Supernode of every column.
pub(crate) fn owners(super_ptr: &[u32]) -> Vec<u32> {
    let n = super_ptr[super_ptr.len() - 1] as usize;
    let mut owner = vec![0u32; n];
    for (s, w) in super_ptr.windows(2).enumerate() {
        owner[w[0] as usize..w[1] as usize].fill(s as u32);
    }
    owner
}

/// Offsets of the row structures, and the nodes with none of their rows yet.
fn empty_nodes(assembly: &Assembly) -> (Vec<u64>, Vec<Node>) {
    let ns = assembly.parent.len();
    let mut row_ptr = Vec::with_capacity(ns + 1);
    let mut nodes = Vec::with_capacity(ns);
    let mut cursor = 0;
    for s in 0..ns {
        let npiv = u64::from(assembly.super_ptr[s + 1] - assembly.super_ptr[s]);
        row_ptr.push(cursor);
        nodes.push(Node {
            cursor,
            base: (cursor + 1).wrapping_sub(npiv),
            parent: assembly.parent[s],
            mark: NONE,
        });
        cursor += u64::from(assembly.nupd[s]);
    }
    row_ptr.push(cursor);
    (row_ptr, nodes)
}

/// Offsets of the columns of the entry map, length `n + 1`, and where each column's first entry goes.
fn entry_offsets(lower: &LowerRows, label: &[u32]) -> (Vec<u64>, Vec<u64>) {
    let n = lower.n();
    let mut ptr = vec![1u64; n + 1];
    ptr[n] = 0;
    for column in lower.all_columns() {
        ptr[label[column as usize] as usize] += 1;
    }
    let mut sum = 0;
    for p in &mut ptr {
        sum += std::mem::replace(p, sum);
    }
    let next = ptr.clone();
    (ptr, next)
}
