//! Solves with a factor that is on a device: substitution stage by stage, recorded once and replayed, and
//! refinement there. Mixed precision is [`MixedFactor`](crate::MixedFactor)'s, as on the host.

mod beside;
mod conjugate;
mod engine;
mod here;
mod mixed;
mod refine;
mod refined;
mod scaled;
mod solver;
mod stages;
mod vectors;

pub use engine::Device;
pub use solver::DeviceSolver;
