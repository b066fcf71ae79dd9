//! Why there is no factor.

use tamarack_gpu::GpuError;
use tamarack_plan::{Bytes, PlanError, Precision};
use tamarack_sparse::UserIdx;
use tamarack_store::StoreError;
use thiserror::Error;

use crate::not_spd::NotPositiveDefinite;

/// Why there is no factor.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FactorError {
    /// The matrix is not positive definite.
    #[error(transparent)]
    NotPositiveDefinite(#[from] NotPositiveDefinite),
    /// A matrix whose values are on a device is not positive definite.
    #[error(
        "the matrix on the device is not positive definite: pivot {pivot:.3e} at column {} (counted \
         from 0)",
        column.0
    )]
    Pivot {
        /// The user's column.
        column: UserIdx,
        /// What was left of the diagonal entry.
        pivot: f64,
    },
    /// The caller's flag stopped the work.
    #[error("the factorization was cancelled")]
    Cancelled,
    /// The matrix has another pattern than the one that was analyzed.
    #[error(
        "the matrix (order {n}, {nnz} entries) has another pattern than the one analyzed (order \
         {analyzed_n}, {analyzed_nnz} entries); analyze it anew"
    )]
    Pattern {
        /// Order of the matrix.
        n: usize,
        /// Entries of its lower triangle.
        nnz: u64,
        /// Order of the analyzed pattern.
        analyzed_n: usize,
        /// Entries of the analyzed lower triangle.
        analyzed_nnz: u64,
    },
    /// The plan was made for another precision than the matrix has.
    #[error("the plan is for {planned:?} and the matrix holds {found:?}")]
    Precision {
        /// Precision of the plan.
        planned: Precision,
        /// Precision of the matrix.
        found: Precision,
    },
    /// The last refactorization failed, so there is no factor to use.
    #[error(
        "the factor is stale: its last refactorization failed; refactorize it with success first"
    )]
    Stale,
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Something failed on the GPU, or on the way to it.
    #[error(transparent)]
    Device(#[from] GpuError),
    /// A device has too little free memory.
    #[error(
        "the plan needs {} on device {index} and {} may be used; {}the CPU may have more",
        Bytes(*needed_bytes), Bytes(*usable_bytes),
        match precision {
            Precision::F64 => "a factor in single precision (`mixed`) takes about half, ",
            Precision::F32 => "",
        }
    )]
    DeviceMemory {
        /// Number of the device.
        index: u32,
        /// What the plan needs there.
        needed_bytes: u64,
        /// What may be used there: nine tenths of what is free, or less where the caller says so.
        usable_bytes: u64,
        /// Precision of the factor.
        precision: Precision,
    },
    /// The matrix has more entries than the device's lists can number.
    #[error("the matrix has {entries} entries; on a GPU at most {most} are possible")]
    DeviceEntries {
        /// Entries of its lower triangle.
        entries: u64,
        /// Most entries.
        most: u64,
    },
    /// The operating system refused memory.
    #[error(transparent)]
    Memory(#[from] StoreError),
}
