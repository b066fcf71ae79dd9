//! Sparse direct solver for large symmetric positive definite systems `A x = b`.
//!
//! Analyze a pattern once, factorize matrices with that pattern, solve as often as needed, and know
//! how accurate each answer is. Results have the same bits for every number of threads.
//!
//! ```
//! use tamarack::{Analysis, Options, SymmetricCsc};
//!
//! # fn main() -> Result<(), tamarack::Error> {
//! // The lower triangle of [[4, -1, 0], [-1, 4, -1], [0, -1, 4]] by columns.
//! let (n, col_ptr, row_idx) = (3, [0usize, 2, 4, 5], [0u32, 1, 1, 2, 2]);
//! let mut a = SymmetricCsc::lower(n, &col_ptr, &row_idx, &[4.0, -1.0, 4.0, -1.0, 4.0])?;
//!
//! let analysis = Analysis::new(a.pattern(), &Options::default())?; // once per mesh
//! println!("{}", analysis.plan()); // operations, bytes, seconds
//! let mut factor = analysis.factorize(&a)?;
//!
//! let mut x = vec![3.0, 2.0, 3.0]; // b, and then x: n × nrhs, column-major
//! let report = factor.solve_refined(&a, &mut x)?;
//! assert!(report.componentwise_backward_error() < 1e-15);
//! assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-14));
//!
//! a.values_mut()[0] = 5.0; // the next Newton step: other values, same pattern
//! factor.refactorize(&a)?; // no analysis, no allocation
//! # Ok(())
//! # }
//! ```
//!
//! Debug builds of a program that depends on this one want kernels with optimization all the same:
//! `[profile.dev.package."*"]` with `opt-level = 3` in its `Cargo.toml`.
//!
//! Matrices come from arrays ([`SymmetricCsc::lower`]), from entries in any order ([`Triplets`]),
//! from files ([`io`]) or from the generator of model problems ([`models`]). Everything that can go
//! wrong is an [`Error`]; nothing a caller passes makes the library panic, unless a method says so, or is asked for a row, column or
//! unknown that there is not, as slices are.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod analysis;
mod both;
mod choice;
mod device;
mod device_profile;
mod error;
mod factor;
mod factor_device;
mod factor_estimates;
mod halves;
mod levels;
mod limits;
mod machine;
mod memory;
mod options;
mod piece;
mod pooled;
mod shape;
mod shared;
mod threads;
mod witness;

pub use analysis::{Analysis, AnalysisSecs};
pub use device::{Device, Place};
pub use device_profile::{DeviceProfile, StageTime};
pub use error::{Error, ErrorKind};
pub use factor::{Factor, SolveReport};
pub use limits::Limits;
pub use machine::{available_threads, calibrate};
pub use memory::available_memory_bytes;
pub use options::{Options, Ordering, Precision, Rates};
pub use shared::SharedFactor;

pub use tamarack_numeric::FactorError;
pub use tamarack_ordering::OrderingError;
pub use tamarack_plan::PlanError;
pub use tamarack_solve::SolveError;
pub use tamarack_sparse::{PermutationError, Scalar, StructureError, TripletError};
pub use tamarack_store::StoreError;
pub use tamarack_symbolic::SymbolicError;

pub use tamarack_gpu::primitives::{MatrixView as DeviceMatrix, MatrixViewMut as DeviceMatrixMut};
pub use tamarack_gpu::{
    DeviceBuffer, DeviceView, DeviceViewMut, Gpu, GpuError, GpuInfo, GpuOptions,
    Span as DeviceSpan, Stream as DeviceStream, Total as DeviceTotal,
};
pub use tamarack_numeric::{
    Activity, Call, Cause, ClassTime, Control, DevicePlan, DeviceRates, Event, FrontId, LaneTime,
    NotPositiveDefinite, OnNotSpd, Phase, PhaseTime, Profile, Progress, Purpose,
};
pub use tamarack_ordering::{
    AmdOptions, Coordinates, Method, MmdOptions, NdOptions, PartitionTree, Selection,
};
pub use tamarack_plan::{
    Bytes, FactorPlan, FrontRates, Machine, MemoryUse, PlanOptions, Precision as PlanPrecision,
};
pub use tamarack_solve::{
    ColumnReport, Outcome, RefineOptions, RefineReport, ResidualPrecision, SmallestPivot,
};
pub use tamarack_sparse::{
    Duplicates, ElimIdx, IndexLike, Pattern, Permutation, Places, SymmetricCsc, Triplets, UserIdx,
    files, interop, io, models,
};
pub use tamarack_symbolic::{AmalgamationOptions, Stats, SymbolicFactor, SymbolicOptions};
