//! The one storage layout of factor panels and update matrices.

/// Packed block columns: the lower trapezoid of `rows × cols` (`rows >= cols`), cut into block
/// columns of `block` columns each (the last may be narrower).
///
/// Block column `b` is a column-major rectangle that begins at its own diagonal: columns
/// `b·block ..`, rows `b·block .. rows`, leading dimension [`height(b)`](Self::height). Nothing is
/// kept above the diagonal blocks; within a diagonal block the strict upper triangle is storage
/// without meaning. The first `npiv` columns of a front (`rows = npiv + nupd`, `cols = npiv`) and
/// its update matrix (`rows = cols = nupd`) are both kept this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockColumns {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns, at most `rows`.
    pub cols: usize,
    /// Columns of a block column.
    pub block: usize,
}

impl BlockColumns {
    /// Layout of the factor panel of a front.
    #[inline]
    pub fn panel(npiv: usize, nupd: usize, block: usize) -> Self {
        Self {
            rows: npiv + nupd,
            cols: npiv,
            block,
        }
    }

    /// Layout of the update matrix of a front.
    #[inline]
    pub fn update(nupd: usize, block: usize) -> Self {
        Self {
            rows: nupd,
            cols: nupd,
            block,
        }
    }

    /// Number of block columns.
    #[inline]
    pub fn blocks(&self) -> usize {
        if self.cols <= self.block {
            return usize::from(self.cols > 0); // small fronts: no division
        }
        self.cols.div_ceil(self.block)
    }

    /// The block column that holds column `j`.
    #[inline]
    pub fn block_of(&self, j: usize) -> usize {
        // small fronts have one block, and a division takes as long as a microtile
        if j < self.block { 0 } else { j / self.block }
    }

    /// Columns of block column `b`.
    #[inline]
    pub fn width(&self, b: usize) -> usize {
        self.block.min(self.cols - b * self.block)
    }

    /// Rows of block column `b`, its leading dimension.
    #[inline]
    pub fn height(&self, b: usize) -> usize {
        self.rows - b * self.block
    }

    /// Where block column `b` begins, in numbers.
    #[inline]
    pub fn offset(&self, b: usize) -> usize {
        // Σ_{i<b} block·(rows − i·block)
        self.block * (b * self.rows - self.block * (b * b.saturating_sub(1) / 2))
    }

    /// Where entry `(i, j)` stands, `i >= j` or in the same diagonal block.
    #[inline]
    pub fn index(&self, i: usize, j: usize) -> usize {
        let b = self.block_of(j);
        let top = b * self.block;
        self.offset(b) + (j - top) * self.height(b) + (i - top)
    }

    /// Numbers in all.
    #[inline]
    pub fn len(&self) -> usize {
        match self.blocks() {
            0 => 0,
            n => self.offset(n - 1) + self.width(n - 1) * self.height(n - 1),
        }
    }

    /// Whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cols == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_its_own_place() {
        for (rows, cols, block) in [(0, 0, 4), (1, 1, 4), (9, 4, 4), (11, 9, 4), (13, 13, 5)] {
            let l = BlockColumns { rows, cols, block };
            let mut seen = vec![false; l.len()];
            for j in 0..cols {
                for i in j / block * block..rows {
                    assert!(!std::mem::replace(&mut seen[l.index(i, j)], true));
                }
            }
            assert!(seen.into_iter().all(|s| s), "{l:?} has holes");
        }
    }
}
