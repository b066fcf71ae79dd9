//! Multifrontal numeric Cholesky factorization on the host and on a GPU (Duff and Reid 1983; Liu 1992).
//!
//! A front is assembled from the entries of A and the update matrices of its children, its pivots
//! are eliminated, its panel stays in the factor, its update matrix goes to the parent. Siblings
//! meet only in their parent and are added there in the order of the tree, so the result has the
//! same bits whatever the number of threads.
//!
//! All memory is sized by the [`FactorPlan`](tamarack_plan::FactorPlan) and taken once;
//! [`NumericFactor::refactorize`] allocates nothing. On a GPU a [`DeviceFactor`] works the tree off in the stages of its
//! [`DevicePlan`].
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod above;
mod assemble;
mod control;
mod device;
mod eliminate;
mod entries;
mod error;
mod execute;
mod factor;
mod front;

mod leaves;
mod not_spd;
mod profile;
mod shift;
mod team;
mod value;

pub use control::{Control, Progress};
pub use device::{
    DeviceFactor, DeviceOptions, DevicePlan, DeviceRates, DeviceValue, FrontKind, Purpose, Room,
};
pub use error::FactorError;
pub use factor::{FactorOptions, NumericFactor, OnNotSpd, PanelView};
pub use not_spd::{Cause, NotPositiveDefinite, vanishing_share};
pub use profile::{
    Activity, CLASS_BOUNDS, Call, ClassTime, Event, FrontId, LaneTime, Part, Phase, PhaseTime,
    Profile, Profiler, Span,
};
pub use team::{Aid, Patience, Team};
pub use value::Value;
