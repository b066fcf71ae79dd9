//! Views: parts of device buffers, which the launchers take.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::{DeviceBuffer, DevicePtr, Element, GpuError};

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

impl<'a, T: Element> DeviceView<'a, T> {
    /// The same memory as elements of another type: as many as fit, from the first address on that is a multiple of their size.
    #[must_use]
    pub fn cast<U: Element>(self) -> DeviceView<'a, U> {
        let (ptr, len) = cast(self.ptr, self.len);
        DeviceView::new(ptr, len)
    }
}

impl<'a, T: Element> DeviceViewMut<'a, T> {
    /// As [`DeviceView::cast`].
    #[must_use]
    pub fn cast<U: Element>(self) -> DeviceViewMut<'a, U> {
        let (ptr, len) = cast(self.ptr, self.len);
        DeviceViewMut::new(ptr, len)
    }
}

/// `len` elements as those of another type.
fn cast<T, U>(ptr: DevicePtr<T>, len: usize) -> (DevicePtr<U>, usize) {
    let size = size_of::<U>().max(1) as u64;
    let end = ptr.address() + (len * size_of::<T>()) as u64;
    let begin = ptr.address().next_multiple_of(size);
    let count = end.saturating_sub(begin) / size;
    (DevicePtr::from_address(begin), count as usize)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_as_that_of_another_type() {
        for (address, len, begin, count) in [
            (256, 8, 256, 4),
            (260, 8, 264, 3),
            (260, 1, 264, 0),
            (256, 0, 256, 0),
            (256, 7, 256, 3),
        ] {
            let view: DeviceView<'_, f32> = DeviceView::new(DevicePtr::from_address(address), len);
            let wide = view.cast::<f64>();
            assert_eq!((wide.ptr().address(), wide.len()), (begin, count));
        }
    }
}
