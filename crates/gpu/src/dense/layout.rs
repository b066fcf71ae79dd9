//! Where matrices stand in an arena: packed block columns, or plain columns.
//!
//! Packed block columns of a symmetric matrix, or of a trapezoid of `height` rows: block column `b` holds
//! columns `128 b ..` and the rows from `128 b` on, column-major with leading dimension
//! `height − 128 b`; block columns stand one behind the other. Half the memory of a square, and every
//! product off the diagonal is still one with a leading dimension.

use super::{Real, shape};
use crate::GpuError;

/// Elements in 16 bytes, to which all columns are aligned: 2 of f64, 4 of f32.
#[must_use]
pub const fn grain<T: Real>() -> u32 {
    16 / size_of::<T>() as u32
}

/// Columns of a block column. 128 is the larger tile of the kernels; with 64 a front of order 300 would
/// take 10 % less memory and a step of the factorization twice as many block columns.
pub const BLOCK: u32 = 128;

/// A matrix in an arena. Some lower rows of a taller packed matrix are a packed matrix of the same height, with
/// the place of the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Where entry (0, 0) stands, in elements; a multiple of [`grain`].
    pub at: u64,
    /// Stored height: the leading dimension of the first columns, at least the number of rows; a multiple
    /// of [`grain`].
    pub height: u32,
    /// Packed block columns rather than plain columns.
    pub packed: bool,
}

impl Placed {
    /// A plain column-major matrix.
    #[must_use]
    pub const fn plain(at: u64, height: u32) -> Self {
        let packed = false;
        Self { at, height, packed }
    }

    /// Packed block columns.
    #[must_use]
    pub const fn packed(at: u64, height: u32) -> Self {
        let packed = true;
        Self { at, height, packed }
    }

    /// Where entry (`row`, `column`) stands; for packed block columns at or below its block column's
    /// diagonal block, `row ≥ column − column mod 128`. Wraps where the arena could not be addressed.
    #[must_use]
    pub const fn index(&self, row: u32, column: u32) -> u64 {
        let (height, block) = (self.height as u64, BLOCK as u64);
        let b = (column / BLOCK) as u64;
        let (top, first) = if self.packed {
            let triangle = b * b.saturating_sub(1) / 2;
            (b * block, block.wrapping_mul(b * height - block * triangle))
        } else {
            (0, (b * block).wrapping_mul(height))
        };
        let inside = (column as u64 - b * block) * (height - top);
        self.at
            .wrapping_add(first)
            .wrapping_add(inside)
            .wrapping_add(row as u64 - top)
    }

    /// Elements from `at` on that `columns` columns take, the gaps of the last included.
    #[must_use]
    pub const fn len(&self, columns: u32) -> u64 {
        if columns == 0 {
            return 0;
        }
        let last = Self { at: 0, ..*self };
        last.index(self.height - 1, columns - 1) + 1
    }

    /// Checks alignment and that `rows` × `columns` fit the stored height; returns the end in the arena.
    pub(crate) fn check<T: Real>(
        &self,
        what: &'static str,
        rows: u32,
        columns: u32,
    ) -> Result<u64, GpuError> {
        let grain = grain::<T>();
        if !self.at.is_multiple_of(grain.into()) {
            let what = "place of a matrix, which must be a multiple of 16 bytes";
            return Err(shape(what, self.at, grain.into()));
        }
        if !self.height.is_multiple_of(grain) || self.height < rows {
            return Err(shape(what, rows.into(), self.height.into()));
        }
        if rows == 0 || columns == 0 {
            return Ok(0);
        }
        // The last block column must have rows of its own to stand in.
        if self.packed && (columns - 1) / BLOCK * BLOCK >= self.height {
            return Err(shape(what, columns.into(), self.height.into()));
        }
        let size = u64::from(self.height).checked_mul(columns.into());
        match size.and_then(|size| size.checked_add(self.at)) {
            // rows are read 16 bytes at a time
            Some(_) => Ok((self.index(rows - 1, columns - 1) + 1).next_multiple_of(grain.into())),
            None => Err(shape(what, columns.into(), u64::MAX)),
        }
    }
}
