//! Breadth-first levels of a graph; kernels in `primitives/levels.cu`.
//!
//! `level[v]` is the length of the shortest path from a root to v. Levels are expanded one launch each,
//! several launches ahead of what the host knows, so that the host waits once for 32 levels; vertices are
//! then sorted by level, so that level sets are ascending and the same in every run. Cost: each list of
//! neighbors is read once; a launch a level; a sort of n pairs.

use std::ops::Range;

use super::{RadixSort, kernels, resident, short, too_long};
use crate::{Arg, DeviceBuffer, DeviceView, Gpu, GpuError, Kernel, Launch, Program, Stream};

const PROGRAM: Program = Program::at("primitives/levels.cu");
const THREADS: u32 = 256;
/// Levels expanded before the host looks whether any vertex was left.
const AHEAD: u32 = 32;

/// A directed graph on the device, each vertex with the list of those it points to.
pub struct Adjacency {
    starts: DeviceBuffer<u32>,
    neighbors: DeviceBuffer<u32>,
}

impl Adjacency {
    /// The graph whose vertex v points to `neighbors[starts[v]..starts[v + 1]]`; `starts` has one element
    /// more than there are vertices.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for starts that do not ascend from 0 to the number of neighbors, or a neighbor
    /// that is no vertex; [`GpuError::OutOfMemory`].
    pub fn new(
        gpu: &Gpu,
        stream: &Stream,
        starts: &[u32],
        neighbors: &[u32],
    ) -> Result<Self, GpuError> {
        let end = starts.last().copied().unwrap_or(0);
        if starts.first() != Some(&0) || end as usize != neighbors.len() {
            return Err(too_long(
                "starts of a graph",
                end.into(),
                neighbors.len() as u64,
            ));
        }
        if let Some(pair) = starts.windows(2).find(|p| p[0] > p[1]) {
            return Err(too_long(
                "starts of a graph",
                pair[0].into(),
                pair[1].into(),
            ));
        }
        let n = starts.len() as u64 - 1;
        if let Some(&v) = neighbors.iter().find(|&&v| u64::from(v) >= n) {
            return Err(too_long("neighbor in a graph", v.into(), n));
        }
        Ok(Self {
            starts: stream.to_device(gpu, starts)?,
            neighbors: stream.to_device(gpu, neighbors)?,
        })
    }

    /// Vertices.
    #[must_use]
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }
}

/// Vertices by level.
pub struct LevelSets {
    /// Level of each vertex; `u32::MAX` where no root reaches it.
    pub level: DeviceBuffer<u32>,
    /// All vertices, level by level, ascending within each; those that no root reaches last.
    pub order: DeviceBuffer<u32>,
    /// Level d is `order[starts[d]..starts[d + 1]]`; one element more than there are levels.
    pub starts: Vec<u32>,
}

impl LevelSets {
    /// How many levels hold a vertex.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.starts.len() - 1
    }

    /// Places in `order` of the level's vertices; empty past the last level.
    #[must_use]
    pub fn places(&self, level: usize) -> Range<usize> {
        match self.starts.get(level..) {
            Some([from, to, ..]) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }
}

/// The kernels that find levels.
pub struct Levels {
    gpu: Gpu,
    number: Kernel,
    roots: Kernel,
    expand: Kernel,
    sort: RadixSort,
}

