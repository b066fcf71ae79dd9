//! Column-major matrices in device memory: a view, its shape, and the distance of its columns.

use std::ops::Range;

use super::too_long;
use crate::{DeviceView, DeviceViewMut, GpuError};

/// A column-major matrix in device memory, to be read: entry (i, j) is element `i + j * ld`.
#[derive(Clone, Copy)]
pub struct MatrixView<'a, T> {
    pub(crate) data: DeviceView<'a, T>,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) ld: u64,
}

/// A column-major matrix in device memory, to be written.
pub struct MatrixViewMut<'a, T> {
    pub(crate) data: DeviceViewMut<'a, T>,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) ld: u64,
}

/// Elements from the first entry to past the last.
fn span(rows: u32, columns: u32, ld: usize) -> Result<u64, GpuError> {
    if ld < rows as usize {
        return Err(too_long(
            "leading dimension of a matrix",
            u64::from(rows),
            ld as u64,
        ));
    }
    if rows == 0 || columns == 0 {
        return Ok(0);
    }
    (ld as u64)
        .checked_mul(u64::from(columns - 1))
        .and_then(|before| before.checked_add(u64::from(rows)))
        .ok_or_else(|| too_long("entries of a matrix", u64::MAX, i64::MAX as u64))
}

/// The leading dimension, if a matrix with it fits into `len` elements.
fn fitting(rows: u32, columns: u32, ld: usize, len: usize) -> Result<u64, GpuError> {
    let span = span(rows, columns, ld)?;
    if span > len as u64 {
        return Err(too_long("entries of a matrix", span, len as u64));
    }
    Ok(ld as u64)
}

impl<'a, T> MatrixView<'a, T> {
    /// `rows × columns` entries of `data`, columns `ld >= rows` elements apart.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where the last entry is past the end, or `ld` is too small.
    pub fn new(
        data: impl Into<DeviceView<'a, T>>,
        rows: u32,
        columns: u32,
        ld: usize,
    ) -> Result<Self, GpuError> {
        let data = data.into();
        let ld = fitting(rows, columns, ld, data.len())?;
        Ok(Self {
            data,
            rows,
            columns,
            ld,
        })
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Elements from the first entry on, at least to the last.
    #[must_use]
    pub fn data(&self) -> DeviceView<'a, T> {
        self.data
    }

    /// Whether each column begins where the one before it ends.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.ld == u64::from(self.rows)
    }

    /// The elements of some columns, from the first of the first to the last of the last, with what is between columns.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for columns beyond the last.
    pub fn part(&self, columns: Range<u32>) -> Result<DeviceView<'a, T>, GpuError> {
        let (start, end) = (columns.start, columns.end);
        if end > self.columns || start > end {
            let (got, have) = (end.max(start).into(), self.columns.into());
            return Err(too_long("columns of a matrix", got, have));
        }
        if start == end || self.rows == 0 {
            return self.data.slice(..0);
        }
        // Below the length of the data, as `new` checked.
        let [first, last] = [start, end - 1].map(|j| u64::from(j) * self.ld);
        let past = last + u64::from(self.rows);
        self.data.slice(first as usize..past as usize)
    }
}

impl<'a, T> MatrixViewMut<'a, T> {
    /// `rows × columns` entries of `data`, columns `ld >= rows` elements apart.
    ///
    /// # Errors
    /// [`GpuError::Shape`] where the last entry is past the end, or `ld` is too small.
    pub fn new(
        data: impl Into<DeviceViewMut<'a, T>>,
        rows: u32,
        columns: u32,
        ld: usize,
    ) -> Result<Self, GpuError> {
        let data = data.into();
        let ld = fitting(rows, columns, ld, data.len())?;
        Ok(Self {
            data,
            rows,
            columns,
            ld,
        })
    }

    /// The same matrix, to be read.
    #[must_use]
    pub fn view(&self) -> MatrixView<'_, T> {
        MatrixView {
            data: self.data.view(),
            rows: self.rows,
            columns: self.columns,
            ld: self.ld,
        }
    }

    /// The same matrix, borrowed for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> MatrixViewMut<'_, T> {
        MatrixViewMut {
            data: self.data.reborrow(),
            rows: self.rows,
            columns: self.columns,
            ld: self.ld,
        }
    }

    /// The elements of some columns as of [`MatrixView::part`], to be written.
    ///
    /// # Errors
    /// As there.
    pub fn part_mut(&mut self, columns: Range<u32>) -> Result<DeviceViewMut<'_, T>, GpuError> {
        let part = self.view().part(columns)?;
        Ok(DeviceViewMut::new(part.ptr(), part.len()))
    }
}
