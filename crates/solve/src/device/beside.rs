//! More right-hand sides than are solved for at a time: while some are, the next come from the host, and answers go there.

use std::panic::resume_unwind;
use std::thread::{self, Scope, ScopedJoinHandle};

use tamarack_gpu::{DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, Stream};
use tamarack_numeric::{DeviceValue, Room};

use super::here::Wide;
use super::refine::Refiner;
use super::solver::DeviceSolver;
use crate::error::SolveError;
use crate::refine::RefineOptions;
use crate::report::ColumnReport;

/// Right-hand sides in the host's memory that are solved for together, and where their answers go.
pub(super) trait Batch: Send {
    fn given(&self) -> &[f64];
    /// As long.
    fn answers(&mut self) -> &mut [f64];
}

/// Answers in the place of their right-hand sides.
impl Batch for &mut [f64] {
    fn given(&self) -> &[f64] {
        self
    }

    fn answers(&mut self) -> &mut [f64] {
        self
    }
}

impl Batch for (&[f64], &mut [f64]) {
    fn given(&self) -> &[f64] {
        self.0
    }

    fn answers(&mut self) -> &mut [f64] {
        self.1
    }
}

/// Who solves for a batch on the device.
pub(super) trait Solve {
    /// Threads that may carry vectors each way meanwhile: whoever calls the driver waits for others who do.
    const CARRIERS: usize;

    fn stream(&self) -> &Stream;

    /// Enqueues a copy of right-hand sides to where they are solved for.
    fn take(&mut self, given: DeviceView<'_, f64>) -> Result<(), SolveError>;

    /// Solves for what was taken, `len` numbers.
    fn solve(&mut self, len: usize) -> Result<(), SolveError>;

    /// Enqueues a copy of the answers.
    fn give(&mut self, answers: DeviceViewMut<'_, f64>) -> Result<(), SolveError>;
}

/// Where vectors stand on the device that come and go.
pub(super) struct Beside {
    gpu: Gpu,
    coming: DeviceBuffer<f64>,
    going: DeviceBuffer<f64>,
}

impl Beside {
    /// For batches of up to `len` numbers, in memory from `room`.
    pub fn new(gpu: &Gpu, room: &mut Room, len: usize) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            coming: room.take(len)?,
            going: room.take(len)?,
        })
    }

    /// Has `solver` solve for all batches.
    pub fn solve<B: Batch, S: Solve>(
        mut self,
        solver: &mut S,
        batches: impl Iterator<Item = B>,
    ) -> Result<(), SolveError> {
        let done = self.one_by_one(solver, batches);
        // After an error as well: copies from here and to here may be under way.
        done.and(solver.stream().synchronize().map_err(SolveError::from))
    }

    fn one_by_one<B: Batch, S: Solve>(
        &mut self,
        solver: &mut S,
        batches: impl Iterator<Item = B>,
    ) -> Result<(), SolveError> {
        let mut batches = batches.peekable();
        let mut before: Option<B> = None;
        if let Some(first) = batches.peek() {
            self.gpu
                .upload_all(first.given(), part(&mut self.coming, first.given().len())?)?;
        }
        while let Some(batch) = batches.next() {
            let len = batch.given().len();
            solver.take(self.coming.view().slice(..len)?)?;
            // Then what came has been taken, and what was solved before is ready to go.
            solver.stream().synchronize()?;
            let next = batches.peek().map(B::given);
            let answers = before.as_mut().map(B::answers);
            self.carry_beside(S::CARRIERS, answers, next, || solver.solve(len))?;
            solver.give(part(&mut self.going, len)?)?;
            before = Some(batch);
        }
        solver.stream().synchronize()?;
        if let Some(last) = &mut before {
            let answers = last.answers();
            self.gpu
                .download_all(self.going.view().slice(..answers.len())?, answers)?;
        }
        Ok(())
    }

    /// Works while answers go to the host and right-hand sides come from there, each by a thread that has others help; on this one
    /// where the system has none to give.
    fn carry_beside(
        &mut self,
        threads: usize,
        mut answers: Option<&mut [f64]>,
        given: Option<&[f64]>,
        work: impl FnOnce() -> Result<(), SolveError>,
    ) -> Result<(), SolveError> {
        let (gpu, going, coming) = (&self.gpu, &self.going, &mut self.coming);
        let mut fetch = || match answers.as_deref_mut() {
            Some(to) => gpu.download_by(threads, going.view().slice(..to.len())?, to),
            None => Ok(()),
        };
        let mut bring = || match given {
            Some(from) => gpu.upload_by(threads, from, part(coming, from.len())?),
            None => Ok(()),
        };
        let (worked, fetched, brought) = thread::scope(|scope| {
            let (fetching, bringing) = (start(scope, &mut fetch), start(scope, &mut bring));
            (work(), fetching.map(wait), bringing.map(wait))
        });
        let fetched = fetched.unwrap_or_else(fetch);
        let brought = brought.unwrap_or_else(bring);
        worked.and(fetched.and(brought).map_err(SolveError::from))
    }
}