impl Levels {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let names = ["levels_number", "levels_roots", "levels_expand"];
        let [number, roots, expand] = kernels(gpu, &PROGRAM, names)?;
        let sort = RadixSort::new(gpu)?;
        let gpu = gpu.clone();
        Ok(Self {
            gpu,
            number,
            roots,
            expand,
            sort,
        })
    }

    /// The levels from `roots`, which are level 0. Roots that are no vertex are passed over. Waits for
    /// the stream.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for 2^30 vertices or more; [`GpuError::OutOfMemory`]; a failing driver call.
    pub fn run<'a>(
        &self,
        stream: &Stream,
        graph: &Adjacency,
        roots: impl Into<DeviceView<'a, u32>>,
    ) -> Result<LevelSets, GpuError> {
        let roots = roots.into();
        let n = short("vertices of a graph", graph.vertices(), 1 << 30)?;
        let root_count = short("roots", roots.len(), 1 << 31)?;
        let mut level = self.gpu.alloc::<u32>(n as usize)?;
        stream.fill_bytes(&mut level, 0xFF)?;
        let queue = self.gpu.alloc::<u32>(n as usize)?;
        // Sizes and offsets of AHEAD levels, and of the one after.
        let window = AHEAD as usize + 1;
        let mut counts = self.gpu.alloc::<u32>(2 * window)?;
        stream.fill_bytes(&mut counts, 0)?;
        let (sizes, offsets) = (counts.ptr(), counts.ptr().add(window as u64));
        let launch = Launch::new(root_count.div_ceil(THREADS), THREADS);
        let args: [&dyn Arg; 6] = [
            &root_count,
            &n,
            &roots.ptr(),
            &level.ptr(),
            &queue.ptr(),
            &sizes,
        ];
        // SAFETY: the arguments of levels_roots; level and queue hold n elements.
        unsafe { self.roots.launch(stream, launch, &args)? };

        let grid = n
            .div_ceil(THREADS)
            .min(resident(&self.gpu, &self.expand, THREADS, 0)?);
        let grid = Launch::new(grid, THREADS);
        let (mut starts, mut host) = (vec![0_u32], vec![0_u32; 2 * window]);
        let mut base = 0;
        loop {
            for step in 0..AHEAD {
                let depth = base + step;
                let (begins, neighbors) = (graph.starts.ptr(), graph.neighbors.ptr());
                let (level, queue) = (level.ptr(), queue.ptr());
                let args: [&dyn Arg; 8] = [
                    &step, &depth, &begins, &neighbors, &level, &queue, &sizes, &offsets,
                ];
                // SAFETY: the arguments of levels_expand; the graph was checked when it was made.
                unsafe { self.expand.launch(stream, grid, &args)? };
            }
            stream.download(&counts, &mut host)?;
            let (sizes, offsets) = host.split_at(window);
            for (size, offset) in sizes.iter().zip(offsets).take(AHEAD as usize) {
                if *size > 0 {
                    starts.push(offset + size);
                }
            }
            let (size, offset) = (sizes[window - 1], offsets[window - 1]);
            if size == 0 {
                break;
            }
            // The level after the window is the next window's first.
            base += AHEAD;
            host.fill(0);
            (host[0], host[window]) = (size, offset);
            stream.upload(&host, &mut counts)?;
        }
        let order = self.sorted(stream, n, &level, starts.len(), queue)?;
        Ok(LevelSets {
            level,
            order,
            starts,
        })
    }

    /// All vertices by level, then number, into the memory of `order`.
    fn sorted(
        &self,
        stream: &Stream,
        n: u32,
        level: &DeviceBuffer<u32>,
        levels: usize,
        mut order: DeviceBuffer<u32>,
    ) -> Result<DeviceBuffer<u32>, GpuError> {
        let launch = Launch::new(n.div_ceil(THREADS), THREADS);
        // SAFETY: the arguments of levels_number; order holds n elements.
        unsafe { self.number.launch(stream, launch, &[&n, &order.ptr()])? };
        let mut keys = self.gpu.alloc::<u32>(n as usize)?;
        stream.copy(level, &mut keys)?;
        let mut work = self.sort.workspace(n as usize)?;
        // All-ones stays the largest in as many bits as hold one level more than there are.
        let bits = usize::BITS - levels.leading_zeros();
        self.sort
            .run(stream, &mut work, 0..bits.min(32), &mut keys, &mut order)?;
        stream.synchronize()?;
        Ok(order)
    }
}
