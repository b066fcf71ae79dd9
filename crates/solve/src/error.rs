//! Why a system could not be solved.

use tamarack_gpu::GpuError;
use tamarack_numeric::FactorError;
use tamarack_plan::{Bytes, PlanError};
use thiserror::Error;

/// Why a system could not be solved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A vector has the wrong length.
    #[error("`{vector}` has length {found}, expected {expected} (order times right-hand sides)")]
    Length {
        /// Name of the vector.
        vector: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        expected: usize,
    },
    /// The factor belongs to a failed refactorization.
    #[error(
        "the factor is stale: its last refactorization failed; refactorize it with success first"
    )]
    Stale,
    /// The workspace was made for another factor, or for fewer threads than the factor has.
    #[error("the workspace was made for another factor")]
    Workspace,
    /// There are more or fewer values than entries in the lower triangle of the pattern.
    #[error("{found} values for a pattern of {expected} entries (lower triangle)")]
    Values {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// Data on a device was given to what is on the host.
    #[error("{what} is on the host; {instead}")]
    OnHost {
        /// What is there.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// There is no memory for vectors.
    #[error("no memory for vectors of {bytes} bytes; solve for fewer right-hand sides at a time")]
    Memory {
        /// Bytes that were asked for.
        bytes: usize,
    },
    /// Several threads were to solve with a factor on a device.
    #[error(
        "a factor on a GPU does one solve at a time; let threads take turns, or solve for all their right-hand sides together"
    )]
    NotShared,
    /// Half of a solve was asked of a factor that has none: on a device, or in single or mixed precision.
    #[error(
        "halves of solves are there for factors in double precision on the host; choose precision f64 and the CPU in the options"
    )]
    NoHalves,
    /// A factorization failed.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// Something failed on the GPU.
    #[error(transparent)]
    Device(#[from] GpuError),
    /// There is no plan for a factorization that became necessary.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// In mixed precision: there is no room for the factor in double precision that became necessary.
    #[error(
        "single precision does not suffice for this matrix: it needs a factor in double precision, for which \
         the plan needs {} and {} may be used",
        Bytes(*needed_bytes), Bytes(*budget_bytes)
    )]
    NoRoomForDouble {
        /// Peak of its plan, and what is there beside it.
        needed_bytes: u64,
        /// Memory that may be used.
        budget_bytes: u64,
    },
}

impl SolveError {
    /// Where a factor on the host is given data on a device.
    pub const HOST_FACTOR: Self = Self::OnHost {
        what: "the factor",
        instead: "give it data there, or choose a GPU in the options",
    };
}

/// What is wrong where a factor in double precision takes the place of one in single precision.
pub(crate) fn instead_of_single(error: SolveError) -> SolveError {
    match error {
        SolveError::Plan(PlanError::OverBudget {
            needed_bytes,
            budget_bytes,
            ..
        })
        | SolveError::Factor(FactorError::Plan(PlanError::OverBudget {
            needed_bytes,
            budget_bytes,
            ..
        })) => SolveError::NoRoomForDouble {
            needed_bytes,
            budget_bytes,
        },
        other => other,
    }
}

pub(crate) fn check_len(
    vector: &'static str,
    found: usize,
    n: usize,
    nrhs: usize,
) -> Result<(), SolveError> {
    let expected = n.saturating_mul(nrhs);
    if found == expected {
        Ok(())
    } else {
        Err(SolveError::Length {
            vector,
            found,
            expected,
        })
    }
}
