//! Small fronts in one go: assembly and partial Cholesky in shared memory; kernel in `dense/front_fused.cu`.
//!
//! A front is the sum of what stands in its panel, the [entries](super::Entries) of the matrix, and of its children's update matrices
//! (extend-add; Duff, Reid 1983); its pivots are eliminated, its panel and its update matrix written. One block of
//! threads works off a *sequence* of fronts in order, so that whole subtrees are one item:
//! a front may have those before it in its sequence for children. Sequences of about the same order share a launch;
//! the longest begin first. Bits repeat.
//!
//! # Use
//! `FusedFronts::<T>::new(&gpu, &stream, &fronts, &lengths)`: the sequences stand one behind the other in
//! `fronts: &[FusedFront]`, `lengths: &[u32]` says how many fronts each has (their sum is the length of the list; all
//! ones where fronts are independent). Then `launch(&stream, &mut arena)` as often as wanted; status as in the
//! other lists, through [`Pivots`](super::Pivots), by the number of the front in `fronts`. A front fits if
//! [`SmallFronts::padded_order`](super::SmallFronts::padded_order) is at most [`largest_order`](FusedFronts::largest_order).
//! Different sequences of a list must not depend on each other; children that are in no sequence of the list must be
//! done before the launch. `Front::fresh` and `Front::inverse` mean nothing here.
//! A sequence takes the threads and the shared memory of its largest front: subtrees whose fronts are at most 16
//! or 32 (one warp each) should not be put together with larger ones. Above order 96 assembly and
//! [`SmallFronts`](super::SmallFronts) are faster.

use std::marker::PhantomData;

use super::front::bad_pivots;
use super::{BadPivot, Child, Front, FrontShape, Placed, Real, SmallFronts, shape};
use crate::{DeviceBuffer, DeviceViewMut, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("dense/front_fused.cu");
/// Largest order, padded.
const MOST_ROWS: u32 = 128;
/// Upper ends of the classes of orders that share a launch, each with the kernel that takes it.
const CLASSES: [(u32, &str); 6] = [
    (16, "16"),
    (32, "32"),
    (48, "64"),
    (64, "64"),
    (96, "128"),
    (MOST_ROWS, "128"),
];

/// A small front with all that goes into it.
#[derive(Debug, Clone, Copy)]
pub struct FusedFront<'a> {
    /// The front; of its places those of the panel and the update matrix are used.
    pub front: Front,
    /// Its children, in the order in which they are added.
    pub children: &'a [Child<'a>],
}

/// Laid out as the kernel's `Item`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ItemData {
    first: u32,
    count: u32,
}

/// Laid out as the kernel's `Fused`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FusedData {
    panel: u64,
    update: u64,
    first_child: u32,
    children: u32,
    status: u32,
    pivots: u16,
    updates: u16,
    panel_height: u16,
    first_update: u16,
    update_height: u16,
    order: u16,
}

/// Laid out as the kernel's `Child`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ChildData {
    update: u64,
    relative: u32,
    order: u16,
    height: u16,
}

// SAFETY: numbers without padding.
unsafe impl crate::Element for ItemData {}
// SAFETY: numbers without padding.
unsafe impl crate::Element for FusedData {}
// SAFETY: numbers without padding.
unsafe impl crate::Element for ChildData {}

/// A list of sequences of small fronts of `T`, ready to be launched.
pub struct FusedFronts<T = f64> {
    /// For each launch its kernel and shape, and where its items begin.
    launches: Vec<(Kernel, Launch, u64)>,
    items: DeviceBuffer<ItemData>,
    fronts: DeviceBuffer<FusedData>,
    children: DeviceBuffer<ChildData>,
    relative: DeviceBuffer<u8>,
    pub(super) status: DeviceBuffer<[u64; 2]>,
    /// Elements that the arena must have.
    needs: u64,
    of: PhantomData<fn() -> T>,
}

/// What is gathered on the host before it is uploaded.
#[derive(Default)]
struct Lists {
    fronts: Vec<FusedData>,
    children: Vec<ChildData>,
    relative: Vec<u8>,
    needs: u64,
}

/// A sequence: its largest order, about how long it takes, and its fronts.
struct Sequence {
    order: u32,
    cost: u64,
    item: ItemData,
}

