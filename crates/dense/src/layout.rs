//! Storage of factor panels and update matrices: [`BlockColumns`] while a front is worked on, and for
//! good where it is large; [`Strips`] for the final panels of small fronts.

use crate::Real;

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
            1 => self.cols * self.rows, // small fronts: soon known
            n => self.offset(n - 1) + self.width(n - 1) * self.height(n - 1),
        }
    }

    /// Whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cols == 0
    }
}

/// Columns of a strip: those that substitution takes together.
pub const STRIP: usize = 8;

/// Order up to which a final panel is kept in strips: one that is in the second-level cache as a whole when it becomes final,
/// so that writing it anew costs no traffic. The panels of larger fronts are read nearly at the machine's rate as they are.
const STRIPS_ORDER: usize = 256;

/// Bytes of a column of a tile: a line of the caches, a vector of the largest instruction set.
pub(crate) const TILE_BYTES: usize = 64;

/// Numbers of a line of the caches, the rows of a tile.
pub(crate) const fn line<T>() -> usize {
    TILE_BYTES / size_of::<T>()
}

/// A final panel in the order in which substitution reads it: the lower trapezoid of `rows × cols`, nothing else,
/// in strips of 8 columns (the last may be narrower).
///
/// A strip is the triangle of its diagonal block, by columns, then the rows below that in tiles of [`tile`](Self::tile) rows
/// (the last may be shorter), each column-major.
///
/// With D the diagonal of L, a strip holds the columns of `L D⁻¹`, as in LDLᵀ, and in place of their unit diagonal `D⁻¹`:
/// substitution goes from pivot to pivot without a division. [`PanelLayout::entry`] has the entries of L.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns, at most `rows`.
    pub cols: usize,
    /// Rows of a tile.
    pub tile: usize,
}

/// One strip of [`Strips`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strip {
    /// Its first column.
    pub first: usize,
    /// Its columns.
    pub width: usize,
    /// Rows below its triangle.
    pub below: usize,
    /// Where its triangle begins.
    pub triangle: usize,
    /// Where its tiles begin.
    pub tiles: usize,
}

impl Strip {
    /// Numbers in all.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tiles - self.triangle + self.below * self.width
    }
}

impl Strips {
    /// Layout of the final panel of a front, of numbers of so many bytes.
    #[inline]
    pub fn panel(npiv: usize, nupd: usize, value_bytes: usize) -> Self {
        Self {
            rows: npiv + nupd,
            cols: npiv,
            tile: TILE_BYTES / value_bytes,
        }
    }

    /// Whether that is the layout of the final panel of a front.
    #[inline]
    pub fn are_for(npiv: usize, nupd: usize) -> bool {
        npiv <= STRIP || npiv + nupd <= STRIPS_ORDER
    }

    /// Number of strips.
    #[inline]
    pub fn count(&self) -> usize {
        self.cols.div_ceil(STRIP)
    }

    /// Strip `t`.
    #[inline(always)]
    pub(crate) fn strip(&self, t: usize) -> Strip {
        let first = t * STRIP;
        let width = STRIP.min(self.cols - first);
        let triangle = self.before(first);
        Strip {
            first,
            width,
            below: self.rows - first - width,
            triangle,
            tiles: triangle + width * (width + 1) / 2,
        }
    }

    /// Numbers of the first `j` columns.
    #[inline(always)]
    fn before(&self, j: usize) -> usize {
        j * self.rows - j * j.saturating_sub(1) / 2
    }

    /// Where entry `(i, j)` stands, `i >= j`.
    #[inline]
    pub fn index(&self, i: usize, j: usize) -> usize {
        let strip = self.strip(j / STRIP);
        let (i, j) = (i - strip.first, j - strip.first);
        let Some(below) = i.checked_sub(strip.width) else {
            return strip.triangle + packed(strip.width)(i, j);
        };
        let top = below / self.tile * self.tile;
        let height = self.tile.min(strip.below - top);
        strip.tiles + top * strip.width + j * height + (below - top)
    }

    /// Numbers in all.
    #[inline]
    pub fn len(&self) -> usize {
        self.before(self.cols)
    }

    /// Whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cols == 0
    }
}

/// Places of the entries `(i, j)` of a triangle of order `n` that is kept by columns.
#[inline(always)]
pub(crate) fn packed(n: usize) -> impl Fn(usize, usize) -> usize + Copy {
    move |i, j| i + j * n - j * (j + 1) / 2
}

/// Places of the entries `(i, j)` of a matrix with columns this far from each other.
#[inline(always)]
pub(crate) fn by_columns(ld: usize) -> impl Fn(usize, usize) -> usize + Copy {
    move |i, j| i + j * ld
}

/// Layout of a final factor panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelLayout {
    /// Of a small front.
    Strips(Strips),
    /// Of a large one.
    Blocks(BlockColumns),
}

impl PanelLayout {
    /// Layout of the final panel of a front with block columns of `block`, of numbers of so many bytes.
    #[inline]
    pub fn new(npiv: usize, nupd: usize, block: usize, value_bytes: usize) -> Self {
        if Strips::are_for(npiv, nupd) {
            Self::Strips(Strips::panel(npiv, nupd, value_bytes))
        } else {
            Self::Blocks(BlockColumns::panel(npiv, nupd, block))
        }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        match self {
            Self::Strips(l) => l.rows,
            Self::Blocks(l) => l.rows,
        }
    }

    /// Number of columns.
    #[inline]
    pub fn cols(&self) -> usize {
        match self {
            Self::Strips(l) => l.cols,
            Self::Blocks(l) => l.cols,
        }
    }

    /// Where entry `(i, j)` stands, `i >= j`; [`Strips`] say what is there.
    #[inline]
    pub fn index(&self, i: usize, j: usize) -> usize {
        match self {
            Self::Strips(l) => l.index(i, j),
            Self::Blocks(l) => l.index(i, j),
        }
    }

    /// Entry `(i, j)` of L, `i >= j`, from a final panel in this layout. Rows and columns count from the front's first pivot;
    /// in [`Strips`] the entry is a product, so it may differ by rounding from the one that was computed.
    ///
    /// # Panics
    /// If `panel` is shorter than the layout.
    #[inline]
    pub fn entry<T: Real>(&self, panel: &[T], i: usize, j: usize) -> T {
        match self {
            Self::Blocks(l) => panel[l.index(i, j)],
            Self::Strips(l) => {
                let root = T::ONE / panel[l.index(j, j)];
                if i == j {
                    root
                } else {
                    root * panel[l.index(i, j)]
                }
            }
        }
    }

    /// Numbers in all.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Strips(l) => l.len(),
            Self::Blocks(l) => l.len(),
        }
    }

    /// Whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cols() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_hold_the_trapezoid_and_nothing_else() {
        for (npiv, nupd) in [(0, 3), (1, 0), (3, 1), (8, 20), (9, 0), (21, 45), (64, 100)] {
            for value_bytes in [4, 8] {
                let l = Strips::panel(npiv, nupd, value_bytes);
                let entries = (0..npiv).flat_map(|j| (j..npiv + nupd).map(move |i| (i, j)));
                let mut places: Vec<usize> = entries.map(|(i, j)| l.index(i, j)).collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..l.len()), "{l:?}");
            }
        }
    }

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
