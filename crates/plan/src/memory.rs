//! The memory a plan takes.

use serde::Serialize;

/// Bytes that are held at the same time at the peak of the factorization, the matrix itself not
/// counted: it is the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryUse {
    /// Factor panels.
    pub factor_bytes: u64,
    /// Room for update matrices beyond that of panels which are not begun yet while they live.
    pub update_bytes: u64,
    /// Packing buffers and index lists of all threads.
    pub workspace_bytes: u64,
    /// The symbolic factor and this plan.
    pub analysis_bytes: u64,
}

impl MemoryUse {
    /// All of it.
    pub fn peak_bytes(&self) -> u64 {
        self.own_bytes() + self.analysis_bytes
    }

    /// Bytes of a factorization beside the analysis, which it shares with others.
    pub fn own_bytes(&self) -> u64 {
        self.factor_bytes + self.update_bytes + self.workspace_bytes
    }
}
