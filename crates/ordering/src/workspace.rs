//! Memory of the orderings, reused from call to call.

use crate::mindeg::{DegreeLists, HashTable, QuotientGraph};

/// Everything an ordering needs besides its result; one per thread.
///
/// Grows to what the largest graph so far needed: about `1.2 · nnz(A) + 17 n` words for the minimum
/// degree family. A second ordering of a graph that is not larger allocates its result only; one of a network, a list of
/// what waits and, if it is small, rows of bits besides; one of many unknowns with scattered numbers, lists of neighbors.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(crate) quotient: QuotientGraph,
    pub(crate) lists: DegreeLists,
    pub(crate) table: HashTable,
    pub(crate) order: Vec<u32>,
    pub(crate) scratch: [Vec<u32>; 3],
}

impl Workspace {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }
}
