//! Assembly of fronts: children's update matrices (extend-add) and entries; kernels in `dense/assemble.cu`.
//!
//! A parent is written tile by tile: a tile gathers, child by child in the order of the list, the rectangle
//! that each gives it (Duff, Reid 1983). So nothing needs to be cleared before, nothing is added by atomics, and bits
//! repeat. Cost: every child is read once, every parent written once.

use std::marker::PhantomData;

use super::order::TileOf;
use super::{Front, FrontShape, Placed, Real, shape};
use crate::{
    DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream,
};

const PROGRAM: Program = Program::at("dense/assemble.cu");
/// Rows and columns of a tile.
const SIDE: u32 = 64;
const THREADS: u32 = 256;
/// Most blocks that add entries; each thread goes on with a stride.
const MOST_BLOCKS: u64 = 1 << 16;

/// The update matrix of a child.
#[derive(Debug, Clone, Copy)]
pub struct Child<'a> {
    /// Where it stands: packed block columns of the height that [`FrontShape`] gives.
    pub update: u64,
    /// Row of the parent for each of its rows, ascending; as many as its order.
    pub relative: &'a [u32],
}

/// A front to be assembled; its update matrix is written unless it is `fresh`.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    /// The front.
    pub front: Front,
    /// Its children, in the order in which they are added.
    pub children: &'a [Child<'a>],
}

/// Laid out as the kernel's `Child`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ChildData {
    update: u64,
    relative: u64,
    order: u32,
    height: u32,
}

/// Laid out as the kernel's `Parent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ParentData {
    panel: u64,
    update: u64,
    pivots: u32,
    updates: u32,
    panel_height: u32,
    first_update: u32,
    update_height: u32,
    children: u32,
    first_child: u32,
    unused: u32,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for ChildData {}
// SAFETY: numbers without padding.
unsafe impl crate::Element for ParentData {}

/// A list of fronts of `T` to be assembled from their children.
pub struct Assembly<T = f64> {
    kernel: Kernel,
    shape: Launch,
    parents: DeviceBuffer<ParentData>,
    children: DeviceBuffer<ChildData>,
    relative: DeviceBuffer<u32>,
    tiles: DeviceBuffer<TileOf>,
    needs: u64,
    of: PhantomData<fn() -> T>,
}

/// What is gathered on the host before it is uploaded.
#[derive(Default)]
struct Lists {
    parents: Vec<ParentData>,
    children: Vec<ChildData>,
    relative: Vec<u32>,
    tiles: Vec<TileOf>,
    needs: u64,
}

impl Lists {
    fn add_child<T: Real>(&mut self, child: &Child<'_>, rows: u32) -> Result<(), GpuError> {
        let order = u32::try_from(child.relative.len()).map_err(|_| {
            shape(
                "rows of a child",
                child.relative.len() as u64,
                u32::MAX.into(),
            )
        })?;
        let ascending = child.relative.windows(2).all(|w| w[0] < w[1]);
        if !ascending || child.relative.last().is_some_and(|&r| r >= rows) {
            return Err(shape(
                "relative indices, which ascend",
                order.into(),
                rows.into(),
            ));
        }
        let height = FrontShape::of::<T>(0, order)?.update_height;
        let placed = Placed::packed(child.update, height);
        self.needs = self
            .needs
            .max(placed.check::<T>("update matrix of a child", order, order)?);
        self.children.push(ChildData {
            update: child.update,
            relative: self.relative.len() as u64,
            order,
            height,
        });
        self.relative.extend_from_slice(child.relative);
        Ok(())
    }

    fn add_parent<T: Real>(&mut self, parent: &Parent<'_>) -> Result<(), GpuError> {
        let front = &parent.front;
        let own = FrontShape::of::<T>(front.pivots, front.updates)?;
        self.needs = self.needs.max(front.data::<T>(0, 0)?.1);
        let too_many = |n: usize| shape("items of a list", n as u64, u32::MAX.into());
        let number = |n: usize| u32::try_from(n).map_err(|_| too_many(n));
        let (first_child, problem) = (number(self.children.len())?, number(self.parents.len())?);
        for child in parent.children {
            self.add_child::<T>(child, front.pivots + front.updates)?;
        }
        self.parents.push(ParentData {
            panel: front.panel,
            update: front.update,
            pivots: front.pivots,
            updates: front.updates,
            panel_height: own.panel_height,
            first_update: own.first_update,
            update_height: own.update_height,
            children: number(parent.children.len())?,
            first_child,
            unused: 0,
        });
        let pivots = front.pivots.div_ceil(SIDE);
        let rows = pivots + front.updates.div_ceil(SIDE);
        if rows > u32::from(u16::MAX) {
            return Err(shape("tiles of a front", rows.into(), u16::MAX.into()));
        }
        for column in 0..if front.fresh { pivots } else { rows } {
            for row in column..rows {
                // below 65,536, as just checked
                let (row, column) = (row as u16, column as u16);
                self.tiles.push(TileOf {
                    problem,
                    row,
                    column,
                });
            }
        }
        Ok(())
    }
}