fn number(n: usize) -> Result<u32, GpuError> {
    u32::try_from(n).map_err(|_| shape("items of a list", n as u64, u32::MAX.into()))
}

impl Lists {
    /// `top`: pivots, padded; behind them the parent's other rows stand in shared memory.
    fn add_child<T: Real>(
        &mut self,
        child: &Child<'_>,
        parent: &Front,
        top: u32,
    ) -> Result<(), GpuError> {
        let (Placed { height, .. }, end) = child.placed::<T>(parent.pivots + parent.updates)?;
        let (relative, order) = (child.relative, child.relative.len());
        self.needs = end.max(self.needs);
        self.children.push(ChildData {
            update: child.update,
            relative: number(self.relative.len())?,
            order: order as u16, // at most MOST_ROWS, both
            height: height as u16,
        });
        let inside = |&r: &u32| {
            if r < parent.pivots {
                r
            } else {
                r - parent.pivots + top
            }
        };
        self.relative
            .extend(relative.iter().map(|r| inside(r) as u8)); // below MOST_ROWS
        if !relative.len().is_multiple_of(2) {
            self.relative.push(0); // pairs are read
        }
        Ok(())
    }

    /// Returns the padded order.
    fn add_front<T: Real>(&mut self, fused: &FusedFront<'_>, most: u32) -> Result<u32, GpuError> {
        let front = &fused.front;
        let (pivots, updates) = (front.pivots, front.updates);
        let order = SmallFronts::padded_order(pivots, updates);
        if order > most {
            return Err(shape("order of a small front", order.into(), most.into()));
        }
        let own = FrontShape::of::<T>(pivots, updates)?;
        let fits = Front {
            inverse: 0,
            ..*front
        }
        .data::<T>(0, 0)?
        .1;
        self.needs = fits.max(self.needs);
        let first_child = number(self.children.len())?;
        let top = pivots.next_multiple_of(8);
        for child in fused.children.iter().filter(|c| !c.relative.is_empty()) {
            self.add_child::<T>(child, front, top)?;
        }
        self.fronts.push(FusedData {
            panel: front.panel,
            update: front.update,
            first_child,
            children: number(self.children.len() - first_child as usize)?,
            status: number(self.fronts.len())?,
            // at most MOST_ROWS, all of them
            pivots: pivots as u16,
            updates: updates as u16,
            panel_height: own.panel_height as u16,
            first_update: own.first_update as u16,
            update_height: own.update_height as u16,
            order: order as u16,
        });
        Ok(order)
    }

