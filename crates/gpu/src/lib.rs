//! CUDA kernels with safe launchers, compiled on first use for the card present, and cached.
//!
//! The crate knows nothing of trees or solvers. It builds and loads on machines without CUDA: the
//! driver and NVRTC are looked for when a device is opened or a program compiled.
//!
//! # From source to launch
//! [`Program::at`] names a file under `kernels/`; [`Gpu::load`] compiles and loads it, once per
//! process; [`Module::kernel`] finds a kernel; [`Kernel::launch`] enqueues it on a [`Stream`]. Memory
//! is a [`DeviceBuffer`] and its [`DeviceView`]s; nothing is ordered or freed behind the caller's back.
//!
//! # Adding a kernel
//! 1. `kernels/GROUP/X.cu`, with `#include "common.cuh"` and `extern "C" __global__` kernels, named after the
//!    program, in `dense/` with the group before it; no name twice, as profiles know kernels by their names.
//!    Its head says Shapes, Grid, Needs, Order, Ref. It is embedded by being there. Shared code goes into
//!    `.cuh` files, included by path from `kernels/`. There are no system headers. C++ templates are fine
//!    behind `extern "C"` kernels.
//! 2. The launcher `src/GROUP/X.rs`: `const PROGRAM: Program = Program::at("GROUP/X.cu");`, a safe
//!    function that checks its operands' lengths and calls [`Kernel::launch`].
//! 3. Tests beside it, against the host reference, with [`testing::gpu`], which skips visibly.
//! 4. Timings in `benches/gpu`.
//!
//! `cargo run -p tamarack-gpu --example compile -- --nvrtc libnvrtc.so.13 --arch sm_80,sm_90a` compiles
//! all programs without a GPU and prints what each kernel takes.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod cache;
mod compile;
mod context;
mod copy;
mod cubin;
pub mod dense;
mod device;
mod driver;
mod embedded;
mod error;
mod foreign;
mod graph;
mod lanes;
mod lists;
mod memory;
mod module;
mod notes;
mod nvrtc;
mod peer;
mod pinned;
pub mod primitives;
mod profile;
mod programs;
mod slab;
mod source;
pub mod spmv;
mod stream;
pub mod testing;
#[cfg(test)]
mod tests;
mod view;

pub use compile::{Arch, ArchKind, Binary, Compiler};
pub use cubin::KernelReport;
pub use device::{Gpu, GpuInfo, GpuOptions};
pub use error::GpuError;
pub use graph::Graph;
pub use lists::Lists;
pub use memory::{DeviceBuffer, DevicePtr, Element};
pub use module::{Arg, Kernel, Launch, Module};
pub use pinned::PinnedBuffer;
pub use profile::{Profile, Span, Total};
pub use source::Program;
pub use stream::{Event, Stream};
pub use view::{DeviceView, DeviceViewMut};
