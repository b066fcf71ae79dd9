//! Entries of A on their way into fronts; kernels in `dense/assemble.cu`.
//!
//! Two lists say where each entry goes and which value it is: 4 bytes each where the places are near each other. They are as long
//! as the matrix, so they are not gathered in host memory: a [`Source`] says them piece by piece, as they go up. Cost: 8 or 12
//! bytes read, a value read and a place read and written for each entry.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::assemble::PROGRAM;
use super::{Real, shape};
use crate::{
    Arg, DeviceBuffer, DeviceView, DeviceViewMut, Element, Gpu, GpuError, Kernel, Launch, Stream,
};

const THREADS: u32 = 256;
/// Most blocks that add entries; each thread goes on with a stride.
const MOST_BLOCKS: u64 = 1 << 16;

/// Entries that are to be added, as often as they are asked for.
pub trait Source: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Range of their places in the arena.
    fn places(&self) -> Range<u64>;

    /// Numbers of their values are below this.
    fn values(&self) -> u32;

    /// Gives the place and the number of the value of entries `range`, one after the other.
    fn each(&self, range: Range<usize>, give: impl FnMut(u64, u32));
}

/// Places and numbers that stand in host memory.
struct Listed<'a> {
    to: &'a [u64],
    from: &'a [u32],
}

impl Source for Listed<'_> {
    fn count(&self) -> usize {
        self.to.len()
    }

    fn places(&self) -> Range<u64> {
        let first = self.to.iter().copied().min().unwrap_or(0);
        let last = self.to.iter().copied().max();
        first..last.map_or(first, |last| last.saturating_add(1))
    }

    fn values(&self) -> u32 {
        let last = self.from.iter().copied().max();
        last.map_or(0, |last| last.saturating_add(1))
    }

    fn each(&self, range: Range<usize>, mut give: impl FnMut(u64, u32)) {
        let pairs = self.to[range.clone()].iter().zip(&self.from[range]);
        pairs.for_each(|(&to, &from)| give(to, from));
    }
}

/// Entries of a matrix of `T`, to be added to places of an arena.
pub struct Entries<T = f64> {
    kernel: Kernel,
    to: Places,
    from: DeviceBuffer<u32>,
    /// Elements that the arena and the values must have.
    needs: [u64; 2],
    of: PhantomData<fn() -> T>,
}

/// Places of an arena, in 4 bytes each where they are near each other.
enum Places {
    /// Behind a first one.
    Near(u64, DeviceBuffer<u32>),
    Far(DeviceBuffer<u64>),
}

impl<T: Real> Entries<T> {
    /// Uploads the list: entry `e` adds value number `from[e]` to place `to[e]`. No place may come twice: what is
    /// computed is then undefined.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for lists of different lengths; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, to: &[u64], from: &[u32]) -> Result<Self, GpuError> {
        if to.len() != from.len() {
            let (to, from) = (to.len() as u64, from.len() as u64);
            return Err(shape("lists of entries", to, from));
        }
        Self::of(gpu, &Listed { to, from })
    }

    /// The same of entries that need not stand in memory, on several threads.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a place or a number outside what the source says; otherwise as [`new`](Self::new).
    pub fn of(gpu: &Gpu, source: &impl Source) -> Result<Self, GpuError> {
        let places = source.places();
        let near = places.end.saturating_sub(places.start) <= u64::from(u32::MAX);
        Self::at(gpu, source, near)
    }

    /// The same, with 8 bytes for each place.
    #[cfg(test)]
    pub(super) fn far(gpu: &Gpu, to: &[u64], from: &[u32]) -> Result<Self, GpuError> {
        Self::at(gpu, &Listed { to, from }, false)
    }

    fn at(gpu: &Gpu, source: &impl Source, near: bool) -> Result<Self, GpuError> {
        let (places, values) = (source.places(), source.values());
        let to = if near {
            let place = |to: u64, _| (to - places.start) as u32; // below 2^32, as just seen
            Places::Near(places.start, upload(gpu, source, place)?)
        } else {
            Places::Far(upload(gpu, source, |to, _| to)?)
        };
        let near = if near { "near_" } else { "" };
        let name = format!("dense_add_{near}entries_{}", T::NAME);
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel(&name)?,
            to,
            from: upload(gpu, source, |_, from| from)?,
            needs: [places.end, values.into()],
            of: PhantomData,
        })
    }

    /// Enqueues the additions.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena or values that end too early; a failing driver call.
    pub fn launch<'a, 'b>(
        &self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
        values: impl Into<DeviceView<'b, T>>,
    ) -> Result<(), GpuError> {
        let (arena, values) = (arena.into(), values.into());
        for (what, len, needs) in [
            ("arena of entries", arena.len(), self.needs[0]),
            ("values of entries", values.len(), self.needs[1]),
        ] {
            if (len as u64) < needs {
                return Err(shape(what, needs, len as u64));
            }
        }
        let count = self.from.len() as u64;
        let blocks = count.div_ceil(THREADS.into()).min(MOST_BLOCKS) as u32;
        let launch = Launch::new(blocks, THREADS);
        let (from, values) = (self.from.ptr(), values.ptr());
        // SAFETY: the arguments of the kernels; all places and numbers are within the arena and the values.
        unsafe {
            match &self.to {
                Places::Near(first, to) => {
                    let first = arena.ptr().add(*first);
                    let arguments: [&dyn Arg; 5] = [&first, &to.ptr(), &from, &values, &count];
                    self.kernel.launch(stream, launch, &arguments)
                }
                Places::Far(to) => {
                    let arguments: [&dyn Arg; 5] =
                        [&arena.ptr(), &to.ptr(), &from, &values, &count];
                    self.kernel.launch(stream, launch, &arguments)
                }
            }
        }
    }
}

/// One list of all entries on the device.
fn upload<N: Element>(
    gpu: &Gpu,
    source: &impl Source,
    number: impl Fn(u64, u32) -> N + Sync,
) -> Result<DeviceBuffer<N>, GpuError> {
    let (places, values) = (source.places(), source.values());
    let mut list = gpu.alloc_list(source.count())?;
    let outside = AtomicBool::new(false);
    gpu.upload_with(&mut list, |start, part: &mut [N]| {
        let range = start..start + part.len();
        let (mut left, mut inside) = (part.iter_mut(), true);
        source.each(range, |to, from| {
            inside &= places.contains(&to) & (from < values);
            match left.next() {
                Some(of) if inside => *of = number(to, from),
                _ => inside = false,
            }
        });
        if !inside || left.next().is_some() {
            outside.store(true, Ordering::Relaxed);
        }
    })?;
    if outside.into_inner() {
        let (count, end) = (source.count() as u64, places.end);
        return Err(shape("entries of a source", count, end));
    }
    Ok(list)
}
