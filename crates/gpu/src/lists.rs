//! Lists that kernels go by, on their way to the device.
//!
//! A call of the driver takes some microseconds, and threads that call it at the same time wait for each other far longer. So
//! lists that belong together share a copy, small ones [an allocation](Gpu::alloc_list).

use crate::{DeviceBuffer, Element, Gpu, GpuError, Stream};

/// Lists from this size on go up on several threads.
const LARGE_BYTES: usize = 1 << 20;

/// Lists that are larger together go up one by one.
const TOGETHER_BYTES: usize = 256 << 10;

/// Lists that go up together begin at multiples of this many bytes.
const ALIGNMENT: usize = 256;

/// Slices that go up together: a tuple of two to five.
pub trait Lists: Sized {
    /// The same on the device.
    type OnDevice;

    #[doc(hidden)]
    fn upload(self, stream: &Stream, gpu: &Gpu) -> Result<Self::OnDevice, GpuError>;
}

impl Stream {
    /// A device copy of a list that kernels read, and waits for it: small ones share [allocations](Gpu::alloc_list), large ones go
    /// up [on several threads](Gpu::upload_with).
    ///
    /// # Errors
    /// As [`to_device`](Self::to_device).
    pub fn list<T: Element>(&self, gpu: &Gpu, from: &[T]) -> Result<DeviceBuffer<T>, GpuError> {
        let mut buffer = gpu.alloc_list(from.len())?;
        if size_of_val(from) < LARGE_BYTES {
            self.upload(from, &mut buffer)?;
        } else {
            gpu.upload_all(from, &mut buffer)?;
        }
        Ok(buffer)
    }

    /// The same for several lists, by one copy where they are small.
    ///
    /// # Errors
    /// As [`to_device`](Self::to_device).
    pub fn lists<L: Lists>(&self, gpu: &Gpu, lists: L) -> Result<L::OnDevice, GpuError> {
        lists.upload(self, gpu)
    }
}

/// Appends `list` at the next aligned place; where that is.
fn append<T: Element>(bytes: &mut Vec<u8>, list: &[T]) -> usize {
    let start = bytes.len().next_multiple_of(ALIGNMENT);
    bytes.resize(start, 0);
    // SAFETY: elements have no padding, so that all their bytes are initialized; borrowed from `list`.
    let own = unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), size_of_val(list)) };
    bytes.extend_from_slice(own);
    start
}

macro_rules! lists {
    ($($T:ident $list:ident $start:ident),*) => {
        impl<$($T: Element),*> Lists for ($(&[$T],)*) {
            type OnDevice = ($(DeviceBuffer<$T>,)*);

            fn upload(self, stream: &Stream, gpu: &Gpu) -> Result<Self::OnDevice, GpuError> {
                let ($($list,)*) = self;
                let total = 0 $(+ size_of_val($list).next_multiple_of(ALIGNMENT))*;
                if total > TOGETHER_BYTES {
                    return Ok(($(stream.list(gpu, $list)?,)*));
                }
                let mut bytes = Vec::with_capacity(total);
                $(let $start = append(&mut bytes, $list);)*
                let whole = stream.list(gpu, &bytes)?;
                // Of nothing there is no part.
                Ok(($(match whole.lend($start, $list.len()) {
                    Some(part) => part,
                    None => stream.list(gpu, $list)?,
                },)*))
            }
        }
    };
}
lists!(A a at_a, B b at_b);
lists!(A a at_a, B b at_b, C c at_c);
lists!(A a at_a, B b at_b, C c at_c, D d at_d);
lists!(A a at_a, B b at_b, C c at_c, D d at_d, E e at_e);

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn lists_share_memory_and_do_not_overlap() {
        let Some(gpu) = testing::gpu() else { return };
        let stream = gpu.stream().unwrap();
        let lists: Vec<Vec<u32>> = (0..200).map(|k| vec![k; 1 + 700 * k as usize]).collect();
        let on_device: Vec<_> = lists
            .iter()
            .map(|list| stream.list(gpu, list).unwrap())
            .collect();
        for (list, on_device) in lists.iter().zip(&on_device) {
            assert_eq!(&stream.to_host(on_device).unwrap(), list);
        }
        // Of the first hundred those up to 183 share slabs: as many numbers apart as they are long, or in another slab.
        let start = |k: usize| on_device[k].ptr().address();
        assert!(
            (1..100)
                .filter(|&k| start(k) - start(k - 1) < 1 << 22)
                .count()
                > 80
        );
    }

    #[test]
    fn lists_that_go_up_together_arrive_each() {
        let Some(gpu) = testing::gpu() else { return };
        let stream = gpu.stream().unwrap();
        for len in [0, 1, 7, 64, 65, 1000, 70_000] {
            let wide: Vec<u64> = (0..len).collect();
            let narrow: Vec<u16> = (0..3 * len).map(|k| k as u16).collect();
            let pairs: Vec<[f32; 2]> = (0..len / 2).map(|k| [k as f32, -1.0]).collect();
            let all = (&wide[..], &narrow[..], &pairs[..], &[] as &[u8]);
            let (a, b, c, d) = stream.lists(gpu, all).unwrap();
            assert_eq!(stream.to_host(&a).unwrap(), wide);
            assert_eq!(stream.to_host(&b).unwrap(), narrow);
            assert_eq!(stream.to_host(&c).unwrap(), pairs);
            assert!(d.is_empty());
        }
    }
}