    /// The sequences, by class, the longest of a class first.
    fn sequences<T: Real>(
        &mut self,
        fronts: &[FusedFront<'_>],
        lengths: &[u32],
        most: u32,
    ) -> Result<Vec<Sequence>, GpuError> {
        let sum: u64 = lengths.iter().map(|&l| u64::from(l)).sum();
        if sum != fronts.len() as u64 {
            return Err(shape("fronts of all sequences", sum, fronts.len() as u64));
        }
        let children = || fronts.iter().flat_map(|front| front.children);
        self.fronts.reserve(fronts.len());
        self.children.reserve(children().count());
        let pairs = children().map(|child| child.relative.len().next_multiple_of(2));
        self.relative.reserve(pairs.sum());
        let (mut sequences, mut rest) = (Vec::with_capacity(lengths.len()), fronts);
        for &count in lengths {
            let (own, others) = rest.split_at(count as usize);
            rest = others;
            let first = number(self.fronts.len())?;
            let (mut order, mut cost) = (0, 0);
            for front in own {
                let rows = self.add_front::<T>(front, most)?;
                order = rows.max(order);
                cost += front_cost(front, rows);
            }
            let item = ItemData { first, count };
            sequences.push(Sequence { order, cost, item });
        }
        sequences.sort_by_key(|s| (class(s.order), std::cmp::Reverse(s.cost)));
        Ok(sequences)
    }
}

/// About the clocks of a front: what is read before anything is there, eight columns at a time, children.
fn front_cost(front: &FusedFront<'_>, order: u32) -> u64 {
    let (pivots, order) = (u64::from(front.front.pivots), u64::from(order));
    3000 + 1600 * pivots.div_ceil(8) + order * (10 + order / 4) + 300 * front.children.len() as u64
}

fn class(order: u32) -> usize {
    CLASSES
        .iter()
        .position(|c| order <= c.0)
        .unwrap_or(CLASSES.len())
}

/// What holds for all types of numbers.
impl FusedFronts {
    /// Largest [`padded_order`](SmallFronts::padded_order) on this device.
    #[must_use]
    pub fn largest_order(gpu: &Gpu) -> u32 {
        SmallFronts::largest_order(gpu).min(MOST_ROWS)
    }
}

impl<T: Real> FusedFronts<T> {
    /// Checks and uploads the list: `lengths` fronts form a sequence each.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a front that is too large, relative indices that do not ascend within it, lengths that
    /// do not add up; [`GpuError::OutOfMemory`]; as [`Gpu::load`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        fronts: &[FusedFront<'_>],
        lengths: &[u32],
    ) -> Result<Self, GpuError> {
        let mut lists = Lists::default();
        let most = FusedFronts::largest_order(gpu);
        let sequences = lists.sequences::<T>(fronts, lengths, most)?;
        let module = gpu.load(&PROGRAM)?;
        let (mut launches, mut at) = (Vec::new(), 0);
        for group in sequences.chunk_by(|a, b| class(a.order) == class(b.order)) {
            let order = group.iter().map(|s| s.order).max().unwrap_or(0);
            if order > 0 {
                let name = CLASSES.get(class(order)).map_or("", |c| c.1);
                let kernel = module.kernel(&format!("dense_front_fused_{name}_{}", T::NAME))?;
                let launch = Launch::new(number(group.len())?, order.next_multiple_of(32));
                let launch = launch.shared(order * pitch::<T>(order) * size_of::<T>() as u32);
                launches.push((kernel, launch, at));
            }
            at += group.len() as u64;
        }
        let items: Vec<ItemData> = sequences.iter().map(|s| s.item).collect();
        let mut status = gpu.alloc_list(fronts.len())?;
        stream.fill_bytes(&mut status, 0xFF)?;
        let (items, fronts, children, relative) = stream.lists(
            gpu,
            (
                &items[..],
                &lists.fronts[..],
                &lists.children[..],
                &lists.relative[..],
            ),
        )?;
        Ok(Self {
            launches,
            items,
            fronts,
            children,
            relative,
            status,
            needs: lists.needs,
            of: PhantomData,
        })
    }

    /// Enqueues assembly and partial factorization of all fronts of the list: one launch for each class of orders.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for an arena that ends before a front does; a failing driver call.
    pub fn launch<'a>(
        &mut self,
        stream: &Stream,
        arena: impl Into<DeviceViewMut<'a, T>>,
    ) -> Result<(), GpuError> {
        let arena = arena.into();
        if (arena.len() as u64) < self.needs {
            return Err(shape("arena of fronts", self.needs, arena.len() as u64));
        }
        for (kernel, launch, at) in &self.launches {
            // SAFETY: the arguments of the kernel; items name fronts of the list, fronts their children; all
            // fronts and update matrices end within the arena and fit into the shared memory and the threads of
            // their launch; relative indices are within the front; `status` has a place for each.
            unsafe {
                kernel.launch(
                    stream,
                    *launch,
                    &[
                        &arena.ptr(),
                        &self.items.ptr().add(*at),
                        &self.fronts.ptr(),
                        &self.children.ptr(),
                        &self.relative.ptr(),
                        &self.status.ptr(),
                    ],
                )?;
            }
        }
        Ok(())
    }

    /// Waits for the stream; the first bad pivot of every front that has one.
    ///
    /// # Errors
    /// What went wrong on the stream.
    pub fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError> {
        Ok(bad_pivots(&stream.to_host(&self.status)?))
    }
}

impl<T: Real> super::Pivots for FusedFronts<T> {
    fn status(&self) -> &DeviceBuffer<[u64; 2]> {
        &self.status
    }

    fn bad_pivots(&self, stream: &Stream) -> Result<Vec<BadPivot>, GpuError> {
        Self::bad_pivots(self, stream)
    }
}

/// Between columns in shared memory: lines of 128 bytes, and 32 bytes against bank conflicts.
const fn pitch<T>(order: u32) -> u32 {
    let size = size_of::<T>() as u32;
    ((order * size).next_multiple_of(128) + 32) / size
}
