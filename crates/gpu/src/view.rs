//! Views: parts of device buffers, which the launchers take.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::{DeviceBuffer, DevicePtr, GpuError};

/// Part of a buffer, to be read.
pub struct DeviceView<'a, T> {
    ptr: DevicePtr<T>,
    len: usize,
    of: PhantomData<&'a T>,
}

impl<T> Clone for DeviceView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DeviceView<'_, T> {}

/// Part of a buffer, to be written.
pub struct DeviceViewMut<'a, T> {
    ptr: DevicePtr<T>,
    len: usize,
    of: PhantomData<&'a mut T>,
}

impl<'a, T> DeviceView<'a, T> {
    pub(crate) fn new(ptr: DevicePtr<T>, len: usize) -> Self {
        Self {
            ptr,
            len,
            of: PhantomData,
        }
    }

    /// The address of the first element, for kernel arguments.
    #[must_use]
    pub fn ptr(&self) -> DevicePtr<T> {
        self.ptr
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements of `range`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a range beyond the end.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceView<'a, T>, GpuError> {
        let (start, len) = resolve(range, self.len)?;
        Ok(DeviceView::new(self.ptr.add(start as u64), len))
    }
}

impl<T> DeviceViewMut<'_, T> {
    pub(crate) fn new(ptr: DevicePtr<T>, len: usize) -> Self {
        Self {
            ptr,
            len,
            of: PhantomData,
        }
    }

    /// The address of the first element, for kernel arguments.
    #[must_use]
    pub fn ptr(&self) -> DevicePtr<T> {
        self.ptr
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same elements, to be read.
    #[must_use]
    pub fn view(&self) -> DeviceView<'_, T> {
        DeviceView::new(self.ptr, self.len)
    }

    /// The same elements, borrowed for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.ptr, self.len)
    }

    /// The elements of `range`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a range beyond the end.
    pub fn slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<DeviceViewMut<'_, T>, GpuError> {
        let (start, len) = resolve(range, self.len)?;
        Ok(DeviceViewMut::new(self.ptr.add(start as u64), len))
    }

    /// The first `at` elements and the rest.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a point beyond the end.
    pub fn split_at(self, at: usize) -> Result<(Self, Self), GpuError> {
        let (_, len) = resolve(at.., self.len)?;
        let rest = DeviceViewMut::new(self.ptr.add(at as u64), len);
        Ok((DeviceViewMut::new(self.ptr, at), rest))
    }
}

impl<'a, T> From<&'a DeviceBuffer<T>> for DeviceView<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.view()
    }
}

impl<'a, T> From<&'a mut DeviceBuffer<T>> for DeviceViewMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.view_mut()
    }
}

/// Start and length of `range` in `len` elements.
pub(crate) fn resolve(
    range: impl RangeBounds<usize>,
    len: usize,
) -> Result<(usize, usize), GpuError> {
    let start = match range.start_bound() {
        Bound::Included(&s) => s,
        Bound::Excluded(&s) => s.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&e) => e.saturating_add(1),
        Bound::Excluded(&e) => e,
        Bound::Unbounded => len,
    };
    if start > end || end > len {
        return Err(GpuError::Shape {
            what: "a range of device memory",
            got: start.max(end) as u64,
            have: len as u64,
        });
    }
    Ok((start, end - start))
}
