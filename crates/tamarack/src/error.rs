//! One error for the whole library.

use tamarack_gpu::GpuError;
use tamarack_numeric::{FactorError, NotPositiveDefinite};
use tamarack_ordering::OrderingError;
use tamarack_plan::PlanError;
use tamarack_solve::SolveError;
use tamarack_sparse::interop::InteropError;
use tamarack_sparse::io::IoError;
use tamarack_sparse::models::ModelError;
use tamarack_sparse::{PermutationError, StructureError, TripletError};
use tamarack_symbolic::SymbolicError;
use thiserror::Error;

/// What went wrong. The message is that of the error inside; [`kind`](Self::kind) says what sort of
/// thing it is, and [`not_positive_definite`](Self::not_positive_definite) gives the details of the
/// most common one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Arrays do not describe a symmetric matrix.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// Entries do not make a symmetric matrix.
    #[error(transparent)]
    Triplets(#[from] TripletError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A name is no model problem, or the problem does not fit into memory.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A list is not a permutation.
    #[error(transparent)]
    Permutation(#[from] PermutationError),
    /// No ordering could be made.
    #[error(transparent)]
    Ordering(#[from] OrderingError),
    /// The pattern could not be analyzed, or a saved analysis not be read.
    #[error(transparent)]
    Symbolic(#[from] SymbolicError),
    /// A saved analysis is for another pattern.
    #[error(
        "the saved analysis is for another pattern ({}); analyze anew",
        match saved == n {
            true => "of the same order".to_owned(),
            false => format!("of order {saved}, not {n}"),
        }
    )]
    OtherPattern {
        /// Order of the saved analysis.
        saved: usize,
        /// Order of the pattern.
        n: usize,
    },
    /// There is no plan, for instance because memory does not suffice.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The matrix could not be factorized.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// Another crate's matrix is not a symmetric one.
    #[error(transparent)]
    Interop(#[from] InteropError),
    /// A system could not be solved.
    #[error(transparent)]
    Solve(SolveError),
}

impl From<SolveError> for Error {
    /// A factorization on the way to a solve fails as any other does.
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Factor(error) => Self::Factor(error),
            SolveError::Plan(error) => Self::Plan(error),
            other => Self::Solve(other),
        }
    }
}

/// What sort of thing went wrong; the CLI's exit codes follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong: an unknown name, a vector of the wrong length.
    Usage,
    /// The last refactorization failed: refactorize with success first.
    Stale,
    /// The matrix, a file or the name of a model is wrong, or the order is above what is supported.
    Input,
    /// The matrix has another pattern than the one that was analyzed: analyze it.
    OtherPattern,
    /// The matrix is not positive definite.
    NotPositiveDefinite,
    /// Memory does not suffice, a file cannot be written, or the size of a factor is beyond what is supported.
    Resources,
    /// There is no such GPU, or it failed.
    Device,
    /// The caller stopped the work.
    Cancelled,
}

impl Error {
    /// What sort of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(ModelError::Memory { .. }) => ErrorKind::Resources,
            Self::Structure(_)
            | Self::Triplets(_)
            | Self::Interop(_)
            | Self::Permutation(_)
            | Self::Model(_)
            | Self::Symbolic(_) => ErrorKind::Input,
            Self::OtherPattern { .. } => ErrorKind::OtherPattern,
            Self::Io(IoError::Write { .. } | IoError::Memory { .. }) => ErrorKind::Resources,
            Self::Io(_) => ErrorKind::Input,
            Self::Ordering(OrderingError::UnknownMethod { .. }) => ErrorKind::Usage,
            Self::Ordering(OrderingError::Stopped) => ErrorKind::Cancelled,
            Self::Ordering(
                OrderingError::Guide { .. }
                | OrderingError::NotFinite { .. }
                | OrderingError::Node { .. }
                | OrderingError::NotSeparated { .. },
            ) => ErrorKind::Input,
            Self::Ordering(_) | Self::Plan(_) => ErrorKind::Resources,
            Self::Factor(error) | Self::Solve(SolveError::Factor(error)) => of_factor(error),
            Self::Solve(
                SolveError::Plan(_)
                | SolveError::Memory { .. }
                | SolveError::NoRoomForDouble { .. },
            ) => ErrorKind::Resources,
            Self::Solve(SolveError::Device(error)) => of_gpu(error),
            Self::Solve(SolveError::Stale) => ErrorKind::Stale,
            Self::Solve(_) => ErrorKind::Usage,
        }
    }

    /// Column, pivot and likely cause, where the matrix is not positive definite.
    pub fn not_positive_definite(&self) -> Option<&NotPositiveDefinite> {
        match self {
            Self::Factor(FactorError::NotPositiveDefinite(details))
            | Self::Solve(SolveError::Factor(FactorError::NotPositiveDefinite(details))) => {
                Some(details)
            }
            _ => None,
        }
    }
}

fn of_factor(error: &FactorError) -> ErrorKind {
    match error {
        FactorError::NotPositiveDefinite(_) | FactorError::Pivot { .. } => {
            ErrorKind::NotPositiveDefinite
        }
        FactorError::Cancelled => ErrorKind::Cancelled,
        FactorError::Memory(_)
        | FactorError::Plan(_)
        | FactorError::DeviceMemory { .. }
        | FactorError::DeviceEntries { .. } => ErrorKind::Resources,
        FactorError::Device(error) => of_gpu(error),
        FactorError::Pattern { .. } => ErrorKind::OtherPattern,
        FactorError::Stale => ErrorKind::Stale,
        _ => ErrorKind::Usage,
    }
}

fn of_gpu(error: &GpuError) -> ErrorKind {
    match error {
        GpuError::HostMemory { .. } => ErrorKind::Resources,
        _ if error.is_out_of_memory() => ErrorKind::Resources,
        GpuError::Shape { .. } | GpuError::Elsewhere { .. } => ErrorKind::Usage,
        _ => ErrorKind::Device,
    }
}
