//! The lists of a stage on the device, and how they are launched.

use tamarack_gpu::dense::{Assembly, Entries, FirstBadPivot, Fronts, Pivots, SmallFronts};
use tamarack_gpu::primitives::Real;
use tamarack_gpu::{DeviceBuffer, DeviceViewMut, Event, Gpu, GpuError, Stream};

use super::plan::FrontKind;
use super::work::{Group, StageWork};

/// Streams beside each other within a stage.
pub(super) const LANES: usize = 3;

/// A stage, uploaded.
pub(super) struct Stage<T> {
    assembly: Assembly<T>,
    entries: Entries<T>,
    pub lists: Vec<List<T>>,
}

/// Fronts that are factorized alike.
pub(super) struct List<T> {
    fronts: ListKind<T>,
    first_bad: FirstBadPivot,
    /// First pivot columns, elimination order.
    columns: Vec<u32>,
}

enum ListKind<T> {
    Small(SmallFronts<T>),
    Tiled(Fronts<T>),
}

/// Streams that run beside each other, and the events that join them. The first is the main one.
pub(super) struct Lanes {
    pub streams: Vec<Stream>,
    begun: Event,
    done: Vec<Event>,
}

impl Lanes {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let streams: Result<Vec<_>, _> = (0..LANES).map(|_| gpu.stream()).collect();
        let done: Result<Vec<_>, _> = (0..LANES).map(|_| gpu.event()).collect();
        Ok(Self {
            streams: streams?,
            begun: gpu.event()?,
            done: done?,
        })
    }

    pub fn main(&self) -> &Stream {
        &self.streams[0]
    }

    /// Lets the first `count` lanes begin where the main one is.
    fn fork(&self, count: usize) -> Result<(), GpuError> {
        self.main().record(&self.begun)?;
        self.streams[1..count.max(1)]
            .iter()
            .try_for_each(|lane| lane.wait(&self.begun))
    }

    /// Lets the main lane wait for the first `count`.
    fn join(&self, count: usize) -> Result<(), GpuError> {
        for (lane, done) in self.streams.iter().zip(&self.done).take(count).skip(1) {
            lane.record(done)?;
            self.main().wait(done)?;
        }
        Ok(())
    }
}

impl<T: Real> Stage<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, work: &StageWork<'_>) -> Result<Self, GpuError> {
        let list = |group: &Group| List::new(gpu, stream, group);
        Ok(Self {
            assembly: Assembly::new(gpu, stream, &work.parents())?,
            entries: Entries::new(gpu, stream, &work.to, &work.from)?,
            lists: work.groups.iter().map(list).collect::<Result<_, _>>()?,
        })
    }

    /// Enqueues the stage behind what the main lane has; it is done when the main lane is.
    pub fn launch(
        &mut self,
        lanes: &Lanes,
        arena: &mut DeviceBuffer<T>,
        values: &DeviceBuffer<T>,
        first_bad: &mut DeviceBuffer<u64>,
    ) -> Result<(), GpuError> {
        self.assembly.launch(lanes.main(), arena.view_mut())?;
        self.entries
            .launch(lanes.main(), arena.view_mut(), values)?;
        let count = self.lists.len();
        lanes.fork(count)?;
        for (list, lane) in self.lists.iter_mut().zip(&lanes.streams) {
            list.launch(lane, arena.view_mut())?;
        }
        // Behind all of them, so that none waits for it.
        for (list, lane) in self.lists.iter().zip(&lanes.streams) {
            list.tell(lane, first_bad.view_mut())?;
        }
        lanes.join(count)
    }
}

impl<T: Real> List<T> {
    fn new(gpu: &Gpu, stream: &Stream, group: &Group) -> Result<Self, GpuError> {
        let fronts = match group.kind {
            FrontKind::Tiled(tile) => {
                ListKind::Tiled(Fronts::new(gpu, stream, &group.fronts, tile)?)
            }
            FrontKind::Small | FrontKind::Sum => {
                ListKind::Small(SmallFronts::new(gpu, stream, &group.fronts)?)
            }
        };
        Ok(Self {
            fronts,
            first_bad: FirstBadPivot::new(gpu, stream, &group.columns)?,
            columns: group.columns.clone(),
        })
    }

    fn launch(&mut self, lane: &Stream, arena: DeviceViewMut<'_, T>) -> Result<(), GpuError> {
        match &mut self.fronts {
            ListKind::Small(list) => list.launch(lane, arena),
            ListKind::Tiled(list) => list.launch(lane, arena),
        }
    }

    fn tell(&self, lane: &Stream, first: DeviceViewMut<'_, u64>) -> Result<(), GpuError> {
        match &self.fronts {
            ListKind::Small(list) => self.first_bad.launch(lane, list, first),
            ListKind::Tiled(list) => self.first_bad.launch(lane, list, first),
        }
    }

    /// The pivot at an elimination position, if it is one of this list's bad ones.
    pub fn bad_pivot(&self, stream: &Stream, position: u32) -> Result<Option<f64>, GpuError> {
        let all = match &self.fronts {
            ListKind::Small(list) => Pivots::bad_pivots(list, stream),
            ListKind::Tiled(list) => Pivots::bad_pivots(list, stream),
        }?;
        let found = all
            .into_iter()
            .find(|bad| self.columns[bad.front] + bad.pivot == position);
        Ok(found.map(|bad| bad.value))
    }
}
