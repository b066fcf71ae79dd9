//! Triangular solves over the assembly tree, refinement, mixed precision, condition estimates.
//!
//! [`Substitution`] is the plan of the solves, made from the structure alone; [`solve`] runs it on a
//! factor. Everything gives the same bits for every number of threads.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
// `!(a < b)` is meant: NaN must count as the worse.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

mod backward;
mod blocks;
mod condition;
mod conjugate;
mod copy;
mod cut;
mod device;
mod diagonal;
mod error;
mod full_rows;
mod host;
mod inverse;
mod mixed;
mod order;
mod owners;
mod parts;
mod plan;
mod refine;
mod report;
mod residual;
mod rounding;
mod rows;
mod share;
mod solver;
mod substitution;
mod top;
mod walk;
mod workspace;

pub use condition::{InverseOf, condition_estimate, forward_error_bound};
pub use copy::{copy_by, copy_new_by};
pub use device::{Device, DeviceSolver};
pub use diagonal::{Diagonal, SmallestPivot};
pub use error::SolveError;
pub use host::{Host, HostSolver};
pub use inverse::{Inverse, Scaled};
pub use mixed::{MixedFactor, MixedReport, Outcome};
pub use plan::Substitution;
pub use refine::{RefineOptions, RefineWorkspace, refine};
pub use report::{ColumnReport, RefineReport};
pub use residual::ResidualPrecision;
pub use rounding::Rounded;
pub use share::SharedSolver;
pub use solver::{Engine, Form, OnDevice, Solver};
pub use substitution::{Half, solve, solve_half};
pub use workspace::SolveWorkspace;
