//! Factors on a GPU are made with the help of a pool that ends with that: lists of many stages are written side by side.

use std::sync::Arc;

use tamarack_gpu::DeviceView;
use tamarack_numeric::{Control, FactorOptions};
use tamarack_solve::{Device, Engine, Form, SolveError, Solver};
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::threads::with_threads;

/// A device whose lists are made by so many threads.
#[derive(Debug)]
pub(crate) struct Pooled {
    device: Device,
    threads: usize,
}

impl Pooled {
    pub fn new(device: Device, threads: usize) -> Self {
        Self { device, threads }
    }
}

impl Engine for Pooled {
    fn factorize(
        &self,
        form: Form,
        a: &SymmetricCsc<f64>,
        options: &FactorOptions,
        control: &Control<'_>,
    ) -> Result<Box<dyn Solver>, SolveError> {
        let work = || self.device.factorize(form, a, options, control);
        with_threads(self.threads, work)
    }

    fn factorize_device(
        &self,
        form: Form,
        pattern: &Arc<Pattern>,
        values: DeviceView<'_, f64>,
        options: &FactorOptions,
    ) -> Result<Box<dyn Solver>, SolveError> {
        let work = || self.device.factorize_device(form, pattern, values, options);
        with_threads(self.threads, work)
    }
}
