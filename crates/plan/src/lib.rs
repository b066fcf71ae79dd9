//! What a factorization will cost and where everything goes, as data.
//!
//! From a [`SymbolicFactor`](tamarack_symbolic::SymbolicFactor), a [`Machine`] and [`PlanOptions`]
//! comes a [`FactorPlan`]: bytes, flops and predicted seconds, the subtrees that threads take as
//! whole tasks, and the place of every panel and update matrix. Nothing numerical, no device and no
//! file is seen here, and of the machine only the instruction set that the kernels' workspace is sized for: on one
//! processor the same input gives the same plan.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod cost;
mod cut;
mod error;
mod laid;
mod leaves;
mod machine;
mod memory;
mod options;
mod packing;
mod places;
mod plan;
mod report;
mod room;
mod sizes;
mod staged;
mod top;

pub use cost::{front_assembly_bytes, predicted_secs};
pub use cut::Grove;
pub use error::PlanError;
pub use leaves::{FEWEST_LEAVES, MOST_LEAF_ROWS};
pub use machine::{FrontRates, Machine};
pub use memory::MemoryUse;
pub use options::{PlanOptions, Precision};
pub use plan::{FactorPlan, UpdatePlace};
pub use report::Bytes;

pub use staged::{FrontSizes, StagedPlan};
pub use tamarack_symbolic::front_flops;
