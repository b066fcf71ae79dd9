//! Linear elasticity on a box of `mx × my × mz` unit bricks, Poisson's ratio 0.3, face x = 0 fixed.
//!
//! Free nodes have x in `1..=mx`, y in `0..=my`, z in `0..=mz`; unknown
//! `3·((z·(my + 1) + y)·mx + (x − 1)) + direction`. All bricks are alike, so the 3 × 3 block that
//! couples two nodes depends only on their offset and on which of the 8 bricks around the row's
//! node exist: the blocks are added up once, and columns are copied out of that table.

use super::ModelError;
use super::columns::Columns;
use super::grid::{each_cell, neighbors};
use super::hex8::{CORNERS, stiffness};
use crate::{Scalar, SymmetricCsc};

/// Couples a node (row) with one of its 27 neighbors (column).
type Block = [[f64; 3]; 3];

/// For each set of existing bricks around the row's node (bits: after in x, y, z; before in
/// x, y, z), for each offset `9·(dz + 1) + 3·(dy + 1) + dx + 1` of the column's node.
fn block_table() -> Vec<[Block; 27]> {
    let k = stiffness(0.3);
    let mut table = vec![[Block::default(); 27]; 64];
    for (present, blocks) in table.iter_mut().enumerate() {
        for (a, corner) in CORNERS.iter().enumerate() {
            // The brick that has the node at this corner lies before it where the corner is 1.
            let exists = (0..3).all(|axis| present >> (axis + 3 * corner[axis]) & 1 == 1);
            if !exists {
                continue;
            }
            for (b, other) in CORNERS.iter().enumerate() {
                let step = |axis: usize| other[axis] + 1 - corner[axis];
                let block = &mut blocks[9 * step(2) + 3 * step(1) + step(0)];
                for (i, row) in block.iter_mut().enumerate() {
                    for (j, entry) in row.iter_mut().enumerate() {
                        *entry += k[3 * a + i][3 * b + j];
                    }
                }
            }
        }
    }
    table
}

/// The stiffness matrix; every entry is summed as its row's node sees the bricks.
pub(super) fn cube<T: Scalar>(bricks: [usize; 3]) -> Result<SymmetricCsc<T>, ModelError> {
    let nodes = [bricks[0], bricks[1] + 1, bricks[2] + 1];
    let n = 3 * nodes.iter().product::<usize>();
    let pairs: u128 = nodes.iter().map(|m| 3 * *m as u128 - 2).product();
    let mut out = Columns::new(n, (9 * pairs + n as u128) / 2)?;
    let table = block_table();
    let present = |at: [usize; 3]| {
        // x counts free nodes: node 0 is at x = 1, a brick before it always exists.
        let after = [at[0] + 1 < nodes[0], at[1] < bricks[1], at[2] < bricks[2]];
        let before = [true, at[1] > 0, at[2] > 0];
        (0..3).fold(0, |bits, a| {
            bits | usize::from(after[a]) << a | usize::from(before[a]) << (a + 3)
        })
    };
    let mut below: Vec<(usize, &Block)> = Vec::with_capacity(14);
    each_cell(nodes, |at, column| {
        below.clear();
        below.extend(neighbors(at, nodes).filter_map(|there| {
            let row = (there[2] * nodes[1] + there[1]) * nodes[0] + there[0];
            let step = |axis: usize| at[axis] + 1 - there[axis];
            let offset = || 9 * step(2) + 3 * step(1) + step(0);
            (row >= column).then(|| (row, &table[present(there)][offset()]))
        }));
        for j in 0..3 {
            for &(row, block) in &below {
                let first = if row == column { j } else { 0 };
                for (i, entries) in block.iter().enumerate().skip(first) {
                    out.push(3 * row + i, entries[j]);
                }
            }
            out.end();
        }
    });
    out.finish()
}
