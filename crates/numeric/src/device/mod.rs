//! The factorization on a GPU: the same tree, front by front on the device, stage by stage.
//!
//! [`DevicePlan`] gives every panel and update matrix its place in one arena on the device; [`work`] turns a
//! stage into lists of data for the kernels of `tamarack-gpu`; [`DeviceFactor`] uploads them once, records the
//! launches of all stages as one graph, and replays it for every refactorization. The values of A go up and into the panels, and
//! one number comes back: where the first bad pivot was, if there was one.
//!
//! Children are added in the order of the tree and every entry is accumulated by one thread in a fixed order, so
//! that bits repeat from run to run.

mod contents;
mod cost;
mod entries;
mod factor;
mod launch;
mod plan;
mod purpose;
mod rates;
mod report;
mod room;
#[cfg(test)]
mod tests;
mod work;

pub use factor::{DeviceFactor, DeviceValue};
pub use plan::{DeviceOptions, DevicePlan, FrontKind};
pub use purpose::Purpose;
pub use rates::DeviceRates;
pub use room::Room;