type Carried = Result<(), GpuError>;

/// The first numbers, to be written.
fn part(of: &mut DeviceBuffer<f64>, len: usize) -> Result<DeviceViewMut<'_, f64>, GpuError> {
    Ok(of.view_mut().split_at(len)?.0)
}

/// `work` on a thread of its own, if there is one.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> Carried + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, Carried>> {
    thread::Builder::new().spawn_scoped(scope, work).ok()
}

fn wait(thread: ScopedJoinHandle<'_, Carried>) -> Carried {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

impl<T: DeviceValue> Solve for DeviceSolver<T> {
    /// All there are: one recorded graph is enqueued meanwhile.
    const CARRIERS: usize = usize::MAX;

    fn stream(&self) -> &Stream {
        self.factor.stream()
    }

    fn take(&mut self, given: DeviceView<'_, f64>) -> Result<(), SolveError> {
        let to = part(&mut self.vectors.x, given.len())?;
        Ok(self.factor.stream().copy(given, to)?)
    }

    fn solve(&mut self, len: usize) -> Result<(), SolveError> {
        self.enqueue(len / self.n())
    }

    fn give(&mut self, answers: DeviceViewMut<'_, f64>) -> Result<(), SolveError> {
        let from = self.vectors.x.view().slice(..answers.len())?;
        Ok(self.factor.stream().copy(from, answers)?)
    }
}

/// Refines batch after batch.
pub(super) struct Refining<'a, T> {
    refiner: &'a mut Refiner,
    solver: &'a mut DeviceSolver<T>,
    options: &'a RefineOptions,
    /// What became of those that are done.
    pub columns: Vec<ColumnReport>,
}

impl<'a, T> Refining<'a, T> {
    pub fn new(
        refiner: &'a mut Refiner,
        solver: &'a mut DeviceSolver<T>,
        options: &'a RefineOptions,
    ) -> Self {
        Self {
            refiner,
            solver,
            options,
            columns: Vec::new(),
        }
    }
}

impl<T: Wide> Solve for Refining<'_, T> {
    /// Few: a refinement calls the driver some tens of times, and waits for each of them who is about to.
    const CARRIERS: usize = 4;

    fn stream(&self) -> &Stream {
        self.solver.factor.stream()
    }

    fn take(&mut self, given: DeviceView<'_, f64>) -> Result<(), SolveError> {
        let to = part(&mut self.refiner.b, given.len())?;
        Ok(self.solver.factor.stream().copy(given, to)?)
    }

    fn solve(&mut self, len: usize) -> Result<(), SolveError> {
        let nrhs = len / self.refiner.n;
        let columns = self.refiner.refine(self.solver, nrhs, self.options)?;
        self.columns.extend(columns);
        Ok(())
    }

    fn give(&mut self, answers: DeviceViewMut<'_, f64>) -> Result<(), SolveError> {
        let from = self.refiner.x.view().slice(..answers.len())?;
        Ok(self.solver.factor.stream().copy(from, answers)?)
    }
}
