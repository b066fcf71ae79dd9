//! The lists of a stage on the device, and how they are launched.

use std::ops::Range;

use tamarack_gpu::dense::{Assembly, Entries, FirstBadPivot, Fronts, FusedFronts, Pivots};
use tamarack_gpu::primitives::Real;
use tamarack_gpu::{DeviceBuffer, Event, Gpu, GpuError, Stream};

use super::work::{Group, StageWork};

/// A stage, uploaded.
pub(super) struct Stage<T> {
    /// Panels that get the entries of A when it begins.
    late: Option<Range<u64>>,
    assembly: Assembly<T>,
    tiled: Vec<List<Fronts<T>>>,
    small: Option<List<FusedFronts<T>>>,
}

/// Fronts that are factorized alike.
struct List<L> {
    fronts: L,
    first_bad: FirstBadPivot,
    /// First pivot columns, elimination order.
    columns: Vec<u32>,
}

/// Streams that run beside each other within a stage, and the events that join them. The first is the main one.
pub(super) struct Lanes {
    streams: [Stream; 3],
    begun: Event,
    ready: Event,
    done: [Event; 2],
}

impl Lanes {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            streams: [gpu.stream()?, gpu.stream()?, gpu.stream()?],
            begun: gpu.event()?,
            ready: gpu.event()?,
            done: [gpu.event()?, gpu.event()?],
        })
    }

    pub fn main(&self) -> &Stream {
        &self.streams[0]
    }

    /// Lets all lanes begin where the main one is.
    fn fork(&self) -> Result<(), GpuError> {
        let [main, others @ ..] = &self.streams;
        main.record(&self.begun)?;
        others.iter().try_for_each(|lane| lane.wait(&self.begun))
    }

    /// Lets the second lane go on where the main one is.
    fn follow(&self) -> Result<(), GpuError> {
        self.streams[0].record(&self.ready)?;
        self.streams[1].wait(&self.ready)
    }

    /// Lets the main lane wait for all.
    fn join(&self) -> Result<(), GpuError> {
        let [main, others @ ..] = &self.streams;
        for (lane, done) in others.iter().zip(&self.done) {
            lane.record(done)?;
            main.wait(done)?;
        }
        Ok(())
    }
}

impl<T: Real> Stage<T> {
    pub fn new(gpu: &Gpu, stream: &Stream, work: &StageWork<'_>) -> Result<Self, GpuError> {
        let assembly = Assembly::new(gpu, stream, &work.parents())?;
        let tiled = |group: &Group| {
            let gathered = group.parents.iter().map(|&k| assembly.gathered()[k]);
            let gathered: Vec<_> = gathered.collect();
            let fronts = Fronts::gathering(gpu, stream, &group.fronts, &gathered, group.tile)?;
            List::new(gpu, stream, fronts, &group.columns)
        };
        let mut stage = Self {
            tiled: work.groups.iter().map(tiled).collect::<Result<_, _>>()?,
            small: None,
            late: work.late.clone(),
            assembly,
        };
        if !work.lengths.is_empty() {
            let fronts = FusedFronts::new(gpu, stream, &work.small(), &work.lengths)?;
            let list = List::new(gpu, stream, fronts, &work.small_columns)?;
            stage.small = Some(list);
        }
        Ok(stage)
    }

    /// Enqueues the stage behind what the main lane has, early `entries` for one; it is done when the main lane is.
    pub fn launch(
        &mut self,
        lanes: &Lanes,
        entries: &Entries<T>,
        arena: &mut DeviceBuffer<T>,
        first_bad: &mut DeviceBuffer<u64>,
    ) -> Result<(), GpuError> {
        let [main, beside, last] = &lanes.streams;
        if let Some(panels) = &self.late {
            entries.launch_late(main, arena.view_mut(), panels.clone())?;
        }
        lanes.fork()?;
        if let Some(list) = &mut self.small {
            list.fronts.launch(last, arena.view_mut())?;
            list.first_bad
                .launch(last, &list.fronts, first_bad.view_mut())?;
        }
        self.assembly.launch(main, arena.view_mut())?;
        if let [first, others @ ..] = &mut self.tiled[..] {
            if !others.is_empty() {
                lanes.follow()?;
            }
            let assembly = &self.assembly;
            first
                .fronts
                .launch_gathering(main, arena.view_mut(), assembly)?;
            for other in others {
                other
                    .fronts
                    .launch_gathering(beside, arena.view_mut(), assembly)?;
            }
        }
        lanes.join()?;
        for list in &self.tiled {
            list.first_bad
                .launch(main, &list.fronts, first_bad.view_mut())?;
        }
        Ok(())
    }

    /// The pivot at an elimination position, if it is one of this stage's bad ones.
    pub fn bad_pivot(&self, stream: &Stream, position: u32) -> Result<Option<f64>, GpuError> {
        for list in &self.tiled {
            if let Some(value) = list.bad_pivot(stream, position)? {
                return Ok(Some(value));
            }
        }
        match &self.small {
            Some(list) => list.bad_pivot(stream, position),
            None => Ok(None),
        }
    }
}

impl<L: Pivots> List<L> {
    fn new(gpu: &Gpu, stream: &Stream, fronts: L, columns: &[u32]) -> Result<Self, GpuError> {
        Ok(Self {
            fronts,
            first_bad: FirstBadPivot::new(gpu, stream, columns)?,
            columns: columns.to_vec(),
        })
    }

    fn bad_pivot(&self, stream: &Stream, position: u32) -> Result<Option<f64>, GpuError> {
        let all = self.fronts.bad_pivots(stream)?;
        let found = all
            .into_iter()
            .find(|bad| self.columns[bad.front] + bad.pivot == position);
        Ok(found.map(|bad| bad.value))
    }
}
