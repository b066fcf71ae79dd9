//! Why there is no plan.

use thiserror::Error;

use crate::options::Precision;
use crate::report::Bytes;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan needs more memory than it may use.
    #[error(
        "the plan needs {} ({} for the factor, {} for update matrices, {} for analysis and \
         workspace) and {} may be used; {}another ordering may take less",
        Bytes(*needed_bytes), Bytes(*factor_bytes), Bytes(*update_bytes),
        Bytes(needed_bytes.saturating_sub(*factor_bytes).saturating_sub(*update_bytes)),
        Bytes(*budget_bytes),
        match precision {
            Precision::F64 => "a factor in single precision (`mixed`) takes about half, ",
            Precision::F32 => "",
        }
    )]
    OverBudget {
        /// Peak of the plan.
        needed_bytes: u64,
        /// Share of the factor panels.
        factor_bytes: u64,
        /// Share of the update matrices.
        update_bytes: u64,
        /// Memory that may be used.
        budget_bytes: u64,
        /// Precision of the factor.
        precision: Precision,
    },
    /// A block width that no plan is made for.
    #[error("the block width is {block}; it must be from 1 to {most}")]
    Block {
        /// The width as given.
        block: usize,
        /// The largest one.
        most: usize,
    },
    /// Sizes do not fit 64 bits.
    #[error("the factor has more entries than 64-bit offsets can address")]
    TooLarge,
}
