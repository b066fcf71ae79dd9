//! Refined solves on the device, batch after batch, by a [`Refiner`] that is kept from one to the next.

use tamarack_gpu::GpuError;
use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::spmv::HalfPattern;
use tamarack_numeric::DeviceValue;

use super::beside::{Batch, Refining};
use super::here::Wide;
use super::refine::Refiner;
use super::solver::{DeviceSolver, batches};
use crate::error::SolveError;
use crate::refine::RefineOptions;
use crate::report::ColumnReport;

impl<T: DeviceValue> DeviceSolver<T> {
    /// Solves and refines, all on the device, for `nrhs` right-hand sides that `batches` gives, so many numbers at a time; `None` where
    /// the matrix in double precision is not there.
    pub(super) fn refine_here<B: Batch, I: Iterator<Item = B>>(
        &mut self,
        nrhs: usize,
        batches: impl FnOnce(usize) -> I,
        options: &RefineOptions,
    ) -> Result<Option<Vec<ColumnReport>>, SolveError>
    where
        T: Wide,
    {
        let n = self.n();
        self.with_refiner(nrhs, |refiner, solver| {
            let batches = batches(n * refiner.most);
            if let Some(beside) = solver.beside(nrhs, refiner.most)? {
                let mut refining = Refining::new(refiner, solver, options);
                beside.solve(&mut refining, batches)?;
                return Ok(refining.columns);
            }
            let mut columns = Vec::with_capacity(nrhs);
            for batch in batches {
                columns.extend(refiner.run(solver, batch, options)?);
            }
            Ok(columns)
        })
    }

    /// The same of vectors that are on the device, of equal shapes.
    pub(super) fn refine_device(
        &mut self,
        b: MatrixView<'_, f64>,
        mut x: MatrixViewMut<'_, f64>,
        options: &RefineOptions,
    ) -> Result<Option<Vec<ColumnReport>>, SolveError>
    where
        T: Wide,
    {
        let nrhs = b.columns() as usize;
        self.with_refiner(nrhs, |refiner, solver| {
            let mut columns = Vec::with_capacity(nrhs);
            for of in batches(b.columns(), refiner.most) {
                columns.extend(refiner.run_device(solver, b, &mut x, of, options)?);
            }
            Ok(columns)
        })
    }

    /// Improves the answer to one right-hand side by conjugate gradients on the device; `None` as above.
    pub(super) fn improve_here(
        &mut self,
        b: &[f64],
        x: &mut [f64],
        options: &RefineOptions,
    ) -> Result<Option<(ColumnReport, usize)>, SolveError>
    where
        T: Wide,
    {
        self.with_refiner(1, |refiner, solver| refiner.improve(solver, b, x, options))
    }

    /// The same of a column of matrices that are on the device, of equal shapes.
    pub(super) fn improve_device(
        &mut self,
        b: MatrixView<'_, f64>,
        mut x: MatrixViewMut<'_, f64>,
        column: u32,
        options: &RefineOptions,
    ) -> Result<Option<(ColumnReport, usize)>, SolveError>
    where
        T: Wide,
    {
        self.with_refiner(1, |refiner, solver| {
            refiner.improve_device(solver, b, &mut x, column, options)
        })
    }

    /// Calls `work` with a refiner that has room for as many of `nrhs` right-hand sides as are refined at a time; `None` where the
    /// matrix in double precision is not on the device or has too many entries to be read by rows, there is no memory for it, or there
    /// are none.
    fn with_refiner<R>(
        &mut self,
        nrhs: usize,
        work: impl FnOnce(&mut Refiner, &mut Self) -> Result<R, SolveError>,
    ) -> Result<Option<R>, SolveError>
    where
        T: Wide,
    {
        let few = (self.factor.half_pattern().entries() as u64) < HalfPattern::MOST_BY_ROWS;
        let there = few && T::wide(&self.factor, &self.rounding).is_some();
        if !there || nrhs == 0 || self.n() == 0 {
            return Ok(None);
        }
        let most = self.make_room(nrhs)?;
        let refiner = match self.refiner.take() {
            Some(refiner) if refiner.most >= most => Some(refiner),
            other => {
                drop(other); // its memory may be needed
                self.new_refiner(most)?
            }
        };
        let Some(mut refiner) = refiner else {
            return Ok(None);
        };
        let done = work(&mut refiner, self);
        self.refiner = Some(refiner);
        done.map(Some)
    }

    /// For as many of `most` right-hand sides as there is memory for; `None` where there is none.
    fn new_refiner(&mut self, mut most: usize) -> Result<Option<Refiner>, GpuError> {
        while most > 0 {
            self.room.rewind(self.solved);
            match Refiner::new(&self.factor, &mut self.room, most) {
                Ok(refiner) => return Ok(Some(refiner)),
                Err(error) if error.is_out_of_memory() => most /= 2,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