impl<T: Real> Assembly<T> {
    /// Checks and uploads the list.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for fronts that cannot be addressed, or relative indices that do not ascend within
    /// the parent; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, parents: &[Parent<'_>]) -> Result<Self, GpuError> {
        let mut lists = Lists::default();
        for parent in parents {
            lists.add_parent::<T>(parent)?;
        }
        let blocks = u32::try_from(lists.tiles.len())
            .map_err(|_| shape("tiles of a list", lists.tiles.len() as u64, u32::MAX.into()))?;
        let name = format!("dense_extend_add_{}", T::NAME);
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel(&name)?,
            shape: Launch::new(blocks, THREADS),
            parents: stream.to_device(gpu, &lists.parents)?,
            children: stream.to_device(gpu, &lists.children)?,
            relative: stream.to_device(gpu, &lists.relative)?,
            tiles: stream.to_device(gpu, &lists.tiles)?,
            needs: lists.needs,
            of: PhantomData,
        })
    }

    /// Enqueues: every front of the list becomes the sum of its children.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before a front does; a failing driver call.
    pub fn launch<'a>(
        &self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let arena = arena.into();
        if (arena.len() as u64) < self.needs {
            return Err(shape(
                "arena of an assembly",
                self.needs,
                arena.len() as u64,
            ));
        }
        // SAFETY: the arguments of the kernel; fronts and update matrices end within the arena; tiles name fronts of the
        // list, fronts their children, and relative indices ascend below the parent's order.
        unsafe {
            self.kernel.launch(
                stream,
                self.shape,
                &[
                    &arena.ptr(),
                    &self.parents.ptr(),
                    &self.children.ptr(),
                    &self.relative.ptr(),
                    &self.tiles.ptr(),
                ],
            )
        }
    }
}

/// Entries of a matrix of `T`, to be added to places of an arena.
pub struct Entries<T = f64> {
    kernel: Kernel,
    to: DeviceBuffer<u64>,
    from: DeviceBuffer<u32>,
    /// Elements that the arena and the values must have.
    needs: [u64; 2],
    of: PhantomData<fn() -> T>,
}

impl<T: Real> Entries<T> {
    /// Uploads the list: entry `e` adds value number `from[e]` to place `to[e]`. No place may come twice: what is
    /// computed is then undefined.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for lists of different lengths; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(gpu: &Gpu, stream: &Stream, to: &[u64], from: &[u32]) -> Result<Self, GpuError> {
        if to.len() != from.len() {
            return Err(shape(
                "lists of entries",
                to.len() as u64,
                from.len() as u64,
            ));
        }
        let end = |last: Option<u64>| last.map_or(0, |l| l.saturating_add(1));
        let last = from.iter().copied().max().map(u64::from);
        let name = format!("dense_add_entries_{}", T::NAME);
        Ok(Self {
            kernel: gpu.load(&PROGRAM)?.kernel(&name)?,
            to: stream.to_device(gpu, to)?,
            from: stream.to_device(gpu, from)?,
            needs: [end(to.iter().copied().max()), end(last)],
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
        let count = self.to.len() as u64;
        let blocks = count.div_ceil(THREADS.into()).min(MOST_BLOCKS) as u32;
        // SAFETY: the arguments of the kernel; all places and numbers are within the arena and the values.
        unsafe {
            self.kernel.launch(
                stream,
                Launch::new(blocks, THREADS),
                &[
                    &arena.ptr(),
                    &self.to.ptr(),
                    &self.from.ptr(),
                    &values.ptr(),
                    &count,
                ],
            )
        }
    }
}
