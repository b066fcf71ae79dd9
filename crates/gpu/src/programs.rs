//! The programs that a device has loaded: each is compiled and loaded once, however many threads ask.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::{Arch, Binary, Compiler, Gpu, GpuError, Module, Program};

/// Loaded modules by the program's path. Each has its own lock, so that programs are compiled side by
/// side and none twice.
pub(crate) type Modules = Mutex<HashMap<&'static str, Arc<Mutex<Option<Module>>>>>;

impl Gpu {
    /// The program, compiled for this device and loaded on it: from this process, from the cache on
    /// disk, or by NVRTC, in that order.
    ///
    /// # Errors
    /// [`GpuError::NoNvrtc`], [`GpuError::Compile`], a failing driver call.
    pub fn load(&self, program: &Program) -> Result<Module, GpuError> {
        let place = {
            let mut modules = self
                .modules()
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            modules.entry(program.path()).or_default().clone()
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = &*place {
            return Ok(module.clone());
        }
        let module = self.load_anew(program)?;
        *place = Some(module.clone());
        Ok(module)
    }

    fn load_anew(&self, program: &Program) -> Result<Module, GpuError> {
        let (compiler, arch) = (self.compiler(), self.info().arch);
        let binary = compiler.get(program, arch)?;
        Module::new(self.context().clone(), program.path(), binary).or_else(|refused| {
            // A cache from elsewhere may hold what this driver refuses; without NVRTC that is final.
            tracing::warn!("{refused}; the kernels are compiled again");
            let binary = compiler.compile(program, arch).map_err(|_| refused)?;
            Module::new(self.context().clone(), program.path(), binary)
        })
    }

    /// Loads every program, compiling several at a time, so that nothing is compiled later: the
    /// outcomes, sorted by path.
    #[must_use]
    pub fn load_all(&self) -> Vec<(Program, Result<Module, GpuError>)> {
        self.load_under("")
    }

    /// The same for the programs in one folder, such as `dense/`.
    #[must_use]
    pub fn load_under(&self, folder: &str) -> Vec<(Program, Result<Module, GpuError>)> {
        let programs: Vec<_> = Program::all()
            .filter(|program| program.path().starts_with(folder))
            .collect();
        let outcomes = side_by_side(&programs, |program| self.load(program));
        programs.into_iter().zip(outcomes).collect()
    }
}

impl Compiler {
    /// [`Compiler::get`] of every program for each of `archs`, several at a time: the outcomes, sorted
    /// by path, then as `archs`.
    #[must_use]
    pub fn get_all(&self, archs: &[Arch]) -> Vec<(Program, Arch, Result<Binary, GpuError>)> {
        let pairs: Vec<_> = Program::all()
            .flat_map(|program| archs.iter().map(move |&arch| (program, arch)))
            .collect();
        let outcomes = side_by_side(&pairs, |(program, arch)| self.get(program, *arch));
        let pairs = pairs.into_iter().zip(outcomes);
        pairs
            .map(|((program, arch), outcome)| (program, arch, outcome))
            .collect()
    }
}

/// What `work` makes of each item, on all cores, in the order of the items.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { return };
            let result = work(item);
            made.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((i, result));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            // Where the system refuses a thread the others do what there is.
            let _ = thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(|(i, _)| *i);
    made.into_iter().map(|(_, result)| result).collect()
}
